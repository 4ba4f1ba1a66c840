#pragma once
// One spelling per enumerator, shared by configs, records, `kselect list` and error messages.
//
// Beside each enum stands a specialisation of `names`; `to_string` and `parse` are written once.

#include <optional>
#include <string_view>

namespace kselect {

template <class Enum>
struct named {
  Enum value;
  std::string_view name;
};

// Specialised as a std::array<named<Enum>, N> beside each enum.
template <class Enum>
inline constexpr int names = 0;

template <class Enum>
concept named_enum = requires { names<Enum>.size(); };

template <named_enum Enum>
constexpr std::string_view to_string(Enum value) {
  for (const auto& entry : names<Enum>) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

template <named_enum Enum>
constexpr std::optional<Enum> parse(std::string_view name) {
  for (const auto& entry : names<Enum>) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

}  // namespace kselect
