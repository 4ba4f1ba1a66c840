// Parses the dict literal by recursive descent. No number in the file decides an allocation:
// strings and the shape are at most as long as the header, and the header as the file.

#include "runtime/io/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view magic = "\x93NUMPY"sv;
constexpr std::size_t prefix_bytes = 10;  // magic, version and a 16-bit length
constexpr std::size_t alignment = 64;     // as NumPy pads

struct type_code {
  std::string_view code;  // what follows the byte order in `descr`
  element_type type;
};
constexpr std::array<type_code, 9> type_codes = {{{"i1", element_type::int8},
                                                  {"u1", element_type::uint8},
                                                  {"i2", element_type::int16},
                                                  {"i4", element_type::int32},
                                                  {"u4", element_type::uint32},
                                                  {"i8", element_type::int64},
                                                  {"f2", element_type::float16},
                                                  {"f4", element_type::float32},
                                                  {"f8", element_type::float64}}};

[[noreturn]] void fail(const std::filesystem::path& file, std::string_view problem) {
  throw error(failure::input, fmt::format("{}: {}", file.string(), problem));
}

// A byte of the file for a message: printable and without a line break.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) {
    const bool printable = c >= ' ' && c <= '~';
    out += printable ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

class literal_parser {
 public:
  literal_parser(const std::filesystem::path& file, std::string_view text)
      : file_(file), text_(text) {}

  npy_header parse() {
    npy_header header;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) {
        header.type = type(header.boolean);
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header.fortran_order = boolean();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        header.shape = tuple();
      } else {
        fail(file_, fmt::format("unexpected key '{}' in its npy header", quoted(key)));
      }
      if (!accept(',') && peek() != '}') unparseable();
    }
    if (peek() != '\0' || !has_type || !has_order || !has_shape) unparseable();
    return header;
  }

 private:
  [[noreturn]] void unparseable() const {
    fail(file_, fmt::format("its npy header cannot be parsed at '{}'; expected descr, "
                            "fortran_order and shape as NumPy writes them",
                            quoted(text_.substr(position_))));
  }

  // The next character that is not white space; NUL at the end.
  char peek() {
    position_ = std::min(text_.find_first_not_of(" \t\n", position_), text_.size());
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(char c) {
    const bool found = peek() == c && position_ < text_.size();
    if (found) ++position_;
    return found;
  }
  void expect(char c) {
    if (!accept(c)) unparseable();
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') unparseable();
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) unparseable();
    const std::string_view value = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return value;
  }

  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{"True"sv, true}, std::pair{"False"sv, false}}) {
      if (text_.substr(position_).starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    unparseable();
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      values.push_back(integer());
      if (!accept(',') && peek() != ')') unparseable();
    }
    return values;
  }

  std::int64_t integer() {
    peek();
    std::int64_t value = 0;
    const char* const last = text_.data() + text_.size();
    const auto [end, problem] = std::from_chars(text_.data() + position_, last, value);
    if (problem != std::errc{} || value < 0) unparseable();
    position_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  element_type type(bool& is_boolean) {
    if (peek() == '[') fail(file_, "is a structured array; save one plain array of numbers");
    const std::string_view descr = string();
    const char order = descr.empty() ? '\0' : descr[0];
    const std::string_view code = descr.substr(order == '\0' ? 0 : 1);
    if (code.starts_with('O')) {
      fail(file_, "holds Python objects (dtype object), not numbers; save it with a numeric dtype");
    }
    is_boolean = descr == "|b1";
    if (is_boolean) return element_type::uint8;
    for (const type_code& known : type_codes) {
      if (known.code != code) continue;
      const bool single_byte = size_of(known.type) == 1;
      if (order == '<' || (order == '|' && single_byte)) return known.type;
      if (order == '>') {
        if (single_byte) return known.type;
        fail(file_, fmt::format("is big-endian (dtype '{}'); save it as '<{}'", descr, code));
      }
    }
    if (code == "V2") {
      fail(file_, fmt::format("dtype '{}' names no type, as NumPy has no bfloat16; convert it with "
                              ".astype(numpy.float32), which keeps every value",
                              quoted(descr)));
    }
    fail(file_, fmt::format(
                    "dtype '{}' is not supported; save numbers as float32 or float64, and indices, "
                    "lengths and names as int64",
                    quoted(descr)));
  }

  const std::filesystem::path& file_;
  std::string_view text_;
  std::size_t position_ = 0;
};

