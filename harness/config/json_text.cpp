// Uses nlohmann's parser callback, which sees every key, even those that the tree would overwrite,
// and can stop at a depth before a tree of that depth exists.

#include "harness/config/json_text.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/harness.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

using nlohmann::json;

constexpr std::size_t deepest = 16;
constexpr std::size_t longest_shown = 80;

// Escapes text like JSON, without the quotes.
std::string escaped(std::string_view text, std::size_t longest = longest_shown) {
  const bool whole = text.size() <= longest;
  const std::string shown{text.substr(0, longest)};
  // A multi-byte character that is cut in two is replaced; nothing throws.
  const std::string dumped = json(shown).dump(-1, ' ', true, json::error_handler_t::replace);
  return dumped.substr(1, dumped.size() - 2) + (whole ? "" : "...");
}

// Follows the parser: knows the open objects and lists and their keys so far.
class watcher {
 public:
  explicit watcher(const std::string& file_name) : file_name_(file_name) {}

  void see(json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (open_.size() == deepest) fail(nullptr, fmt::format("nested deeper than {}", deepest));
        open_.push_back({event == json::parse_event_t::array_start, {}, {}, 0});
        break;
      case json::parse_event_t::key:
        key(parsed.get_ref<const std::string&>());
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        open_.pop_back();
        [[fallthrough]];
      case json::parse_event_t::value:
        if (!open_.empty()) ++open_.back().finished;
    }
  }

 private:
  struct container {
    bool is_list;
    std::set<std::string> keys;
    std::string current;  // the key whose value is being parsed
    std::size_t finished;
  };

  void key(const std::string& name) {
    open_.back().current = name;
    if (!open_.back().keys.insert(name).second) fail(&name, "repeated key; keep one of them");
  }

  // Throws an error at the innermost container, or at its member `name`.
  [[noreturn]] void fail(const std::string* name, const std::string& what) {
    std::string pointer;
    for (std::size_t i = 0; i + 1 < open_.size(); ++i) {
      const container& outer = open_[i];
      pointer = pointer_to(pointer, outer.is_list ? std::to_string(outer.finished) : outer.current);
    }
    if (name != nullptr) pointer = pointer_to(pointer, *name);
    throw error(failure::usage, fmt::format("{}: {}: {}", file_name_, pointer, what));
  }

  const std::string& file_name_;
  std::vector<container> open_;
};

// "12:3" for the byte at which the parser stopped (1-based; one past the end for an early end).
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : std::min(byte - 1, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("{}:{}", line, column);
}

// nlohmann's message without its prefix, which gives the position in another form.
std::string reason_of(const json::exception& why) {
  std::string_view text = why.what();
  if (const auto start = text.find("syntax error"); start != std::string_view::npos) {
    text.remove_prefix(start);
  } else if (const auto bracket = text.find("] "); bracket != std::string_view::npos) {
    text.remove_prefix(bracket + 2);
  }
  // The last input read may be a megabyte long. What was expected is at the end of the message.
  const auto read = text.find("; last read: ");
  if (read == std::string_view::npos) return escaped(text, 2 * longest_shown);
  const auto expected = text.rfind("; expected ");
  const bool told = expected != std::string_view::npos && expected > read;
  return escaped(text.substr(0, read)) + (told ? escaped(text.substr(expected)) : "");
}

}  // namespace

std::string in_quotes(std::string_view text) { return '"' + escaped(text) + '"'; }

std::string pointer_to(std::string_view parent, std::string_view key) {
  std::string pointer{parent};
  pointer += '/';
  for (const char c : escaped(key)) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

nlohmann::json parse_strict_json(std::string_view text, const std::string& file_name) {
  if (text.size() > longest_config) {
    throw error(
        failure::usage,
        fmt::format("{}: longer than {} bytes, which no config needs; is it the right file?",
                    file_name, longest_config));
  }
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    // The parser would take it for the end of the text.
    throw error(failure::usage, fmt::format("{}:{}: not JSON: a zero byte", file_name,
                                            line_and_column(text, zero + 1)));
  }
  watcher watch(file_name);
  try {
    return json::parse(text, [&](int, json::parse_event_t event, const json& parsed) {
      watch.see(event, parsed);
      return true;
    });
  } catch (const json::parse_error& why) {
    throw error(failure::usage, fmt::format("{}:{}: not JSON: {}", file_name,
                                            line_and_column(text, why.byte), reason_of(why)));
  } catch (const json::exception& why) {
    throw error(failure::usage, fmt::format("{}: not JSON: {}", file_name, reason_of(why)));
  }
}

}  // namespace kselect::harness
