#include "glint/base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "glint/base/error.h"

namespace glint {
namespace {

// A disk in memory that keeps apart what was written and what would survive a crash, and fails at the
// operation it is told to.
class FakeDisk : public FileSystem {
 public:
  std::map<std::string, std::string> files;
  std::vector<std::string> operations;
  std::map<std::string, bool> synced;  // of each file: nothing written since the last sync
  int fail_at = -1;                    // index of the operation that fails
  bool removing_fails = false;

  class File : public WritableFile {
   public:
    File(FakeDisk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
    ~File() override { disk_.open_files--; }
    void write(std::span<const std::byte> bytes) override {
      // A failing write leaves half of the bytes, as a full disk does.
      const bool whole = disk_.allowed("write " + path_);
      disk_.files[path_].append(reinterpret_cast<const char*>(bytes.data()), whole ? bytes.size() : bytes.size() / 2);
      disk_.synced[path_] = false;
      if (!whole) throw Error({.what = "cannot write", .where = path_});
    }
    void sync() override {
      disk_.step("sync " + path_);
      disk_.synced[path_] = true;
    }

   private:
    FakeDisk& disk_;
    std::string path_;
  };

  std::unique_ptr<WritableFile> create(const std::string& path) override {
    step("create " + path);
    files[path].clear();
    synced[path] = false;
    open_files++;
    return std::make_unique<File>(*this, path);
  }
  std::unique_ptr<WritableFile> append(const std::string& path) override {
    step("append " + path);
    open_files++;
    return std::make_unique<File>(*this, path);
  }
  void rename(const std::string& from, const std::string& to) override {
    step("rename " + from + " " + to);
    EXPECT_TRUE(synced[from]) << "renamed before its content was on disk";
    files[to] = files.at(from);
    files.erase(from);
  }
  void remove(const std::string& path) override {
    operations.push_back("remove " + path);
    if (removing_fails) throw Error({.what = "cannot remove", .where = path});
    EXPECT_EQ(open_files, 0) << "removed while still open";
    files.erase(path);
  }
  void sync_directory(const std::string& directory) override { step("sync_directory " + directory); }

  int open_files = 0;

 private:
  bool allowed(const std::string& operation) {
    operations.push_back(operation);
    return static_cast<int>(operations.size()) - 1 != fail_at;
  }
  void step(const std::string& operation) {
    if (!allowed(operation)) throw Error({.what = "cannot " + operation, .where = "fake"});
  }
};

constexpr char kPath[] = "runs/a/model";
constexpr size_t kBeforeRename = 5;  // create, write, write, sync, rename

void save_new(FakeDisk& disk) {
  write_atomic(disk, kPath, [](WritableFile& f) {
    f.write(as_bytes("new "));
    f.write(as_bytes("content"));
  });
}

TEST(WriteAtomic, SyncsThenRenamesThenSyncsTheDirectory) {
  FakeDisk disk;
  disk.files[kPath] = "old";
  save_new(disk);
  ASSERT_EQ(disk.operations.size(), kBeforeRename + 1);
  const std::string temporary = disk.operations[0].substr(7);
  EXPECT_EQ(temporary.rfind(kPath, 0), 0u) << "a rename is atomic only within a directory: " << temporary;
  EXPECT_NE(temporary, kPath);
  EXPECT_EQ(disk.operations[3], "sync " + temporary);
  EXPECT_EQ(disk.operations[4], "rename " + temporary + " " + kPath);
  EXPECT_EQ(disk.operations[5], "sync_directory runs/a");
  EXPECT_EQ(disk.files, (std::map<std::string, std::string>{{kPath, "new content"}}));
}

TEST(WriteAtomic, AFailureBeforeTheRenameLeavesTheOldContentAndNoTemporary) {
  for (size_t at = 0; at < kBeforeRename; at++) {
    FakeDisk disk;
    disk.files[kPath] = "old";
    disk.fail_at = static_cast<int>(at);
    EXPECT_THROW(save_new(disk), Error) << "operation " << at;
    EXPECT_EQ(disk.files, (std::map<std::string, std::string>{{kPath, "old"}}))
        << "after failing " << disk.operations[at];
    EXPECT_EQ(disk.open_files, 0);
  }
}

TEST(WriteAtomic, AFailureToSyncTheDirectoryIsReportedWithTheNewContentInPlace) {
  FakeDisk disk;
  disk.files[kPath] = "old";
  disk.fail_at = kBeforeRename;
  EXPECT_THROW(save_new(disk), Error);
  EXPECT_EQ(disk.files, (std::map<std::string, std::string>{{kPath, "new content"}}));
}

TEST(WriteAtomic, ReportsTheFirstFailureWhenTheCleanUpFailsToo) {
  FakeDisk disk;
  disk.fail_at = 3;
  disk.removing_fails = true;
  try {
    save_new(disk);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().what.rfind("cannot sync ", 0), 0u) << e.what();
  }
}

TEST(WriteAtomic, AnExceptionOfTheWriterCleansUp) {
  FakeDisk disk;
  disk.files[kPath] = "old";
  EXPECT_THROW(write_atomic(disk, kPath,
                            [](WritableFile& f) {
                              f.write(as_bytes("half"));
                              throw std::runtime_error("interrupted");
                            }),
               std::runtime_error);
  EXPECT_EQ(disk.files, (std::map<std::string, std::string>{{kPath, "old"}}));
}

TEST(WriteAtomic, APathWithoutDirectorySyncsTheCurrentOne) {
  FakeDisk disk;
  write_atomic(disk, "model", "x");
  EXPECT_EQ(disk.operations.back(), "sync_directory .");
}

class RealFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "glint_file_test_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  size_t count() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_)) n++;
    return n;
  }
  void put(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  static ErrorParts error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const Error& e) {
      return e.parts();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  }
  std::filesystem::path directory_;
};

