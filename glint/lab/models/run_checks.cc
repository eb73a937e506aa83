#include "glint/lab/models/run_checks.h"

#include "glint/base/error.h"
#include "glint/base/file.h"

namespace glint {

void refuse_language(const std::string& path) {
  bad_file(path, "this is a language model, not an image model", "a run that was trained on images",
           "`spectrum(" + path + ", token=WORD)`, or `page(" + path + ")`");
}

void refuse_image(const std::string& path) {
  bad_file(path, "this is an image model, not a language model", "a run that was trained on stories");
}

void refuse_expert(const std::string& expert) {
  if (expert.empty()) return;
  bad_argument("expert", "a run of glint has no experts", "a mixture of experts");
}

void refuse_tokenizer(const std::string& tokenizer) {
  if (tokenizer.empty()) return;
  bad_argument("tokenizer", "a run of glint has its own tokenizer", "a model of another program");
}

void check_pictures(const Dataset& data, const std::string& needs) {
  if (data.train.pictures() && !data.train.floats()) return;
  bad_argument(data.origin,
               needs + " needs pictures: the samples of " + data.name + " are " +
                   (data.train.pictures() ? "pictures of floats" : "vectors"),
               "data of images whose pixels are bytes");
}

}  // namespace glint
