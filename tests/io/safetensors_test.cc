#include "glint/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>

#include "io_testing.h"

namespace glint {
namespace {

std::string file_of(const std::string& header, size_t data_bytes = 0) {
  const uint64_t n = header.size();
  return std::string(reinterpret_cast<const char*>(&n), 8) + header + std::string(data_bytes, '\1');
}

std::string tensors_refusal(const std::string& file) {
  return complaint([&] { parse_safetensors(as_bytes(file), "m.st"); });
}
std::string header_refusal(const std::string& header, size_t data_bytes = 0) {
  return tensors_refusal(file_of(header, data_bytes));
}

template <class T>
std::vector<T> values(const TensorInfo& t) {
  std::vector<T> out(t.bytes.size() / sizeof(T));
  std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
  return out;
}

// The same tensors, once aligned and once shifted by one byte, written by Python.
void check_golden(const SafetensorsView& v) {
  ASSERT_NE(v.find_metadata("format"), nullptr);
  EXPECT_EQ(*v.find_metadata("format"), "pt");
  EXPECT_EQ(*v.find_metadata("\u00fcber"), "\u2603");
  EXPECT_EQ(v.find_metadata("absent"), nullptr);

  const FloatMatrix w = v.matrix("weight", 2, 3);
  const float expected[] = {0.0f, -1.5f, 2.25f, 1e-30f, 3e38f, -0.1f};
  for (size_t i = 0; i < 6; i++) EXPECT_EQ(w.view(i / 3, i % 3), expected[i]);
  const FloatMatrix d = v.matrix("double");
  EXPECT_EQ(d.view(0, 0), static_cast<float>(1.0 / 3));
  EXPECT_EQ(d.view(1, 0), -1e10f);
  const FloatMatrix h = v.matrix("half", 2, 4);
  EXPECT_TRUE(std::signbit(h.view(0, 1)));
  EXPECT_EQ(h.view(0, 0), 0.0f);
  EXPECT_EQ(h.view(0, 2), 1.0f);
  EXPECT_EQ(h.view(0, 3), -2.5f);
  EXPECT_EQ(h.view(1, 0), 65504.0f);
  EXPECT_EQ(h.view(1, 1), 0x1p-24f);    // 6e-8 rounds to the least half
  EXPECT_EQ(h.view(1, 2), 0x1p-14f);    // 6.1035e-5 rounds to the least normal half
  EXPECT_EQ(h.view(1, 3), 0x1.55p-2f);  // 0.333 with 11 bits
  const FloatMatrix b = v.matrix("brain", 1, 3);
  EXPECT_EQ(b.view(0, 0), 1.0f);
  EXPECT_EQ(b.view(0, 1), -3.140625f);
  EXPECT_EQ(std::bit_cast<uint32_t>(b.view(0, 2)), std::bit_cast<uint32_t>(1e20f) & 0xFFFF0000u);
  EXPECT_EQ(values<int64_t>(v.at("scalar", {}, Dtype::i64)), std::vector<int64_t>{-7});
  EXPECT_EQ(v.matrix("none", 0, 5).view.cols(), 5u);
  EXPECT_EQ(values<uint8_t>(v.at("bytes")), (std::vector<uint8_t>{0, 127, 255}));
  EXPECT_EQ(v.at("flags").dtype, Dtype::boolean);
  EXPECT_EQ(values<int32_t>(v.at("n\u00e4me \"\\\u20ac\U0001f600\n")), std::vector<int32_t>{123456});
}

TEST(Safetensors, ReadsWhatPythonWrote) {
  const SafetensorsFile file(golden("aligned.safetensors"));
  EXPECT_EQ(file->tensors().size(), 9u);
  check_golden(file.view());
  const FloatMatrix w = file->matrix("weight", 2, 3);
  EXPECT_EQ(w.owned.size(), 0u) << "aligned F32 is used in place";
  EXPECT_EQ(reinterpret_cast<const std::byte*>(w.view.data()), file->at("weight").bytes.data());
}

TEST(Safetensors, ReadsUnalignedData) {
  // In memory at each of four places, so that some of them are unaligned whatever the header length is.
  const std::string content = read_file(golden("shifted.safetensors"));
  for (size_t shift = 0; shift < 4; shift++) {
    const std::string moved = std::string(shift, 'x') + content;
    check_golden(parse_safetensors(as_bytes(moved).subspan(shift), "moved"));
  }
}

std::vector<TensorToWrite> sample(const std::vector<uint8_t>& u8, const std::vector<float>& f32,
                                  const std::vector<double>& f64, const std::vector<uint16_t>& bf16,
                                  const std::vector<int32_t>& i32, const std::vector<int64_t>& i64) {
  return {{"u8", Dtype::u8, {3}, std::as_bytes(std::span(u8))},
          {"a.\"q\"\\ \u20ac\x01", Dtype::f32, {2, 2}, std::as_bytes(std::span(f32))},
          {"f64", Dtype::f64, {2}, std::as_bytes(std::span(f64))},
          {"bf16", Dtype::bf16, {1, 1, 2}, std::as_bytes(std::span(bf16))},
          {"i32", Dtype::i32, {1}, std::as_bytes(std::span(i32))},
          {"i64", Dtype::i64, {}, std::as_bytes(std::span(i64))},
          {"empty", Dtype::f32, {0, 3}, {}}};
}

struct Sample {
  std::vector<uint8_t> u8 = {1, 2, 255};
  std::vector<float> f32 = {1.5f, -2, 0.25f, 1024};
  std::vector<double> f64 = {0.5, -1e300};
  std::vector<uint16_t> bf16 = {0x3F80, 0xC000};
  std::vector<int32_t> i32 = {-5};
  std::vector<int64_t> i64 = {int64_t{1} << 40};
  std::vector<TensorToWrite> tensors = sample(u8, f32, f64, bf16, i32, i64);
  std::map<std::string, std::string> metadata = {{"k", "v\n"}, {"\u00e9", ""}};
};

TEST(Safetensors, RoundTripKeepsEveryByteAndAligns) {
  const Sample s;
  MemoryFile once, twice;
  write_safetensors(once, s.tensors, s.metadata);
  write_safetensors(twice, s.tensors, s.metadata);
  EXPECT_EQ(once.content, twice.content);
  const SafetensorsView v = parse_safetensors(as_bytes(once.content), "memory");
  ASSERT_EQ(v.tensors().size(), s.tensors.size());
  for (const TensorToWrite& t : s.tensors) {
    const TensorInfo& found = v.at(t.name, t.shape, t.dtype);
    EXPECT_TRUE(std::ranges::equal(found.bytes, t.bytes)) << t.name;
    const auto offset = static_cast<size_t>(found.bytes.data() - as_bytes(once.content).data());
    EXPECT_EQ(offset % dtype_size(t.dtype), 0u) << t.name;
  }
  EXPECT_EQ(v.metadata(), (std::vector<std::pair<std::string, std::string>>{{"k", "v\n"}, {"\u00e9", ""}}));
  // Header keys in the order given.
  EXPECT_LT(v.at("u8").key_byte, v.at("f64").key_byte);
  EXPECT_LT(v.at("f64").key_byte, v.at("empty").key_byte);
}

TEST(Safetensors, PythonReadsWhatIsWritten) {
  if (std::system("python3 -c 0 2>/dev/null") != 0) GTEST_SKIP() << "no python3";
  const Folder folder;
  const Sample s;
  write_safetensors(real_files(), folder / "m.safetensors", s.tensors, s.metadata);
  const std::string command = std::string("python3 '") + GLINT_GOLDEN_DIR + "/make_io.py' --check '" +
                              (folder / "m.safetensors") + "' > '" + (folder / "out") + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(read_file(folder / "out"),
            "'k'='v\\n'\n"
            "'\\xe9'=''\n"
            "'u8' U8 [3] [1, 2, 255]\n"
            "'a.\"q\"\\\\ \\u20ac\\x01' F32 [2, 2] [1.5, -2.0, 0.25, 1024.0]\n"
            "'f64' F64 [2] [0.5, -1e+300]\n"
            "'bf16' BF16 [1, 1, 2] [16256, 49152]\n"
            "'i32' I32 [1] [-5]\n"
            "'i64' I64 [] [1099511627776]\n"
            "'empty' F32 [0, 3] []\n");
}

TEST(Safetensors, EveryHalfIsExact) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); i++) all[i] = static_cast<uint16_t>(i);
  MemoryFile file;
  const TensorToWrite t{"h", Dtype::f16, {256, 256}, std::as_bytes(std::span(all))};
  write_safetensors(file, std::span(&t, 1));
  const FloatMatrix m = parse_safetensors(as_bytes(file.content), "memory").matrix("h");
  for (size_t i = 0; i < all.size(); i++) {
    const int exponent = static_cast<int>(i >> 10 & 31), fraction = static_cast<int>(i & 1023);
    const float sign = i >> 15 ? -1.0f : 1.0f, got = m.view(i / 256, i % 256);
    if (exponent == 31 && fraction) {
      EXPECT_TRUE(std::isnan(got));
    } else if (exponent == 31) {
      EXPECT_EQ(got, sign * std::numeric_limits<float>::infinity());
    } else {
      const float magnitude = exponent ? std::ldexp(1024.0f + static_cast<float>(fraction), exponent - 25)
                                       : std::ldexp(static_cast<float>(fraction), -24);
      EXPECT_EQ(got, sign * magnitude) << i;
    }
  }
}

