// Reads values without conversions, unlike C++: 1.0 is no integer, 1 no boolean, "1" no number.

#include "harness/config/node.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/config/json_text.hpp"
#include "harness/harness.hpp"
#include "kselect/registry.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

using nlohmann::json;

constexpr std::string_view note = "_note";

std::string described(const json& value) {
  if (value.is_string()) return "the string " + in_quotes(value.get_ref<const std::string&>());
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return value.dump();  // a number, true, false or null
}

}  // namespace

config_error::config_error(const std::string& file, std::string pointer, std::string_view what)
    : error(failure::usage,
            fmt::format("{}: {}{}{}", file, pointer, pointer.empty() ? "" : ": ", what)),
      pointer_(std::move(pointer)),
      reason_(what) {}

void node::fail(std::string_view what) const { throw config_error(*file_name_, pointer_, what); }

void node::fail_unknown(std::string_view kind, std::string_view name,
                        std::span<const std::string_view> valid) const {
  const auto near = nearest_names(name, valid, 1);
  fail(near.empty()
           ? fmt::format("unknown {} {}; valid: {}", kind, in_quotes(name), fmt::join(valid, ", "))
           : fmt::format("unknown {} {}; did you mean \"{}\"?", kind, in_quotes(name),
                         near.front()));
}

void node::fail_type(std::string_view wanted) const {
  fail(fmt::format("must be {}, is {}", wanted, described(*value_)));
}

node node::child(std::string_view key, const json& value) const {
  return {value, pointer_to(pointer_, key), *file_name_};
}

bool node::is_object() const { return value_->is_object(); }
bool node::is_list() const { return value_->is_array(); }
bool node::is_string() const { return value_->is_string(); }

void node::require_keys(std::span<const std::string_view> valid) const {
  if (!is_object()) fail_type("an object");
  std::vector<std::string_view> known(valid.begin(), valid.end());
  known.push_back(note);
  for (const auto& [key, value] : value_->items()) {
    const node member = child(key, value);
    if (key == note) {
      member.string();
    } else if (std::ranges::find(known, key) == known.end()) {
      const auto near = nearest_names(key, known, 1);
      member.fail(near.empty() ? fmt::format("unknown key; valid here: {}", fmt::join(known, ", "))
                               : fmt::format("unknown key; did you mean \"{}\"?", near.front()));
    }
  }
}

node node::required(std::string_view key) const {
  if (auto found = optional(key)) return *found;
  fail(fmt::format("the key \"{}\" is missing", key));
}

std::optional<node> node::optional(std::string_view key) const {
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return child(key, *found);
}

std::vector<node> node::list() const {
  if (!is_list()) fail_type("a list");
  if (value_->empty()) fail("must not be empty");
  if (value_->size() > longest_list) {
    fail(fmt::format("has {} entries, more than {}", value_->size(), longest_list));
  }
  std::vector<node> elements;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    elements.push_back(child(std::to_string(i), (*value_)[i]));
  }
  return elements;
}

std::vector<node> node::list_or_single() const {
  if (is_list()) return list();
  return {*this};
}

bool node::boolean() const {
  if (!value_->is_boolean()) fail_type("true or false");
  return value_->get<bool>();
}

const std::string& node::string() const {
  if (!is_string()) fail_type("a string");
  return value_->get_ref<const std::string&>();
}

void node::require_range(std::int64_t value, std::int64_t low, std::int64_t high) const {
  if (value < low || value > high) {
    fail(fmt::format("must lie between {} and {}, is {}", low, high, value));
  }
}

std::string node::path() const {
  const std::string& path = string();
  if (path.empty()) fail("must not be empty");
  if (path.find('\0') != std::string::npos) fail("must not contain a null character");
  for (std::size_t dollar = path.find('$'); dollar != std::string::npos;
       dollar = path.find('$', dollar + 1)) {
    const std::size_t end = path.find('}', dollar);
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    const bool valid = path.compare(dollar, 2, "${") == 0 && end != std::string::npos &&
                       end > dollar + 2 &&
                       std::all_of(path.begin() + static_cast<std::ptrdiff_t>(dollar) + 2,
                                   path.begin() + static_cast<std::ptrdiff_t>(end), is_name);
    if (!valid) {
      fail(fmt::format("{}: write an environment variable as ${{NAME}}", in_quotes(path)));
    }
  }
  return path;
}

std::int64_t node::integer(std::int64_t low, std::int64_t high) const {
  if (!value_->is_number_integer()) fail_type("an integer");
  // An unsigned number beyond 2^63 would turn negative. It exceeds every bound in use.
  if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX) {
    fail(fmt::format("must lie between {} and {}, is {}", low, high, value_->dump()));
  }
  const auto value = value_->get<std::int64_t>();
  require_range(value, low, high);
  return value;
}

std::uint64_t node::unsigned_integer() const {
  if (!value_->is_number_unsigned()) fail_type("an integer between 0 and 2^64 - 1");
  return value_->get<std::uint64_t>();
}

double node::number(double low, double high) const {
  if (!value_->is_number()) fail_type("a number");
  const auto value = value_->get<double>();
  if (!(value >= low && value <= high)) {
    fail(fmt::format("must lie between {} and {}, is {}", low, high, value_->dump()));
  }
  return value;
}

std::int64_t node::size(std::int64_t low, std::int64_t high) const {
  if (!is_string()) {
    if (!value_->is_number_integer()) fail_type("an integer or a string such as \"2^20\"");
    return integer(low, high);
  }
  std::int64_t value = 0;
  try {
    value = constant_value(string());
  } catch (const error& why) {
    fail(fmt::format("{}: {}", in_quotes(string()), why.what()));
  }
  require_range(value, low, high);
  return value;
}

harness::expression node::expression() const {
  try {
    return harness::expression(string());
  } catch (const error& why) {
    // string() has already named the place in its error.
    if (!is_string()) throw;
    fail(fmt::format("{}: {}", in_quotes(string()), why.what()));
  }
}

}  // namespace kselect::harness
