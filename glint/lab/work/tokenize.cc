#include "glint/lab/work/tokenize.h"

#include <nlohmann/json.hpp>

#include "glint/base/error.h"

namespace glint {
namespace {

using Stage = BuildProgress::Stage;

// Bytes where it is known how many there are, and of what is copied; stories otherwise.
void tell(const Engine& engine, const BuildProgress& p) {
  const bool copied = p.stage == Stage::copy, bytes = copied || p.total > 0;
  engine.progress({.label = p.stage == Stage::encode ? "encoding"
                            : copied                 ? "copying"
                                                     : "reading",
                   .done = copied  ? p.bytes
                           : bytes ? p.done
                                   : p.stories,
                   .total = p.total,
                   .unit = bytes ? "bytes" : "stories",
                   .detail = copied ? "" : std::to_string(p.stories) + " stories"});
}

OrderedJson part_json(const CorpusPart& p) {
  return {{"stories", p.stories},
          {"tokens", p.tokens},
          {"bytes", p.counts.bytes},
          {"tokens_per_story_median", p.median},
          {"tokens_per_story_p95", p.p95},
          {"share_cut_at_256", share_of(p.cut, p.stories)},
          {"bytes_per_token", share_of(p.counts.bytes, p.tokens)},
          {"unknown_share", share_of(p.unknown, p.tokens)},
          {"byte_piece_share", share_of(p.byte_pieces, p.tokens)},
          {"empty_skipped", p.counts.empty},
          {"invalid_utf8_replaced", p.counts.replaced},
          {"checksum", p.checksum}};
}

}  // namespace

double share_of(uint64_t part, uint64_t whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

double TokenizeResult::stories_per_second() const {
  return static_cast<double>(build.train.stories + build.valid.stories) / build.encode_seconds;
}

double TokenizeResult::bytes_per_second() const {
  return static_cast<double>(build.train.counts.bytes + build.valid.counts.bytes) / build.encode_seconds;
}

TokenizeResult tokenize(const Engine& engine, const CorpusBuild& request) {
  if (request.texts.empty() == (request.tales == 0))
    bad_argument("texts", request.tales ? "both text files and `tales` are given" : "there is no text",
                 "text files, - for stdin, or `tales=N`", "`tokenize(stories.txt, out=DIR)`");
  if (request.out.empty()) bad_argument("out", "`out` is missing", "a folder for the corpus");
  CorpusBuild build = request;
  bool training = false;
  build.report = [&](const BuildProgress& p) {
    if (p.stage == Stage::train && !training)
      engine.note("training the tokenizer on " + std::to_string(p.stories) + " stories");
    training = p.stage == Stage::train;
    if (!training) tell(engine, p);
    return !engine.stop_asked();
  };
  return {build.out, build_corpus(engine.files(), engine.pool(), build)};
}

OrderedJson to_json(const TokenizeResult& result) {
  const CorpusBuildResult& r = result.build;
  OrderedJson j = {{"schema", "glint-tokenize/1"}, {"out", result.out}};
  j["tokenizer"] = {{"vocab", r.tokenizer.size()},
                    {"kind", name(r.tokenizer.kind())},
                    {"byte_fallback", r.tokenizer.byte_fallback()},
                    {"sha256", r.tokenizer.sha256()},
                    {"trained", r.trained},
                    {"sampled_stories", r.sampled},
                    {"seconds", r.train_seconds}};
  j["train"] = part_json(r.train);
  j["valid"] = part_json(r.valid);
  j["encode_seconds"] = r.encode_seconds;
  j["stories_per_second"] = result.stories_per_second();
  j["bytes_per_second"] = result.bytes_per_second();
  return j;
}

}  // namespace glint