TEST(Safetensors, RefusesBadLengths) {
  EXPECT_EQ(tensors_refusal(""), "file of 0 bytes is too short @ m.st, byte 0 ! 8 bytes of header length first");
  EXPECT_EQ(tensors_refusal("1234567"), "file of 7 bytes is too short @ m.st, byte 7 ! 8 bytes of header length first");
  EXPECT_EQ(tensors_refusal(std::string(8, '\xff') + "{}"),
            "header length 18446744073709551615 is too large @ m.st, byte 0 ! at most 100000000 bytes; is this a "
            "safetensors file?");
  std::string beyond = file_of("{}");
  beyond[0] = 3;
  EXPECT_EQ(tensors_refusal(beyond), "header length 3 is beyond the end of the file @ m.st, byte 0 ! at most 2 bytes");
  EXPECT_EQ(header_refusal(""), "header does not begin with '{' @ m.st, byte 8 ! a JSON object");
  EXPECT_EQ(header_refusal(" {}"), "header does not begin with '{' @ m.st, byte 8 ! a JSON object");
  EXPECT_EQ(header_refusal("{}", 1),
            "1 bytes belong to no tensor @ m.st, byte 10 ! tensors that cover the data to its end");
  EXPECT_EQ(header_refusal("{}   "), "(no complaint)");
}