TEST_F(RealFiles, WriteAtomicWritesAndReplaces) {
  const std::string binary("a\0b\n\xff", 5);
  write_atomic(real_files(), path("f"), "first");
  EXPECT_EQ(read_file(path("f")), "first");
  write_atomic(real_files(), path("f"), binary);
  EXPECT_EQ(read_file(path("f")), binary);
  write_atomic(real_files(), path("f"), "");
  EXPECT_EQ(read_file(path("f")), "");
  EXPECT_EQ(count(), 1u) << "a temporary file was left behind";
}

TEST_F(RealFiles, WriteAtomicTakesManyPieces) {
  std::string expected;
  write_atomic(real_files(), path("f"), [&](WritableFile& f) {
    for (int i = 0; i < 1000; i++) {
      const std::string piece = std::to_string(i) + ",";
      f.write(as_bytes(piece));
      expected += piece;
    }
  });
  EXPECT_EQ(read_file(path("f")), expected);
}

TEST_F(RealFiles, AReaderNeverSeesHalfAFile) {
  write_atomic(real_files(), path("f"), "old");
  write_atomic(real_files(), path("f"), [&](WritableFile& f) {
    f.write(as_bytes("ne"));
    EXPECT_EQ(read_file(path("f")), "old");
    f.write(as_bytes("w"));
  });
  EXPECT_EQ(read_file(path("f")), "new");
}

TEST_F(RealFiles, WriteAtomicReportsAMissingDirectory) {
  const ErrorParts e = error_of([&] { write_atomic(real_files(), path("no/such/f"), "x"); });
  EXPECT_EQ(e.code, ErrorCode::failure);
  EXPECT_NE(e.what.find("No such file or directory"), std::string::npos) << e.what;
  EXPECT_NE(e.where.find("no/such/f"), std::string::npos) << e.where;
}

TEST_F(RealFiles, WriteAtomicOverADirectoryFailsAndCleansUp) {
  std::filesystem::create_directory(path("d"));
  EXPECT_THROW(write_atomic(real_files(), path("d"), "x"), Error);
  EXPECT_EQ(count(), 1u);
}

TEST_F(RealFiles, AFullDiskIsReportedWithAHint) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const auto file = real_files().append("/dev/full");
  const ErrorParts e = error_of([&] { file->write(as_bytes("x")); });
  EXPECT_NE(e.what.find("No space left"), std::string::npos) << e.what;
  EXPECT_NE(e.hint.find("free some space"), std::string::npos) << e.hint;
}

