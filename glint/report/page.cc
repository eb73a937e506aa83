#include "glint/report/page.h"

#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/base/text.h"
#include "glint/model/model_file.h"
#include "glint/report/gate_table.h"
#include "glint/report/page_pack.h"

namespace glint {
namespace {

using nlohmann::ordered_json;

ordered_json form_json(const PageForm& form, size_t classes, size_t strongest) {
  const size_t width = form.values.cols();
  ordered_json j;
  j["name"] = form.name;
  j["gain"] = packed_floats(form.gain, {form.gain.size()});
  if (!form.shift.empty()) j["shift"] = packed_floats(form.shift, {form.shift.size()});
  if (!form.slope.empty()) {
    j["slope"] = packed_floats(form.slope, {form.slope.size()});
    j["power"] = form.power;
    j["size"] = form.size;
  }
  j["below"] = ordered_json::array();
  for (const std::vector<double>& gain : form.below) j["below"].push_back(packed_floats(gain, {gain.size()}));
  j["values"] = packed_floats(form.values.span(), {classes, width});
  j["vectors"] = packed_json(pack_f32(form.vectors.span(), {classes, 2 * strongest, width}));
  if (!form.pictures.span().empty())
    j["pictures"] = packed_json(pack_u8(form.pictures.span(), {classes, 2 * strongest, form.pictures.cols()}));
  if (!form.linear.span().empty()) j["linear"] = packed_json(pack_f32(form.linear.span(), {classes, width}));
  if (!form.linear_pictures.span().empty())
    j["linearPictures"] = packed_json(pack_u8(form.linear_pictures.span(), {classes, form.linear_pictures.cols()}));
  j["quadraticShare"] = form.fidelity.each(&Trust::quadratic_share);
  j["linearShare"] = form.fidelity.each(&Trust::linear_share);
  if (!form.accuracy.empty()) j["accuracy"] = packed_floats(form.accuracy, {form.accuracy.size()});
  if (!form.agreement.empty()) j["agreement"] = packed_floats(form.agreement, {form.agreement.size()});
  const Fidelity& f = form.fidelity;
  j["fidelity"] = {{"correlation", f.correlation},
                   {"r2", f.r2},
                   {"r2Scaled", f.r2_scaled},
                   {"centredR2", f.r2_centred},
                   {"evenShare", f.even_share},
                   {"unitEvenShare", f.each(&Trust::even_share)},
                   {"agreement", f.agreement},
                   {"accuracyModel", f.accuracy_model},
                   {"accuracyForm", f.accuracy_form},
                   {"unitR2", f.each(&Trust::r2)},
                   {"inputs", f.inputs}};
  if (f.mirrored) j["fidelity"]["mirroredAgreement"] = f.mirrored->agreement;
  return j;
}

}  // namespace

ordered_json page_controls(const Controls& controls, bool decisions) {
  const auto control = [&](const Fidelity& f) {
    ordered_json j = {{"r2", f.r2}, {"r2Scaled", f.r2_scaled}};
    if (decisions) j["centredR2"] = f.r2_centred, j["agreement"] = f.agreement, j["accuracyForm"] = f.accuracy_form;
    return j;
  };
  ordered_json j = {{"linear", control(controls.linear)}, {"untrained", ordered_json::object()}};
  for (const auto& [form, f] : controls.untrained) j["untrained"][name(form)] = control(f);
  return j;
}

namespace {

ordered_json run_json(const PageRun& run, bool half) {
  const ClassifierParams params = classifier_params(run.config);
  ordered_json j;
  j["name"] = run.name;
  j["data"] = run.data;
  j["config"] = ordered_json(config_to_json(run.config));
  j["gate"] = gate_json(gate_info(run.config.gate.kind));
  j["parameters"] = params.table.parameters();
  j["classNames"] = run.class_names;
  if (half) j["halfDeviation"] = run.half_deviation;
  j["tensors"] = tensors_json(params.table, run.weights, half);
  j["strongest"] = run.strongest;
  j["forms"] = ordered_json::array();
  for (const PageForm& form : run.forms) j["forms"].push_back(form_json(form, run.config.classes, run.strongest));
  j["controls"] = page_controls(run.controls, true);
  if (!run.form.empty()) j["form"] = run.form;
  j["logits"] = packed_json(pack_f32(run.logits.span(), {run.logits.rows(), run.logits.cols()}));
  j["usual"] = {
      {"means", packed_json(pack_f32(run.usual_means.span(), {run.usual_means.rows(), run.usual_means.cols()}))},
      {"limit", run.usual_limit}};
  j["run"] = ordered_json(run.run);
  j["metrics"] = ordered_json(run.metrics);
  return j;
}

// The page has them as bytes.
std::vector<uint8_t> byte_labels(std::span<const uint32_t> labels) {
  for (const uint32_t label : labels)
    if (label > 255)
      bad_argument("labels", "an image of the page has the label " + std::to_string(label),
                   "at most 256 classes for a page");
  return {labels.begin(), labels.end()};
}

std::string data_json(const PageData& data, bool half) {
  const PageImages& images = data.images;
  const PageRun& first = data.runs.front();
  ordered_json j;
  j["kind"] = "image";
  j["version"] = data.version;
  j["linalg"] = data.linalg;
  j["images"] = {{"what", images.what},
                 {"total", images.total},
                 {"height", first.height},
                 {"width", first.width},
                 {"pixels", packed_json(pack_u8(images.pixels.span(), {images.pixels.rows(), images.pixels.cols()}))},
                 {"labels", packed_json(pack_u8(byte_labels(images.labels), {images.labels.size()}))}};
  j["runs"] = ordered_json::array();
  for (const PageRun& run : data.runs) j["runs"].push_back(run_json(run, half));
  return j.dump(-1, ' ', true, ordered_json::error_handler_t::replace);
}

std::string_view web_file(std::string_view name) {
  const auto [files, count] = web_files();
  for (size_t i = 0; i < count; i++)
    if (files[i].name == name) return {reinterpret_cast<const char*>(files[i].bytes), files[i].size};
  throw Error({.code = ErrorCode::failure, .what = "the program was built without web/" + std::string(name)});
}

// The source of an inline element for a content security policy.
std::string hash_source(std::string_view content) {
  Sha256 hash;
  hash.update(as_bytes(content));
  const Sha256::Digest digest = hash.finish();
  return "'sha256-" + base64(std::as_bytes(std::span(digest))) + "'";
}

// The modules of web/ as one script: each is a function that is called once, after those that it imports, and
// gives what it exports to the object `glint`. Being inline the script has a hash, and no other is allowed.
class PageProgram {
 public:
  explicit PageProgram(const std::string& first) {
    add(first);
    if (text_.find("</script") != text_.npos || text_.find("<!--") != text_.npos)
      throw Error({.code = ErrorCode::failure, .what = "a module of web/ has a mark of HTML in it"});
  }
  const std::string& text() const { return text_; }

