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
#include "io_testing.h"

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
