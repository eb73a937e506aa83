// A page of image runs that would be over its limit, made smaller: fewer test images, fewer eigenvectors. For
// lab/page.cc.
#pragma once

#include "glint/report/page.h"

namespace glint {

// The fewest that stay.
inline constexpr size_t kFewestImages = 100, kFewestVectors = 2;

// Keeps the first images of the page, and the strongest eigenvectors of either sign.
void keep_images(PageData& data, size_t count);
void keep_vectors(PageData& data, size_t strongest);

// Halves what takes more room of that which may be halved. False: nothing is left that may.
bool shrink_page(PageData& data, bool images, bool vectors);

// "The first 250 test images of mnist"
std::string images_text(size_t count, size_t total, const std::string& data);

}  // namespace glint
