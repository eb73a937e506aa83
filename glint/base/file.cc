#include "glint/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "glint/base/error.h"

namespace glint {
namespace {

[[noreturn]] void fail(const std::string& action, const std::string& path) {
  const int code = errno;
  std::string hint;
  if (code == ENOSPC || code == EDQUOT)
    hint = "free some space on that disk; what was saved before is intact";
  if (code == EACCES || code == EROFS || code == EPERM) hint = "a directory that you may write to (--out)";
  throw Error({.what = "cannot " + action + ": " + std::strerror(code), .where = path, .hint = hint});
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

class RealWritableFile : public WritableFile {
 public:
  RealWritableFile(const std::string& path, int mode)
      : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | mode, 0644)) {
    if (fd_.get() < 0) fail("create the file", path_);
  }
  void write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("write", path_);
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
  }
  void sync() override {
    if (::fsync(fd_.get()) != 0) fail("sync to disk", path_);
  }

 private:
  std::string path_;
  Descriptor fd_;
};

class RealFileSystem : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return std::make_unique<RealWritableFile>(path, O_TRUNC);
  }
  std::unique_ptr<WritableFile> append(const std::string& path) override {
    return std::make_unique<RealWritableFile>(path, O_APPEND);
  }
  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail("rename to " + to, from);
  }
  void remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("remove", path);
  }
  void sync_directory(const std::string& directory) override {
    const Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Some network file systems cannot sync a directory and say EINVAL: nothing more can be done there.
    if (fd.get() < 0 || (::fsync(fd.get()) != 0 && errno != EINVAL)) fail("sync the directory", directory);
  }
};

// Opens a regular file and gives its size.
int open_regular(const std::string& path, size_t& size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block us
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    const int code = errno;
    if (fd >= 0) ::close(fd);
    throw Error({.code = ErrorCode::bad_file,
                 .what = std::string("cannot read: ") + std::strerror(code),
                 .where = path});
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    throw Error({.code = ErrorCode::bad_file, .what = "not a regular file", .where = path});
  }
  size = static_cast<size_t>(info.st_size);
  return fd;
}

}  // namespace

FileSystem& real_files() {
  static RealFileSystem files;  // stateless
  return files;
}

void write_atomic(FileSystem& files, const std::string& path,
                  const std::function<void(WritableFile&)>& fill) {
  const std::string temporary = path + "." + std::to_string(::getpid()) + ".tmp";
  try {
    const std::unique_ptr<WritableFile> file = files.create(temporary);
    fill(*file);
    file->sync();
    files.rename(temporary, path);
  } catch (...) {
    try {
      files.remove(temporary);
    } catch (...) {  // the first failure is the one to report
    }
    throw;
  }
  const std::string directory = std::filesystem::path(path).parent_path().string();
  files.sync_directory(directory.empty() ? "." : directory);
}

void write_atomic(FileSystem& files, const std::string& path, std::string_view content) {
  write_atomic(files, path, [&](WritableFile& f) { f.write(as_bytes(content)); });
}

std::string read_file(const std::string& path, size_t max_bytes) {
  size_t size = 0;
  const Descriptor fd(open_regular(path, size));
  if (size > max_bytes)
    throw Error({.code = ErrorCode::bad_file,
                 .what = "file of " + std::to_string(size) + " bytes is too large",
                 .where = path,
                 .expected = "at most " + std::to_string(max_bytes) + " bytes"});
  std::string content(size, '\0');
  size_t have = 0;
  while (have < size) {
    const ssize_t n = ::read(fd.get(), content.data() + have, size - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path);
    if (n == 0) break;  // it shrank while we read
    have += static_cast<size_t>(n);
  }
  content.resize(have);
  return content;
}

MappedFile::MappedFile(const std::string& path) {
  const Descriptor fd(open_regular(path, size_));
  if (size_ == 0) return;
  void* p = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (p == MAP_FAILED) fail("map", path);
  data_ = static_cast<const std::byte*>(p);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace glint
