#include "glint/lab/publish/page_run.h"

#include <algorithm>

namespace glint {
namespace {

template <class T>
Matrix<T> first_rows(const Matrix<T>& all, size_t count) {
  Matrix<T> out(count, all.cols());
  std::copy_n(all.data(), out.size(), out.data());
  return out;
}

// Of `each` rows a class, its first `kept` / 2 and its last.
template <class T>
Matrix<T> outer_rows(const Matrix<T>& all, size_t each, size_t kept) {
  if (all.size() == 0) return Matrix<T>();
  const size_t classes = all.rows() / each;
  Matrix<T> out(classes * kept, all.cols());
  for (size_t c = 0; c < classes; c++)
    for (size_t k = 0; k < kept; k++) {
      const size_t from = k < kept / 2 ? k : each - kept + k;
      std::ranges::copy(all.view().row(c * each + from), out.view().row_ptr(c * kept + k));
    }
  return out;
}

size_t image_bytes(const PageData& data) {
  size_t bytes = data.images.pixels.size();
  for (const PageRun& run : data.runs) bytes += run.logits.size() * sizeof(float);
  return bytes;
}

size_t vector_bytes(const PageData& data) {
  size_t bytes = 0;
  for (const PageRun& run : data.runs)
    for (const PageForm& form : run.forms) bytes += form.vectors.size() * sizeof(float) + form.pictures.size();
  return bytes;
}

}  // namespace

std::string images_text(size_t count, size_t total, const std::string& data) {
  return (count == total ? "All " : "The first ") + std::to_string(count) + " test images of " + data;
}

void keep_images(PageData& data, size_t count) {
  PageImages& images = data.images;
  count = std::min(count, images.labels.size());
  images.what = images_text(count, images.total, images.data);
  images.pixels = first_rows(images.pixels, count);
  images.labels.resize(count);
  for (PageRun& run : data.runs) run.logits = first_rows(run.logits, count);
}

void keep_vectors(PageData& data, size_t strongest) {
  for (PageRun& run : data.runs) {
    const size_t kept = std::min(strongest, run.strongest);
    for (PageForm& form : run.forms) {
      form.vectors = outer_rows(form.vectors, 2 * run.strongest, 2 * kept);
      form.pictures = outer_rows(form.pictures, 2 * run.strongest, 2 * kept);
    }
    run.strongest = kept;
  }
}

bool shrink_page(PageData& data, bool images, bool vectors) {
  size_t strongest = 0;
  for (const PageRun& run : data.runs) strongest = std::max(strongest, run.strongest);
  images = images && data.images.labels.size() > kFewestImages;
  vectors = vectors && strongest > kFewestVectors;
  if (images && (!vectors || image_bytes(data) >= vector_bytes(data)))
    keep_images(data, std::max(kFewestImages, data.images.labels.size() / 2));
  else if (vectors)
    keep_vectors(data, std::max(kFewestVectors, strongest / 2));
  else
    return false;
  return true;
}

}  // namespace glint
