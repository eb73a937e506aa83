#include <unistd.h>

#include <fstream>

#include "glint/base/rng.h"
#include "glint/io/safetensors.h"
#include "glint/io/weight_contents.h"
#include "io_testing.h"
#include "weight_files.h"

namespace glint {
namespace {

std::vector<float> widened(const StoredTensor& t) {
  std::vector<float> out(t.values());
  widen(t, 0, out);
  return out;
}

void write_bytes(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// Any bytes, of which about one in 32 scales is no number: the scales tell what the widened values would.
TEST(StoredTensor, ScalesTellWhetherAllValuesAreSound) {
  Rng rng(1, Stream::init, 0);
  uint64_t at = 0;
  size_t sound = 0, unsound = 0;
  for (size_t type = 0; type < kStoredTypes; type++)
    for (size_t trial = 0; trial < 200; trial++) {
      StoredTensor t;
      t.shape = {1, 512}, t.type = static_cast<StoredType>(type), t.group = 64;
      uint64_t size = 0;
      ASSERT_TRUE(stored_bytes(t.type, 512, size));
      std::vector<std::byte> bytes(size), scales(8 * sizeof(float));
      for (std::byte& b : bytes) b = static_cast<std::byte>(rng.bits(at++));
      for (std::byte& b : scales) b = static_cast<std::byte>(rng.bits(at++));
      if (block_bytes(t.type) <= 4)  // values by themselves: most are small, some are anything
        for (size_t i = 0; i < bytes.size(); i++)
          if (rng.bits(at++) % 600 != 0) bytes[i] &= std::byte{0x3f};
      t.bytes = bytes, t.scales = scales;
      // Of grouped_i8 a scale counts by itself: an int8 of 0 hides it.
      std::vector<float> values = widened(t);
      if (t.type == StoredType::grouped_i8)
        for (size_t i = 0; i < 512; i++) std::memcpy(&values[i], scales.data() + i / 64 * 4, 4);
      const auto good = [](float v) { return std::fabs(v) <= kLargestWeight; };  // false for NaN
      const bool expected = std::ranges::all_of(values, good);
      EXPECT_EQ(sound_values(t, 0, 512), expected) << name(t.type) << ", " << trial;
      EXPECT_EQ(sound_values(t, 256, 256), std::ranges::all_of(std::span(values).subspan(256), good));
      (expected ? sound : unsound)++;
    }
  EXPECT_GT(sound, 400u);
  EXPECT_GT(unsound, 400u);
}

TEST(StoredTensor, EveryTypeWidensToTheLastBitOfTheReference) {
  const WeightFile file = open_weights(golden("quantised.gguf"));
  const SafetensorsFile expected(golden("quantised.safetensors"));
  EXPECT_EQ(file.format(), WeightFormat::gguf);
  ASSERT_EQ(file.tensors().size(), kStoredTypes - 1);  // all but that of llama2.c
  for (const StoredTensor& t : file.tensors()) {
    const FloatMatrix want = expected->matrix(t.name);
    ASSERT_EQ(t.shape, (std::vector<size_t>{want.view.rows(), want.view.cols()})) << t.name;
    const std::vector<float> got = widened(t);
    EXPECT_EQ(std::memcmp(got.data(), want.view.data(), 4 * got.size()), 0) << t.name;
    EXPECT_EQ(t.row_bytes() * t.rows(), t.bytes.size()) << t.name;
    // Any stretch is that stretch of the whole.
    for (size_t first = 0; first < got.size(); first += 7)
      for (const size_t count : {size_t{1}, size_t{31}, size_t{300}}) {
        std::vector<float> part(std::min(count, got.size() - first));
        widen(t, first, part);
        EXPECT_EQ(std::memcmp(part.data(), got.data() + first, 4 * part.size()), 0) << t.name << " " << first;
      }
  }
}

TEST(StoredTensor, SizesAreChecked) {
  uint64_t bytes = 0;
  EXPECT_TRUE(stored_bytes(StoredType::q4_k, 512, bytes));
  EXPECT_EQ(bytes, 288u);
  EXPECT_FALSE(stored_bytes(StoredType::q4_k, 255, bytes));
  EXPECT_FALSE(stored_bytes(StoredType::f32, UINT64_MAX / 2, bytes));
}

TEST(WeightFile, MetadataOfGguf) {
  const WeightFile file = open_gguf(golden("quantised.gguf"));
  const Json& m = file.metadata();
  EXPECT_EQ(m["general.architecture"], "llama");
  EXPECT_EQ(m["a.u32"], 7);
  EXPECT_EQ(m["a.i64"], -5);
  EXPECT_EQ(m["a.f32"], 0.25);
  EXPECT_EQ(m["a.bool"], true);
  EXPECT_EQ(m["a.text"], "gl\u00fcnt");
  EXPECT_EQ(m["a.numbers"], Json::array({1, -2, 3}));
  EXPECT_FALSE(m.contains("a.texts"));
  const StoredArray* texts = file.array("a.texts");
  ASSERT_NE(texts, nullptr);
  ASSERT_EQ(texts->size(), 3u);
  EXPECT_EQ(texts->text(0), "one");
  EXPECT_EQ(texts->text(1), "");
  EXPECT_EQ(texts->text(2), "\u0434\u0432\u0430");
  const StoredArray* reals = file.array("a.reals");
  ASSERT_NE(reals, nullptr);
  EXPECT_EQ(reals->kind(), StoredArray::Kind::real);
  EXPECT_EQ(reals->real(99), 24.75);
  EXPECT_EQ(file.array("a.numbers"), nullptr);
}

TEST(WeightFile, NamesWhatIsAbsentOrCannotBeRead) {
  const WeightFile file = open_gguf(golden("quantised.gguf"));
  ASSERT_EQ(file.unreadable().size(), 1u);
  EXPECT_EQ(file.find("integers"), nullptr);
  EXPECT_NE(complaint([&] { file.at("integers"); }).find("tensor 'integers' is stored as I32"), std::string::npos);
  EXPECT_NE(complaint([&] { file.at("q4_9"); }).find("no tensor 'q4_9'"), std::string::npos);
}

TEST(WeightFile, ListsOfIntegersKeepTheirSign) {
  GgufFile f;
  std::string narrow = raw<uint32_t>(3) + raw<uint64_t>(100), wide = raw<uint32_t>(10) + raw<uint64_t>(100);
  for (int i = 0; i < 100; i++) narrow += raw<int16_t>(static_cast<int16_t>(-i)), wide += raw<uint64_t>(1ull << 40);
  f.pair("n", 9, narrow).pair("w", 9, wide);
  const std::string bytes = f.bytes();
  const WeightContents c = parse_gguf(as_bytes(bytes), "m");
  EXPECT_EQ(c.arrays.find("n")->second.integer(99), -99);
  EXPECT_EQ(c.arrays.find("w")->second.integer(0), int64_t{1} << 40);
}

// What hostile files of others did: each is refused, with the byte and the rule.
TEST(WeightFile, HostileGguf) {
  const auto says = [](const std::string& bytes, const std::string& what) {
    const std::string got = complaint([&] { parse_gguf(as_bytes(bytes), "m"); });
    EXPECT_NE(got.find(what), std::string::npos) << got << "\n  instead of " << what;
  };
  const auto with = [](auto&& change) {
    GgufFile f;
    f.data.assign(64, 'x');
    change(f);
    return f.bytes();
  };
  says("", "this is no GGUF file");
  says("GGU", "this is no GGUF file");
  says(with([](GgufFile& f) { f.version = 1; }), "the file has version 1");
  says(with([](GgufFile& f) { f.version = 0x03000000; }), "big-endian");
  says(with([](GgufFile& f) { f.tensors = 1u << 30; }), "the file claims 1073741824 tensors");
  says(with([](GgufFile& f) { f.pairs = UINT64_MAX; }), "the file claims 18446744073709551615 pairs");
  // Lengths beyond the file, and such that wrap when added to the place (CVE-2024-21802).
  says(with([](GgufFile& f) { f.head += raw(UINT64_MAX), f.pairs = 1; }), "a key has 18446744073709551615 bytes");
  says(with([](GgufFile& f) { f.head += raw<uint64_t>(5000) + "abc", f.pairs = 1; }), "goes beyond the end");
  says(with([](GgufFile& f) { f.pair("k", 8, raw<uint64_t>(UINT64_MAX - 7)); }), "a text has");
  says(with([](GgufFile& f) { f.pair("k", 9, raw<uint32_t>(4) + raw<uint64_t>(UINT64_MAX / 4 + 2)); }), "claims");
  says(with([](GgufFile& f) { f.pair("k", 9, raw<uint32_t>(8) + raw<uint64_t>(1000000)); }), "claims 1000000 values");
  says(with([](GgufFile& f) { f.pair("k", 9, raw<uint32_t>(9) + raw<uint64_t>(1)); }), "is of the type 9");
  says(with([](GgufFile& f) { f.pair("k", 9, raw<uint32_t>(13) + raw<uint64_t>(1)); }), "is of the type 13");
  says(with([](GgufFile& f) { f.pair("k", 13, "abcd"); }), "unknown type 13");
  says(with([](GgufFile& f) { f.pair("k", 7, "\2"); }), "truth value of 'k' is 2");
  says(with([](GgufFile& f) { f.pair("k", 6, raw(0x7fc00000u)); }), "is no number");
  says(with([](GgufFile& f) { f.pair("k", 0, "a").pair("k", 0, "b"); }), "the key 'k' is there twice");
  says(with([](GgufFile& f) { f.pair("", 0, "a"); }), "a key is empty");
  says(with([](GgufFile& f) { f.pair("\xff", 0, "a"); }), "a key is not UTF-8");
  for (const uint32_t alignment : {0u, 1u, 33u, 48u, 131072u, 0x80000000u})
    says(with([&](GgufFile& f) { f.pair("general.alignment", 4, raw(alignment)); }), "general.alignment is");
  says(with([](GgufFile& f) { f.pair("general.alignment", 5, raw<int32_t>(-32)); }), "general.alignment is -32");
  says(with([](GgufFile& f) { f.pair("split.count", 2, raw<uint16_t>(3)); }), "one of several files");
  // Tensors.
  says(with([](GgufFile& f) { f.tensor("t", {1, 1, 1, 1, 1}, 0, 0); }), "has 5 dimensions");
  says(with([](GgufFile& f) { f.infos += f.text("t") + raw(UINT32_MAX), f.tensors = 1; }), "dimensions");
  says(with([](GgufFile& f) { f.tensor("t", {4}, 4, 0); }), "unknown type 4");  // Q4_2 is gone
  says(with([](GgufFile& f) { f.tensor("t", {4}, 99, 0); }), "unknown type 99");
  says(with([](GgufFile& f) { f.tensor("", {4}, 0, 0); }), "a tensor has no name");
  says(with([](GgufFile& f) { f.tensor("t", {33}, 8, 0); }), "have 33 values");
  says(with([](GgufFile& f) { f.tensor("t", {4}, 0, 0).tensor("t", {4}, 0, 32); }), "two tensors 't'");
  says(with([](GgufFile& f) { f.tensor("t", {4}, 0, 0).tensor("t", {4}, 26, 32); }), "two tensors 't'");
  // Products that wrap, to 0 or to something small (CVE-2025-53630, CVE-2026-27940).
  says(with([](GgufFile& f) { f.tensor("t", {1ull << 32, 1ull << 32}, 0, 0); }), "has the shape");
  says(with([](GgufFile& f) { f.tensor("t", {1ull << 63, 2, 3}, 0, 0); }), "has the shape");
  says(with([](GgufFile& f) { f.tensor("t", {0, 1ull << 63, 4}, 0, 0); }), "has the shape");
  says(with([](GgufFile& f) { f.tensor("t", {1ull << 62}, 0, 0); }), "is too large");
  says(with([](GgufFile& f) { f.tensor("t", {(1ull << 62) + 1}, 0, 0); }), "is too large");
  // Data beyond the file (CVE-2026-7482), overlaps, holes.
  says(with([](GgufFile& f) { f.tensor("t", {17}, 0, 0); }), "goes beyond the file");
  says(with([](GgufFile& f) { f.tensor("t", {4}, 0, UINT64_MAX - 15); }), "begins at byte 18446744073709551600");
  says(with([](GgufFile& f) { f.tensor("t", {4}, 0, 4); }), "begins at byte 4");
  says(with([](GgufFile& f) { f.tensor("t", {4}, 0, 0).tensor("u", {4}, 0, 0); }), "begins at byte 0");
  says(with([](GgufFile& f) { f.tensor("t", {4}, 0, 0).tensor("u", {4}, 0, 64); }), "begins at byte 64");
  // What is right is taken.
  const std::string good = with([](GgufFile& f) { f.tensor("t", {4, 2}, 0, 0).tensor("u", {16}, 1, 32); });
  EXPECT_EQ(parse_gguf(as_bytes(good), "m").tensors[0].shape, (std::vector<size_t>{2, 4}));
  for (size_t size = 0; size < good.size(); size++) {
    const std::string cut = good.substr(0, size);
    EXPECT_NE(complaint([&] { parse_gguf(as_bytes(cut), "m"); }), "(no complaint)") << size;
  }
}

TEST(WeightFile, Llama2cVersions) {
  for (const bool own_head : {false, true})
    for (const int version : {0, 1, 2}) {
      Llama2cFile f;
      f.own_head = own_head;
      const std::string bytes = f.bytes(version);
      ASSERT_TRUE(is_llama2c(as_bytes(bytes)));
      const WeightContents c = parse_llama2c(as_bytes(bytes), "m");
      EXPECT_EQ(c.metadata["llama2c.version"], version);
      EXPECT_EQ(c.metadata["llama.embedding_length"], 8);
      EXPECT_EQ(c.metadata["llama.rope.dimension_count"], 4);
      EXPECT_EQ(c.tensors.size(), 2 * 9 + 2 + (own_head ? 1u : 0u));
      const auto first = [&](const char* name) {
        for (const StoredTensor& t : c.tensors)
          if (t.name == name) return widened(t)[0];
        ADD_FAILURE() << name;
        return -1.0f;
      };
      const auto last = [&](const char* name) {
        for (const StoredTensor& t : c.tensors)
          if (t.name == name) return widened(t).back();
        return -1.0f;
      };
      if (version == 2) {
        EXPECT_EQ(first("blk.1.attn_norm.weight"), 8);
        EXPECT_EQ(last("blk.0.attn_q.weight"), 63 * 16);  // 64 values in groups of 4: the 16th scale
        EXPECT_EQ(last("blk.1.ffn_up.weight"), 95 * 24);
        EXPECT_EQ(last("token_embd.weight"), 39 * 10);
        continue;
      }
      // By hand, from the layout at the head of llama2c.cc.
      const bool v0 = version == 0;
      EXPECT_EQ(first("token_embd.weight"), v0 ? 0 : 40);
      EXPECT_EQ(first("blk.1.attn_norm.weight"), v0 ? 48 : 8);
      EXPECT_EQ(first("blk.0.attn_q.weight"), v0 ? 56 : 80);
      EXPECT_EQ(first("blk.1.attn_k.weight"), v0 ? 216 : 240);
      EXPECT_EQ(first("blk.0.attn_output.weight"), v0 ? 312 : 336);
      EXPECT_EQ(first("blk.0.ffn_norm.weight"), v0 ? 440 : 16);
      EXPECT_EQ(first("blk.1.ffn_gate.weight"), v0 ? 552 : 560);
      EXPECT_EQ(first("blk.0.ffn_down.weight"), v0 ? 648 : 656);
      EXPECT_EQ(first("blk.1.ffn_up.weight"), v0 ? 936 : 944);
      EXPECT_EQ(first("output_norm.weight"), v0 ? 1032 : 32);
      if (own_head) {
        EXPECT_EQ(first("output.weight"), v0 ? 1064 : 1040);
      }
    }
}

TEST(WeightFile, HostileLlama2c) {
  const auto says = [](const std::string& bytes, const std::string& what) {
    const std::string got = complaint([&] { parse_llama2c(as_bytes(bytes), "m"); });
    EXPECT_NE(got.find(what), std::string::npos) << got;
  };
  const Llama2cFile f;
  const std::string v0 = f.bytes(0), v1 = f.bytes(1), v2 = f.bytes(2);
  const auto with = [](std::string bytes, size_t at, int32_t value) {
    std::memcpy(bytes.data() + at, &value, 4);
    return bytes;
  };
  says("", "too short");
  says(v0 + "x", "the file has");
  says(v0.substr(0, v0.size() - 4), "the file has");
  EXPECT_FALSE(is_llama2c(as_bytes(v0 + "x")));  // no mark: only the exact size will do
  EXPECT_EQ(llama2c_size(as_bytes(v0)), "");
  EXPECT_EQ(llama2c_size(as_bytes(v0 + "x")), "the file begins as a llama2.c file of " + std::to_string(v0.size()) +
                                                  " bytes does, and has " + std::to_string(v0.size() + 1));
  EXPECT_EQ(llama2c_size(as_bytes(std::string("a text that is longer than a header"))), "");
  for (size_t i = 0; i < 7; i++)
    for (const int32_t n : {0, INT32_MIN, INT32_MAX}) {
      says(with(v0, 4 * i, n), "m, byte 0");
      says(with(v1, 8 + 4 * i, n), "m, byte 8");
    }
  says(with(v0, 12, 3), "dim is no multiple of 2 heads");
  says(with(v0, 16, 2147483647), "kv_heads");
  says(with(v1, 4, 3), "version 3");
  says(with(v1, 28, -5), "vocab is negative");
  says(with(v1, 36, 2), "shared head is 2");
  says(with(v1, 100, 1), "means nothing");
  says(v1 + "abcd", "the file has");
  says(v2.substr(0, v2.size() - 1), "the file has");
  for (const int32_t group : {0, -4, 3, 8, 1 << 30}) says(with(v2, 37, group), "the group size is");
}

TEST(WeightFile, TheTwoFilesOfARealModelAreTheSame) {
  const std::string folder = std::string(GLINT_SOURCE_DIR) + "/../shared/data/llama/";
  if (!exists(folder + "stories260K.bin")) GTEST_SKIP() << "no " << folder;
  const WeightFile a = open_weights(folder + "stories260K.bin"), b = open_weights(folder + "stories260K.gguf");
  EXPECT_EQ(a.format(), WeightFormat::llama2c);
  EXPECT_EQ(a.tensors().size(), 47u);
  for (const StoredTensor& t : a.tensors()) {
    const StoredTensor& u = b.at(t.name);
    ASSERT_EQ(t.shape, u.shape);
    EXPECT_EQ(std::memcmp(t.bytes.data(), u.bytes.data(), t.bytes.size()), 0) << t.name;
  }
}

std::string safetensors_of_zeros(const std::string& name, const std::string& dtype, uint64_t values, uint64_t bytes) {
  const std::string header = "{\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + std::to_string(values) +
                             "],\"data_offsets\":[0," + std::to_string(bytes) + "]}}";
  return raw<uint64_t>(header.size()) + header;
}

TEST(WeightFile, FoldersOfShards) {
  const Folder folder;
  write_bytes(folder / "a.safetensors", safetensors_of_zeros("x", "BF16", 2, 4) + std::string("\x80\x3f\x00\x40", 4));
  write_bytes(folder / "b.safetensors", safetensors_of_zeros("y", "I64", 1, 8) + std::string(8, '\0'));
  const auto index = [&](const std::string& map) {
    write_bytes(folder / "model.safetensors.index.json",
                "{\"metadata\":{\"total_size\":12},\"weight_map\":{" + map + "}}");
  };
  index(R"("x":"a.safetensors","y":"b.safetensors")");
  write_bytes(folder / "config.json", R"({"model_type":"llama","hidden_size":8})");
  const WeightFile file = open_weights(folder / "");
  EXPECT_EQ(file.format(), WeightFormat::safetensors);
  EXPECT_EQ(file.metadata()["model_type"], "llama");
  EXPECT_EQ(file.files().size(), 2u);
  EXPECT_EQ(widened(file.at("x")), (std::vector<float>{1.0f, 2.0f}));
  EXPECT_NE(complaint([&] { file.at("y"); }).find("is stored as I64"), std::string::npos);

  const auto refuses = [&](const std::string& what) {
    const std::string got = complaint([&] { open_weights(folder / ""); });
    EXPECT_NE(got.find(what), std::string::npos) << got << "\n  instead of " << what;
  };
  index(R"("x":"a.safetensors")");
  EXPECT_EQ(open_weights(folder / "").tensors().size(), 1u);  // a file that no tensor is in is not opened
  index(R"("x":"a.safetensors","z":"b.safetensors")");
  refuses("tensor 'y' is not in the index");
  index(R"("x":"a.safetensors","y":"a.safetensors")");
  refuses("the index names a tensor 'y' that is not in 'a.safetensors'");
  index(R"("x":"b.safetensors","y":"b.safetensors")");
  refuses("the index names a tensor 'x' that is not in 'b.safetensors'");
  index(R"("x":"a.safetensors","x":"a.safetensors")");
  refuses("duplicate key 'x'");
  for (const char* name :
       {"../a.safetensors", "/etc/passwd", "sub/a.safetensors", "..\\\\a.safetensors", "a\\u0000.safetensors"}) {
    index(std::string("\"x\":\"") + name + "\"");
    refuses("is a path");
  }
  index(R"("x":"a.bin")");
  refuses("is no name of a safetensors file");
  index(R"("x":"c.safetensors")");
  refuses("No such file");
  write_bytes(folder / "model.safetensors.index.json", "{}");
  refuses("there is no 'weight_map'");
  write_bytes(folder / "model.safetensors.index.json", "{\"weight_map\":[]}");
  refuses("unexpected '['");
  ::unlink((folder / "model.safetensors.index.json").c_str());
  refuses("the folder has no weights that glint reads");
}

TEST(WeightFile, SaysWhatAFileIs) {
  const Folder folder;
  const auto says = [&](const std::string& bytes, const std::string& what) {
    write_bytes(folder / "f", bytes);
    EXPECT_EQ(weight_format(folder / "f"), std::nullopt);
    EXPECT_NE(complaint([&] { open_weights(folder / "f"); }).find(what), std::string::npos) << what;
  };
  says("PK\x03\x04 archive", "a PyTorch or ZIP file, which may contain code");
  says("\x80\x02}q", "a Python pickle");
  says("tjgg1234567890", "a GGJT file of an early llama.cpp");
  says("version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS");
  says("", "no file of weights");
  write_bytes(folder / "f", Llama2cFile().bytes(0));
  EXPECT_EQ(weight_format(folder / "f"), WeightFormat::llama2c);
  EXPECT_EQ(weight_format(golden("quantised.gguf")), WeightFormat::gguf);
  EXPECT_EQ(weight_format(golden("quantised.safetensors")), WeightFormat::safetensors);
  EXPECT_EQ(weight_format(folder / "absent"), std::nullopt);
}

size_t resident_pages() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident;
}

// 30 GB that take no room on the disk: opening touches the header alone, reading what is read.
TEST(WeightFile, AHugeFileTakesMemoryForWhatIsRead) {
  const Folder folder;
  constexpr uint64_t kValues = 15'000'000'000;
  const std::string header = safetensors_of_zeros("t", "F16", kValues, 2 * kValues);
  write_bytes(folder / "model.safetensors", header);
  const std::string path = folder / "model.safetensors";
  if (::truncate(path.c_str(), static_cast<off_t>(header.size() + 2 * kValues)) != 0)
    GTEST_SKIP() << "no sparse files here";
  GgufFile gguf;
  gguf.tensor("t", {256, 100'000'000}, 14, 0);
  write_bytes(folder / "f.gguf", gguf.bytes());
  if (::truncate((folder / "f.gguf").c_str(), static_cast<off_t>(gguf.bytes().size() + 21'000'000'000)) != 0)
    GTEST_SKIP() << "no sparse files here";

  const size_t page = static_cast<size_t>(::sysconf(_SC_PAGESIZE)), before = resident_pages();
  const WeightFile file = open_weights(folder / ""), other = open_weights(folder / "f.gguf");
  EXPECT_EQ(file.file_bytes(), header.size() + 2 * kValues);
  std::vector<float> some(4096, 1.0f);
  widen(file.at("t"), kValues - some.size(), some);
  EXPECT_EQ(some, std::vector<float>(4096));
  widen(other.at("t"), 25'599'990'000, some);
  // Pages of the headers and of what was read, with what the system reads ahead and the heap: far below 16
  // MB.
  EXPECT_LT((resident_pages() - before) * page, size_t{16} << 20);
}

}  // namespace
}  // namespace glint
