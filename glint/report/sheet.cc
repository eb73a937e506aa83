#include "glint/report/sheet.h"

#include <algorithm>

#include "glint/base/error.h"
#include "glint/base/matrix.h"
#include "glint/io/png.h"

namespace glint {
namespace {

constexpr size_t kGap = 6, kSide = 56;
constexpr size_t kMaxPixels = size_t{64} << 20;
constexpr uint8_t kPaper = 255, kInk = 40;

// Characters of 3 x 5 dots, a row an octal digit, drawn with 2 x 2 pixels a dot.
constexpr size_t kDot = 2, kCharacter = 4 * kDot, kText = 5 * kDot;
unsigned dots_of(char c) {
  constexpr unsigned kDigits[10] = {075557, 026227, 071747, 071317, 055711, 074717, 074757, 071222, 075757, 075717};
  if (c >= '0' && c <= '9') return kDigits[c - '0'];
  return c == '>' ? 042124 : 0;
}

void write_text(MatrixView<uint8_t> page, size_t top, size_t left, size_t width, const std::string& text) {
  for (size_t i = 0; i < text.size() && (i + 1) * kCharacter - kDot <= width; i++)
    for (size_t y = 0; y < 5 * kDot; y++)
      for (size_t x = 0; x < 3 * kDot; x++)
        if (dots_of(text[i]) >> (3 * (4 - y / kDot) + 2 - x / kDot) & 1)
          page(top + y, left + i * kCharacter + x) = kInk;
}

}  // namespace

void write_sheet(FileSystem& files, const std::string& path, const Sheet& sheet) {
  const size_t scale = std::max<size_t>(1, kSide / std::max<size_t>(1, std::max(sheet.height, sheet.width)));
  size_t columns = 0, longest = 0;
  bool labels = false;
  for (const auto& row : sheet.rows) {
    columns = std::max(columns, row.size());
    for (const SheetImage& image : row) labels = labels || !image.label.empty();
  }
  for (const std::string& h : sheet.headings) longest = std::max(longest, h.size());
  const size_t margin = longest ? longest * kCharacter + kGap : 0;
  const size_t cell_width = sheet.width * scale + kGap;
  const size_t cell_height = sheet.height * scale + kGap + (labels ? kText + kDot : 0);
  const size_t width = margin + columns * cell_width + kGap, height = sheet.rows.size() * cell_height + kGap;
  if (width > kMaxPixels / height)
    bad_argument(path, "the sheet would have " + std::to_string(width) + " x " + std::to_string(height) + " pixels",
                 "at most " + std::to_string(kMaxPixels) + " pixels", "fewer images");

  Matrix<uint8_t> page(height, width);
  std::fill_n(page.data(), page.size(), kPaper);
  for (size_t i = 0; i < sheet.rows.size(); i++) {
    const size_t top = kGap + i * cell_height;
    if (i < sheet.headings.size())
      write_text(page, top + (std::max(sheet.height * scale, kText) - kText) / 2, kGap, margin, sheet.headings[i]);
    for (size_t j = 0; j < sheet.rows[i].size(); j++) {
      const SheetImage& image = sheet.rows[i][j];
      const size_t left = margin + kGap + j * cell_width;
      for (size_t y = 0; y < sheet.height * scale; y++)
        for (size_t x = 0; x < sheet.width * scale; x++)
          page(top + y, left + x) = image.pixels[y / scale * sheet.width + x / scale];
      write_text(page, top + sheet.height * scale + kDot, left, sheet.width * scale, image.label);
    }
  }
  write_png(files, path, PngColor::gray, width, height, page.span());
}

}  // namespace glint
