// Files: reading with a bound, and writing that survives a crash at any moment. The operations that can fail
// are behind an interface, so that a test can make each of them fail.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "glint/base/error.h"

namespace glint {

class WritableFile {
 public:
  virtual ~WritableFile() = default;  // closes; what was not synced may be lost
  virtual void write(std::span<const std::byte> bytes) = 0;
  virtual void sync() = 0;
};

// A directory that was opened: the same one until the end, whatever its path comes to mean. Names are those
// of files right in it.
class Directory {
 public:
  virtual ~Directory() = default;
  virtual std::unique_ptr<WritableFile> create(const std::string& name) = 0;
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& name) = 0;  // absent is fine
  virtual void sync() = 0;
};

// All functions throw Error (failure) with the path and the reason of the system. What is written goes into a
// file of the name that was given, never through a link of that name to somewhere else.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual std::unique_ptr<WritableFile> create(const std::string& path) = 0;  // Error when there is one
  virtual std::unique_ptr<WritableFile> append(const std::string& path) = 0;  // creates; writes go to the end
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual void remove(const std::string& path) = 0;  // absent is fine
  virtual void sync_directory(const std::string& directory) = 0;
  // Unless a file system knows better, the directory is its path and the functions above.
  virtual std::unique_ptr<Directory> open_directory(const std::string& path);
};

FileSystem& real_files();

// Writes through `fill` into a temporary file beside `path`, syncs it, renames it over `path`, syncs the
// directory. After a crash at any moment `path` holds the old content or the new, whole. A failure removes
// the temporary file and is thrown on; only that of the last sync comes after `path` has the new content. Two
// threads must not write the same path at once. A link at `path` is replaced, not followed.
void write_atomic(FileSystem& files, const std::string& path, const std::function<void(WritableFile&)>& fill);
void write_atomic(FileSystem& files, const std::string& path, std::string_view content);

// NAME.RANDOM.tmp: a name that nobody can have prepared.
std::string temporary_name(const std::string& name);
// The NAME of what a killed process left behind under such a name; "" for any other.
std::string name_of_leftover(const std::string& file);
// Removes those of a folder whose NAME is one that `writes` knows. What a process still writes stays.
void remove_leftovers(FileSystem& files, const std::string& directory,
                      const std::function<bool(const std::string& name)>& writes);

// Whether something is there; links are followed. Error (failure) when the system does not tell, (bad_file)
// for links that lead round in a circle.
bool exists(const std::string& path);

// Makes a folder of glint's own inside another, unless it is there. Error (bad_file) when a link or a file
// has its name: files written through a link would land elsewhere.
void make_own_folder(const std::string& path);

// The whole file; Error (bad_file) when it is missing, not a regular file, or larger than `max_bytes`. What
// is appended while it is read is left out.
std::string read_file(const std::string& path, size_t max_bytes = size_t{1} << 31);

// A file mapped read-only: for data that is used in place. Only for files that nobody shortens meanwhile:
// the system kills a process that reads a page which the file no longer has. Use read_file where that
// matters.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

inline std::span<const std::byte> as_bytes(std::string_view s) { return std::as_bytes(std::span(s.data(), s.size())); }

// bad_file when the path is wrong (nothing there, a circle of links), failure when the system refused (no
// permission, a disk that fails): that is nothing that another file could mend.
ErrorCode code_of_errno(int error);

}  // namespace glint
