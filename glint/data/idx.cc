#include "glint/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/sha256.h"

namespace glint {
namespace {

constexpr uint32_t kUnsignedByte = 0x08;
constexpr uint32_t kImageRank = 3, kLabelRank = 1;
constexpr size_t kSlack = size_t{63} << 20;  // 64 MB, one of them for what zlib holds while it unpacks

bool is_gzip(std::span<const std::byte> file) {
  return file.size() >= 2 && file[0] == std::byte{0x1f} && file[1] == std::byte{0x8b};
}

// The unpacked content as a stream of bytes that is asked for piece by piece and must then be at its end.
class Content {
 public:
  Content(std::span<const std::byte> file, const std::string& name) : file_(file), name_(name) {
    if (!is_gzip(file)) return;
    stream_ = std::make_unique<z_stream>();
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(stream_.get(), kGzipOnly) != Z_OK) {
      stream_.reset();
      throw Error({.what = "cannot start to unpack gzip: out of memory", .where = name});
    }
    // Older zlib headers have a mutable pointer here; the input is never written to.
    stream_->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(file.data()));
  }
  ~Content() {
    if (stream_) inflateEnd(stream_.get());
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  bool packed() const { return stream_ != nullptr; }
  const std::string& name() const { return name_; }
  size_t file_size() const { return file_.size(); }

  // Fills `out` or throws: `rule` says what should have been there.
  void read(std::span<std::byte> out, const std::string& rule) {
    const size_t have = packed() ? inflate_into(out) : copy_into(out);
    at_ += have;
    if (have < out.size()) refuse(label(), at_, "file ends too early", rule);
  }
  void expect_end(const std::string& rule) {
    if (!packed()) {
      if (at_ < file_.size()) refuse(name_, at_, std::to_string(file_.size() - at_) + " bytes follow the data", rule);
      return;
    }
    std::byte extra{};
    if (inflate_into({&extra, 1}) > 0) refuse(label(), at_, "more bytes follow the data", rule);
    if (consumed_ < file_.size())
      refuse(name_, consumed_, std::to_string(file_.size() - consumed_) + " bytes follow the gzip data",
             "one gzip member and nothing after it");
  }
  // How messages name a byte of the content.
  std::string label() const { return packed() ? name_ + " (unpacked)" : name_; }

 private:
  size_t copy_into(std::span<std::byte> out) {
    const size_t n = std::min(out.size(), file_.size() - at_);
    std::copy_n(file_.begin() + static_cast<std::ptrdiff_t>(at_), n, out.begin());
    return n;
  }
  // Fewer bytes than asked for only at the end of the gzip member, whose checksum is then verified.
  size_t inflate_into(std::span<std::byte> out) {
    constexpr size_t kMost = size_t{1} << 30;  // zlib counts in 32 bits
    size_t have = 0;
    while (!ended_ && have < out.size()) {
      const uInt room = static_cast<uInt>(std::min(out.size() - have, kMost));
      const uInt given = static_cast<uInt>(std::min(file_.size() - consumed_, kMost));
      stream_->next_out = reinterpret_cast<Bytef*>(out.data() + have);
      stream_->avail_out = room;
      stream_->avail_in = given;
      const int result = inflate(stream_.get(), Z_NO_FLUSH);
      have += room - stream_->avail_out;
      consumed_ += given - stream_->avail_in;
      if (result == Z_STREAM_END) {
        ended_ = true;
      } else if (result == Z_MEM_ERROR) {
        throw Error({.what = "cannot unpack gzip: out of memory", .where = name_});
      } else if (result == Z_BUF_ERROR || (result == Z_OK && consumed_ == file_.size() && have < out.size())) {
        refuse(name_, consumed_, "gzip data ends too early", "a whole gzip file", "get the file again");
      } else if (result != Z_OK) {
        refuse(name_, consumed_,
               std::string("gzip data is damaged: ") + (stream_->msg ? stream_->msg : "unknown block"),
               "gzip data with a right checksum", "get the file again");
      }
    }
    return have;
  }

  std::span<const std::byte> file_;
  std::string name_;
  std::unique_ptr<z_stream> stream_;  // for gzip
  size_t at_ = 0;                     // in the content
  size_t consumed_ = 0;               // in the file, for gzip
  bool ended_ = false;
};

struct Header {
  std::array<std::byte, 16> bytes{};
  size_t length = 0;  // 4 + 4 * rank
  std::array<size_t, 3> dims{};
  size_t elements = 0;
  std::span<const std::byte> span() const { return {bytes.data(), length}; }
};

uint32_t load_be(const std::byte* p) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; i++) value = value << 8 | static_cast<uint32_t>(p[i]);
  return value;
}

std::string byte_text(std::byte b) { return std::to_string(static_cast<unsigned>(b)); }

