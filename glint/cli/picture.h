// Small gray images and signed maps drawn with characters, several side by side with captions.
//
// A cell of the terminal covers 2 x 2 parts of a picture. With colour it shows the block character and the
// two tones that come nearest to the four parts (least squares); without colour the nearest of the block
// characters and shades; in ASCII a character by the mean. At one column a pixel that is the usual half block
// with two pixels a cell, at half a column a pixel it still shows single columns of pixels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "glint/base/matrix.h"
#include "glint/cli/terminal.h"
#include "glint/io/fields.h"

namespace glint::cli {

enum class Tone {
  gray,         // 0 (background) to 1
  signed_value  // -1 to 1; colour: positive orange, negative blue, 0 black; otherwise two sets of characters
};

struct Picture {
  Matrix<float> values;                   // [height, width]; what is outside the range of the tone is cut off
  std::vector<std::string> caption = {};  // lines below; each is cut where it is too wide
  Tone tone = Tone::gray;
};

Picture gray_picture(std::span<const uint8_t> pixels, size_t height, size_t width,
                     std::vector<std::string> caption = {});
// The largest magnitude becomes 1; with `scale` above 0, that magnitude does (for pictures to be compared).
Picture signed_picture(ConstMatrixView<float> values, std::vector<std::string> caption = {}, float scale = 0);

struct Drawing {
  enum class Form { none, ascii, blocks, palette, rgb };  // palette: the 256 colours of xterm
  Form form = Form::none;
  size_t columns = 80;          // of the terminal
  size_t picture_columns = 14;  // of one picture; its height follows from its shape
};

// The words of --draw.
// The option --draw, and its refusal (usage) where there are no pictures.
Field draw_field(std::string& draw);
void refuse_drawing(const std::string& draw, const std::string& model);
// `auto` draws nothing where there is no terminal, ASCII where the locale is not UTF-8, and colours where the
// terminal has them. Any other word is taken as it is.
Drawing detect_drawing(const Terminal& terminal, const std::string& word = "auto");

// Rows of pictures, as many side by side as fit; "" for Form::none. No line is wider than the terminal.
std::string draw(const std::vector<Picture>& pictures, const Drawing& drawing);

}  // namespace glint::cli
