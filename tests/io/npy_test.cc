#include "glint/io/npy.h"

#include "io_testing.h"

namespace glint {
namespace {

std::string file_of(const std::string& dict, const std::string& data = "") {
  std::string file("\x93NUMPY\1\0", 8);
  file += static_cast<char>((dict.size() + 1) & 255);
  file += static_cast<char>((dict.size() + 1) >> 8);
  return file + dict + "\n" + data;
}
std::string npy_refusal(const std::string& file) {
  return complaint([&] { parse_npy(as_bytes(file), "a.npy"); });
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const Matrix<float> f = read_npy<float>(golden("f4.npy"));
  ASSERT_EQ(f.rows(), 2u);
  ASSERT_EQ(f.cols(), 3u);
  const float expected[] = {0, 1, -2, 0.5f, 1e30f, -0.25f};
  for (size_t i = 0; i < 6; i++) EXPECT_EQ(f.span()[i], expected[i]);
  const Matrix<double> d = read_npy<double>(golden("f8_v2.npy"));
  ASSERT_EQ(d.rows(), 1u);
  ASSERT_EQ(d.cols(), 3u);
  EXPECT_EQ(d(0, 0), 1.0 / 3);
  EXPECT_EQ(d(0, 1), -1e300);
  EXPECT_EQ(d(0, 2), 5e-324);
  const Matrix<int32_t> i = read_npy<int32_t>(golden("i4.npy"));
  EXPECT_EQ(i(0, 1), -2);
  EXPECT_EQ(i(1, 1), INT32_MIN);
}

TEST(Npy, WritesTheBytesOfNumpy) {
  const Folder folder;
  const Matrix<float> f = read_npy<float>(golden("f4.npy"));
  write_npy(real_files(), folder / "f.npy", f.view());
  EXPECT_EQ(read_file(folder / "f.npy"), read_file(golden("f4.npy")));
  const Matrix<uint8_t> u = read_npy<uint8_t>(golden("rgba.npy"));
  write_npy(real_files(), folder / "u.npy", u.view());
  EXPECT_EQ(read_file(folder / "u.npy"), read_file(golden("rgba.npy")));
  const size_t three[] = {3};
  const std::string v2 = npy_header(Dtype::f64, three, 2);
  EXPECT_EQ(v2, read_file(golden("f8_v2.npy")).substr(0, v2.size()));
}

TEST(Npy, RoundTripsEveryShape) {
  for (const std::vector<size_t>& shape :
       {std::vector<size_t>{}, {0}, {1}, {7}, {0, 4}, {3, 1}, {2, 3, 4}, std::vector<size_t>(16, 1)}) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::u8, Dtype::i32}) {
      for (const int version : {1, 2}) {
        size_t bytes = 0;
        ASSERT_TRUE(dense_bytes(shape, dtype, bytes));
        const std::string header = npy_header(dtype, shape, version);
        EXPECT_EQ(header.size() % 64, 0u);
        const std::string file = header + std::string(bytes, '\5');
        const NpyView v = parse_npy(as_bytes(file), "memory");
        EXPECT_EQ(v.dtype, dtype);
        EXPECT_EQ(v.shape, shape);
        EXPECT_EQ(v.bytes.size(), bytes);
      }
    }
  }
  EXPECT_THROW(npy_header(Dtype::i64, {}), Error);
  EXPECT_THROW(write_npy(real_files(), "/nowhere/x.npy", Dtype::u8, std::vector<size_t>{2}, {}), Error);
}

