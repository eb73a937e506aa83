// The built-in digits: strokes with random shape, shift, slant, scale, rotation, thickness and noise. Needs
// no files, so tests and a first run use it. An image is a function of (seed, index) alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "glint/data/dataset.h"

namespace glint {

inline constexpr size_t kGlyphSide = 28;
inline constexpr size_t kGlyphPixels = kGlyphSide * kGlyphSide;
// Train images have the indices from 0, test images those from here: neither count changes the other set.
inline constexpr uint32_t kGlyphTestStart = 1u << 31;

// Draws image `index` and gives its label, 0 to 9.
uint8_t draw_glyph(uint64_t seed, uint32_t index, std::span<uint8_t, kGlyphPixels> pixels);

// `count` images from `first` on. The same with any pool.
ImageSet draw_glyphs(uint64_t seed, uint32_t first, size_t count, ThreadPool* pool = nullptr);

}  // namespace glint