struct literal_place {
  std::size_t start, length;
};

// Finds the dict literal by the magic, the version and the length before it. Empty if the text ends
// before the length; the literal itself may be cut.
std::optional<literal_place> find_literal(const std::filesystem::path& file,
                                          std::string_view text) {
  if (!text.starts_with(magic.substr(0, text.size()))) {
    fail(file, "is not an npy file (bad magic); numpy.save writes one");
  }
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (text.size() < prefix_bytes) return std::nullopt;
  const int major = byte(6);
  if (major < 1 || major > 3 || byte(7) != 0) {
    fail(file, fmt::format("npy version {}.{} is not supported; 1.0 to 3.0 are", major, byte(7)));
  }
  const std::size_t start = major == 1 ? prefix_bytes : prefix_bytes + 2;
  if (text.size() < start) return std::nullopt;
  std::size_t length = 0;
  for (std::size_t at = start; at-- > 8;) length = length << 8 | byte(at);
  return literal_place{start, length};
}

std::string_view literal_of(const std::filesystem::path& file, std::string_view text) {
  if (text.empty()) fail(file, "is empty; an npy file starts with a header");
  const auto place = find_literal(file, text);
  if (!place) fail(file, "is truncated within its npy header");
  if (place->length > text.size() - place->start) {
    fail(file, fmt::format("its npy header claims {} bytes, the file has {} left; it is truncated",
                           place->length, text.size() - place->start));
  }
  return text.substr(place->start, place->length);
}

// The bytes of the data that a header describes.
std::int64_t data_bytes_of(const std::filesystem::path& file, const npy_header& header) {
  const std::optional<std::int64_t> bytes = dense_bytes(header.type, header.shape);
  if (!bytes) {
    fail(file, fmt::format("claims the absurd shape ({}): its bytes do not fit 64 bits",
                           fmt::join(header.shape, ", ")));
  }
  return *bytes;
}

}  // namespace

std::optional<std::int64_t> npy_file_bytes(const std::filesystem::path& file,
                                           std::span<const std::byte> first) {
  const std::string_view text(reinterpret_cast<const char*>(first.data()), first.size());
  const auto place = find_literal(file, text);
  if (!place || place->length > text.size() - place->start) return std::nullopt;
  const npy_header header = literal_parser(file, text.substr(place->start, place->length)).parse();
  const std::int64_t data = data_bytes_of(file, header);
  const auto offset = static_cast<std::int64_t>(place->start + place->length);
  return data + std::min(offset, std::numeric_limits<std::int64_t>::max() - data);
}

npy_header parse_npy_header(const std::filesystem::path& file, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string_view literal = literal_of(file, text);
  npy_header header = literal_parser(file, literal).parse();
  header.data_offset = literal.data() + literal.size() - text.data();
  const std::int64_t expected = data_bytes_of(file, header);
  header.data_bytes = expected;
  const std::int64_t found = std::ssize(bytes) - header.data_offset;
  if (found < expected) {
    fail(file, fmt::format("is truncated: shape ({}) of {} needs {} bytes of data, it has {}",
                           fmt::join(header.shape, ", "), to_string(header.type), expected, found));
  }
  if (found > expected) {
    fail(file, fmt::format("has {} bytes after its {} bytes of data; one array to a file",
                           found - expected, expected));
  }
  if (header.data_offset % size_of(header.type) != 0) {
    fail(file, fmt::format("its data start at byte {}, unaligned for {}; save it again with NumPy",
                           header.data_offset, to_string(header.type)));
  }
  return header;
}

std::string format_npy_header(element_type type, std::span<const std::int64_t> shape) {
  std::string_view code;
  for (const type_code& known : type_codes) {
    if (known.type == type) code = known.code;
  }
  std::string literal = fmt::format(
      "{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
      size_of(type) == 1 ? '|' : '<', code, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  const std::size_t used = prefix_bytes + literal.size() + 1;
  literal.append((alignment - used % alignment) % alignment, ' ');
  literal += '\n';
  std::string header(magic);
  for (const std::size_t byte :
       {std::size_t{1}, std::size_t{0}, literal.size() & 0xff, literal.size() >> 8}) {
    header += static_cast<char>(byte);
  }
  return header + literal;
}

}  // namespace kselect::runtime
