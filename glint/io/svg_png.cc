#include "glint/io/svg_png.h"

#include <dlfcn.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "glint/base/memory_room.h"
#include "glint/io/png.h"

namespace glint {
namespace {

constexpr const char* kLibrary = "librsvg-2.so.2";
// What one drawing may take, the libraries counted. They end the process when they get no memory.
constexpr size_t kDrawingRoom = size_t{192} << 20;
constexpr int kRgb24 = 1;  // CAIRO_FORMAT_RGB24: 32-bit words 0x00RRGGBB

struct GError {
  uint32_t domain;
  int code;
  char* message;
};
struct RsvgRectangle {
  double x, y, width, height;
};

// What is called of librsvg 2.52 and later, and of the cairo and GLib that it brings along.
struct Renderer {
  void* (*handle_new)(const uint8_t* data, size_t size, GError** error) = nullptr;
  int (*size_in_pixels)(void* handle, double* width, double* height) = nullptr;
  int (*render)(void* handle, void* cairo, const RsvgRectangle* viewport, GError** error) = nullptr;
  void (*unref)(void* object) = nullptr;
  void (*error_free)(GError* error) = nullptr;
  void* (*surface_new)(int format, int width, int height) = nullptr;
  int (*surface_status)(void* surface) = nullptr;
  uint8_t* (*surface_data)(void* surface) = nullptr;
  int (*surface_stride)(void* surface) = nullptr;
  void (*surface_flush)(void* surface) = nullptr;
  void (*surface_destroy)(void* surface) = nullptr;
  void* (*cairo_new)(void* surface) = nullptr;
  void (*cairo_destroy)(void* cairo) = nullptr;
  void (*cairo_rgb)(void* cairo, double r, double g, double b) = nullptr;
  void (*cairo_paint)(void* cairo) = nullptr;

  // False with the reason in `problem`. Opening a library that is open already costs microseconds.
  bool open(std::string& problem);
};

bool Renderer::open(std::string& problem) {
  // NODELETE: GLib registers types and keeps threads; it cannot be unloaded.
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char* reason = ::dlerror();
    const std::string text = reason ? reason : "";
    problem = text.find("No such file") != text.npos ? kLibrary + std::string(" is not installed (Debian: librsvg2-2)")
                                                     : "librsvg cannot be opened: " + text;
    return false;
  }
  bool all = true;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function && all) {
      problem = std::string(kLibrary) + " has no " + name + ": it is older than 2.52";
      all = false;
    }
  };
  find("rsvg_handle_new_from_data", handle_new);
  find("rsvg_handle_get_intrinsic_size_in_pixels", size_in_pixels);
  find("rsvg_handle_render_document", render);
  find("g_object_unref", unref);
  find("g_error_free", error_free);
  find("cairo_image_surface_create", surface_new);
  find("cairo_surface_status", surface_status);
  find("cairo_image_surface_get_data", surface_data);
  find("cairo_image_surface_get_stride", surface_stride);
  find("cairo_surface_flush", surface_flush);
  find("cairo_surface_destroy", surface_destroy);
  find("cairo_create", cairo_new);
  find("cairo_destroy", cairo_destroy);
  find("cairo_set_source_rgb", cairo_rgb);
  find("cairo_paint", cairo_paint);
  return all;
}

using Owned = std::unique_ptr<void, void (*)(void*)>;

std::string take_message(const Renderer& r, GError* error, const char* otherwise) {
  if (!error) return otherwise;
  std::string text = error->message;
  r.error_free(error);
  return text;
}

SvgPng failed(std::string problem) { return {{}, std::move(problem)}; }

// A drawing that has room beside those that go on at the same time in this process.
class Drawing {
 public:
  Drawing() {
    static std::mutex asking;  // two that ask at once would be in each other's way
    const std::lock_guard lock(asking);
    has_room_ = room_for(kDrawingRoom, ++count());
  }
  ~Drawing() { --count(); }
  Drawing(const Drawing&) = delete;
  Drawing& operator=(const Drawing&) = delete;
  bool has_room() const { return has_room_; }

 private:
  static std::atomic<size_t>& count() {
    static std::atomic<size_t> drawings{0};
    return drawings;
  }
  bool has_room_ = false;
};

}  // namespace

SvgPng svg_to_png(std::string_view svg, double scale) {
  const Drawing drawing;
  if (!drawing.has_room()) return failed("there is not enough memory to draw it");
  Renderer r;
  if (std::string problem; !r.open(problem)) return failed(problem);
  GError* error = nullptr;
  const Owned handle(r.handle_new(reinterpret_cast<const uint8_t*>(svg.data()), svg.size(), &error), r.unref);
  if (!handle) return failed("the SVG cannot be read: " + take_message(r, error, "no reason given"));
  double width = 0, height = 0;
  if (!r.size_in_pixels(handle.get(), &width, &height)) return failed("the SVG does not say its size");
  width = std::ceil(width * scale), height = std::ceil(height * scale);
  if (!(width >= 1 && height >= 1 && width <= kMaxPngSide && height <= kMaxPngSide))
    return failed("the picture would be empty or too large");

  const int w = static_cast<int>(width), h = static_cast<int>(height);
  const Owned surface(r.surface_new(kRgb24, w, h), r.surface_destroy);
  if (r.surface_status(surface.get()) != 0) return failed("no memory for the picture");
  {
    const Owned cairo(r.cairo_new(surface.get()), r.cairo_destroy);
    r.cairo_rgb(cairo.get(), 1, 1, 1);
    r.cairo_paint(cairo.get());
    const RsvgRectangle whole{0, 0, width, height};
    if (!r.render(handle.get(), cairo.get(), &whole, &error))
      return failed("the SVG cannot be drawn: " + take_message(r, error, "no reason given"));
  }
  r.surface_flush(surface.get());
  const uint8_t* data = r.surface_data(surface.get());
  if (!data) return failed("no memory for the picture");
  const auto stride = static_cast<size_t>(r.surface_stride(surface.get()));
  std::vector<uint8_t> rgb(static_cast<size_t>(w) * static_cast<size_t>(h) * 3);
  uint8_t* to = rgb.data();
  for (size_t y = 0; y < static_cast<size_t>(h); y++) {
    const uint8_t* from = data + y * stride;  // little-endian: blue first
    for (size_t x = 0; x < static_cast<size_t>(w); x++, from += 4, to += 3)
      to[0] = from[2], to[1] = from[1], to[2] = from[0];
  }
  return {encode_png(PngColor::rgb, static_cast<size_t>(w), static_cast<size_t>(h), rgb, PngEffort::quick), {}};
}

}  // namespace glint
