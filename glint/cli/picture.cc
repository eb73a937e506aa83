#include "glint/cli/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "glint/base/error.h"
#include "glint/base/text.h"

namespace glint::cli {
namespace {

using Form = Drawing::Form;

// Index: a bit for each part that is filled, 1 upper left, 2 upper right, 4 lower left, 8 lower right.
constexpr std::array<const char*, 16> kQuadrants = {" ", "▘", "▝", "▀", "▖", "▌", "▞", "▛",
                                                    "▗", "▚", "▐", "▜", "▄", "▙", "▟", "█"};
// Every way to cut four parts in two, the plain ones first: they win where the error is the same.
constexpr std::array<unsigned, 8> kCuts = {0, 3, 5, 1, 2, 4, 7, 6};
constexpr std::array<const char*, 4> kShades = {" ", "░", "▒", "▓"};  // quarters

// From nothing to full.
constexpr std::array<const char*, 10> kAsciiGray = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
constexpr std::array<const char*, 5> kAsciiPlus = {" ", ":", "+", "*", "#"};
constexpr std::array<const char*, 5> kAsciiMinus = {" ", ".", "-", "=", "%"};
constexpr std::array<const char*, 5> kBlocksPlus = {" ", "░", "▒", "▓", "█"};
constexpr std::array<const char*, 5> kBlocksMinus = {" ", "·", "-", "=", "≡"};

using Parts = std::array<float, 4>;  // of a cell, in the order of the bits

struct Rgb {
  int r, g, b;
};

Rgb color_of(float v, Tone tone) {
  const auto level = [](float full) { return static_cast<int>(std::lround(std::clamp(full, 0.0f, 255.0f))); };
  if (tone == Tone::gray) return {level(255 * v), level(255 * v), level(255 * v)};
  // Orange and sky blue of Okabe and Ito, which everyone can tell apart.
  if (v >= 0) return {level(230 * v), level(159 * v), 0};
  return {level(86 * -v), level(180 * -v), level(233 * -v)};
}

// xterm's 256 colours: a cube of 6 x 6 x 6, and 24 grays between its black (16) and its white (231). The
// nearest corner of the cube would change its hue along a ramp, so the signed tones have chosen ones.
constexpr std::array<int, 6> kPalettePlus = {16, 52, 94, 130, 172, 214};
constexpr std::array<int, 6> kPaletteMinus = {16, 17, 24, 31, 74, 117};

int palette_index(float v, Tone tone) {
  if (tone == Tone::signed_value)
    return (v < 0 ? kPaletteMinus : kPalettePlus)[static_cast<size_t>(std::lround(std::abs(v) * 5))];
  const int level = color_of(v, tone).r;
  if (level < 4) return 16;
  if (level > 246) return 231;
  return 232 + std::clamp((level - 3) / 10, 0, 23);
}

std::string color_code(float v, Tone tone, bool background, Form form) {
  const std::string base = background ? "48" : "38";
  if (form == Form::palette) return base + ";5;" + std::to_string(palette_index(v, tone));
  const Rgb c = color_of(v, tone);
  return base + ";2;" + std::to_string(c.r) + ";" + std::to_string(c.g) + ";" + std::to_string(c.b);
}

// Means over a grid of rows x cols equal rectangles.
Matrix<float> resample(ConstMatrixView<float> in, size_t rows, size_t cols) {
  // First along one axis, then along the other: weights of the pixels that a part covers.
  const auto shrink = [](size_t from, size_t to, size_t i, const auto& value) {
    const double low = static_cast<double>(i * from) / static_cast<double>(to);
    const double high = static_cast<double>((i + 1) * from) / static_cast<double>(to);
    double sum = 0;
    for (size_t k = static_cast<size_t>(low); k < from && static_cast<double>(k) < high; k++)
      sum += value(k) * (std::min(high, static_cast<double>(k + 1)) - std::max(low, static_cast<double>(k)));
    return static_cast<float>(sum / (high - low));
  };
  Matrix<float> wide(in.rows(), cols), out(rows, cols);
  for (size_t i = 0; i < in.rows(); i++)
    for (size_t j = 0; j < cols; j++) wide(i, j) = shrink(in.cols(), cols, j, [&](size_t k) { return in(i, k); });
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) out(i, j) = shrink(in.rows(), rows, i, [&](size_t k) { return wide(k, j); });
  return out;
}

struct TwoTones {
  unsigned filled = 0;  // bits
  float on = 0, off = 0;
};

TwoTones nearest_tones(const Parts& parts) {
  TwoTones best;
  float least = -1;
  for (const unsigned cut : kCuts) {
    float sum[2] = {}, count[2] = {}, error = 0;
    for (unsigned k = 0; k < 4; k++) sum[cut >> k & 1] += parts[k], count[cut >> k & 1] += 1;
    const float off = sum[0] / count[0], on = cut ? sum[1] / count[1] : off;
    for (unsigned k = 0; k < 4; k++) error += std::pow(parts[k] - (cut >> k & 1 ? on : off), 2.0f);
    if (least >= 0 && error >= least - 1e-6f) continue;
    least = error;
    best = {cut, on, off};
  }
  return best;
}

const char* nearest_block(const Parts& parts) {
  const char* best = kShades[0];
  float least = 5;  // above any error of values in 0..1
  const auto consider = [&](const char* text, const auto& value) {
    float error = 0;
    for (unsigned k = 0; k < 4; k++) error += std::pow(parts[k] - value(k), 2.0f);
    if (error < least - 1e-6f) least = error, best = text;
  };
  for (size_t i = 0; i < kShades.size(); i++) consider(kShades[i], [&](unsigned) { return static_cast<float>(i) / 4; });
  for (unsigned bits = 1; bits < 16; bits++)
    consider(kQuadrants[bits], [&](unsigned k) { return bits >> k & 1 ? 1.0f : 0.0f; });
  return best;
}

float mean(const Parts& parts) { return (parts[0] + parts[1] + parts[2] + parts[3]) / 4; }

template <size_t n>
const char* by_magnitude(const std::array<const char*, n>& ramp, float v) {
  return ramp[static_cast<size_t>(std::lround(std::abs(v) * static_cast<float>(n - 1)))];
}

const char* plain_cell(const Parts& parts, Tone tone, Form form) {
  const float m = mean(parts);
  if (tone == Tone::gray) return form == Form::ascii ? by_magnitude(kAsciiGray, m) : nearest_block(parts);
  if (form == Form::ascii) return by_magnitude(m < 0 ? kAsciiMinus : kAsciiPlus, m);
  return by_magnitude(m < 0 ? kBlocksMinus : kBlocksPlus, m);
}

// The lines of one picture, each `cols` columns wide.
std::vector<std::string> picture_lines(const Picture& picture, size_t cols, Form form) {
  const double shape = static_cast<double>(picture.values.rows()) / static_cast<double>(picture.values.cols());
  // A cell is about twice as high as it is wide.
  const size_t rows = static_cast<size_t>(std::clamp(std::round(static_cast<double>(cols) * shape / 2), 1.0, 200.0));
  Matrix<float> fine = resample(picture.values, 2 * rows, 2 * cols);
  const float low = picture.tone == Tone::gray ? 0 : -1;
  for (float& v : fine.span()) v = std::isfinite(v) ? std::clamp(v, low, 1.0f) : 0;

  std::vector<std::string> lines;
  for (size_t i = 0; i < rows; i++) {
    std::string line, colors;
    for (size_t j = 0; j < cols; j++) {
      const Parts parts = {fine(2 * i, 2 * j), fine(2 * i, 2 * j + 1), fine(2 * i + 1, 2 * j),
                           fine(2 * i + 1, 2 * j + 1)};
      if (form == Form::ascii || form == Form::blocks) {
        line += plain_cell(parts, picture.tone, form);
        continue;
      }
      const TwoTones tones = nearest_tones(parts);
      const std::string on = color_code(tones.on, picture.tone, false, form);
      const std::string off = color_code(tones.off, picture.tone, true, form);
      const bool flat = tones.filled == 0 || on.substr(2) == off.substr(2);
      const std::string wanted = flat ? off : on + ";" + off;
      if (wanted != colors) line += "\x1b[" + wanted + "m";
      colors = wanted;
      line += flat ? " " : kQuadrants[tones.filled];
    }
    if (!colors.empty()) line += "\x1b[0m";
    lines.push_back(line);
  }
  return lines;
}

std::string shortened(const std::string& text, size_t width, Form form) {
  if (display_width(text) <= width) return text;
  const std::string mark = form == Form::ascii ? "~" : "…";
  return std::string(fit_start(text, width - 1)) + mark;
}

bool utf8_locale() {
  for (const char* key : {"LC_ALL", "LC_CTYPE", "LANG"}) {  // the first that is set decides
    const char* value = std::getenv(key);
    if (!value || !*value) continue;
    std::string word;
    for (const char c : std::string_view(value))
      if (c != '-') word += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    return word.find("utf8") != word.npos;
  }
  return false;
}

bool variable_is(const char* key, std::initializer_list<std::string_view> words) {
  const char* value = std::getenv(key);
  return value && std::find(words.begin(), words.end(), std::string_view(value)) != words.end();
}

}  // namespace