 private:
  void add(const std::string& name) {
    if (!added_.insert(name).second) return;
    std::string source(web_file(name + ".js")), body, exports;
    if (name == "gates") source = gates_javascript(source);
    std::istringstream in(source);
    for (std::string line; std::getline(in, line); body += line + "\n") {
      std::smatch found;
      if (std::regex_match(line, found, kImport)) {
        add(found[2]);
        line = "const " + found[1].str() + " = glint." + found[2].str() + ";";
      } else if (std::regex_search(line, found, kExport)) {
        exports += found[2].str() + ", ";
        line.erase(0, found[1].length());
      } else if (line.starts_with("import ") || line.starts_with("export ")) {
        throw Error({.code = ErrorCode::failure,
                     .what = "a line of web/" + name + ".js that cannot be put into a page: " + line});
      }
    }
    text_ += "glint." + name + " = (() => {\n" + body + "return { " + exports + "};\n})();\n";
  }

  const std::regex kImport{R"re(import (\{[\w, ]+\}) from "glint/(\w+)";)re"};
  const std::regex kExport{R"re(^(export )(?:async )?(?:function|class|const) (\w+))re"};
  std::set<std::string> added_;
  std::string text_ = "const glint = globalThis.glint = {};\n";
};

// Every {{name}} of the template by its content; what is filled in is not looked at again.
std::string fill(std::string_view html, const std::map<std::string_view, std::string_view>& places) {
  std::string out;
  size_t filled = 0;
  for (size_t at = 0; at < html.size();) {
    const size_t open = html.find("{{", at), close = html.find("}}", open);
    if (close == std::string_view::npos) {
      out += html.substr(at);
      break;
    }
    const auto place = places.find(html.substr(open + 2, close - open - 2));
    if (place == places.end())
      throw Error({.code = ErrorCode::failure, .what = "web/index.html has a place that nothing fills"});
    out += html.substr(at, open - at);
    out += place->second;
    filled++;
    at = close + 2;
  }
  if (filled != places.size())
    throw Error({.code = ErrorCode::failure, .what = "web/index.html lacks a place that must be filled"});
  return out;
}

}  // namespace

std::string page_html(const std::string& title, const std::string& data) {
  const std::string_view style = web_file("style.css");
  const PageProgram program("app");
  // No connect-src, so nothing can be sent anywhere; trusted types refuse text that would become markup.
  const std::string policy =
      "default-src 'none'; script-src " + hash_source(program.text()) + "; style-src " + hash_source(style) +
      "; img-src data: blob:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; "
      "trusted-types 'none'";
  // Inside <script> only "<" can end the text: it is written as an escape of JSON.
  std::string safe;
  safe.reserve(data.size() + 64);
  for (const char c : data) c == '<' ? safe += "\\u003c" : safe += c;

  return fill(web_file("index.html"), {{"policy", policy},
                                       {"title", xml_escape(title)},
                                       {"style", style},
                                       {"program", program.text()},
                                       {"data", safe}});
}

Page page_within(size_t max_bytes, const std::string& name, const std::string& hint,
                 const std::function<std::string(bool half)>& data_json, const std::function<bool()>& shrink) {
  const std::string title = name + " | glint explorer";
  Page page;
  do
    for (const bool half : {false, true}) {
      page = {.html = page_html(title, data_json(half)), .half = half};
      if (page.html.size() <= max_bytes) return page;
    }
  while (shrink && shrink());
  bad_argument(name, "the page would have " + std::to_string(page.html.size()) + " bytes, even with f16 weights",
               "at most " + std::to_string(max_bytes) + " bytes", hint);
}

Page make_page(const PageData& data, size_t max_bytes, const std::function<bool()>& shrink) {
  for (const PageRun& run : data.runs)
    if (run.height == 0 || run.width == 0)
      bad_argument(run.name, "the page shows pictures, and this model reads plain vectors", "a model of images");
  std::string name = data.runs.front().name;
  if (data.runs.size() > 1) name += " and " + data.runs[1].name;
  return page_within(
      max_bytes, name, "fewer `images` or `vectors`, or a larger `limit`",
      [&](bool half) { return data_json(data, half); }, shrink);
}

}  // namespace glint
