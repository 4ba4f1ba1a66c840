// Reads at any position of a compressed file give its content there, and damage is reported.

#include "runtime/io/gzip_index.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <random>
#include <unistd.h>

#include "tests/runtime/io/input_files.hpp"

namespace kselect::runtime {
namespace {

using input_files::folder;
using input_files::gzip;
using input_files::message_of;
using testing::HasSubstr;

// Compressible text with matches at many distances, and no two equal parts.
std::string content(std::size_t length) {
  std::mt19937 bits(5);
  std::string text;
  while (text.size() < length) {
    if (text.size() > 70000 && bits() % 3 == 0) {
      text += text.substr(text.size() - 1 - bits() % 32000, bits() % 300);
    } else {
      text += static_cast<char>(bits() % 50);
    }
  }
  return text.substr(0, length);
}

class opened {
 public:
  explicit opened(const std::filesystem::path& file) : number(::open(file.c_str(), O_RDONLY)) {}
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;
  ~opened() { ::close(number); }
  int number;
};

std::string read(const gzip_index& index, std::int64_t offset, std::size_t count) {
  std::string out(count, '?');
  index.read(offset, std::as_writable_bytes(std::span(out)));
  return out;
}

void expect_everywhere(const std::filesystem::path& path, const std::string& text) {
  const opened file(path);
  const gzip_index index(path, file.number, std::ssize(text));
  EXPECT_EQ(read(index, 0, text.size()), text);
  std::mt19937_64 bits(9);
  for (int trial = 0; trial < 60; ++trial) {
    const std::size_t at = bits() % text.size();
    const std::size_t count = bits() % std::min<std::size_t>(text.size() - at, 100000);
    ASSERT_EQ(read(index, static_cast<std::int64_t>(at), count), text.substr(at, count))
        << at << " " << count;
  }
  EXPECT_EQ(read(index, std::ssize(text) - 1, 1), text.substr(text.size() - 1));
}

TEST(GzipIndex, ReadsFromAnyPlace) {
  const folder at;
  for (const std::size_t length : {1UL, 1000UL, 6'000'000UL}) {
    const std::string text = content(length);
    expect_everywhere(at.write("a.gz", gzip(text)), text);
  }
}

TEST(GzipIndex, ReadsMembersOneAfterTheOther) {
  const folder at;
  const std::string text = content(5'000'000);
  const auto part = [&](std::size_t from, std::size_t to) {
    return gzip(text.substr(from, to - from));
  };
  expect_everywhere(at.write("a.gz", part(0, 1'700'000) + gzip("") + part(1'700'000, 1'700'010) +
                                         part(1'700'010, text.size())),
                    text);
}

TEST(GzipIndex, HoldsLittle) {
  const folder at;
  const std::string text = content(20'000'000);
  const auto path = at.write("a.gz", gzip(text));
  const opened file(path);
  const gzip_index index(path, file.number, std::ssize(text));
  EXPECT_GT(index.memory_bytes(), 0) << "there are places to start again";
  EXPECT_LE(index.memory_bytes(), 20 << 15);
}

TEST(GzipIndex, NamesDamage) {
  const folder at;
  const std::string text = content(3'000'000), packed = gzip(text);
  const auto refusal = [&](const std::string& bytes, std::int64_t expected) {
    const auto path = at.write("a.gz", bytes);
    const opened file(path);
    return message_of([&] { gzip_index(path, file.number, expected); });
  };
  EXPECT_THAT(refusal(packed.substr(0, packed.size() / 2), 3'000'000), HasSubstr("is truncated"));
  EXPECT_THAT(refusal(packed.substr(0, packed.size() - 3), 3'000'000), HasSubstr("is truncated"));
  EXPECT_THAT(refusal(packed, 2'999'999), HasSubstr("inflates to 3000000 bytes"));
  EXPECT_THAT(refusal(packed + "x", 3'000'000), HasSubstr("a.gz: is"));
  std::string wrong_sum = packed;
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  EXPECT_THAT(refusal(wrong_sum, 3'000'000), HasSubstr("is damaged gzip"));
  std::string damaged = packed;
  for (std::size_t i = 0; i < 20; ++i) damaged[damaged.size() / 2 + i] ^= 0x55;
  EXPECT_THAT(refusal(damaged, 3'000'000), HasSubstr("gzip"));
  EXPECT_THAT(refusal("no gzip at all", 3), HasSubstr("is damaged gzip"));
}

}  // namespace
}  // namespace kselect::runtime