TEST(Safetensors, RefusesBadHeaders) {
  EXPECT_EQ(header_refusal("{} x"), "unexpected 'x' in JSON @ m.st, byte 11 ! the end of the JSON text");
  EXPECT_EQ(header_refusal("{\"a\":1}"), "unexpected '1' in JSON @ m.st, byte 13 ! an object");
  EXPECT_EQ(header_refusal("{\"\xff\":1}"), "text is not UTF-8 @ m.st, byte 10 ! UTF-8");
  EXPECT_EQ(header_refusal("{\"a\":{}}"),
            "tensor 'a' has no field 'dtype' @ m.st, byte 9 ! dtype, shape and data_offsets");
  EXPECT_EQ(header_refusal("{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}"),
            "tensor 'a' has no field 'data_offsets' @ m.st, byte 9 ! dtype, shape and data_offsets");
  EXPECT_EQ(header_refusal("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}"),
            "duplicate key 'dtype' in tensor 'a' @ m.st, byte 27 ! each key once");
  EXPECT_EQ(header_refusal("{\"a\":{\"typ\":0}}"),
            "unknown field 'typ' in tensor 'a' @ m.st, byte 14 ! dtype, shape and data_offsets");
  EXPECT_EQ(header_refusal("{\"a\":{\"dtype\":\"F33\"}}"),
            "unknown dtype 'F33' of tensor 'a' @ m.st, byte 22 ! F64, F32, F16, BF16, I64, I32, I16, I8, "
            "U64, U32, U16, U8, BOOL, F8_E4M3 or F8_E5M2");
  EXPECT_EQ(header_refusal("{\"a\":{\"shape\":[[[0]]]}}"),
            "unexpected '[' in JSON @ m.st, byte 23 ! a non-negative integer");
  const std::string deep = "{\"a\":" + std::string(100000, '{');
  EXPECT_EQ(header_refusal(deep), "unexpected '{' in JSON @ m.st, byte 14 ! a key in quotes");
}

