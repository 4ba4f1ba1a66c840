#pragma once
// A kind with a number, as configs and records write it: `zipf(1)`, `columns(0.01)`, `equal`.

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace kselect::harness {

inline std::string kind_text(std::string_view kind, double number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  return std::string(kind) + '(' + std::string(digits.data(), end) + ')';
}

struct kind_and_number {
  std::string_view kind;  // a part of the text that was read
  std::optional<double> number;
};

// Empty if brackets hold no number, or are not closed at the end.
inline std::optional<kind_and_number> read_kind(std::string_view text) {
  const std::size_t bracket = text.find('(');
  kind_and_number read{text.substr(0, bracket), std::nullopt};
  if (bracket == std::string_view::npos) return read;
  if (text.back() != ')') return std::nullopt;
  const char* const last = text.data() + text.size() - 1;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data() + bracket + 1, last, number);
  if (error != std::errc{} || end != last) return std::nullopt;
  read.number = number;
  return read;
}

}  // namespace kselect::harness
