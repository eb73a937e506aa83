// Limits and tick marks of a chart's axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace glint {

// `early` is even in log(1 + value): counts from 0 on, with room for the small ones.
enum class Scale { linear, log, early };

struct Axis {
  std::string label;
  Scale scale = Scale::linear;
  std::optional<double> min = {}, max = {};  // fixed limits; otherwise those of the data
  bool whole = false;                        // linear: it counts something, and has ticks at whole numbers alone
};

struct Limits {
  double min = 0, max = 1;
};

struct Tick {
  double value = 0;
  std::string label = {};  // empty: a minor tick
  std::string power = {};  // to be raised after the label: "10" and "-3"
};

// Can the axis show this value at all? Not what is not finite, beyond 1e300, or below 1e-300 on a log axis
// and below 0 on an early one.
bool drawable(Scale scale, double value);

// The fixed limits, and for the others the range of `values` (those that are drawable) widened by `margin` of
// its length. Error (usage) when the fixed limits leave nothing to show.
Limits axis_limits(const Axis& axis, const std::vector<double>& values, double margin);

// At most about `most` labelled ticks inside the limits. Linear: steps of 1, 2 or 5 times a power of ten.
// Log: decades, with 2..9 as minor ticks. Over less than two decades 2 and 5 are labelled too, over about one
// all digits; each only where it is `apart` of the axis's length (0: 1 / most) away from other labels. Steps
// as on a linear axis where that leaves too few. Early: 0, 1, 2, 5, 10, 20 ... where there is room. `whole`:
// linear steps of 1 or more.
std::vector<Tick> axis_ticks(Scale scale, const Limits& limits, int most, double apart = 0, bool whole = false);

// Where a value lies between the limits: 0 at the minimum, 1 at the maximum.
double axis_fraction(Scale scale, const Limits& limits, double value);

}  // namespace glint
