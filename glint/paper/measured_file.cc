#include "glint/paper/measured.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <type_traits>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/io/seal.h"
#include "glint/paper/reproduction_tables.h"

namespace glint {
namespace {

constexpr const char* kSchemaKey = "schema";
constexpr const char* kSchema = "glint-measured/3";

// Every struct is described once, by `describe(archive, value)`; a Writer makes JSON of it, a Reader the
// reverse.

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, size_t N>
struct IsArray<std::array<T, N>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

class Writer {
 public:
  explicit Writer(std::string path) : path_(std::move(path)) {}

  void operator()(const char* key, const auto& v) {
    json_[key] = json_of(v, path_ + (path_.empty() ? "" : ".") + key);
  }
  Json take() { return std::move(json_); }

  template <class T>
  static Json json_of(const T& v, const std::string& path) {
    if constexpr (std::is_same_v<T, double>) {
      if (!std::isfinite(v))
        throw Error({.code = ErrorCode::numeric,
                     .what = "a measured number is not finite",
                     .where = path,
                     .expected = "runs whose numbers are"});
      return v;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return v;
    } else if constexpr (IsVector<T>::value || IsArray<T>::value) {
      Json list = Json::array();
      for (const auto& e : v) list.push_back(json_of(e, path));
      return list;
    } else if constexpr (IsOptional<T>::value) {
      return v ? json_of(*v, path) : Json(nullptr);
    } else {
      Writer inner(path);
      describe(inner, const_cast<T&>(v));  // a Writer changes nothing
      return inner.take();
    }
  }

 private:
  std::string path_;
  Json json_ = Json::object();
};

class Reader {
 public:
  Reader(const Json& json, std::string file, std::string path)
      : json_(json), file_(std::move(file)), path_(std::move(path)) {
    if (!json.is_object()) refuse(path_, "an object");
  }

  void operator()(const char* key, auto& v) {
    const std::string path = path_ + (path_.empty() ? "" : ".") + key;
    const auto found = json_.find(key);
    if (found == json_.end()) refuse(path, "this field");
    seen_.insert(key);
    read(*found, path, v);
  }
  // Everything has been read.
  void check_end(std::set<std::string> others = {}) const {
    for (const auto& [key, value] : json_.items())
      if (!seen_.contains(key) && !others.contains(key))
        bad_file(file_ + ", " + (path_.empty() ? "" : path_ + ".") + key, "a field that glint does not know",
                 "a file that this version of glint wrote");
  }

 private:
  [[noreturn]] void refuse(const std::string& path, const std::string& expected) const {
    bad_file(file_ + ", " + path, "what was measured cannot be read", expected);
  }

  template <class T>
  void read(const Json& json, const std::string& path, T& v) const {
    if constexpr (std::is_same_v<T, bool>) {
      if (!json.is_boolean()) refuse(path, "true or false");
      v = json.get<bool>();
    } else if constexpr (std::is_same_v<T, double>) {
      // Far beyond anything measured, and within what numbers are written with.
      if (!json.is_number() || std::fabs(json.get<double>()) > 1e200) refuse(path, "a number");
      v = json.get<double>();
    } else if constexpr (std::is_integral_v<T>) {
      if (!json.is_number_unsigned() || json.get<uint64_t>() > std::numeric_limits<T>::max())
        refuse(path, "a whole number");
      v = json.get<T>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (!json.is_string()) refuse(path, "a text");
      v = json.get<std::string>();
    } else if constexpr (IsVector<T>::value) {
      if (!json.is_array()) refuse(path, "a list");
      v.clear();
      for (const Json& e : json) {
        const std::string place = path + "[" + std::to_string(v.size()) + "]";  // before it grows
        read(e, place, v.emplace_back());
      }
    } else if constexpr (IsArray<T>::value) {
      if (!json.is_array() || json.size() != v.size()) refuse(path, "a list of " + std::to_string(v.size()));
      for (size_t i = 0; i < v.size(); i++) read(json[i], path + "[" + std::to_string(i) + "]", v[i]);
    } else if constexpr (IsOptional<T>::value) {
      v.reset();
      if (!json.is_null()) read(json, path, v.emplace());
    } else {
      Reader inner(json, file_, path);
      describe(inner, v);
      inner.check_end();
    }
  }

