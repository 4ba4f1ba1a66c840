#include "search/metric/words.hpp"

#include <fmt/format.h>

#include "runtime/io/atomic_file.hpp"
#include "runtime/io/mapped_file.hpp"
#include "runtime/io/readers.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {
namespace {

struct encoding {
  unsigned char mask, lead;
  int bytes;
  char32_t least;  // a smaller code point in this encoding is overlong
};
constexpr encoding encodings[] = {
    {0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};

constexpr char32_t none = 0xffffffff;

// Returns the code point at text[at] and moves `at` past it; `none` if it is no valid code point.
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  for (const encoding& f : encodings) {
    if ((lead & f.mask) != f.lead) continue;
    if (text.size() - at < static_cast<std::size_t>(f.bytes)) return none;
    auto point = static_cast<char32_t>(lead & static_cast<unsigned char>(~f.mask));
    for (int b = 1; b < f.bytes; ++b) {
      const auto next = static_cast<unsigned char>(text[at + static_cast<std::size_t>(b)]);
      if ((next & 0xc0) != 0x80) return none;
      point = point << 6 | (next & 0x3f);
    }
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    if (point < f.least || point > 0x10ffff || surrogate) return none;
    at += static_cast<std::size_t>(f.bytes);
    return point;
  }
  return none;
}

}  // namespace

word decode_utf8(std::string_view text, bool& valid) {
  word decoded;
  valid = true;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = next_code_point(text, at);
    if (point == none) {
      valid = false;
      return {};
    }
    decoded.push_back(point);
  }
  return decoded;
}

std::string encode_utf8(const word& w) {
  std::string text;
  for (const char32_t c : w) {
    const auto tail = [&](int shift) {
      text.push_back(static_cast<char>(0x80 | (c >> shift & 0x3f)));
    };
    if (c < 0x80) {
      text.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      text.push_back(static_cast<char>(0xc0 | c >> 6));
      tail(0);
    } else if (c < 0x10000) {
      text.push_back(static_cast<char>(0xe0 | c >> 12));
      tail(6);
      tail(0);
    } else {
      text.push_back(static_cast<char>(0xf0 | c >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }
  return text;
}

std::vector<word> read_words(const std::string& file, std::int64_t longest) {
  const mapped_file mapping = mapped_file::open_or_collect(file, stream_content::text);
  const std::string_view text(reinterpret_cast<const char*>(mapping.bytes().data()),
                              mapping.bytes().size());
  std::vector<word> words;
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // belongs to no word
  const std::size_t first = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  for (std::size_t start = first; start < text.size();) {
    std::size_t end = text.find('\n', start);
    if (end == std::string_view::npos) end = text.size();
    std::string_view line = text.substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    start = end + 1;
    const std::size_t number = words.size() + 1;
    bool valid = false;
    word w = decode_utf8(line, valid);
    if (!valid) {
      fail_input(file, fmt::format("line {} is not UTF-8, but words are lines of text in UTF-8; "
                                   "convert the file",
                                   number));
    }
    if (w.empty()) fail_input(file, fmt::format("line {} is empty; remove it", number));
    if (static_cast<std::int64_t>(w.size()) > longest) {
      fail_input(file, fmt::format("line {} has {} characters; words have at most {}", number,
                                   w.size(), longest));
    }
    words.push_back(std::move(w));
  }
  mapping.require_unchanged();
  return words;
}

void write_words(const std::string& file, const std::vector<word>& words) {
  std::string text;
  for (const word& w : words) text += encode_utf8(w) + '\n';
  atomic_file out(file);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

}  // namespace kselect::search::metric_space
