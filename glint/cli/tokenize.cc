// glint tokenize: from text files to a corpus that language models are trained on.
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/stop.h"
#include "glint/cli/verbs.h"
#include "glint/data/text_data.h"
#include "glint/lab/work/tokenize.h"
#include "glint/report/table.h"
#include "glint/tokens/piece_model.h"

namespace glint::cli {
namespace {

struct TokenizeFlags {
  CorpusBuild build;
  std::string kind = "bpe";
  size_t vocab = 4096;
  std::vector<std::pair<std::string, Option*>> training;  // options that train a tokenizer
  Option* valid_share = nullptr;
};

std::string part_text(double part) { return fixed_text(100 * part, part > 0 && part < 0.001 ? 4 : 2) + " %"; }

void report_text(Context& context, const TokenizeResult& result) {
  const CorpusBuildResult& r = result.build;
  const Tokenizer& t = r.tokenizer;
  context.out << "corpus:    " << result.out << "\n";
  context.out << "tokenizer: " << t.size() << " pieces, " << name(t.kind()) << (t.byte_fallback() ? " with bytes" : "");
  if (r.trained)
    context.out << ", trained on " << r.sampled << " stories in " << fixed_text(r.train_seconds, 1) << " s";
  context.out << "\n           SHA-256 " << t.sha256() << "\n\n";
  Table table(headers({""}, {"train", "valid"}));
  const auto row = [&](const char* what, const auto& cell) { table.add({what, cell(r.train), cell(r.valid)}); };
  const auto whole = [](uint64_t n) { return std::to_string(n); };
  row("stories", [&](const CorpusPart& p) { return whole(p.stories); });
  row("tokens", [&](const CorpusPart& p) { return whole(p.tokens); });
  row("tokens per story, median", [&](const CorpusPart& p) { return whole(p.median); });
  row("tokens per story, 95 %", [&](const CorpusPart& p) { return whole(p.p95); });
  row("stories cut at 256", [&](const CorpusPart& p) { return part_text(share_of(p.cut, p.stories)); });
  row("bytes per token", [&](const CorpusPart& p) { return fixed_text(share_of(p.counts.bytes, p.tokens), 2); });
  row("unknown tokens", [&](const CorpusPart& p) { return part_text(share_of(p.unknown, p.tokens)); });
  if (t.byte_fallback())
    row("byte tokens", [&](const CorpusPart& p) { return part_text(share_of(p.byte_pieces, p.tokens)); });
  if (r.train.counts.empty + r.valid.counts.empty > 0)
    row("empty stories skipped", [&](const CorpusPart& p) { return whole(p.counts.empty); });
  if (r.train.counts.replaced + r.valid.counts.replaced > 0)
    row("invalid UTF-8, now spaces", [&](const CorpusPart& p) { return whole(p.counts.replaced); });
  context.out << table.terminal(result_columns()) << "\nencoded at " << fixed_text(result.stories_per_second(), 0)
              << " stories/s, " << fixed_text(result.bytes_per_second() / 1e6, 1) << " MB/s\n";
}

[[noreturn]] void refuse_without_effect(const std::string& flag, const std::string& why) {
  throw Error({.code = ErrorCode::usage, .what = flag + " has no effect: " + why, .where = flag});
}

void run(Context& context, const TokenizeFlags& o) {
  CorpusBuild build = o.build;
  for (const auto& [flag, option] : o.training)
    if (!build.tokenizer.empty() && option->given())
      refuse_without_effect(flag, "with --tokenizer no tokenizer is trained");
  if (!build.valid_texts.empty() && o.valid_share->given())
    refuse_without_effect("--valid-share", "with --valid no stories are taken from the texts");
  build.seed = context.shared.seed;
  build.training.kind = parse_tokenizer_kind(o.kind);
  build.training.vocab = o.vocab;
  const StopOnSignal guard;
  const TokenizeResult r = tokenize(engine_of(context), build);
  context.next = {"glint train tinystories-small --data " + r.out + " --out runs/stories"};
  context.shared.json ? context.print_json(to_json(r)) : report_text(context, r);
}

}  // namespace

void add_tokenize(Program& program) {
  Verb& verb = program.add(
      {.name = "tokenize",
       .group = Group::prepare,
       .summary = "make a corpus for language models from text",
       .details = "Stories are separated by lines <|endoftext|>; files may be plain, .gz or .xz and of any size. "
                  "A SentencePiece tokenizer (lower case, NFKC) is trained on a sample of the stories, or given "
                  "with --tokenizer. DIR then holds tokenizer.model, train.bin, valid.bin and corpus.json. Without "
                  "--valid some of the stories, evenly spread, become the validation set. White space of any kind "
                  "counts as one space, and so do bytes that are not UTF-8.",
       .examples = {
           {"glint tokenize stories.txt --vocab 4096 --out stories", "a corpus from one file"},
           {"glint tokenize train.txt.xz --valid valid.txt.xz --out stories", "with its own validation set"},
           {"glint tokenize new.txt --tokenizer stories/tokenizer.model --out new",
            "other text for a model that is there"},
           {"glint tokenize --tales 2000 --vocab 512 --out my-tales", "from the built-in tales, no files needed"}}});
  const auto o = std::make_shared<TokenizeFlags>();
  CorpusBuild& b = o->build;
  verb.add(Field("text", b.texts, "Text files; - reads from stdin").file().argument("TEXT"));
  verb.add(Field("valid", b.valid_texts, "A text file for validation; may be given again").file("FILE"));
  o->valid_share =
      verb.add(Field("valid_share", b.valid_share, "Share of the stories for validation when there is no --valid")
                   .range(1e-6, 0.5));
  verb.add(Field("tales", b.tales, "Instead of files: so many built-in tales").range(0, 10'000'000));
  const auto training = [&](Option* option) { o->training.emplace_back(option->name(), option); };
  training(verb.add(Field("vocab", o->vocab, "Pieces of the tokenizer").range(16, kMaxPieces)));
  training(verb.add(Field("kind", o->kind, "How the tokenizer is trained").one_of({"bpe", "unigram"})));
  verb.add(Field("tokenizer", b.tokenizer, "Use this tokenizer.model instead of training one").file());
  training(verb.add(
      Field("sample", b.sample, "Stories that the tokenizer is trained on, at most 128 MB").range(1, 1'000'000)));
  verb.switches("byte-fallback", b.training.byte_fallback,
                "256 of the pieces stand for bytes, so that no character is lost",
                [o](const std::string& word) { o->build.training.byte_fallback = word == "true"; });
  for (size_t last = verb.options().size(), i = last - 2; i < last; i++) training(verb.options()[i].option);
  verb.add(Field("force", b.force, "Replace a corpus that is in DIR"));
  verb.share({"seed", "threads"});
  verb.add(Field("out", b.out, "The folder of the corpus").directory());
  verb.share({"json", "quiet"});
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
