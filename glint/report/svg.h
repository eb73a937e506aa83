// Pieces of SVG that charts and figures share. Coordinates are in units of the document.
#pragma once

#include <string>
#include <string_view>

namespace glint::svg {

inline constexpr const char* kInk = "#222222";
inline constexpr const char* kFaint = "#666666";
inline constexpr double kSmallFont = 12, kLabelFont = 14, kTitleFont = 15;

// To a hundredth, without trailing zeros.
std::string px(double v);
std::string attribute(const char* name, double v);

// An estimate on the wide side (DejaVu Sans), since the reader's font is not known.
double text_width(std::string_view text, double font);
inline constexpr double kBold = 1.12;  // so much wider is bold text

std::string line(double x1, double y1, double x2, double y2, const std::string& style);
std::string text(double x, double y, double font, const char* anchor, std::string_view content,
                 const std::string& more = "");
std::string rect(double x, double y, double w, double h, const std::string& style);

// The opening tag with size, font and colour, and the title for readers that cannot see.
std::string open(double width, double height, std::string_view title);
inline constexpr const char* kClose = "</svg>\n";

// A whole document placed inside another one.
std::string nested(std::string_view document, double x, double y);

// A PNG file as an image of sharp pixels.
std::string image(double x, double y, double w, double h, std::string_view png);

}  // namespace glint::svg