Picture gray_picture(std::span<const uint8_t> pixels, size_t height, size_t width, std::vector<std::string> caption) {
  Picture p{.values = Matrix<float>(height, width), .caption = std::move(caption)};
  std::transform(pixels.begin(), pixels.end(), p.values.data(), [](uint8_t v) { return static_cast<float>(v) / 255; });
  return p;
}

Picture signed_picture(ConstMatrixView<float> values, std::vector<std::string> caption, float scale) {
  Picture p{
      .values = Matrix<float>(values.rows(), values.cols()), .caption = std::move(caption), .tone = Tone::signed_value};
  float largest = scale;
  if (scale <= 0)
    for (size_t i = 0; i < values.rows(); i++)
      for (const float v : values.row(i))
        if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < values.rows(); i++)
    for (size_t j = 0; j < values.cols(); j++) p.values(i, j) = largest > 0 ? values(i, j) / largest : 0;
  return p;
}

Field draw_field(std::string& draw) {
  return Field("draw", draw, "How to draw images in the terminal")
      .one_of({"auto", "color", "blocks", "ascii", "none"})
      .images();
}

void refuse_drawing(const std::string& draw, const std::string& model) {
  if (draw != "auto") throw Error({.code = ErrorCode::usage, .what = "--draw is for image models", .where = model});
}