TEST(Npy, RefusesEveryOtherFile) {
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
  EXPECT_EQ(npy_refusal(file_of(good, "ab")), "(no complaint)");
  EXPECT_EQ(npy_refusal(file_of("{\"shape\":(2,),'fortran_order':False,'descr':'|u1'}   ", "ab")), "(no complaint)");
  EXPECT_EQ(npy_refusal(""), "not a .npy file @ a.npy, byte 0 ! \\x93NUMPY");
  EXPECT_EQ(npy_refusal("\x93NUMPY"), "unknown version of the .npy format @ a.npy, byte 6 ! 1.0 or 2.0");
  EXPECT_EQ(npy_refusal(std::string("\x93NUMPY\3\0\0\0\0\0", 12)),
            "unknown version of the .npy format @ a.npy, byte 6 ! 1.0 or 2.0");
  EXPECT_EQ(npy_refusal(std::string("\x93NUMPY\2\0\0\0", 10)),
            "file ends in the header @ a.npy, byte 10 ! the header length");
  EXPECT_EQ(npy_refusal(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)),
            "header length 4294967295 is too large @ a.npy, byte 8 ! at most 0");
  EXPECT_EQ(npy_refusal(file_of(good, "abc")), "3 bytes of data @ a.npy, byte 68 ! 2 bytes for shape [2]");
  EXPECT_EQ(npy_refusal(file_of(good, "a")), "1 bytes of data @ a.npy, byte 68 ! 2 bytes for shape [2]");

  const auto dict = [](const std::string& text) { return npy_refusal(file_of(text, "ab")); };
  EXPECT_EQ(dict(""), "bad header @ a.npy, byte 10 ! a dictionary");
  EXPECT_EQ(dict("{}"), "header lacks a key @ a.npy, byte 10 ! descr, fortran_order and shape");
  EXPECT_EQ(dict("{'descr': '|u1', 'shape': (2,)}"),
            "header lacks a key @ a.npy, byte 10 ! descr, fortran_order and shape");
  EXPECT_EQ(dict("{'more': 1}"), "unknown key 'more' @ a.npy, byte 11 ! descr, fortran_order and shape");
  EXPECT_EQ(dict("{'descr': '|u1', 'descr': '|u1'}"), "duplicate key 'descr' @ a.npy, byte 27 ! each key once");
  EXPECT_EQ(dict("{'descr': '>f4'}"), "element type '>f4' @ a.npy, byte 20 ! '<f4', '<f8', '|u1' or '<i4'");
  EXPECT_EQ(dict("{'descr': [('x', '<f4')]}"), "bad header @ a.npy, byte 20 ! a string in quotes");
  EXPECT_EQ(dict("{'descr': '|u1}"), "string without an end @ a.npy, byte 20 ! a closing quote");
  EXPECT_EQ(dict("{'fortran_order': True}"),
            "array in Fortran order @ a.npy, byte 28 ! C order: numpy.ascontiguousarray");
  EXPECT_EQ(dict("{'fortran_order': 0}"), "bad fortran_order @ a.npy, byte 28 ! False");
  EXPECT_EQ(dict("{'shape': 2}"), "bad header @ a.npy, byte 20 ! a tuple");
  EXPECT_EQ(dict("{'shape': (2)}"), "bad shape @ a.npy, byte 22 ! ',' after a dimension");
  EXPECT_EQ(dict("{'shape': (-2,)}"), "bad dimension @ a.npy, byte 21 ! a non-negative integer below 2^64");
  EXPECT_EQ(dict("{'shape': (99999999999999999999,)}"),
            "bad dimension @ a.npy, byte 21 ! a non-negative integer below 2^64");
  EXPECT_EQ(dict("{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}"),
            "too many dimensions @ a.npy, byte 53 ! at most 16");
  EXPECT_EQ(dict("{'descr': '|u1' 'shape': (2,)}"), "bad dictionary @ a.npy, byte 26 ! ',' or '}'");
  EXPECT_EQ(dict(good + "x"), "bad end of the header @ a.npy, byte 67 ! spaces and one line feed");
  EXPECT_EQ(dict("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
            "array of shape [4294967296, 4294967296] is too large @ a.npy, byte 10 ! less than 2^64 bytes");
}

TEST(Npy, MatrixNeedsTypeAndRank) {
  EXPECT_EQ(complaint([] { read_npy<double>(golden("f4.npy")); }),
            "elements of type F32 @ " + golden("f4.npy") + " ! F64");
  const Folder folder;
  write_npy(real_files(), folder / "c.npy", Dtype::u8, std::vector<size_t>{1, 1, 1}, as_bytes("x"));
  EXPECT_EQ(complaint([&] { read_npy<uint8_t>(folder / "c.npy"); }),
            "array of shape [1, 1, 1] @ " + (folder / "c.npy") + " ! one or two dimensions");
}

}  // namespace
}  // namespace glint
