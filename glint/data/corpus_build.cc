#include "glint/data/corpus_build.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <optional>

#include "glint/base/error.h"
#include "glint/base/rng.h"
#include "glint/base/utf8.h"
#include "glint/data/build_files.h"
#include "glint/data/corpus.h"
#include "glint/data/tales.h"
#include "glint/data/text_data.h"
#include "glint/io/seal.h"

namespace glint {
namespace {

namespace fs = std::filesystem;
using Stage = BuildProgress::Stage;

// Stories that are read, encoded and written together; a tile of them is one thread's.
constexpr size_t kBlockStories = 1024, kBlockBytes = size_t{8} << 20, kTileStories = 16;
// What the sample may hold, and how much of one story it takes.
constexpr size_t kSampleBytes = size_t{128} << 20, kSampleStoryBytes = size_t{64} << 10;
// Longer stories count as that long in the median.
constexpr size_t kLongest = size_t{1} << 16;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string list(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& p : paths) text += (text.empty() ? "" : ", ") + (p == "-" ? "stdin" : p);
  return text;
}

[[noreturn]] void refuse_empty(const std::string& what, const std::vector<std::string>& sources) {
  bad_file(list(sources), what, "text, with a line " + std::string(kEndOfText) + " between stories");
}

// The stories of several files one after the other, or tales.
class Stories {
 public:
  Stories(const std::vector<std::string>& paths) : paths_(paths) {
    for (const std::string& p : paths) total_ += repeatable_size(p);
  }
  Stories(uint64_t seed, uint64_t tales) : total_(tales), seed_(seed), tales_(true) {}

  bool next(std::string& story) {
    if (tales_) {
      if (done_ == total_) return false;
      story = tale(seed_, done_++);
      counts_.stories++;
      counts_.bytes += story.size();
      return true;
    }
    for (;;) {
      if (!reader_) {
        if (file_ == paths_.size()) return false;
        reader_.emplace(paths_[file_++]);
      }
      if (reader_->next(story)) return true;
      counts_ += reader_->counts();
      done_ += reader_->consumed();
      reader_.reset();
    }
  }
  StoryCounts counts() const {
    StoryCounts all = counts_;
    if (reader_) all += reader_->counts();
    return all;
  }
  uint64_t done() const { return done_ + (reader_ ? reader_->consumed() : 0); }
  uint64_t total() const { return total_; }

 private:
  std::vector<std::string> paths_;
  std::optional<StoryReader> reader_;
  size_t file_ = 0;
  StoryCounts counts_;
  uint64_t done_ = 0, total_ = 0, seed_ = 0;
  bool tales_ = false;
};

// Story `i` of the texts is one of the validation stories: evenly spread, `share` of them.
bool is_valid_story(uint64_t i, double share) {
  return std::floor(static_cast<double>(i + 1) * share) > std::floor(static_cast<double>(i) * share);
}

class Builder {
 public:
  Builder(FileSystem& files, ThreadPool& pool, CorpusBuild build)
      : files_(files), pool_(pool), build_(std::move(build)) {}

  CorpusBuildResult run();

 private:
  Stories open_train() const { return build_.tales ? Stories(build_.seed, build_.tales) : Stories(build_.texts); }
  bool splits() const { return build_.valid_texts.empty(); }
  std::string path(const char* file) const { return (fs::path(build_.out) / file).string(); }
  void report(const BuildProgress& progress) const;
  void report(Stage stage, const Stories& stories, uint64_t done_before = 0, uint64_t total = 0) const;
  void check_folder() const;
  void check_parts() const;
  std::vector<std::string> draw_sample();
  void encode(Stories& stories, CorpusWriter& train, CorpusPart& train_part, CorpusWriter* valid,
              CorpusPart* valid_part, uint64_t done_before, uint64_t total);
  void write_info() const;

