// Real models, where they are: in the folder that GLINT_MODELS names, where scripts/fetch-data puts
// stories15m/, or among data beside the source folder.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace glint::fixtures {

// "": it is not here.
inline std::string real_model(const std::string& name) {
  std::vector<std::string> folders = {GLINT_SOURCE_DIR "/../shared/data/llama"};
  if (const char* home = std::getenv("HOME")) folders.push_back(std::string(home) + "/.local/share/glint");
  if (const char* data = std::getenv("XDG_DATA_HOME")) folders.push_back(std::string(data) + "/glint");
  if (const char* own = std::getenv("GLINT_MODELS")) folders.push_back(own);
  for (const std::string& folder : folders)
    if (std::filesystem::exists(folder + "/" + name)) return folder + "/" + name;
  return "";
}

}  // namespace glint::fixtures
