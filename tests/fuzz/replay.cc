// A fuzz target without a fuzzer, for every compiler: runs it over the seeds of a folder, over every
// beginning of them (at most 512 cuts a file) and with single bits flipped (at most 2048 a file). The same
// inputs at every run, however fast the machine is. `make fuzz` looks further.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

// A copy of its own size, so that the address sanitizer sees a read beyond the end.
void try_input(const std::vector<uint8_t>& bytes, size_t size) {
  const std::vector<uint8_t> input(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  size_t inputs = 0;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), {}};
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);  // it is the last line where the target aborts
    try_input(bytes, bytes.size());
    const size_t cut = bytes.size() / 512 + 1, bit = bytes.size() * 8 / 2048 + 1;
    for (size_t size = 0; size < bytes.size(); size += cut, inputs++) try_input(bytes, size);
    for (size_t at = 0; at < bytes.size() * 8; at += bit, inputs++) {
      const auto mask = static_cast<uint8_t>(1u << at % 8);
      bytes[at / 8] ^= mask;
      try_input(bytes, bytes.size());
      bytes[at / 8] ^= mask;
    }
  }
  std::printf("%zu seeds, %zu inputs made of them\n", files.size(), inputs);
  return files.empty() ? 1 : 0;
}