  FileSystem& files_;
  ThreadPool& pool_;
  CorpusBuild build_;
  CorpusBuildResult result_;
  std::vector<std::string> sources_, valid_sources_;  // as they were given
};

void Builder::report(const BuildProgress& progress) const {
  if (build_.report && !build_.report(progress))
    throw Error({.code = ErrorCode::interrupted, .what = "interrupted; no corpus was written", .where = build_.out});
}

void Builder::report(Stage stage, const Stories& stories, uint64_t done_before, uint64_t total) const {
  const StoryCounts c = stories.counts();
  report({stage, c.stories, c.bytes, done_before + stories.done(), total ? total : stories.total()});
}

void Builder::check_folder() const {
  if (build_.out == kTales)
    bad_argument("`out=tales`", "a corpus cannot be called tales",
                 "another name: `data=tales` means the built-in tales", "`out=my-tales`");
  std::error_code ignored;
  for (const char* file : {"run.json", "config.json"})
    if (fs::exists(path(file), ignored))
      bad_argument(path(file), "the folder holds a model, not a corpus",
                   "a new folder, or with `force` one that holds a corpus");
  if (!build_.force && has_corpus_files(build_.out))
    bad_argument("`out=" + build_.out + "`", "there is a corpus already", "a new folder", "`force` replaces it");
}

void Builder::check_parts() const {
  if (result_.train.stories == 0) refuse_empty("there are no stories in the text", sources_);
  if (result_.valid.stories > 0) return;
  if (!splits()) refuse_empty("there are no stories in the text for validation", valid_sources_);
  bad_file(build_.tales ? "tales" : list(sources_),
           "no story is left for validation: there are only " + std::to_string(result_.train.stories),
           "at least one train and one validation story", "a larger `valid_share`, or `valid=FILE`");
}

// The stories with the lowest keys; a key is a function of (seed, index), so every story has the same chance.
std::vector<std::string> Builder::draw_sample() {
  struct Drawn {
    uint32_t key;
    uint64_t index;
    std::string text;
    bool operator<(const Drawn& o) const { return std::pair(key, index) < std::pair(o.key, o.index); }
  };
  const Rng rng(build_.seed, Stream::sample);
  std::vector<Drawn> heap;
  size_t bytes = 0;
  Stories stories = open_train();
  std::string story;
  for (uint64_t i = 0; stories.next(story); i++) {
    if (i % kBlockStories == 0) report(Stage::sample, stories);
    if (splits() && is_valid_story(i, build_.valid_share)) continue;
    Drawn d{rng.bits(i), i, {}};
    if (heap.size() == build_.sample && !(d < heap.front())) continue;
    d.text = story.substr(0, kSampleStoryBytes);
    if (d.text.size() < story.size()) repair_utf8(d.text);  // the cut may be inside a character
    bytes += d.text.size();
    heap.push_back(std::move(d));
    std::push_heap(heap.begin(), heap.end());
    while (heap.size() > build_.sample || (bytes > kSampleBytes && heap.size() > 1)) {
      std::pop_heap(heap.begin(), heap.end());
      bytes -= heap.back().text.size();
      heap.pop_back();
    }
  }
  report(Stage::sample, stories);
  std::sort(heap.begin(), heap.end(), [](const Drawn& a, const Drawn& b) { return a.index < b.index; });
  std::vector<std::string> texts;
  for (Drawn& d : heap) texts.push_back(std::move(d.text));
  return texts;
}

// Lengths of stories, counted exactly up to kLongest.
class Lengths {
 public:
  void add(size_t n) { count_[std::min(n, kLongest)]++, total_++; }
  size_t quantile(double q) const {
    const uint64_t rank = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(q * static_cast<double>(total_))));
    uint64_t seen = 0;
    for (size_t n = 0; n < count_.size(); n++)
      if ((seen += count_[n]) >= rank) return n;
    return 0;
  }

 private:
  std::vector<uint64_t> count_ = std::vector<uint64_t>(kLongest + 1);
  uint64_t total_ = 0;
};

void Builder::encode(Stories& stories, CorpusWriter& train, CorpusPart& train_part, CorpusWriter* valid,
                     CorpusPart* valid_part, uint64_t done_before, uint64_t total) {
  const Tokenizer& tokenizer = result_.tokenizer;
  std::vector<uint8_t> bytes(tokenizer.size());
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = tokenizer.is_byte(static_cast<TokenId>(i));
  std::vector<TextEncoder> encoders;
  for (size_t w = 0; w < pool_.size(); w++) encoders.emplace_back(tokenizer);
  std::array<Lengths, 2> lengths;
  std::vector<std::string> block(kBlockStories);
  std::vector<std::vector<TokenId>> ids(kBlockStories);
  uint64_t index = 0;
  for (bool more = true; more;) {
    size_t n = 0;
    for (size_t held = 0; n < kBlockStories && held < kBlockBytes; n++) {
      more = stories.next(block[n]);
      if (!more) break;
      held += block[n].size();
    }
    pool_.for_tiles((n + kTileStories - 1) / kTileStories, [&](size_t tile, size_t worker) {
      for (size_t i = tile * kTileStories; i < std::min(n, (tile + 1) * kTileStories); i++) {
        ids[i].clear();
        encoders[worker].encode(block[i], ids[i]);
      }
    });
    for (size_t i = 0; i < n; i++, index++) {
      const bool to_valid = valid && is_valid_story(index, build_.valid_share);
      CorpusPart& part = to_valid ? *valid_part : train_part;
      if (ids[i].empty()) {  // nothing but characters that the tokenizer drops
        part.counts.empty++;
        continue;
      }
      (to_valid ? *valid : train).add(ids[i]);
      lengths[to_valid].add(ids[i].size());
      part.counts.stories++;
      part.counts.bytes += block[i].size();
      part.cut += ids[i].size() + 1 > kSummaryContext;
      for (const TokenId id : ids[i]) part.unknown += id == tokenizer.unknown(), part.byte_pieces += bytes[id];
    }
    report(Stage::encode, stories, done_before, total);
  }
  const StoryCounts read = stories.counts();
  train_part.counts.empty += read.empty;
  train_part.counts.replaced += read.replaced;
  const auto describe = [](CorpusPart& part, const CorpusWriter& writer, const Lengths& l) {
    part.stories = writer.stories(), part.tokens = writer.tokens();
    part.median = l.quantile(0.5), part.p95 = l.quantile(0.95);
  };
  describe(train_part, train, lengths[0]);
  if (valid) describe(*valid_part, *valid, lengths[1]);
}

