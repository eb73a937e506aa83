#include "glint/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace glint {
namespace {

[[noreturn]] void fail(const std::string& action, const std::string& path) {
  const int code = errno;
  std::string hint;
  if (code == ENOSPC || code == EDQUOT) hint = "free some space on that disk; what was saved before is intact";
  if (code == EACCES || code == EROFS || code == EPERM) hint = "a directory that you may write to";
  throw Error({.what = "cannot " + action + ": " + std::strerror(code), .where = path, .hint = hint});
}

// As write_atomic was given it: no "./" before a name alone.
std::string join(const std::string& directory, const std::string& name) {
  if (directory == ".") return name;
  return directory + (directory.ends_with('/') ? "" : "/") + name;
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
  // `name` in the directory `at`; `path` is for messages. O_NONBLOCK: a pipe of that name must not block us.
  RealWritableFile(int at, const std::string& name, const std::string& path, int mode)
      : path_(path),
        fd_(::openat(at, name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | mode, 0644)) {
    if (fd_.get() < 0) fail(errno == ELOOP ? "write through a link" : "create the file", path_);
    // Held while it is written, for remove_leftovers; where the system has no such locks nothing is removed.
    if (mode & O_EXCL) ::flock(fd_.get(), LOCK_EX | LOCK_NB);
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

// Some network file systems cannot sync a directory and say EINVAL: nothing more can be done there.
void sync_open_directory(int fd, const std::string& path) {
  if (::fsync(fd) != 0 && errno != EINVAL) fail("sync the directory", path);
}

class RealDirectory : public Directory {
 public:
  explicit RealDirectory(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_.get() < 0) fail("open the directory", path_);
  }
  std::unique_ptr<WritableFile> create(const std::string& name) override {
    return std::make_unique<RealWritableFile>(fd_.get(), name, of(name), O_EXCL);
  }
  void rename(const std::string& from, const std::string& to) override {
    if (::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) != 0) fail("rename to " + of(to), of(from));
  }
  void remove(const std::string& name) override {
    if (::unlinkat(fd_.get(), name.c_str(), 0) != 0 && errno != ENOENT) fail("remove", of(name));
  }
  void sync() override { sync_open_directory(fd_.get(), path_); }

 private:
  std::string of(const std::string& name) const { return join(path_, name); }
  std::string path_;
  Descriptor fd_;
};

class PathDirectory : public Directory {
 public:
  PathDirectory(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}
  std::unique_ptr<WritableFile> create(const std::string& name) override { return files_.create(of(name)); }
  void rename(const std::string& from, const std::string& to) override { files_.rename(of(from), of(to)); }
  void remove(const std::string& name) override { files_.remove(of(name)); }
  void sync() override { files_.sync_directory(path_); }

 private:
  std::string of(const std::string& name) const { return join(path_, name); }
  FileSystem& files_;
  std::string path_;
};

class RealFileSystem : public FileSystem {
 public:
  std::unique_ptr<WritableFile> create(const std::string& path) override {
    return std::make_unique<RealWritableFile>(AT_FDCWD, path, path, O_EXCL);
  }
  std::unique_ptr<WritableFile> append(const std::string& path) override {
    return std::make_unique<RealWritableFile>(AT_FDCWD, path, path, O_APPEND);
  }
  std::unique_ptr<Directory> open_directory(const std::string& path) override {
    return std::make_unique<RealDirectory>(path);
  }
  void rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) fail("rename to " + to, from);
  }
  void remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) fail("remove", path);
  }
  void sync_directory(const std::string& directory) override {
    const Descriptor fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0) fail("sync the directory", directory);
    sync_open_directory(fd.get(), directory);
  }
};

// Opens a regular file and gives its size.
int open_regular(const std::string& path, size_t& size) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not block us
  struct stat info {};
  if (fd < 0 || ::fstat(fd, &info) != 0) {
    const int code = errno;
    if (fd >= 0) ::close(fd);
    throw Error(
        {.code = code_of_errno(code), .what = std::string("cannot read: ") + std::strerror(code), .where = path});
  }
  if (!S_ISREG(info.st_mode)) {
    ::close(fd);
    throw Error({.code = ErrorCode::bad_file, .what = "not a regular file", .where = path});
  }
  size = static_cast<size_t>(info.st_size);
  return fd;
}

}  // namespace

