#include "glint/io/png.h"

#include <zlib.h>

#include "glint/io/npy.h"
#include "io_testing.h"

namespace glint {
namespace {

constexpr uint8_t kBackground = 100;  // as in make_io.py

std::string big_endian(uint32_t v) {
  return {static_cast<char>(v >> 24), static_cast<char>(v >> 16), static_cast<char>(v >> 8), static_cast<char>(v)};
}
std::string chunk(const std::string& kind, const std::string& data) {
  const std::string body = kind + data;
  const auto sum = static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const unsigned char*>(body.data()), static_cast<unsigned>(body.size())));
  return big_endian(static_cast<uint32_t>(data.size())) + body + big_endian(sum);
}
std::string header(uint32_t width, uint32_t height, char bits = 8, char type = 0) {
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", big_endian(width) + big_endian(height) + std::string{bits, type, 0, 0, 0});
}
std::string png_refusal(const std::string& file) {
  return complaint([&] { decode_png(as_bytes(file), "p.png"); });
}

// Every kind of PNG, made and decoded by Python.
class PngKinds : public testing::TestWithParam<const char*> {};
TEST_P(PngKinds, MatchesPython) {
  const std::string name = GetParam();
  const Matrix<uint8_t> expected = read_npy<uint8_t>(golden(name + ".npy"));
  const Matrix<uint8_t> got = read_png(golden(name + ".png"), kBackground);
  ASSERT_EQ(got.rows(), expected.rows());
  ASSERT_EQ(got.cols(), expected.cols());
  for (size_t y = 0; y < got.rows(); y++)
    for (size_t x = 0; x < got.cols(); x++) EXPECT_EQ(got(y, x), expected(y, x)) << "x " << x << " y " << y;
}
INSTANTIATE_TEST_SUITE_P(Png, PngKinds,
                         testing::Values("gray1", "gray2", "gray4", "gray8", "gray16", "gray8_interlaced",
                                         "gray1_interlaced", "one_interlaced", "gray_key", "rgb8", "rgb16",
                                         "gray_alpha", "rgba", "rgba_interlaced", "palette"),
                         [](const auto& name) { return std::string(name.param); });

TEST(Png, RoundTripsGrayAndColour) {
  const Folder folder;
  std::vector<uint8_t> pixels(13 * 7 * 4);
  for (size_t i = 0; i < pixels.size(); i++) pixels[i] = static_cast<uint8_t>(i * 37);
  write_png(real_files(), folder / "g.png", PngColor::gray, 13, 7, std::span(pixels).first(13 * 7));
  const Matrix<uint8_t> g = read_png(folder / "g.png");
  ASSERT_EQ(g.size(), 91u);
  for (size_t i = 0; i < g.size(); i++) EXPECT_EQ(g.span()[i], pixels[i]);

  const auto luma = [&](size_t i, size_t channels) {
    const uint8_t* p = pixels.data() + i * channels;
    return (299 * p[0] + 587 * p[1] + 114 * p[2] + 500) / 1000;
  };
  const std::string rgb = encode_png(PngColor::rgb, 13, 7, std::span(pixels).first(13 * 7 * 3));
  EXPECT_EQ(rgb, encode_png(PngColor::rgb, 13, 7, std::span(pixels).first(13 * 7 * 3)));
  const Matrix<uint8_t> c = decode_png(as_bytes(rgb), "rgb");
  for (size_t i = 0; i < c.size(); i++) EXPECT_EQ(c.span()[i], luma(i, 3));

  const std::string rgba = encode_png(PngColor::rgba, 13, 7, pixels);
  const Matrix<uint8_t> a = decode_png(as_bytes(rgba), "rgba", 7);
  for (size_t i = 0; i < a.size(); i++) {
    const int alpha = pixels[i * 4 + 3];
    EXPECT_EQ(a.span()[i], (luma(i, 4) * alpha + 7 * (255 - alpha) + 127) / 255);
  }
}

TEST(Png, EveryCutAndEveryFlippedByteIsSafe) {
  for (const char* name : {"rgba_interlaced.png", "palette.png", "gray16.png"}) {
    const std::string good = read_file(golden(name));
    for (size_t n = 0; n < good.size(); n++)
      EXPECT_NE(png_refusal(good.substr(0, n)), "(no complaint)") << name << " cut at " << n;
    for (size_t i = 0; i < good.size(); i++) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x41);
      // An Error or a picture, never anything else: libpng forgives damage to chunks that it can do without.
      png_refusal(bad);
    }
  }
}

TEST(Png, RefusesBadFiles) {
  EXPECT_EQ(png_refusal(""), "not a PNG file @ p.png, byte 0 ! the PNG signature");
  EXPECT_EQ(png_refusal("GIF89a..."), "not a PNG file @ p.png, byte 0 ! the PNG signature");
  const std::string good = read_file(golden("gray8.png"));
  EXPECT_EQ(png_refusal(good.substr(0, 20)),
            "bad PNG: file ends too early @ p.png, byte 16 ! a PNG of at most 8192 x 8192");
  std::string bad_sum = good;
  bad_sum[29] = static_cast<char>(bad_sum[29] ^ 1);
  EXPECT_EQ(png_refusal(bad_sum), "bad PNG: IHDR: CRC error @ p.png, byte 33 ! a PNG of at most 8192 x 8192");
  std::string cut = good;
  cut.resize(cut.size() - 14);
  EXPECT_EQ(png_refusal(cut).substr(0, 29), "bad PNG: file ends too early ");
  const std::string no_palette = header(1, 1, 8, 3) + chunk("IDAT", "x") + chunk("IEND", "");
  EXPECT_EQ(png_refusal(no_palette).substr(0, 27), "bad PNG: IDAT: Missing PLTE");
}

TEST(Png, RefusesPicturesThatAreTooLarge) {
  const std::string data = chunk("IDAT", std::string(100000, 'x')) + chunk("IEND", "");
  EXPECT_EQ(png_refusal(header(8193, 1) + data).substr(0, 27), "bad PNG: Invalid IHDR data ");
  EXPECT_EQ(png_refusal(header(0x7fffffff, 0x7fffffff) + data).substr(0, 27), "bad PNG: Invalid IHDR data ");
  EXPECT_EQ(png_refusal(header(8192, 8192) + data),
            "picture of 8192 x 8192 @ p.png, byte 16 ! at most 50331648 pixels");
  EXPECT_EQ(png_refusal(header(8000, 6000, 16, 6) + data).substr(0, 39), "picture of 8000 x 6000 in a file of 100");
}

// A text that inflates to 100 MB must not be inflated.
TEST(Png, SkipsCompressedChunks) {
  const std::string flood(100 << 20, 'a');
  std::string packed(::compressBound(flood.size()), '\0');
  uLongf size = packed.size();
  ASSERT_EQ(::compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(flood.data()),
                        flood.size(), 1),
            Z_OK);
  packed.resize(size);
  const std::string good = read_file(golden("gray8.png"));
  const std::string with_text = good.substr(0, 33) + chunk("zTXt", std::string("Comment\0\0", 9) + packed) +
                                chunk("iCCP", std::string("profile\0\0", 9) + packed) + good.substr(33);
  EXPECT_EQ(decode_png(as_bytes(with_text), "p.png").rows(), 5u);
}

}  // namespace
}  // namespace glint