Header read_header(Content& content, uint32_t rank) {
  Header h;
  h.length = 4 + 4 * rank;
  const std::string label = content.label();
  content.read({h.bytes.data(), 4}, "an IDX header of " + std::to_string(h.length) + " bytes");
  for (size_t i = 0; i < 2; i++)
    if (h.bytes[i] != std::byte{0})
      refuse(label, i, "not an IDX file: byte is " + byte_text(h.bytes[i]), "two zero bytes at the start");
  if (h.bytes[2] != std::byte{kUnsignedByte})
    refuse(label, 2, "element type is " + byte_text(h.bytes[2]), "8 (unsigned bytes)");
  if (h.bytes[3] != static_cast<std::byte>(rank))
    refuse(label, 3, "rank is " + byte_text(h.bytes[3]),
           rank == kImageRank ? "3 (count, height, width) in a file of images" : "1 (count) in a file of labels");
  content.read({h.bytes.data() + 4, 4 * rank}, std::to_string(rank) + " dimensions of 4 bytes each");

  h.elements = 1;
  for (size_t i = 0; i < rank; i++) {
    h.dims[i] = load_be(h.bytes.data() + 4 + 4 * i);
    if (h.dims[i] == 0) refuse(label, 4 + 4 * i, "dimension is 0", "at least 1 in every dimension");
    if (__builtin_mul_overflow(h.elements, h.dims[i], &h.elements))
      refuse(label, 4 + 4 * i, "the product of the dimensions does not fit 64 bits", "sizes of a real file");
  }
  return h;
}

// Before anything of that size is allocated. A plain file has as many bytes as its header says; a packed one
// may unpack to no more than its own size + 63 MB, so that file, content and zlib stay below twice the file +
// 64 MB.
void check_claim(const Content& content, const Header& h) {
  const std::string claim = "header claims " + std::to_string(h.elements) + " elements";
  if (!content.packed()) {
    const size_t left = content.file_size() - h.length;
    if (h.elements > left)
      refuse(content.name(), h.length, claim + ", file has " + std::to_string(left) + " more bytes",
             "as many bytes as the dimensions say");
  } else if (h.elements > content.file_size() + kSlack) {
    refuse(content.label(), 4, claim + ", packed file has " + std::to_string(content.file_size()) + " bytes",
           "at most the packed size + 63 MB", "unpack it first: gunzip " + content.name());
  }
}

std::string digest(const Header& h, std::span<const std::byte> elements) {
  Sha256 hash;
  hash.update(h.span());
  hash.update(elements);
  return hex(hash.finish());
}

// Reads what the header announces into memory of just that size, made by `make(header)`.
std::string read_elements(std::span<const std::byte> file, const std::string& name, uint32_t rank, auto make) {
  Content content(file, name);
  const Header h = read_header(content, rank);
  check_claim(content, h);
  const std::span<std::byte> elements = std::as_writable_bytes(std::span<uint8_t>(make(h)));
  const std::string rule = std::to_string(h.elements) + " elements after the header, as the dimensions say";
  content.read(elements, rule);
  content.expect_end(rule);
  return digest(h, elements);
}

std::string header(std::initializer_list<size_t> dims) {
  std::string text = {0, 0, static_cast<char>(kUnsignedByte), static_cast<char>(dims.size())};
  for (const size_t d : dims)
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(d >> shift & 0xff);
  return text;
}

}  // namespace

IdxImages parse_idx_images(std::span<const std::byte> file, const std::string& name) {
  IdxImages images;
  images.sha256 = read_elements(file, name, kImageRank, [&](const Header& h) {
    images.height = h.dims[1], images.width = h.dims[2];
    images.pixels = Matrix<uint8_t>(h.dims[0], h.dims[1] * h.dims[2]);
    return images.pixels.span();
  });
  return images;
}

IdxLabels parse_idx_labels(std::span<const std::byte> file, const std::string& name, size_t classes) {
  IdxLabels labels;
  labels.sha256 = read_elements(file, name, kLabelRank, [&](const Header& h) -> std::span<uint8_t> {
    labels.values.resize(h.dims[0]);
    return labels.values;
  });
  const auto bad =
      std::find_if(labels.values.begin(), labels.values.end(), [&](uint8_t label) { return label >= classes; });
  if (bad != labels.values.end())
    refuse(name + (is_gzip(file) ? " (unpacked)" : ""), 8 + static_cast<size_t>(bad - labels.values.begin()),
           "label is " + std::to_string(*bad), "labels from 0 to " + std::to_string(classes - 1));
  return labels;
}

IdxImages read_idx_images(const std::string& path) {
  const std::string file = read_file(path);
  return parse_idx_images(as_bytes(file), path);
}

IdxLabels read_idx_labels(const std::string& path, size_t classes) {
  const std::string file = read_file(path);
  return parse_idx_labels(as_bytes(file), path, classes);
}

std::string idx_image_header(size_t count, size_t height, size_t width) { return header({count, height, width}); }

std::string idx_label_header(size_t count) { return header({count}); }

}  // namespace glint