Json part_json(const CorpusPart& part, const char* file) {
  return {{"file", file},
          {"stories", part.stories},
          {"tokens", part.tokens},
          {"bytes", part.counts.bytes},
          {"unknown", part.unknown},
          {"byte_pieces", part.byte_pieces},
          {"empty_skipped", part.counts.empty},
          {"invalid_utf8_replaced", part.counts.replaced},
          {"tokens_per_story_median", part.median},
          {"tokens_per_story_p95", part.p95},
          {"checksum", part.checksum}};
}

void Builder::write_info() const {
  const Tokenizer& t = result_.tokenizer;
  Json j = {{"format", "glint corpus"}, {"version", kCorpusInfoVersion}};
  j["tokenizer"] = {{"file", kTokenizerFile},
                    {"sha256", t.sha256()},
                    {"vocab", t.size()},
                    {"kind", name(t.kind())},
                    {"byte_fallback", t.byte_fallback()},
                    {"end", t.end()}};
  if (result_.trained) j["tokenizer"]["trained_on_stories"] = result_.sampled;
  j["train"] = part_json(result_.train, kTrainFile);
  j["valid"] = part_json(result_.valid, kValidFile);
  j["options"] = {{"seed", build_.seed}, {"sample", build_.sample}};
  if (splits()) j["options"]["valid_share"] = build_.valid_share;
  if (build_.tales) j["options"]["tales"] = build_.tales;
  j["sources"] = sources_;
  j["valid_sources"] = valid_sources_;
  write_atomic(files_, path(kCorpusInfoFile), sealed_text(j, 2) + "\n");
}

CorpusBuildResult Builder::run() {
  check_folder();
  std::vector<std::string> inputs = build_.texts;
  inputs.insert(inputs.end(), build_.valid_texts.begin(), build_.valid_texts.end());
  check_readable(inputs);
  if (!build_.tokenizer.empty()) result_.tokenizer = Tokenizer::read(build_.tokenizer);
  NewFolder folder(build_.out);
  remove_leftovers(files_, build_.out, [](const std::string& name) {
    return name.starts_with(kTrainFile) || name.starts_with(kValidFile) || name == kTokenizerFile ||
           name == kCorpusInfoFile || name == kSpooled;
  });
  sources_ = build_.texts, valid_sources_ = build_.valid_texts;
  Spool spool(files_, build_.out);
  for (std::vector<std::string>* paths : {&build_.texts, &build_.valid_texts})
    spool.take(*paths, [&](uint64_t bytes) { report({Stage::copy, 0, bytes, bytes, 0}); });
  if (build_.tokenizer.empty()) {
    const std::vector<std::string> sample = draw_sample();
    if (sample.empty()) refuse_empty("there are no stories in the text", sources_);
    const double start = seconds();
    report({Stage::train, sample.size(), 0, 0, 0});
    size_t next = 0;
    result_.tokenizer = Tokenizer::train(
        [&](std::string& text) {
          if (next == sample.size()) return false;
          text = sample[next++];
          return true;
        },
        build_.training);
    result_.trained = true;
    result_.sampled = sample.size();
    result_.train_seconds = seconds() - start;
  }

  const Tokenizer& tokenizer = result_.tokenizer;
  const double start = seconds();
  CorpusWriter train(files_, path(kTrainFile), tokenizer.size(), tokenizer.sha256());
  CorpusWriter valid(files_, path(kValidFile), tokenizer.size(), tokenizer.sha256());
  Stories stories = open_train();
  Stories valid_stories(build_.valid_texts);
  const uint64_t total = stories.total() + valid_stories.total();
  encode(stories, train, result_.train, splits() ? &valid : nullptr, &result_.valid, 0, total);
  if (!splits()) encode(valid_stories, valid, result_.valid, nullptr, nullptr, stories.done(), total);
  check_parts();
  // From here on the folder changes: without corpus.json until all is in place.
  files_.remove(path(kCorpusInfoFile));
  write_atomic(files_, path(kTokenizerFile), tokenizer.model());
  result_.train.checksum = train.finish();
  result_.valid.checksum = valid.finish();
  write_info();
  folder.keep();
  result_.encode_seconds = seconds() - start;
  return std::move(result_);
}

}  // namespace

CorpusBuildResult build_corpus(FileSystem& files, ThreadPool& pool, const CorpusBuild& build) {
  return Builder(files, pool, build).run();
}

}  // namespace glint