TEST(Safetensors, RefusesBadShapes) {
  const auto with_shape = [](const std::string& shape) {
    return header_refusal("{\"a\":{\"shape\":[" + shape + "],\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4);
  };
  EXPECT_EQ(with_shape("1"), "(no complaint)");
  EXPECT_EQ(with_shape(""), "(no complaint)");
  EXPECT_EQ(with_shape("-1"), "'-1' is not a non-negative integer of 64 bits @ m.st, byte 23 ! a non-negative integer");
  EXPECT_EQ(with_shape("1.0"),
            "'1.0' is not a non-negative integer of 64 bits @ m.st, byte 23 ! a non-negative integer");
  EXPECT_EQ(with_shape("1e0"),
            "'1e0' is not a non-negative integer of 64 bits @ m.st, byte 23 ! a non-negative integer");
  EXPECT_EQ(with_shape("18446744073709551616"),
            "'18446744073709551616' is not a non-negative integer of 64 bits @ m.st, byte 23 ! a "
            "non-negative integer");
  EXPECT_EQ(with_shape("01"), "unexpected '1' in JSON @ m.st, byte 24 ! a number without leading zeros");
  EXPECT_EQ(with_shape("\"1\""), "unexpected '\"' in JSON @ m.st, byte 23 ! a non-negative integer");
  EXPECT_EQ(with_shape("2"), "tensor 'a' has 4 bytes of data @ m.st, byte 9 ! 8 bytes for F32 [2]");
  // 2^62 + 1 floats are 4 bytes when the product wraps round.
  EXPECT_EQ(with_shape("4611686018427387905"),
            "tensor 'a' of shape [4611686018427387905] is too large @ m.st, byte 9 ! a size below 2^64 bytes");
  EXPECT_EQ(with_shape("4294967296,4294967296"),
            "tensor 'a' of shape [4294967296, 4294967296] is too large @ m.st, byte 9 ! a size below 2^64 bytes");
  EXPECT_EQ(with_shape("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"), "(no complaint)");
  EXPECT_EQ(with_shape("1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"),
            "too many dimensions in tensor 'a' @ m.st, byte 22 ! at most 16");
}

TEST(Safetensors, RefusesBadOffsets) {
  const auto entry = [](const std::string& name, size_t begin, size_t end, size_t n) {
    return "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":[" + std::to_string(n) + "],\"data_offsets\":[" +
           std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  EXPECT_EQ(header_refusal("{" + entry("b", 2, 4, 2) + "," + entry("a", 0, 2, 2) + "}", 4), "(no complaint)");
  EXPECT_EQ(header_refusal("{" + entry("a", 0, 5, 5) + "}", 4),
            "tensor 'a' ends at byte 5 of the data @ m.st, byte 9 ! at most 4, the bytes after the header");
  EXPECT_EQ(header_refusal("{" + entry("a", 1, 4, 3) + "}", 4),
            "tensor 'a' leaves a hole before it @ m.st, byte 9 ! data_offsets that begin at 0");
  EXPECT_EQ(header_refusal("{" + entry("a", 0, 3, 3) + "," + entry("b", 2, 4, 2) + "}", 4),
            "tensor 'b' overlaps the one before @ m.st, byte 61 ! data_offsets that begin at 3");
  EXPECT_EQ(header_refusal("{" + entry("a", 0, 3, 3) + "}", 4),
            "1 bytes belong to no tensor @ m.st, byte 64 ! tensors that cover the data to its end");
  EXPECT_EQ(header_refusal("{" + entry("a", 0, 4, 3) + "}", 4),
            "tensor 'a' has 4 bytes of data @ m.st, byte 9 ! 3 bytes for U8 [3]");
  EXPECT_EQ(header_refusal("{" + entry("a", 3, 1, 0) + "}", 4),
            "bad data_offsets of tensor 'a' @ m.st, byte 54 ! [begin, end] with begin <= end");
  EXPECT_EQ(header_refusal("{\"a\":{\"data_offsets\":[0]}}"),
            "bad data_offsets of tensor 'a' @ m.st, byte 29 ! [begin, end] with begin <= end");
  EXPECT_EQ(header_refusal("{\"a\":{\"data_offsets\":[0,0,0]}}"),
            "bad data_offsets of tensor 'a' @ m.st, byte 29 ! [begin, end] with begin <= end");
  EXPECT_EQ(header_refusal("{" + entry("a", 0, 2, 2) + "," + entry("a", 2, 4, 2) + "}", 4),
            "duplicate key 'a' @ m.st, byte 61 ! each tensor once");
  // The same name, once spelt with an escape.
  EXPECT_EQ(header_refusal("{" + entry("a", 0, 2, 2) + "," + entry("\\u0061", 2, 4, 2) + "}", 4),
            "duplicate key 'a' @ m.st, byte 61 ! each tensor once");
}

TEST(Safetensors, RefusesBadMetadata) {
  EXPECT_EQ(header_refusal("{\"__metadata__\":{\"a\":\"b\"}}"), "(no complaint)");
  EXPECT_EQ(header_refusal("{\"__metadata__\":{\"a\":1}}"),
            "unexpected '1' in JSON @ m.st, byte 29 ! a string: metadata maps strings to strings");
  EXPECT_EQ(header_refusal("{\"__metadata__\":null}"), "unexpected 'n' in JSON @ m.st, byte 24 ! an object");
  EXPECT_EQ(header_refusal("{\"__metadata__\":{\"a\":\"b\",\"a\":\"b\"}}"),
            "duplicate key 'a' in the metadata @ m.st, byte 24 ! each key once");
  EXPECT_EQ(header_refusal("{\"__metadata__\":{},\"__metadata__\":{}}"),
            "duplicate key '__metadata__' @ m.st, byte 27 ! each key once");
}

TEST(Safetensors, RefusesTooManyTensors) {
  std::string header = "{";
  for (size_t i = 0; i <= 131072; i++)
    header += (i ? ",\"" : "\"") + std::to_string(i) + "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}";
  EXPECT_EQ(header_refusal(header + "}").substr(0, 16), "too many tensors");
  // One less is read, and quickly: nothing is quadratic.
  header.resize(header.rfind(",\"131072\""));
  const std::string file = file_of(header + "}");
  EXPECT_EQ(parse_safetensors(as_bytes(file), "m.st").tensors().size(), 131072u);
}

TEST(Safetensors, AccessErrorsNameTheTensor) {
  const SafetensorsFile file(golden("aligned.safetensors"));
  const std::string path = golden("aligned.safetensors");
  EXPECT_EQ(complaint([&] { file->matrix("weight", 3, 2); }),
            "tensor 'weight' has shape [2, 3] @ " + path + ", byte 66 ! [3, 2]");
  EXPECT_EQ(complaint([&] { file->matrix("bytes"); }).substr(0, 29), "tensor 'bytes' has shape [3] ");
  EXPECT_EQ(complaint([&] { file->matrix("bytes", std::vector<size_t>{3}); }).substr(0, 28),
            "tensor 'bytes' has dtype U8 ");
  try {
    file->at("weigth");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.parts().what, "no tensor 'weigth'");
    EXPECT_EQ(e.parts().where, path);
    EXPECT_EQ(e.parts().hint, "did you mean 'weight'?");
  }
}

TEST(Safetensors, WriterRefusesWhatCannotBeRead) {
  const float x[2] = {};
  const auto write = [&](std::vector<TensorToWrite> tensors) {
    MemoryFile file;
    EXPECT_THROW(write_safetensors(file, tensors), Error);
    EXPECT_EQ(file.content, "");
  };
  const auto bytes = std::as_bytes(std::span(x));
  write({{"a", Dtype::f32, {3}, bytes}});
  write({{"a", Dtype::f32, {2}, bytes}, {"a", Dtype::f32, {2}, bytes}});
  write({{"\xff", Dtype::f32, {2}, bytes}});
  write({{"__metadata__", Dtype::f32, {2}, bytes}});
  write({{"a", Dtype::f32, std::vector<size_t>(17, 1), bytes.first(4)}});
}

}  // namespace
}  // namespace glint
