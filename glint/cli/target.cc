#include "glint/cli/target.h"

#include <filesystem>

#include "glint/base/error.h"
#include "glint/lab/work/result_files.h"

namespace glint::cli {

void check_target(const std::string& path, const std::string& ending, const std::string& flag,
                  const std::string& what) {
  const std::filesystem::path target = path;
  std::error_code ignored;
  if (target.extension() != ending || target.stem().empty())
    bad_argument(flag + " " + path, what + " needs another name", "a name that ends in " + ending);
  if (std::filesystem::is_directory(target, ignored))
    bad_argument(flag + " " + path, "cannot write " + what + ": it is a directory", "the name of a file");
  if (target.has_parent_path()) make_directory(target.parent_path().string());
}

}  // namespace glint::cli
