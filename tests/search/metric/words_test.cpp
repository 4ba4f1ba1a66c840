#include "search/metric/words.hpp"

#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/error.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string file_with(const std::string& text) {
  static int number = 0;
  const auto path = std::filesystem::temp_directory_path() /
                    ("kselect_words_" + std::to_string(getpid()) + '_' + std::to_string(number++));
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

std::string refusal(const std::string& text) {
  try {
    read_words(file_with(text), 8);
  } catch (const error& e) {
    EXPECT_EQ(e.category(), failure::input);
    return e.what();
  }
  return "none";
}

TEST(Words, AreLines) {
  EXPECT_THAT(read_words(file_with("año\r\nb\nÿ"), 8), ElementsAre(U"año", U"b", U"ÿ"));
  EXPECT_TRUE(read_words(file_with(""), 8).empty());
  EXPECT_THAT(read_words(file_with("\xef\xbb\xbf"
                                   "a\nb\n"),
                         8),
              ElementsAre(U"a", U"b"));
}

TEST(Words, NameTheLineThatIsWrong) {
  EXPECT_THAT(refusal("a\n\nb\n"), HasSubstr("line 2 is empty"));
  EXPECT_THAT(refusal("a\nbbbbbbbbb\n"), HasSubstr("line 2 has 9 characters"));
  EXPECT_THAT(refusal("a\nb\n\xf1o\n"), HasSubstr("line 3 is not UTF-8"));
}

TEST(Words, UTF8IsStrict) {
  for (const char* bad : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                          "\xf0\x80\x80\xaf", "\xff", "\xc3"}) {
    bool valid = true;
    decode_utf8(bad, valid);
    EXPECT_FALSE(valid);
  }
  for (const char32_t c :
       {U'\x7f', U'\x80', U'\x7ff', U'\x800', U'\xffff', U'\U00010000', U'\U0010ffff'}) {
    bool valid = false;
    EXPECT_EQ(decode_utf8(encode_utf8(word(1, c)), valid), word(1, c));
    EXPECT_TRUE(valid);
  }
}

}  // namespace
}  // namespace kselect::search::metric_space
