// The part of `glint page` for language models.
#pragma once

#include <string>
#include <vector>

#include "glint/cli/verb.h"
#include "glint/io/json.h"

namespace glint::cli {

struct LanguagePageOptions {
  std::string run, data, out;
  size_t limit = 0;
};
void language_page(Context& context, const LanguagePageOptions& options);

// What a reader of a page should call a run: without the folders of this machine.
std::string short_run_name(const std::string& directory);
// run.json without where the data came from, and the lines of metrics.jsonl; empty where there are none.
Json page_run_info(const std::string& directory);
std::vector<Json> page_metrics(const std::string& directory);

}  // namespace glint::cli
