// Promise 3: no file makes a reader hold more than twice its size + 64 MB. The worst files that we could
// think of, with every operator new counted at what malloc gives for it.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "glint/io/json.h"
#include "glint/io/npy.h"
#include "glint/io/safetensors.h"
#include "glint/io/weight_contents.h"
#include "io_testing.h"
#include "weight_files.h"

namespace {
std::atomic<size_t> g_held{0}, g_peak{0};

void* counted(size_t bytes) {
  void* p = std::malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  const size_t held = g_held += ::malloc_usable_size(p) + 8;  // 8: the header of a block
  if (held > g_peak) g_peak = held;
  return p;
}
void release(void* p) {
  if (p) g_held -= ::malloc_usable_size(p) + 8;
  std::free(p);
}
}  // namespace

void* operator new(size_t bytes) { return counted(bytes); }
void* operator new[](size_t bytes) { return counted(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {  // std::stable_sort asks like this
  try {
    return counted(bytes);
  } catch (...) {
    return nullptr;
  }
}
void operator delete(void* p, const std::nothrow_t&) noexcept { release(p); }
void operator delete(void* p) noexcept { release(p); }
void operator delete[](void* p) noexcept { release(p); }
void operator delete(void* p, size_t) noexcept { release(p); }
void operator delete[](void* p, size_t) noexcept { release(p); }

namespace glint {
namespace {

template <class F>
size_t peak_of(F&& f) {
  const size_t before = g_held;
  g_peak = before;
  try {
    f();
  } catch (const Error&) {  // a refusal is fine as long as it is cheap
  }
  return g_peak - before;
}

constexpr size_t kSlack = size_t{64} << 20;

std::string safetensors_of(std::string header) {
  const uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header;
}

void check_safetensors(const std::string& header) {
  const std::string file = safetensors_of(header);
  EXPECT_LE(peak_of([&] { parse_safetensors(as_bytes(file), "m"); }), 2 * file.size() + kSlack);
}
void check_json(const std::string& text) {  // a file read from disk is held once as text
  EXPECT_LE(peak_of([&] { parse_json(text, "m"); }) + text.size(), 2 * text.size() + kSlack);
}

TEST(Memory, TheCounterCounts) {
  EXPECT_GE(peak_of([] { std::string s(1 << 20, 'x'); }), size_t{1} << 20);
}

TEST(Memory, ManyTensors) {
  for (const char* shape : {"0", "0,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", ""}) {
    for (const size_t name : {5u, 100u}) {
      std::string header = "{";
      for (size_t i = 0; i < 200000; i++) {
        const std::string number = std::to_string(i);
        if (i) header += ',';
        header.append("\"").append(name - std::min(name, number.size()), 'n').append(number);
        header.append("\":{\"dtype\":\"U8\",\"shape\":[").append(shape).append("],\"data_offsets\":[0,0]}");
        if (i == 131071) check_safetensors(header + "}");
      }
      check_safetensors(header + "}");
    }
  }
}

TEST(Memory, MuchMetadataAndLongNames) {
  std::string header = "{\"__metadata__\":{\"a\":\"\"";
  for (size_t i = 0; i < 100000; i++) header.append(",\"").append(std::to_string(i)).append("\":\"\"");
  check_safetensors(header + "}}");
  check_safetensors("{\"" + std::string(90'000'000, 'a') +
                    "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}");
  check_safetensors("{\"a\":{\"dtype\":\"" + std::string(90'000'000, 'a') + "\"}}");
}

void check_gguf(const std::string& file) {
  EXPECT_LE(peak_of([&] { parse_gguf(as_bytes(file), "m"); }), 2 * file.size() + kSlack);
}

TEST(Memory, GgufOfManyParts) {
  GgufFile tensors, pairs, lists, texts;
  for (uint64_t i = 0; i < 131072; i++) tensors.tensor(std::to_string(i), {1, 1, 1, 1}, i % 2 ? 0 : 24, 32 * i);
  tensors.data.assign(32 * 131072, 'x');
  check_gguf(tensors.bytes());
  for (uint64_t i = 0; i < 65536; i++) {
    pairs.pair(std::to_string(i), 8, GgufFile::text("0123456789abcdef"));
    lists.pair(std::to_string(i), 9, raw<uint32_t>(0) + raw<uint64_t>(64) + std::string(64, 'x'));
  }
  check_gguf(pairs.bytes());
  check_gguf(lists.bytes());
  std::string all = raw<uint32_t>(8) + raw<uint64_t>(2'000'000);
  for (size_t i = 0; i < 2'000'000; i++) all += raw<uint64_t>(0);
  check_gguf(texts.pair("t", 9, all).bytes());
}

// Claims in a file of a kilobyte: none is believed before the file was asked.
TEST(Memory, SmallFilesThatClaimMuch) {
  const auto small = [](std::string file, auto&& parse) {
    file.resize(1024);
    EXPECT_LE(peak_of([&] { parse(file); }), size_t{1} << 20);
  };
  const auto gguf = [](const std::string& f) { parse_gguf(as_bytes(f), "m"); };
  const auto llama = [](const std::string& f) { parse_llama2c(as_bytes(f), "m"); };
  for (const uint64_t n : {uint64_t{1} << 16, uint64_t{1} << 17, uint64_t{1} << 32, UINT64_MAX}) {
    small("GGUF" + raw<uint32_t>(3) + raw(n) + raw<uint64_t>(0), gguf);
    small("GGUF" + raw<uint32_t>(3) + raw<uint64_t>(0) + raw(n), gguf);
    for (uint32_t type = 0; type < 13; type++) small(GgufFile().pair("k", 9, raw(type) + raw(n)).bytes(), gguf);
    small(GgufFile().pair("k", 8, raw(n)).bytes(), gguf);
    small(GgufFile().tensor("t", {n, n}, 0, 0).bytes(), gguf);
  }
  Llama2cFile huge;
  huge.dim = huge.hidden = huge.vocab = 1 << 20, huge.layers = 1024, huge.heads = huge.kv_heads = 1 << 19;
  small(huge.numbers(true), llama);
  small(raw<uint32_t>(0x616b3432) + raw<int32_t>(2) + huge.numbers(false) + "\1" + raw<int32_t>(64), llama);
}

TEST(Memory, WideJson) {
  for (const char* item : {"0", "{}", "[]", "[0]", "\"\"", "\"0123456789abcdef\"", "{\"\":0}", "[[[[]]]]"}) {
    for (const size_t count : {100'000u, 400'000u, 3'000'000u}) {
      std::string text = "[";
      for (size_t i = 0; i < count; i++) (text += i ? "," : "") += item;
      check_json(text + "]");
    }
  }
  for (const size_t count : {100'000u, 1'000'000u}) {
    std::string text = "{\"a\":0";
    for (size_t i = 0; i < count; i++) text.append(",\"").append(std::to_string(i)).append("\":0");
    check_json(text + "}");
  }
  check_json("\"" + std::string(50'000'000, 'a') + "\"");
  check_json("[" + std::string(50'000'000, '1') + "]");
}

}  // namespace
}  // namespace glint
