// What was smaller than the paper's experiment, and the data that stand in for the paper's.
#include "glint/paper/verdict_rules.h"
#include "glint/paper/verdicts.h"

namespace glint {
namespace {

constexpr std::string_view kImages[] = {"mnist", "fashion-mnist"};

std::string few_seeds(size_t n) { return n < kEnoughSeeds ? std::to_string(n) + (n == 1 ? " seed" : " seeds") : ""; }

std::string small_task(const Measured& m, std::string_view data) {
  if (!complete(m, data)) return text(data_title(data)) + " was not run with all five gates";
  const TaskRuns& task = *m.task(data);
  std::string all = task.smaller;
  if (const std::string few = few_seeds(seeds(task)); !few.empty()) join(all, few, ", ");
  return all.empty() ? "" : text(data_title(data)) + ": " + all;
}

// Claims about both sets need both.
std::string missing_set(const auto& rows) {
  std::string all;
  for (const std::string_view data : kImages)
    if (std::ranges::none_of(rows, [&](const auto& r) { return r.data == data; }))
      join(all, text(data_title(data)) + " was not run");
  return all;
}

std::string first_of(const std::string& a, const std::string& b) { return a.empty() ? b : a; }

// The models of section 4.1.
std::string small_models(const Measured& m) {
  size_t least = SIZE_MAX;
  for (const SpectrumShare& s : m.spectra)
    if (s.trained && s.seeds > 0) least = std::min(least, s.seeds);
  std::string all = m.small_spectra;
  if (const std::string few = few_seeds(least); !few.empty()) join(all, few, ", ");
  return all;
}

}  // namespace

Scope paper_scope() { return {{"mnist", "fashion-mnist"}, "mnist", "fashion-mnist", "stories"}; }

Scope scope_of(const Measured& m) {
  Scope s = paper_scope();
  if (!m.images.empty()) {
    const auto has = [&](const std::string& data) { return std::ranges::find(m.images, data) != m.images.end(); };
    s.images = m.images;
    if (!has(s.mnist)) s.mnist = m.images.front();
    if (!has(s.fashion)) s.fashion = m.images.back();
  }
  if (!m.stories.empty()) s.stories = m.stories;
  return s;
}

std::string words(const Scope& scope, About about) {
  const auto title = [](const std::string& data) { return text(data_title(data)); };
  switch (about) {
    case About::mnist:
      return title(scope.mnist);
    case About::fashion:
      return title(scope.fashion);
    case About::stories:
      return scope.stories == "stories" ? "these stories" : title(scope.stories);
    case About::timing:
      return "these shapes";
    case About::images:
      break;
  }
  std::string all;
  for (const std::string& data : scope.images) join(all, title(data), " and ");
  return all;
}

bool complete(const Measured& m, std::string_view data) {
  const TaskRuns* task = m.task(data);
  if (!task) return false;
  return std::all_of(kPaperGates.begin(), kPaperGates.end(),
                     [&](std::string_view g) { return task->find(g) && !task->find(g)->runs.empty(); });
}

size_t seeds(const TaskRuns& task) {
  size_t n = task.gates.empty() ? 0 : task.gates.front().runs.size();
  for (const GateRuns& g : task.gates) n = std::min(n, g.runs.size());
  return n;
}

std::string interval_text(const PairedDifference& d, int decimals) {
  const std::string difference = (d.mean < 0 ? "" : "+") + number(d.mean, decimals);
  return d.n < 2 ? difference : difference + " (" + number(d.low, decimals) + " to " + number(d.high, decimals) + ")";
}

std::string small_images(const Measured& m) {
  std::string all;
  for (const std::string_view data : kImages)
    if (const std::string s = small_task(m, data); !s.empty()) join(all, s);
  return all;
}
std::string small_mnist(const Measured& m) { return small_task(m, "mnist"); }
std::string small_fashion(const Measured& m) { return small_task(m, "fashion-mnist"); }
std::string small_stories(const Measured& m) {
  if (!m.task("stories") && m.task("tales")) return "trained on the built-in tales, not on TinyStories";
  return small_task(m, "stories");
}
std::string small_spectra(const Measured& m) { return small_models(m); }
std::string small_similarity(const Measured& m) { return first_of(small_models(m), missing_set(m.similarity)); }
std::string small_matches(const Measured& m) { return first_of(small_models(m), missing_set(m.matches)); }
std::string small_trust(const Measured& m) { return first_of(small_models(m), missing_set(m.trust)); }

std::string small_choices(const Measured& m) {
  size_t least = SIZE_MAX;
  for (const GateChoice& c : m.choices) least = std::min(least, c.loss.size());
  return first_of(first_of(small_models(m), missing_set(m.choices)), few_seeds(least));
}

std::string small_depth(const Measured& m) {
  size_t least = SIZE_MAX;
  for (const DepthPoint& p : m.depth)
    if (p.norm == "none") least = std::min(least, p.accuracy.size() + p.failed);
  return first_of(first_of(m.small_depth, missing_set(m.depth)), few_seeds(least));
}

std::string small_norm(const Measured& m) {
  std::string all;
  for (const std::string_view data : kImages) {
    const TaskRuns* task = m.task(data, "rms");
    const std::string why = !task                    ? "was not run with a norm"
                            : !task->smaller.empty() ? task->smaller
                                                     : few_seeds(seeds(*task));
    if (!why.empty()) join(all, text(data_title(data)) + (task ? ": " : " ") + why);
  }
  return all;
}

std::string small_timing(const Measured& m) {
  const size_t all = paper_timing().size();
  if (!m.timing || m.timing->shapes >= all) return "";
  return std::to_string(m.timing->shapes) + " of the paper's " + std::to_string(all) + " shapes";
}

// A claim of our own: any corpus of stories will do, but not the tales.
std::string small_language(const Measured& m) {
  if (m.language.empty()) return "no language model was read";
  size_t least = SIZE_MAX;
  for (const LanguageLayer& l : m.language) {
    if (l.data != "stories") return "trained on the built-in tales, not on stories";
    if (l.gate == "sqs" || l.gate == "silu") least = std::min(least, l.seeds);
  }
  return first_of(m.quick ? "few epochs of a small model" : "", few_seeds(least));
}

}  // namespace glint