// A hostile folder: links under the names that are written, and under the names of temporary files that could
// be guessed.
TEST_F(RealFiles, NothingIsWrittenThroughALink) {
  put("outside", "precious");
  const auto link = [&](const std::string& name) { std::filesystem::create_symlink(path("outside"), path(name)); };
  link("f");
  link("f.tmp");
  link("f." + std::to_string(::getpid()) + ".tmp");
  write_atomic(real_files(), path("f"), "new");
  EXPECT_EQ(read_file(path("f")), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(path("f"))) << "the link itself is replaced";
  link("log");
  EXPECT_THROW(real_files().append(path("log")), Error);
  EXPECT_THROW(real_files().create(path("log")), Error);
  EXPECT_EQ(read_file(path("outside")), "precious");
  std::filesystem::create_symlink(path("nowhere"), path("dangling"));
  EXPECT_THROW(real_files().append(path("dangling")), Error);
  EXPECT_THROW(real_files().create(path("dangling")), Error);
  EXPECT_FALSE(std::filesystem::exists(path("nowhere")));
}

TEST_F(RealFiles, CreateTakesNoFileThatIsThere) {
  put("f", "old");
  EXPECT_THROW(real_files().create(path("f")), Error);
  EXPECT_EQ(read_file(path("f")), "old");
}

// The directory is opened once: moving it away meanwhile does not send the file elsewhere.
TEST_F(RealFiles, TheDirectoryStaysTheSameOne) {
  std::filesystem::create_directory(path("d"));
  std::filesystem::create_directory(path("other"));
  write_atomic(real_files(), path("d/f"), [&](WritableFile& f) {
    std::filesystem::rename(path("d"), path("moved"));
    std::filesystem::create_symlink(path("other"), path("d"));
    f.write(as_bytes("x"));
  });
  EXPECT_EQ(read_file(path("moved/f")), "x");
  EXPECT_TRUE(std::filesystem::is_empty(path("other")));
}

TEST_F(RealFiles, TemporaryNamesAreKnownAgain) {
  const std::string a = temporary_name("model.safetensors"), b = temporary_name("model.safetensors");
  EXPECT_NE(a, b);
  EXPECT_EQ(name_of_leftover(a), "model.safetensors");
  for (const char* other : {"notes.tmp", "a.b.tmp", "run.json.4711.tmp", ".0123456789abcdef.tmp", "run.json",
                            "x.0123abcd.tmp", "run.json.0123456789abcdeF.tmp", ""})
    EXPECT_EQ(name_of_leftover(other), "") << other;
}

// Not what is being written, what another program wrote, and what a link leads to.
TEST_F(RealFiles, LeftoversOfTheKilledAreRemoved) {
  const std::string csv = temporary_name("a.csv"), notes = temporary_name("notes.txt");
  put(csv, "half of");
  put(notes, "the user's");
  put("a.csv.4711.tmp", "another program's");
  put("outside", "precious");
  std::filesystem::create_symlink(path("outside"), path("b.csv.0123456789abcdef.tmp"));
  const auto writes = [](const std::string& name) { return name.ends_with(".csv"); };
  write_atomic(real_files(), path("a.csv"), [&](WritableFile& f) {
    f.write(as_bytes("wh"));
    remove_leftovers(real_files(), path(""), writes);
    f.write(as_bytes("ole"));
  });
  EXPECT_EQ(read_file(path("a.csv")), "whole");
  EXPECT_FALSE(exists(path(csv)));
  EXPECT_TRUE(exists(path(notes)));
  EXPECT_TRUE(exists(path("a.csv.4711.tmp")));
  EXPECT_TRUE(exists(path("b.csv.0123456789abcdef.tmp")));
  EXPECT_EQ(read_file(path("outside")), "precious");
  remove_leftovers(real_files(), path("nowhere"), writes);
}

TEST_F(RealFiles, ExistsTellsMissingFromUnreachable) {
  put("f", "x");
  EXPECT_TRUE(exists(path("f")));
  EXPECT_FALSE(exists(path("nothing")));
  EXPECT_FALSE(exists(path("f/below")));
  std::filesystem::create_symlink(path("loop"), path("loop"));
  const ErrorParts e = error_of([&] { exists(path("loop")); });
  EXPECT_EQ(e.code, ErrorCode::bad_file);
  EXPECT_EQ(e.where, path("loop"));
  EXPECT_EQ(error_of([&] { read_file(path("loop")); }).code, ErrorCode::bad_file);
}

