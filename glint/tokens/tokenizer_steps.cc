#include "glint/tokens/tokenizer_steps.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/io/json.h"
#include "glint/io/json_cursor.h"
#include "glint/tokens/unicode.h"

namespace glint {
namespace {

[[noreturn]] void refuse_step(const JsonFields& fields, const std::string& part, const std::string& type,
                              const std::string& known) {
  fields.fail("type", "names the " + part + " " + show(type) + ", which is not supported", known);
}

// Calls step(fields, type) for every step; those of a Sequence, in the list `list`, one after the other.
void each_step(const Json& json, const std::string& where, const std::string& path, const char* list, auto&& step) {
  if (json.is_null()) return;
  const JsonFields fields(json, where, path);
  const auto type = fields.required<std::string>("type");
  if (type != "Sequence") {
    step(fields, type);
    return;
  }
  for (const Json& part : fields.array(list)) each_step(part, where, path + "." + list, list, step);
}

// {"String": "x"}; the text of {"Regex": "x"} goes to `regex`.
std::string pattern_of(const JsonFields& fields, std::string* regex = nullptr) {
  const JsonFields pattern = fields.object("pattern");
  if (regex && pattern.has("Regex")) {
    *regex = pattern.required<std::string>("Regex");
    return {};
  }
  if (pattern.has("Regex"))
    pattern.fail("Regex", "is the regular expression " + show(pattern.required<std::string>("Regex")), "a String");
  const auto text = pattern.required<std::string>("String");
  if (text.empty()) pattern.fail("String", "is an empty text", "at least one character");
  return text;
}

SplitStep split_step(const JsonFields& fields) {
  SplitStep step;
  std::string regex;
  step.text = pattern_of(fields, &regex);
  const auto behavior = fields.required<std::string>("behavior");
  const bool invert = fields.optional<bool>("invert", false);
  constexpr std::pair<const char*, SplitStep::Keep> kKeeps[] = {{"Isolated", SplitStep::Keep::isolated},
                                                                {"Removed", SplitStep::Keep::removed},
                                                                {"Contiguous", SplitStep::Keep::contiguous},
                                                                {"MergedWithPrevious", SplitStep::Keep::with_previous},
                                                                {"MergedWithNext", SplitStep::Keep::with_next}};
  const auto keep =
      std::find_if(std::begin(kKeeps), std::end(kKeeps), [&](const auto& k) { return behavior == k.first; });
  if (keep == std::end(kKeeps))
    fields.fail("behavior", "is " + show(behavior), "Isolated, Removed, Contiguous, Merged...");
  step.keep = keep->second;
  if (regex.empty()) {
    step.kind = SplitStep::Kind::text;
    if (invert) fields.fail("invert", "is true with a text", "false");
    return step;
  }
  step.kind = SplitStep::Kind::pattern;
  const auto pattern = find_split_pattern(regex);
  if (!pattern)
    fields.fail("pattern", "is the regular expression " + show(regex) + ", which is not one that glint knows",
                "that of GPT-2, GPT-4, GPT-4o, Llama 3, Qwen or Tekken");
  step.pattern = *pattern;
  // These expressions match everything: what is kept are the matches, one by one.
  const bool one_by_one = step.keep == SplitStep::Keep::isolated || (step.keep == SplitStep::Keep::removed && invert);
  if (!one_by_one) fields.fail("behavior", "is " + show(behavior) + " with a regular expression", "Isolated");
  return step;
}

SplitStep::Prefix metaspace_prefix(const JsonFields& fields) {
  const bool legacy = fields.optional<bool>("add_prefix_space", true);
  const auto scheme = fields.optional<std::string>("prepend_scheme", legacy ? "always" : "never");
  if (scheme == "always") return SplitStep::Prefix::always;
  if (scheme == "first") return SplitStep::Prefix::first;
  if (scheme == "never") return SplitStep::Prefix::never;
  fields.fail("prepend_scheme", "is " + show(scheme), "always, first or never");
}

}  // namespace

void read_normalizer(const Json& json, const std::string& where, std::vector<NormalizerStep>& steps) {
  each_step(json, where, "normalizer", "normalizers", [&](const JsonFields& fields, const std::string& type) {
    if (type == "NFC")
      steps.push_back({NormalizerStep::Kind::nfc, "", ""});
    else if (type == "Prepend")
      steps.push_back({NormalizerStep::Kind::prepend, "", fields.required<std::string>("prepend")});
    else if (type == "Replace")
      steps.push_back({NormalizerStep::Kind::replace, pattern_of(fields), fields.required<std::string>("content")});
    else
      refuse_step(fields, "normalizer", type, "Sequence, NFC, Prepend or Replace");
  });
}

void read_splits(const Json& json, const std::string& where, std::vector<SplitStep>& steps) {
  each_step(json, where, "pre_tokenizer", "pretokenizers", [&](const JsonFields& fields, const std::string& type) {
    SplitStep step;
    if (type == "Split") {
      step = split_step(fields);
    } else if (type == "Digits") {
      step.kind = SplitStep::Kind::digits;
      step.one_by_one = fields.optional<bool>("individual_digits", false);
    } else if (type == "ByteLevel") {
      step.kind = SplitStep::Kind::byte_level;
      step.splits = fields.optional<bool>("use_regex", true);
      if (fields.optional<bool>("add_prefix_space", true)) step.prefix = SplitStep::Prefix::always;
    } else if (type == "Metaspace") {
      step.kind = SplitStep::Kind::metaspace;
      step.text = fields.required<std::string>("replacement");
      if (step.text.empty()) fields.fail("replacement", "is an empty text", "a character");
      step.splits = fields.optional<bool>("split", true);
      step.prefix = metaspace_prefix(fields);
    } else {
      refuse_step(fields, "pre-tokenizer", type, "Sequence, ByteLevel, Split, Digits or Metaspace");
    }
    steps.push_back(std::move(step));
  });
}

void read_decoder(const Json& json, const std::string& where, std::vector<DecoderStep>& steps) {
  each_step(json, where, "decoder", "decoders", [&](const JsonFields& fields, const std::string& type) {
    DecoderStep step;
    if (type == "ByteLevel") {
      step.kind = DecoderStep::Kind::byte_level;
    } else if (type == "ByteFallback") {
      step.kind = DecoderStep::Kind::byte_fallback;
    } else if (type == "Fuse") {
      step.kind = DecoderStep::Kind::fuse;
    } else if (type == "Replace") {
      step.kind = DecoderStep::Kind::replace;
      step.from = pattern_of(fields);
      step.to = fields.required<std::string>("content");
    } else if (type == "Strip") {
      step.kind = DecoderStep::Kind::strip;
      step.from = fields.required<std::string>("content");
      if (step.from.empty()) fields.fail("content", "is an empty text", "a character");
      step.start = fields.optional<uint64_t>("start", 0);
      step.stop = fields.optional<uint64_t>("stop", 0);
    } else if (type == "Metaspace") {
      step.kind = DecoderStep::Kind::metaspace;
      step.from = fields.required<std::string>("replacement");
      step.keeps_first_space = metaspace_prefix(fields) == SplitStep::Prefix::never;
    } else {
      refuse_step(fields, "decoder", type, "Sequence, ByteLevel, Replace, ByteFallback, Fuse, Strip or Metaspace");
    }
    steps.push_back(std::move(step));
  });
}

std::vector<TokenId> read_prefix(const Json& json, const std::string& where, size_t vocabulary,
                                 std::span<const AddedToken> added) {
  std::vector<TokenId> prefix;
  size_t size = vocabulary;
  for (const AddedToken& token : added) size = std::max<size_t>(size, token.id + size_t{1});
  each_step(json, where, "post_processor", "processors", [&](const JsonFields& fields, const std::string& type) {
    if (type == "ByteLevel") return;  // moves offsets, not ids
    if (type != "TemplateProcessing")
      refuse_step(fields, "post-processor", type, "Sequence, ByteLevel or TemplateProcessing");
    const JsonFields tokens = fields.object("special_tokens");
    for (const Json& part : fields.array("single")) {
      const JsonFields item(part, where, "post_processor.single");
      if (item.has("Sequence")) return;
      const auto name = item.object("SpecialToken").required<std::string>("id");
      const JsonFields token = tokens.object(name);
      for (const Json& id : token.array("ids")) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() >= size)
          token.fail("ids", "has the id " + id.dump(), "below " + std::to_string(size));
        prefix.push_back(id.get<TokenId>());
      }
    }
    fields.fail("single", "has no text", "a Sequence");
  });
  return prefix;
}

}  // namespace glint
