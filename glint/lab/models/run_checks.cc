#include "glint/lab/models/run_checks.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/utf8.h"

namespace glint {

void refuse_language(const std::string& path) {
  throw Error({.code = ErrorCode::bad_file,
               .what = "this is a language model, not an image model",
               .where = path,
               .expected = "a run that was trained on images",
               .hint = "`spectrum(" + path + ", token=WORD)`, or `page(" + path + ")`"});
}

void refuse_image(const std::string& path) {
  throw Error({.code = ErrorCode::bad_file,
               .what = "this is an image model, not a language model",
               .where = path,
               .expected = "a run that was trained on stories"});
}

void refuse_expert(const std::string& expert) {
  if (expert.empty()) return;
  throw Error({.code = ErrorCode::usage,
               .what = "a run of glint has no experts",
               .where = "expert",
               .expected = "a mixture of experts"});
}

void refuse_tokenizer(const std::string& tokenizer) {
  if (tokenizer.empty()) return;
  throw Error({.code = ErrorCode::usage,
               .what = "a run of glint has its own tokenizer",
               .where = "tokenizer",
               .expected = "a model of another program"});
}

void check_pictures(const Dataset& data, const std::string& needs) {
  if (data.train.pictures() && !data.train.floats()) return;
  throw Error({.code = ErrorCode::usage,
               .what = needs + " needs pictures: the samples of " + data.name + " are " +
                       (data.train.pictures() ? "pictures of floats" : "vectors"),
               .where = data.origin,
               .expected = "data of images whose pixels are bytes"});
}

}  // namespace glint
