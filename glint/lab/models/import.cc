#include "glint/lab/models/import.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "glint/base/error.h"
#include "glint/base/text.h"
#include "glint/io/safetensors.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/work/result_files.h"
#include "glint/model/model_file.h"

namespace glint {
namespace {

// Where a tensor belongs: the embedding, a layer, or the head; of a layer both halves or one.
enum class Place { embed, both, left, right, head };
struct Found {
  Place place;
  size_t layer = 0;
  bool bias = false;
};

constexpr std::string_view kLeftWords[] = {"left", "l",         "w_l", "w_left", "wl",
                                           "gate", "gate_proj", "w1",  "lin_l",  "linear_l"};
constexpr std::string_view kRightWords[] = {"right", "r",       "w_r", "w_right", "wr",
                                            "up",    "up_proj", "w3",  "lin_r",   "linear_r"};
constexpr std::string_view kEmbedWords[] = {"embed", "embedding", "input", "in_proj", "fc_in", "stem", "encoder"};
constexpr std::string_view kDownWords[] = {"down", "down_proj", "w2", "proj", "projection", "w_p", "p"};
constexpr std::string_view kHeadWords[] = {"head", "unembed", "output", "out_proj", "fc_out", "classifier", "decoder"};

bool among(std::span<const std::string_view> words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_down(const std::string& name) {
  return std::ranges::any_of(split(name, '.'), [](const std::string& w) { return among(kDownWords, w); });
}

// "model.blocks.0.left.weight": what comes before the first word that says something is passed over.
std::optional<Found> place_of(const std::string& name) {
  Found f{.place = Place::both};
  bool embed = false, head = false, left = false, right = false, numbered = false;
  for (const std::string& w : split(name, '.')) {
    f.bias |= w == "bias";
    embed |= among(kEmbedWords, w), head |= among(kHeadWords, w);
    left |= among(kLeftWords, w), right |= among(kRightWords, w);
    if (!w.empty() && w.size() <= 4 && w.find_first_not_of("0123456789") == w.npos)
      f.layer = std::stoul(w), numbered = true;
  }
  if (left && right) return {};
  if (left || right)
    f.place = left ? Place::left : Place::right;
  else if (embed != head)
    f.place = embed ? Place::embed : Place::head;
  else if (!numbered || embed)
    return {};
  return f;
}

class Importer {
 public:
  Importer(const ImportRequest& request, const SafetensorsView& file) : q_(request), file_(file) {
    for (const TensorInfo& t : file.tensors()) {
      const std::optional<Found> f = place_of(t.name);
      if ((!f || (f->place != Place::embed && f->place != Place::head)) && is_down(t.name))
        bad_file(file.where() + ", " + t.name, "a layer has a projection back down",
                      "layers without one: what comes next reads gate(L x) * (R x) itself");
      if (!f)
        bad_file(file.where() + ", " + t.name, "a tensor has no place in a classifier of GLU layers",
                      "an embedding, layers with a left and a right half, a head");
      if (!places_.emplace(std::tuple(f->place, f->layer, f->bias), &t).second)
        bad_file(file.where() + ", " + t.name, "two tensors have the same place",
                      "one embedding, one head, one pair of halves per layer");
      if (f->place != Place::embed && f->place != Place::head) numbers_[f->layer] = 0;
    }
    size_t next = 0;
    for (auto& [number, layer] : numbers_) {
      layer = next++;
      if (number != numbers_.begin()->first + layer)
        bad_file(file.where(), "there is layer " + std::to_string(number) + ", but not the one before it",
                      "layers that are numbered one after the other");
    }
    sizes();
  }

  const ClassifierConfig& config() const { return config_; }
  std::vector<ImportResult::Tensor> tensors() const { return moved_; }

  Matrix<float> weights() {
    const ClassifierParams params = classifier_params(config_);
    Matrix<float> out(1, params.table.floats());
    const auto put = [&](Place place, size_t number, const LayerParams& to, size_t first, size_t rows) {
      const ParamSpec& spec = params.table[to.weight];
      MatrixView<float> w = params.table.view(out.span(), to.weight).row_range(first, rows);
      copy(at(place, number, false), spec.name, w);
      if (!has(place, number, true)) return;  // where others have one, it is 0
      MatrixView<float> b = params.table.view(out.span(), to.bias).col_range(first, rows);
      copy(at(place, number, true), params.table[to.bias].name, b);
    };
    put(Place::embed, 0, params.embed, 0, config_.d_model);
    for (const auto& [number, layer] : numbers_) {
      const LayerParams& to = params.blocks[layer];
      const size_t h = config_.hidden();
      if (has(Place::both, number)) {
        put(Place::both, number, to, 0, 2 * h);
      } else {
        put(Place::left, number, to, 0, h);
        put(Place::right, number, to, h, h);
      }
    }
    put(Place::head, 0, params.head, 0, config_.classes);
    for (const auto& [key, tensor] : places_)
      if (std::ranges::find(moved_, tensor->name, &ImportResult::Tensor::from) == moved_.end())
        bad_file(file_.where() + ", " + tensor->name, "a tensor has no place beside the others",
                      "a layer as one tensor, or as two halves, each with its own bias");
    return out;
  }

 private:
  using Key = std::tuple<Place, size_t, bool>;
  bool has(Place place, size_t number, bool bias = false) const { return places_.contains({place, number, bias}); }
  const TensorInfo& at(Place place, size_t number, bool bias) const {
    const auto it = places_.find({place, number, bias});
    if (it != places_.end()) return *it->second;
    constexpr const char* kNames[] = {"embedding", "layer", "left half", "right half", "head"};
    bad_file(file_.where(),
                  "there is no " + std::string(bias ? "bias of the " : "") + kNames[static_cast<int>(place)] +
                      (place == Place::embed || place == Place::head ? "" : " of layer " + std::to_string(number)),
                  "names such as embed.weight, blocks.0.left.weight, blocks.0.right.weight, head.weight");
  }
  std::pair<size_t, size_t> shape(Place place, size_t number = 0) const {
    const TensorInfo& t = at(place, number, false);
    if (t.shape.size() != 2 || t.shape[0] == 0 || t.shape[1] == 0)
      bad_file(file_.where() + ", " + t.name, "a tensor has the shape " + show_shape(t.shape), "a matrix");
    return {t.shape[0], t.shape[1]};
  }

  // The width is what the embedding and the first layer have in common; the rest follows.
  void sizes() {
    if (numbers_.empty()) at(Place::both, 0, false);  // throws
    const size_t first = numbers_.begin()->first;
    const auto [e0, e1] = shape(Place::embed);
    const bool fused = has(Place::both, first);
    const auto [l0, l1] = shape(fused ? Place::both : Place::left, first);
    const size_t pixels = q_.height * q_.width;
    if (pixels > 0 && e0 != pixels && e1 != pixels)
      bad_file(file_.where() + ", " + at(Place::embed, 0, false).name,
                    "the embedding reads " + std::to_string(e1) + " numbers",
                    std::to_string(pixels) + ", the pixels of an image");
    // Weights [out, in], or all of them the other way round; where the picture does not tell, the layer does.
    if (pixels > 0 && e0 != e1)
      transposed_ = e0 == pixels;
    else
      transposed_ = e0 != l1 && (e1 == l0 || e1 == l1) && e1 != e0;
    config_.inputs = transposed_ ? e0 : e1;
    config_.d_model = transposed_ ? e1 : e0;
    const size_t out = l0 == config_.d_model && l1 == config_.d_model ? l0 : (l0 == config_.d_model ? l1 : l0);
    if (l0 != config_.d_model && l1 != config_.d_model)
      bad_file(file_.where(), "the first layer and the embedding have no width in common",
                    "a layer that reads " + std::to_string(config_.d_model) + " numbers");
    if (fused && out % 2 != 0)
      bad_file(file_.where(), "a layer has " + std::to_string(out) + " outputs", "two halves of one size");
    config_.d_hidden = fused ? out / 2 : out;
    const auto [h0, h1] = shape(Place::head);
    if (h0 != config_.d_hidden && h1 != config_.d_hidden)
      bad_file(file_.where() + ", " + at(Place::head, 0, false).name,
                    "the head has the shape " + std::to_string(h0) + " x " + std::to_string(h1),
                    "one side of " + std::to_string(config_.d_hidden) + ", the width of the last layer");
    const bool head_turned = h0 == h1 ? transposed_ : h0 == config_.d_hidden;
    config_.classes = head_turned ? h1 : h0;
    config_.layers = numbers_.size();
    config_.gate = {.kind = parse_gate(q_.gate), .params = q_.gate_params};
    config_.residual = q_.residual;
    config_.norm = q_.rms_norm ? Norm::rms : Norm::none;
    for (const auto& [key, tensor] : places_) config_.bias |= std::get<2>(key);
    check(config_);
  }

  // As it is or transposed, whichever fits; a square one as the embedding is.
  void copy(const TensorInfo& t, const std::string& to, MatrixView<float> out) {
    if (t.shape.size() == 1) {
      const FloatMatrix v = file_.matrix(t.name, std::span<const size_t>(t.shape));
      if (out.rows() != 1 || v.view.cols() != out.cols())
        bad_file(file_.where() + ", " + t.name, "a tensor has the shape " + show_shape(t.shape),
                      std::to_string(out.cols()) + " numbers");
      std::ranges::copy(v.view.row(0), out.row_ptr(0));
      check_finite(t, out);
      moved_.push_back({t.name, to, false});
      return;
    }
    const FloatMatrix m = file_.matrix(t.name);
    const bool straight = m.view.rows() == out.rows() && m.view.cols() == out.cols(),
               turned = m.view.rows() == out.cols() && m.view.cols() == out.rows();
    if (!straight && !turned)
      bad_file(file_.where() + ", " + t.name, "a tensor has the shape " + show_shape(t.shape),
                    std::to_string(out.rows()) + " x " + std::to_string(out.cols()) + ", or transposed");
    const bool turn = turned && (!straight || transposed_);
    for (size_t i = 0; i < out.rows(); i++)
      for (size_t j = 0; j < out.cols(); j++) out(i, j) = turn ? m.view(j, i) : m.view(i, j);
    check_finite(t, out);
    moved_.push_back({t.name, to, turn});
  }

  void check_finite(const TensorInfo& t, ConstMatrixView<float> values) const {
    for (size_t i = 0; i < values.rows(); i++)
      if (!std::ranges::all_of(values.row(i), [](float v) { return std::isfinite(v); }))
        bad_file(file_.where() + ", " + t.name, "a weight is not finite", "finite numbers");
  }

  const ImportRequest& q_;
  const SafetensorsView& file_;
  std::map<Key, const TensorInfo*> places_;
  std::map<size_t, size_t> numbers_;  // of layers in the file, from 0 on here
  bool transposed_ = false;
  ClassifierConfig config_;
  std::vector<ImportResult::Tensor> moved_;
};

}  // namespace

ImportResult import_classifier(const Engine& engine, const ImportRequest& q) {
  if (exists(q.out))
    bad_argument("out", "there is something at " + q.out + " already", "a folder that is not there yet");
  const SafetensorsFile file(q.weights);
  Importer importer(q, file.view());
  ImageModel model;
  model.config = importer.config();
  model.data = q.data;
  model.height = q.height, model.width = q.width;
  model.class_names = q.class_names;
  if (model.class_names.empty())
    for (size_t c = 0; c < model.config.classes; c++) model.class_names.push_back(std::to_string(c));
  if (model.class_names.size() != model.config.classes)
    bad_argument(
        "classes",
        std::to_string(model.class_names.size()) + " names for " + std::to_string(model.config.classes) + " classes",
        "one for each class");
  model.weights = importer.weights();
  make_directory(q.out);
  save_config(engine.files(), q.out, model);
  save_weights(engine.files(), q.out + "/model.safetensors", classifier_params(model.config).table,
               model.weights.span());
  const auto run = open_image_run(engine, {.run = q.out});  // it opens, and its numbers are finite
  return {q.out, run->model().config, importer.tensors(), run->text()};
}

OrderedJson to_json(const ImportResult& r) {
  OrderedJson j = {{"schema", "glint-import/1"}, {"run", r.run}, {"model", OrderedJson(config_to_json(r.config))}};
  j["tensors"] = OrderedJson::array();
  for (const ImportResult::Tensor& t : r.tensors)
    j["tensors"].push_back({{"from", t.from}, {"to", t.to}, {"transposed", t.transposed}});
  return j;
}

}  // namespace glint
