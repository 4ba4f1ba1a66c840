// Reading .npy files, valid and invalid, and the bytes of written ones. The reference is quoted
// output of NumPy. atomic_file_test tests that files are written atomically.

#include "runtime/io/npy.hpp"

#include <gmock/gmock.h>

#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::little;
using input_files::message_of;
using input_files::npy;
using input_files::npy_literal;
using input_files::read_file;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::vector<T> elements(const npy_file& file) {
  const T* const data = reinterpret_cast<const T*>(file.data());
  return {data, data + file.bytes() / static_cast<std::int64_t>(sizeof(T))};
}

TEST(Npy, WritesTheBytesThatNumPyWrites) {
  const folder scratch;
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  write_npy(scratch / "x.npy", element_type::float32, std::vector<std::int64_t>{2, 3},
            std::as_bytes(std::span(values)));
  // numpy.save(f, numpy.arange(1, 7, dtype=numpy.float32).reshape(2, 3))
  const std::string header = std::string("\x93NUMPY\x01\x00v\x00", 10) +
                             "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(read_file(scratch / "x.npy"),
            header + std::string(127 - header.size(), ' ') + "\n" + little(values));
}

TEST(Npy, ReadsBackEveryTypeItWrites) {
  const folder scratch;
  for (const auto& entry : names<element_type>) {
    std::vector<std::byte> data(static_cast<std::size_t>(12 * size_of(entry.value)));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 7 + 1);
    write_npy(scratch / "x.npy", entry.value, std::vector<std::int64_t>{3, 4}, data);
    const npy_file file = npy_file::open(scratch / "x.npy");
    EXPECT_EQ(file.type(), entry.value) << entry.name;
    EXPECT_THAT(file.shape(), ElementsAre(3, 4));
    EXPECT_FALSE(file.fortran_order());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.data()) % 64, 0U);
    ASSERT_EQ(file.bytes(), std::ssize(data));
    EXPECT_EQ(std::memcmp(file.data(), data.data(), data.size()), 0) << entry.name;
  }
}

TEST(Npy, ReadsShapesOfAnyRank) {
  const folder scratch;
  const std::vector<std::int64_t> value = {42};
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {1}, {1, 1}, {1, 1, 1, 1}}) {
    write_npy(scratch / "x.npy", element_type::int64, shape, std::as_bytes(std::span(value)));
    const npy_file file = npy_file::open(scratch / "x.npy");
    EXPECT_EQ(file.shape(), shape);
    EXPECT_THAT(elements<std::int64_t>(file), ElementsAre(42));
  }
}

TEST(Npy, ReadsAnEmptyArray) {
  const folder scratch;
  write_npy(scratch / "x.npy", element_type::float32, std::vector<std::int64_t>{0, 5}, {});
  const npy_file file = npy_file::open(scratch / "x.npy");
  EXPECT_THAT(file.shape(), ElementsAre(0, 5));
  EXPECT_EQ(file.bytes(), 0);
}

TEST(Npy, ReadsVersionsTwoAndThree) {
  const folder scratch;
  const std::vector<double> values = {1.5, -2.5};
  for (const char version : {'\2', '\3'}) {
    const npy_file file = npy_file::open(
        scratch.write("x.npy", npy(npy_literal("<f8", "(2,)"), little(values), version)));
    EXPECT_THAT(elements<double>(file), ElementsAre(1.5, -2.5));
  }
}

TEST(Npy, AcceptsTheSpellingsOfOtherWriters) {
  const folder scratch;
  const npy_file file = npy_file::open(scratch.write(
      "x.npy", npy("{\"shape\":(2,1),\"fortran_order\":True,\"descr\":\"|u1\"}", "\5\6")));
  EXPECT_EQ(file.type(), element_type::uint8);
  EXPECT_TRUE(file.fortran_order());
  EXPECT_THAT(file.shape(), ElementsAre(2, 1));
}

struct bad_file {
  const char* why;
  std::string content;
  const char* message;
};

// A file of 24 bytes of data.
std::string with(const std::string& literal) { return npy(literal, std::string(24, '\0')); }

std::vector<bad_file> files_of_bad_bytes() {
  const std::string good = with(npy_literal("<f4", "(2, 3)"));
  std::string version_9 = good;
  version_9[6] = '\x09';
  std::string long_header = good;
  long_header[9] = '\x7f';
  std::string unaligned = good;
  unaligned.insert(unaligned.find('\n'), " ");
  ++unaligned[8];
  return {
      {"empty", "", "is empty"},
      {"short magic", "\x93NUM", "is truncated within its npy header"},
      {"bad magic", "PK\x03\x04 this is a zip", "is not an npy file (bad magic)"},
      {"no length", good.substr(0, 9), "is truncated within its npy header"},
      {"version", version_9, "npy version 9.0 is not supported"},
      {"header length", long_header, "its npy header claims 32630 bytes, the file has 142 left"},
      {"half the data", good.substr(0, good.size() - 10), "needs 24 bytes of data, it has 14"},
      {"trailing bytes", good + "xy", "has 2 bytes after its 24 bytes of data"},
      {"unaligned", unaligned, "its data start at byte 129, unaligned for float32"},
  };
}

