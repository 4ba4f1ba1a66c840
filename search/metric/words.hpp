#pragma once
// Word lists: one word a line, UTF-8.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kselect::search::metric_space {

using word = std::u32string;  // Unicode code points

// Throws failure::input, naming file and line, for invalid UTF-8 (overlong forms and surrogates
// included), an empty line, or a word of more than `longest` code points. A carriage return before
// the end of a line does not belong to the word.
std::vector<word> read_words(const std::string& file, std::int64_t longest);
void write_words(const std::string& file, const std::vector<word>& words);

// Empty if `text` is empty or invalid UTF-8; `valid` tells which.
word decode_utf8(std::string_view text, bool& valid);
std::string encode_utf8(const word& w);

}  // namespace kselect::search::metric_space