ErrorCode code_of_errno(int error) {
  for (const int wrong : {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EISDIR, ENXIO, EINVAL})
    if (error == wrong) return ErrorCode::bad_file;
  return ErrorCode::failure;
}

FileSystem& real_files() {
  static RealFileSystem files;  // stateless
  return files;
}

std::unique_ptr<Directory> FileSystem::open_directory(const std::string& path) {
  return std::make_unique<PathDirectory>(*this, path);
}

void write_atomic(FileSystem& files, const std::string& path, const std::function<void(WritableFile&)>& fill) {
  const std::filesystem::path whole(path);
  const std::string parent = whole.parent_path().string(), name = whole.filename().string();
  const std::string temporary = temporary_name(name);
  std::unique_ptr<Directory> directory;
  try {
    directory = files.open_directory(parent.empty() ? "." : parent);
  } catch (const Error& e) {
    ErrorParts parts = e.parts();
    parts.where = path;  // what was to be written; the reason names what is missing
    throw Error(parts);
  }
  try {
    const std::unique_ptr<WritableFile> file = directory->create(temporary);
    fill(*file);
    file->sync();
    directory->rename(temporary, name);
  } catch (...) {
    try {
      directory->remove(temporary);
    } catch (...) {  // the first failure is the one to report
    }
    throw;
  }
  directory->sync();
}

void write_atomic(FileSystem& files, const std::string& path, std::string_view content) {
  write_atomic(files, path, [&](WritableFile& f) { f.write(as_bytes(content)); });
}

namespace {

constexpr std::string_view kTemporary = ".tmp";
constexpr size_t kRandomDigits = 16;

}  // namespace

std::string temporary_name(const std::string& name) {
  uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, 0) != sizeof bits) fail("get random bytes for a temporary file", name);
  char digits[kRandomDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(bits));
  return name + "." + digits + std::string(kTemporary);
}

std::string name_of_leftover(const std::string& file) {
  if (!file.ends_with(kTemporary)) return {};
  const std::string stem = file.substr(0, file.size() - kTemporary.size());
  const size_t dot = stem.rfind('.');
  if (dot == stem.npos || dot == 0) return {};
  const std::string random = stem.substr(dot + 1);
  const bool ours = random.size() == kRandomDigits && random.find_first_not_of("0123456789abcdef") == random.npos;
  return ours ? stem.substr(0, dot) : std::string();
}

void remove_leftovers(FileSystem& files, const std::string& directory,
                      const std::function<bool(const std::string& name)>& writes) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string of = name_of_leftover(entry.path().filename().string());
    if (of.empty() || !writes(of) || !fs::is_regular_file(entry.symlink_status(ignored))) continue;
    // For writing: network file systems give the lock to no one else.
    const Descriptor fd(::open(entry.path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (fd.get() >= 0 && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) files.remove(entry.path().string());
  }
}

bool exists(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw Error(
      {.code = code_of_errno(errno), .what = std::string("cannot read: ") + std::strerror(errno), .where = path});
}

void make_own_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0) return;
  if (errno != EEXIST) fail("make the folder", path);
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) fail("make the folder", path);
  if (S_ISDIR(info.st_mode)) return;
  bad_file(path, S_ISLNK(info.st_mode) ? "the folder is a link to somewhere else" : "a file has the name of the folder",
           "a folder of its own", "remove it, or put a real folder in its place");
}

std::string read_file(const std::string& path, size_t max_bytes) {
  size_t size = 0;
  const Descriptor fd(open_regular(path, size));
  if (size > max_bytes)
    bad_file(path, "file of " + std::to_string(size) + " bytes is too large",
             "at most " + std::to_string(max_bytes) + " bytes");
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