  const Json& json_;
  std::string file_, path_;
  std::set<std::string> seen_;
};

void describe(auto& a, MeasuredRun& v) {
  a("path", v.path), a("group", v.group), a("command", v.command), a("state", v.state), a("seed", v.seed);
  a("steps", v.steps), a("seconds", v.seconds), a("version", v.version), a("cpu", v.cpu);
  a("precision", v.precision), a("data_checksum", v.data_checksum);
}

void describe(auto& a, CurvePoint& v) {
  a("step", v.step), a("loss", v.loss), a("metric", v.metric), a("train_loss", v.train_loss);
}

void describe(auto& a, RunCurve& v) {
  a("seed", v.seed), a("points", v.points), a("checkpoints", v.at), a("reached", v.reached);
}

void describe(auto& a, GateRuns& v) {
  a("gate", v.gate), a("runs", v.runs);
}

void describe(auto& a, TaskRuns& v) {
  a("data", v.data), a("text", v.text), a("train", v.train), a("test", v.test), a("steps", v.steps);
  a("epochs", v.epochs), a("smaller", v.smaller), a("norm", v.norm), a("gates", v.gates);
}

void describe(auto& a, SimilarityCurve& v) {
  a("data", v.data), a("form", v.form), a("space", v.space), a("measure", v.measure), a("mean", v.mean);
  a("sd", v.sd), a("min", v.min), a("control", v.control), a("pairs", v.pairs), a("pair_sd", v.pair_sd);
  a("control_sd", v.control_sd), a("control_pairs", v.control_pairs), a("control_text", v.control_text);
}

void describe(auto& a, SpectrumShare& v) {
  a("data", v.data), a("gate", v.gate), a("trained", v.trained), a("few", v.few), a("width", v.width),
      a("energy", v.energy);
  a("accuracy_few", v.accuracy_few), a("accuracy_all", v.accuracy_all), a("seeds", v.seeds);
  a("energy_by_seed", v.energy_by_seed), a("few_accuracy_by_seed", v.few_accuracy_by_seed);
  a("all_accuracy_by_seed", v.all_accuracy_by_seed);
}

void describe(auto& a, FormTrust& v) {
  a("data", v.data), a("gate", v.gate), a("form", v.form), a("agreement", v.agreement), a("r2", v.r2);
  a("correlation", v.correlation), a("accuracy_model", v.accuracy_model), a("accuracy_form", v.accuracy_form);
  a("accuracy_model_by_seed", v.accuracy_model_by_seed), a("accuracy_form_by_seed", v.accuracy_form_by_seed);
  a("truncation", v.truncation), a("eigenvectors_agreement", v.eigenvectors_agreement);
  a("eigenvectors_r2", v.eigenvectors_r2), a("r2_centred", v.r2_centred), a("r2_scaled", v.r2_scaled);
  a("even_share", v.even_share), a("untrained_agreement", v.untrained_agreement);
  a("untrained_r2", v.untrained_r2);
}

void describe(auto& a, TimedGate& v) {
  a("batch", v.batch), a("width", v.width), a("gate", v.gate), a("median_ms", v.median_ms);
  a("low_ms", v.low_ms), a("high_ms", v.high_ms), a("repeats", v.repeats);
}

void describe(auto& a, DepthPoint& v) {
  a("data", v.data), a("gate", v.gate), a("layers", v.layers), a("accuracy", v.accuracy), a("loss", v.loss);
  a("failed", v.failed), a("epochs", v.epochs), a("classes", v.classes), a("norm", v.norm);
}

void describe(auto& a, FormulaNumber& v) {
  a("name", v.name), a("value", v.value);
}

void describe(auto& a, FormulaCheck& v) {
  a("id", v.id), a("numbers", v.numbers);
}

void describe(auto& a, ClassMatch& v) {
  a("data", v.data), a("gate", v.gate), a("classes", v.classes), a("matched", v.matched);
  a("cosine", v.cosine), a("twins", v.twins);
}

void describe(auto& a, GateChoice& v) {
  a("data", v.data), a("lambda", v.lambda), a("c", v.c), a("loss", v.loss), a("accuracy", v.accuracy);
  a("agreement", v.agreement), a("r2", v.r2), a("matched", v.matched);
}

void describe(auto& a, LanguageLayer& v) {
  a("data", v.data), a("gate", v.gate), a("form", v.form), a("layer", v.layer), a("seeds", v.seeds);
  a("directions", v.directions), a("tokens", v.tokens), a("r2", v.r2), a("r2_low", v.r2_low);
  a("r2_high", v.r2_high), a("r2_worst", v.r2_worst), a("correlation", v.correlation);
  a("correlation_low", v.correlation_low), a("correlation_high", v.correlation_high);
}

void describe(auto& a, PictureSize& v) {
  a("height", v.height), a("width", v.width);
}

void describe(auto& a, SignedPicture& v) {
  a("value", v.value), a("pixels", v.pixels);
}

void describe(auto& a, ClassSpectrum& v) {
  a("index", v.index), a("name", v.name), a("r2", v.r2), a("values", v.values), a("groups", v.groups);
  a("positive", v.positive), a("negative", v.negative);
}

void describe(auto& a, ModelPictures& v) {
  a("data", v.data), a("size", v.size), a("r2", v.r2), a("agreement", v.agreement), a("classes", v.classes);
}

void describe(auto& a, ExplainedTerm& v) {
  a("rank", v.rank), a("eigenvalue", v.eigenvalue), a("projection", v.projection);
  a("contribution", v.contribution), a("pixels", v.pixels);
}

void describe(auto& a, ExplainedClass& v) {
  a("name", v.name), a("logit", v.logit), a("positive", v.positive), a("negative", v.negative);
  a("linear", v.linear), a("beside", v.beside), a("rest", v.rest);
  a("forward", v.forward), a("against", v.against), a("linear_pixels", v.linear_pixels);
}

// Its title and note are made by the report.
void describe(auto& a, Explanation& v) {
  a("size", v.size), a("input", v.input), a("class_names", v.class_names), a("logits", v.logits);
  a("probabilities", v.probabilities), a("classes", v.classes);
}

void describe(auto& a, ExplainedImage& v) {
  a("data", v.data), a("run", v.run), a("index", v.index), a("constant", v.constant), a("r2", v.r2);
  a("agreement", v.agreement), a("explanation", v.explanation);
}

void describe(auto& a, StorySample& v) {
  a("gate", v.gate), a("text", v.text);
}

// TimingNumbers are made from the times.
void describe(auto& a, Measured& v) {
  a("what", v.what), a("quick", v.quick), a("seeds", v.seeds), a("images", v.images), a("stories", v.stories);
  a("out", v.out), a("command", v.command), a("version", v.version), a("cpu", v.cpu), a("linalg", v.linalg),
      a("date", v.date);
  a("notices", v.notices), a("runs", v.runs), a("tasks", v.tasks), a("similarity", v.similarity);
  a("spectra", v.spectra), a("trust", v.trust), a("times", v.times), a("depth", v.depth);
  a("formulas", v.formulas), a("matches", v.matches), a("choices", v.choices), a("language", v.language);
  a("pictures", v.pictures), a("explained", v.explained), a("samples", v.samples);
  a("small_spectra", v.small_spectra), a("small_depth", v.small_depth);
}

}  // namespace

void write_measured(FileSystem& files, const std::string& path, const Measured& measured) {
  Json json = Writer::json_of(measured, "");
  json[kSchemaKey] = kSchema;
  write_atomic(files, path, sealed_text(std::move(json)) + "\n");
}

Measured read_measured(const std::string& path) {
  std::string text = read_file(path);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  const Json json = parse_json(text, path);
  const auto refuse = [&](const std::string& what, const std::string& expected) {
    bad_file(path, what, expected, "the same reproduction without `judge_only` measures again");
  };
  if (!json.is_object() || !is_sealed(text, json))
    refuse("the file is damaged: its checksum is not that of its contents", "a file as glint wrote it");
  if (json.value(kSchemaKey, Json()) != kSchema) refuse("not a file of measured numbers", kSchema);
  Reader reader(json, path, "");
  Measured measured;
  describe(reader, measured);
  reader.check_end({kSchemaKey, kSealKey});
  check_measured(measured, path);
  if (!measured.times.empty()) measured.timing = timing_numbers(measured.times);
  return measured;
}

}  // namespace glint
