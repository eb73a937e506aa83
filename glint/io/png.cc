#include "glint/io/png.h"

#include <png.h>

#include <cassert>
#include <csetjmp>
#include <cstring>

#include "glint/base/error.h"

namespace glint {
namespace {

// libpng reports an error by longjmp. Whatever has a destructor therefore lives in a Session that the caller
// of the function with setjmp owns: no frame between setjmp and longjmp holds anything but plain data.
struct Session {
  png_structp png = nullptr;
  png_infop info = nullptr;
  bool writing = false;
  char message[160] = "out of memory";
  std::span<const std::byte> in;  // reading: the file
  size_t in_at = 0;
  std::string out;  // writing: the file
  std::string row;  // reading: one row as libpng gives it

  ~Session() {
    if (writing)
      png_destroy_write_struct(&png, &info);
    else
      png_destroy_read_struct(&png, &info, nullptr);
  }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* s = static_cast<Session*>(png_get_error_ptr(png));
  std::strncpy(s->message, message, sizeof(s->message) - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}  // a library does not print

void on_read(png_structp png, png_bytep out, size_t n) {
  auto* s = static_cast<Session*>(png_get_io_ptr(png));
  if (n > s->in.size() - s->in_at) png_error(png, "file ends too early");
  std::memcpy(out, s->in.data() + s->in_at, n);
  s->in_at += n;
}

void on_write(png_structp png, png_bytep bytes, size_t n) {
  auto* s = static_cast<Session*>(png_get_io_ptr(png));
  bool ok = true;
  try {
    s->out.append(reinterpret_cast<const char*>(bytes), n);
  } catch (...) {
    ok = false;
  }
  if (!ok) png_error(png, "out of memory");  // outside the handler: a jump out of it would leak the exception
}

void on_flush(png_structp) {}

// The three functions with setjmp. False means that libpng complained; Session::message says why.
bool encode(Session& s, PngColor color, size_t width, size_t height, const uint8_t* pixels, PngEffort effort) {
  if (setjmp(png_jmpbuf(s.png))) return false;
  png_set_write_fn(s.png, &s, on_write, on_flush);
  const int type = color == PngColor::gray  ? PNG_COLOR_TYPE_GRAY
                   : color == PngColor::rgb ? PNG_COLOR_TYPE_RGB
                                            : PNG_COLOR_TYPE_RGB_ALPHA;
  png_set_IHDR(s.png, s.info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), 8, type,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (effort == PngEffort::quick) {
    png_set_compression_level(s.png, 2);
    png_set_filter(s.png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
  }
  png_write_info(s.png, s.info);
  for (size_t y = 0; y < height; y++) png_write_row(s.png, pixels + y * width * static_cast<size_t>(color));
  png_write_end(s.png, nullptr);
  return true;
}

struct Picture {
  size_t width = 0, height = 0, channels = 0, row_bytes = 0, raw_bytes = 0;
  bool interlaced = false;
};

bool decode_header(Session& s, const PngLimits& limits, Picture& picture) {
  if (setjmp(png_jmpbuf(s.png))) return false;
  png_set_read_fn(s.png, &s, on_read);
  png_set_user_limits(s.png, static_cast<png_uint_32>(limits.side), static_cast<png_uint_32>(limits.side));
  png_set_chunk_malloc_max(s.png, png_alloc_size_t{1} << 20);
  // Profiles, texts and times mean nothing here, and some of them are compressed: they are skipped unread.
  png_set_keep_unknown_chunks(s.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(s.png, s.info);
  picture.width = png_get_image_width(s.png, s.info);
  picture.height = png_get_image_height(s.png, s.info);
  picture.raw_bytes = png_get_rowbytes(s.png, s.info) * picture.height;
  picture.interlaced = png_get_interlace_type(s.png, s.info) != PNG_INTERLACE_NONE;
  png_set_scale_16(s.png);
  png_set_expand(s.png);  // palette to colour, 1 to 4 bits to 8, transparency to alpha
  png_read_update_info(s.png, s.info);
  picture.channels = png_get_channels(s.png, s.info);
  picture.row_bytes = png_get_rowbytes(s.png, s.info);
  return true;
}

uint8_t gray_of(const uint8_t* p, size_t channels, uint32_t background) {
  const uint32_t y = channels >= 3 ? (299u * p[0] + 587u * p[1] + 114u * p[2] + 500u) / 1000u : p[0];
  if (channels % 2 == 1) return static_cast<uint8_t>(y);
  const uint32_t alpha = p[channels - 1];
  return static_cast<uint8_t>((y * alpha + background * (255u - alpha) + 127u) / 255u);
}

// An interlaced file is read pass by pass, each pixel put where it belongs: no second copy of the picture.
bool decode_rows(Session& s, const Picture& picture, uint8_t background, uint8_t* out) {
  if (setjmp(png_jmpbuf(s.png))) return false;
  auto* row = reinterpret_cast<uint8_t*>(s.row.data());
  const int passes = picture.interlaced ? PNG_INTERLACE_ADAM7_PASSES : 1;
  for (int pass = 0; pass < passes; pass++) {
    size_t x0 = 0, dx = 1, y0 = 0, dy = 1;
    if (picture.interlaced) {
      x0 = PNG_PASS_START_COL(pass), dx = size_t{1} << PNG_PASS_COL_SHIFT(pass);
      y0 = PNG_PASS_START_ROW(pass), dy = size_t{1} << PNG_PASS_ROW_SHIFT(pass);
    }
    if (x0 >= picture.width) continue;
    for (size_t y = y0; y < picture.height; y += dy) {
      png_read_row(s.png, row, nullptr);
      const uint8_t* p = row;
      for (size_t x = x0; x < picture.width; x += dx, p += picture.channels)
        out[y * picture.width + x] = gray_of(p, picture.channels, background);
    }
  }
  png_read_end(s.png, nullptr);
  return true;
}

}  // namespace

std::string encode_png(PngColor color, size_t width, size_t height, std::span<const uint8_t> pixels, PngEffort effort) {
  assert(pixels.size() == width * height * static_cast<size_t>(color));
  assert(width > 0 && height > 0);
  Session s;
  s.writing = true;
  s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
  if (s.png) s.info = png_create_info_struct(s.png);
  if (!s.info || !encode(s, color, width, height, pixels.data(), effort))
    throw Error({.what = std::string("cannot make a PNG: ") + s.message});
  return std::move(s.out);
}

void write_png(FileSystem& files, const std::string& path, PngColor color, size_t width, size_t height,
               std::span<const uint8_t> pixels) {
  write_atomic(files, path, encode_png(color, width, height, pixels));
}

Matrix<uint8_t> decode_png(std::span<const std::byte> file, const std::string& where, uint8_t background,
                           PngLimits limits) {
  constexpr size_t kSignature = 8;
  if (file.size() < kSignature || png_sig_cmp(reinterpret_cast<png_const_bytep>(file.data()), 0, kSignature) != 0)
    refuse(where, 0, "not a PNG file", "the PNG signature");
  Session s;
  s.in = file;
  s.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
  if (s.png) s.info = png_create_info_struct(s.png);
  if (!s.info) throw Error({.what = "cannot read a PNG: out of memory", .where = where});

  Picture picture;
  if (!decode_header(s, limits, picture))
    refuse(where, s.in_at, std::string("bad PNG: ") + s.message,
           "a PNG of at most " + std::to_string(limits.side) + " x " + std::to_string(limits.side));
  if (picture.width * picture.height > limits.pixels)
    refuse(where, 16, "picture of " + std::to_string(picture.width) + " x " + std::to_string(picture.height),
           "at most " + std::to_string(limits.pixels) + " pixels");
  // Deflate makes at most 1032 bytes of one: a file that promises more is not worth the memory.
  if (picture.raw_bytes / 1032 > file.size())
    refuse(where, 16,
           "picture of " + std::to_string(picture.width) + " x " + std::to_string(picture.height) + " in a file of " +
               std::to_string(file.size()) + " bytes",
           "a whole file");
  s.row.resize(picture.row_bytes);
  Matrix<uint8_t> gray(picture.height, picture.width);
  if (!decode_rows(s, picture, background, gray.data()))
    refuse(where, s.in_at, std::string("bad PNG: ") + s.message, "a whole PNG");
  return gray;
}

Matrix<uint8_t> read_png(const std::string& path, uint8_t background, PngLimits limits) {
  const MappedFile file(path);
  return decode_png(file.bytes(), path, background, limits);
}

}  // namespace glint