std::vector<bad_file> files_of_bad_types() {
  return {
      {"big-endian", with(npy_literal(">f4", "(2, 3)")), "is big-endian (dtype '>f4')"},
      {"objects", with(npy_literal("|O", "(3,)")), "holds Python objects"},
      {"complex", with(npy_literal("<c8", "(3, 1)")), "dtype '<c8' is not supported"},
      {"bfloat16", with(npy_literal("<V2", "(3, 4)")), "dtype '<V2' names no type"},
      {"strings", with(npy_literal("<U6", "(1,)")), "dtype '<U6' is not supported"},
      {"empty dtype", with(npy_literal("", "(3,)")), "dtype '' is not supported"},
      {"structured", with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}"),
       "is a structured array"},
  };
}

std::vector<bad_file> files_of_bad_headers() {
  return {
      {"missing key", with("{'descr': '<f4', 'shape': (2, 3)}"), "cannot be parsed"},
      {"unknown key", with("{'descr': '<f4', 'order': 1}"), "unexpected key 'order'"},
      {"key twice", with("{'descr': '<f4', 'descr': '<f4'}"), "unexpected key 'descr'"},
      {"no dict", with("(2, 3)"), "cannot be parsed at '(2, 3)"},
      {"text behind", with(npy_literal("<f4", "(2, 3)") + " x"), "cannot be parsed at 'x"},
      {"open dict", with("{'descr': '<f4', "), "cannot be parsed"},
      {"open string", with("{'descr"), "cannot be parsed"},
      {"bad boolean", with("{'fortran_order': 0}"), "cannot be parsed"},
      {"unprintable", with("{'\n\x01\xff': 1}"), "unexpected key '\\x0a\\x01\\xff'"},
  };
}

std::vector<bad_file> files_of_bad_shapes() {
  return {
      {"negative", with(npy_literal("<f4", "(-2, -3)")), "cannot be parsed at '-2"},
      {"float extent", with(npy_literal("<f4", "(2.0, 3)")), "cannot be parsed at '.0"},
      {"extent over 64 bits", with(npy_literal("<f4", "(99999999999999999999, 1)")),
       "cannot be parsed at '99999999999999999999"},
      {"product over 64 bits", with(npy_literal("<f4", "(4611686018427387904, 4)")),
       "claims the absurd shape (4611686018427387904, 4)"},
      {"product over 64 bits, but empty", with(npy_literal("<f4", "(4611686018427387904, 4, 0)")),
       "claims the absurd shape"},
      {"huge", with(npy_literal("<f4", "(1000000000000, 128)")),
       "needs 512000000000000 bytes of data, it has 24"},
  };
}

TEST(Npy, SaysWhatIsWrongWithABadFile) {
  const folder scratch;
  for (const auto& files : {files_of_bad_bytes(), files_of_bad_types(), files_of_bad_headers(),
                            files_of_bad_shapes()}) {
    for (const bad_file& bad : files) {
      const auto file = scratch.write("bad.npy", bad.content);
      const std::string message = message_of([&] { npy_file::open(file); });
      EXPECT_THAT(message, HasSubstr(bad.message)) << bad.why;
      EXPECT_THAT(message, testing::StartsWith(file.string() + ": ")) << bad.why;
      EXPECT_EQ(message.find('\n'), std::string::npos) << bad.why;
    }
  }
}

TEST(Npy, SaysThatAFileIsMissingOrNoFile) {
  const folder scratch;
  EXPECT_THAT(message_of([&] { npy_file::open(scratch / "no.npy"); }),
              HasSubstr("no.npy: cannot be read: No such file or directory"));
  EXPECT_THAT(message_of([&] { npy_file::open(scratch / "."); }),
              HasSubstr("is not a regular file"));
  EXPECT_THAT(message_of([&] { npy_file::open("/dev/zero"); }), HasSubstr("is not a regular file"));
}

TEST(NpyWriter, AppendsBlocksOfRows) {
  const folder scratch;
  const std::vector<std::int32_t> values = {1, 2, 3, 4, 5, 6};
  const auto bytes = std::as_bytes(std::span(values));
  npy_writer writer(scratch / "x.npy", element_type::int32, std::vector<std::int64_t>{3, 2});
  writer.append(bytes.first(8));
  writer.append({});
  writer.append(bytes.subspan(8));
  EXPECT_FALSE(std::filesystem::exists(scratch / "x.npy"));
  writer.commit();
  EXPECT_THAT(elements<std::int32_t>(npy_file::open(scratch / "x.npy")),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(NpyWriter, RefusesMoreOrFewerElementsThanItsShape) {
  const folder scratch;
  const std::vector<std::byte> row(8);
  npy_writer writer(scratch / "x.npy", element_type::int32, std::vector<std::int64_t>{2, 2});
  writer.append(row);
  EXPECT_THAT(message_of([&] { writer.commit(); }, failure::output),
              HasSubstr("8 bytes of its shape were never written"));
  writer.append(row);
  EXPECT_THAT(message_of([&] { writer.append(row); }, failure::output),
              HasSubstr("8 bytes more than its shape holds"));
}

TEST(NpyWriter, RefusesAShapeBeyond64Bits) {
  const folder scratch;
  const std::vector<std::int64_t> shape = {std::int64_t{1} << 61, 4};
  EXPECT_THAT(message_of([&] { npy_writer(scratch / "x.npy", element_type::int32, shape); },
                         failure::output),
              HasSubstr("does not fit 64 bits"));
  EXPECT_THAT(scratch.listing(), testing::IsEmpty());
}

}  // namespace
}  // namespace kselect::runtime
