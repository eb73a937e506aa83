#include "glint/cli/reading_options.h"

#include "glint/base/error.h"

namespace glint::cli {

void add_reading_options(Verb& verb, RunSource& options) {
  verb.positional("RUN", options.run, "the run directory, or a language model of another program",
                  {.placeholder = "DIR", .kind = Value::Kind::directory})
      ->required();
  verb.text("--data", options.data, "data set or folder to measure on; default: what the run was trained on",
            {.placeholder = "NAME", .words = dataset_names()});
  verb.flag("--refine", options.refine, kRefineHelp);
  verb.directory("--data-dir", options.data_dir, "folder in which data sets are looked for first");
}

std::vector<GivenOption> add_language_options(Verb& verb, RunSource& options, std::string& text) {
  std::vector<GivenOption> all;
  all.push_back({"--text", verb.file("--text", text,
                                     "Language models: a text to read on, of which one half of the stories "
                                     "calibrates and the other measures; default: the corpus of the run, for "
                                     "a model of another program the built-in tales")});
  all.push_back({"--tokens", verb.size("--tokens", options.tokens, 0, 100000000,
                                       "Language models: so many tokens measure, and of a text as many "
                                       "calibrate; 0: 20000, for models of other programs 4000 or fewer")});
  all.push_back({"--tokenizer", verb.file("--tokenizer", options.tokenizer, kTokenizerHelp)});
  return all;
}

void take_text(std::string& data, const std::string& text) {
  if (text.empty()) return;
  if (!data.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "--data has no effect beside --text",
                 .where = text,
                 .expected = "one of the two"});
  data = text;
}

}  // namespace glint::cli
