// Figures for Python: name, SVG, CSV, and the description that glint.Figure draws the numbers by.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "glint/lab/work/result_files.h"
#include "glint/report/figure.h"

namespace glint::python {

namespace nb = nanobind;

inline nb::dict axis_dict(const Axis& axis) {
  nb::dict out;
  out["label"] = axis.label;
  out["log"] = axis.scale == Scale::log;
  return out;
}

inline nb::tuple figure_tuple(const std::string& name, const Figure& figure) {
  nb::dict about;
  about["kind"] = std::string(glint::name(figure.about.kind));
  about["title"] = figure.about.title;
  about["x"] = axis_dict(figure.about.x);
  about["y"] = axis_dict(figure.about.y);
  about["size"] = nb::make_tuple(figure.about.size.height, figure.about.size.width);
  nb::list scattered;
  for (const std::string& series : figure.about.scattered) scattered.append(series);
  about["scattered"] = scattered;
  return nb::make_tuple(name, figure.svg, figure.csv, about);
}

inline nb::list figure_list(const std::vector<FigureFile>& files) {
  nb::list out;
  for (const FigureFile& f : files) out.append(figure_tuple(f.stem.substr(f.stem.find_last_of('/') + 1), f.figure));
  return out;
}

}  // namespace glint::python
