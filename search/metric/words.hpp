#pragma once
// Word lists: one word a line, UTF-8.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kselect::search::metric_space {

using word = std::u32string;  // Unicode code points

// Throws failure::input, naming file and line, for what is no UTF-8 (overlong forms and surrogates
// included), for an empty line and for a word of more than `longest` code points. A carriage return
// before the end of a line is no part of the word.
std::vector<word> read_words(const std::string& file, std::int64_t longest);
void write_words(const std::string& file, const std::vector<word>& words);

// Empty if `text` is no UTF-8 (then `valid` is false) or is empty.
word decode_utf8(std::string_view text, bool& valid);
std::string encode_utf8(const word& w);

}  // namespace kselect::search::metric_space
