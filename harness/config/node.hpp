#pragma once
// A place in a config's JSON tree, with typed and bounded reads. Every failure is a config_error
// (failure::usage) that names the file, the JSON pointer and what belongs there.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "harness/config/expression.hpp"
#include "kselect/names.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {

// What is wrong in a config, and where.
class config_error : public runtime::error {
 public:
  // what() is "FILE: POINTER: WHAT", or "FILE: WHAT" for the whole document.
  config_error(const std::string& file, std::string pointer, std::string_view what);
  const std::string& pointer() const noexcept { return pointer_; }
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::string pointer_, reason_;
};

// The most entries of a list, and the most values of an axis.
inline constexpr std::size_t longest_list = 1000;

// Owns nothing: the tree and the file name must outlive it.
class node {
 public:
  node(const nlohmann::json& value, std::string pointer, const std::string& file_name)
      : value_(&value), pointer_(std::move(pointer)), file_name_(&file_name) {}

  // Throws "file: /pointer: what".
  [[noreturn]] void fail(std::string_view what) const;
  // Like fail, for a name that is not in `valid`. Proposes the nearest valid name, or lists all.
  [[noreturn]] void fail_unknown(std::string_view kind, std::string_view name,
                                 std::span<const std::string_view> valid) const;

  bool is_object() const;
  bool is_list() const;
  bool is_string() const;

  // Requires an object that has no keys except these and "_note".
  void require_keys(std::span<const std::string_view> valid) const;
  node required(std::string_view key) const;
  std::optional<node> optional(std::string_view key) const;

  // The elements of a list, which must have at least one.
  std::vector<node> list() const;
  // The same, but a value that is no list counts as a list of one.
  std::vector<node> list_or_single() const;

  bool boolean() const;
  const std::string& string() const;
  // A path, of which only the grammar of ${NAME} is checked: the value is looked up when the file
  // is opened.
  std::string path() const;
  std::int64_t integer(std::int64_t low, std::int64_t high) const;
  std::uint64_t unsigned_integer() const;
  double number(double low, double high) const;
  // An integer, or arithmetic in a string: 1048576, "2^20", "3*2^10 + 1".
  std::int64_t size(std::int64_t low, std::int64_t high) const;
  harness::expression expression() const;

  template <named_enum Enum>
  Enum enumerator(std::string_view kind) const {
    const std::string& name = string();
    if (const auto value = parse<Enum>(name)) return *value;
    std::vector<std::string_view> valid;
    for (const auto& entry : names<Enum>) valid.push_back(entry.name);
    fail_unknown(kind, name, valid);
  }

 private:
  [[noreturn]] void fail_type(std::string_view wanted) const;
  node child(std::string_view key, const nlohmann::json& value) const;
  void require_range(std::int64_t value, std::int64_t low, std::int64_t high) const;

  const nlohmann::json* value_;
  std::string pointer_;
  const std::string* file_name_;
};

}  // namespace kselect::harness