// What the system refuses is no fault of the file's content.
TEST_F(RealFiles, NoPermissionIsAFailureOfTheMachine) {
  put("f", "x");
  std::filesystem::create_directory(path("d"));
  std::filesystem::permissions(path("f"), std::filesystem::perms::none);
  std::filesystem::permissions(path("d"), std::filesystem::perms::none);
  std::filesystem::permissions(directory_, std::filesystem::perms(0755));
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);  // root may read everything
  }
  EXPECT_EQ(error_of([&] { read_file(path("f")); }).code, ErrorCode::failure);
  EXPECT_EQ(error_of([&] { MappedFile file(path("f")); }).code, ErrorCode::failure);
  EXPECT_EQ(error_of([&] { exists(path("d/f")); }).code, ErrorCode::failure);
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  std::filesystem::permissions(path("d"), std::filesystem::perms::owner_all);
}

TEST_F(RealFiles, AnOwnFolderIsNoLink) {
  make_own_folder(path("d"));
  EXPECT_NO_THROW(make_own_folder(path("d")));
  std::filesystem::create_symlink(path("d"), path("link"));
  put("file", "x");
  for (const char* name : {"link", "file"})
    EXPECT_EQ(error_of([&] { make_own_folder(path(name)); }).code, ErrorCode::bad_file) << name;
  EXPECT_EQ(error_of([&] { make_own_folder(path("no/such")); }).code, ErrorCode::failure);
}

TEST_F(RealFiles, RemovingWhatIsAbsentIsFine) {
  EXPECT_NO_THROW(real_files().remove(path("nothing")));
  put("f", "x");
  real_files().remove(path("f"));
  EXPECT_EQ(count(), 0u);
}

TEST_F(RealFiles, RenameAndSyncDirectoryReportFailures) {
  EXPECT_THROW(real_files().rename(path("nothing"), path("f")), Error);
  EXPECT_THROW(real_files().sync_directory(path("nothing")), Error);
}

TEST_F(RealFiles, ReadFileRespectsItsBound) {
  put("f", "12345678");
  EXPECT_EQ(read_file(path("f"), 8), "12345678");
  const ErrorParts e = error_of([&] { read_file(path("f"), 7); });
  EXPECT_EQ(e.code, ErrorCode::bad_file);
  EXPECT_EQ(e.what, "file of 8 bytes is too large");
  EXPECT_EQ(e.expected, "at most 7 bytes");
  EXPECT_EQ(e.where, path("f"));
}

TEST_F(RealFiles, ReadFileRefusesAHugeSparseFileWithoutReadingIt) {
  put("f", "");
  std::filesystem::resize_file(path("f"), uintmax_t{1} << 40);  // a tebibyte that takes no space
  EXPECT_EQ(error_of([&] { read_file(path("f")); }).code, ErrorCode::bad_file);
}

TEST_F(RealFiles, ReadersRefuseWhatIsNotARegularFile) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& p : {path("nothing"), directory_.string(), path("pipe"), std::string("/dev/zero")}) {
    EXPECT_EQ(error_of([&] { read_file(p); }).code, ErrorCode::bad_file) << p;
    const ErrorParts e = error_of([&] { MappedFile file(p); });
    EXPECT_EQ(e.code, ErrorCode::bad_file) << p;
    EXPECT_EQ(e.where, p);
  }
}

std::string text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST_F(RealFiles, MappedFileShowsTheContent) {
  const std::string content = std::string(10000, 'x') + std::string("\0end", 4);
  put("f", content);
  MappedFile file(path("f"));
  EXPECT_EQ(text(file), content);

  put("g", "other");
  MappedFile moved = std::move(file);
  EXPECT_EQ(text(moved), content);
  EXPECT_TRUE(file.bytes().empty());
  moved = MappedFile(path("g"));
  EXPECT_EQ(text(moved), "other");
}

TEST_F(RealFiles, MappedFileMayBeEmpty) {
  put("f", "");
  EXPECT_TRUE(MappedFile(path("f")).bytes().empty());
}

TEST_F(RealFiles, MappedFileKeepsItsContentWhenTheFileIsReplaced) {
  write_atomic(real_files(), path("f"), "old");
  const MappedFile file(path("f"));
  write_atomic(real_files(), path("f"), "new");
  EXPECT_EQ(text(file), "old");
}

}  // namespace
}  // namespace glint
