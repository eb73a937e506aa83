// Any bytes, plain or gzip, read as images and as labels: an Error, or a set that its own header describes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/sha256.h"
#include "glint/data/idx.h"
#include "memory_promise.h"

namespace {

template <class F>
void try_it(F&& f) {
  try {
    f();
  } catch (const glint::Error& e) {
    if (e.code() != glint::ErrorCode::bad_file || e.parts().where.find("fuzz") == std::string::npos) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> file = std::as_bytes(std::span(data, size));
  {
    const glint::MemoryPromise promise(size);
    try_it([&] {
      const glint::IdxImages images = glint::parse_idx_images(file, "fuzz");
      const size_t count = images.pixels.rows();
      if (images.pixels.cols() != images.height * images.width) std::abort();
      // What was read is what a writer would have written: the checksum of the unpacked file says so.
      glint::Sha256 hash;
      hash.update(glint::as_bytes(glint::idx_image_header(count, images.height, images.width)));
      hash.update(std::as_bytes(images.pixels.span()));
      if (glint::hex(hash.finish()) != images.sha256) std::abort();
    });
  }
  {
    const glint::MemoryPromise promise(size);
    try_it([&] {
      const glint::IdxLabels labels = glint::parse_idx_labels(file, "fuzz", 10);
      if (std::any_of(labels.values.begin(), labels.values.end(), [](uint8_t v) { return v >= 10; })) std::abort();
      glint::Sha256 hash;
      hash.update(glint::as_bytes(glint::idx_label_header(labels.values.size())));
      hash.update(std::as_bytes(std::span(labels.values)));
      if (glint::hex(hash.finish()) != labels.sha256) std::abort();
    });
  }
  return 0;
}
