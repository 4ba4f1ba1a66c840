#pragma once
// One spelling per enumerator, shared by configs, records, `kselect list` and error messages.
//
// Beside each enum, in its namespace, stands `names_of`: it returns a std::array of all enumerators
// with their names. `names`, `to_string` and `parse` follow from it.

#include <optional>
#include <string_view>

namespace kselect {

template <class Enum>
struct named {
  Enum value;
  std::string_view name;
};

template <class Enum>
concept named_enum = requires {
  names_of(Enum{});
};

template <named_enum Enum>
inline constexpr auto names = names_of(Enum{});

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