Drawing detect_drawing(const Terminal& terminal, const std::string& word) {
  const Form colored = variable_is("COLORTERM", {"truecolor", "24bit"}) ? Form::rgb : Form::palette;
  Drawing d;
  d.columns = terminal.width();
  if (word == "ascii") {
    d.form = Form::ascii;
  } else if (word == "blocks") {
    d.form = Form::blocks;
  } else if (word == "color") {
    d.form = colored;
  } else if (word == "auto" && terminal.interactive) {
    // The console of Linux has neither the characters nor the colours.
    const bool plain = !utf8_locale() || variable_is("TERM", {"linux", "vt100", "vt220"});
    d.form = plain ? Form::ascii : terminal.color ? colored : Form::blocks;
  }
  return d;
}

std::string draw(const std::vector<Picture>& pictures, const Drawing& drawing) {
  constexpr size_t kGap = 2;
  if (drawing.form == Form::none) return "";
  const size_t columns = std::max<size_t>(1, drawing.columns);
  const size_t cols = std::clamp<size_t>(drawing.picture_columns, 1, columns);
  size_t slot = cols;  // a caption may widen it, to one and a half pictures at most
  for (const Picture& p : pictures)
    for (const std::string& line : p.caption)
      slot = std::max(slot, std::min({display_width(line), cols + cols / 2, columns}));
  const size_t side_by_side = std::max<size_t>(1, (columns + kGap) / (slot + kGap));

  std::string out;
  for (size_t first = 0; first < pictures.size(); first += side_by_side) {
    const size_t count = std::min(side_by_side, pictures.size() - first);
    std::vector<std::vector<std::string>> lines(count);
    size_t above = 0, below = 0;  // lines of the tallest picture, of the longest caption
    for (size_t k = 0; k < count; k++) {
      if (pictures[first + k].values.size() > 0) lines[k] = picture_lines(pictures[first + k], cols, drawing.form);
      above = std::max(above, lines[k].size());
      below = std::max(below, pictures[first + k].caption.size());
    }
    if (first) out += '\n';
    for (size_t i = 0; i < above + below; i++) {
      std::string line;
      for (size_t k = 0; k < count; k++) {
        const std::vector<std::string>& caption = pictures[first + k].caption;
        if (k) line.append(kGap, ' ');
        if (i < above)
          line += i < lines[k].size() ? lines[k][i] + std::string(slot - cols, ' ') : std::string(slot, ' ');
        else
          line += pad(i - above < caption.size() ? shortened(caption[i - above], slot, drawing.form) : "", slot,
                      Align::left);
      }
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out += line + '\n';
    }
  }
  return out;
}

}  // namespace glint::cli
