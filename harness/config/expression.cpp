// A recursive-descent parser that makes postfix programs, and their evaluation in 128 bits.

#include "harness/config/expression.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "harness/harness.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

using kind = expression::step::kind;
using wide = __int128;

// Limits the evaluation time and the depth of the recursion.
constexpr std::size_t longest_text = 256;
constexpr wide bound = wide{1} << 120;

struct bindings {
  std::int64_t n, q, k;
};

[[noreturn]] void undefined(const char* why) { throw error(failure::usage, why); }

wide bounded(wide value) {
  if (value > bound || value < -bound) undefined("a value beyond 2^120");
  return value;
}

wide magnitude(wide value) { return value < 0 ? -value : value; }

wide multiply(wide a, wide b) {
  // Without the division below, which takes longer than the rest of an expression.
  if (a == static_cast<std::int64_t>(a) && b == static_cast<std::int64_t>(b)) return bounded(a * b);
  if (b != 0 && magnitude(a) > bound / magnitude(b)) undefined("a value beyond 2^120");
  return a * b;
}

wide power(wide base, wide exponent) {
  if (exponent < 0) undefined("a negative exponent");
  // Powers of these three never grow, so only the exponent would bound the loop below.
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  wide result = 1;
  for (; exponent > 0; --exponent) result = multiply(result, base);
  return result;
}

wide apply(kind operation, wide a, wide b) {
  switch (operation) {
    case kind::add:
      return bounded(a + b);
    case kind::subtract:
      return bounded(a - b);
    case kind::multiply:
      return multiply(a, b);
    case kind::divide:
      if (b == 0) undefined("a division by zero");
      return a / b;
    default:
      return power(a, b);
  }
}

wide evaluate(const expression::program& program, const bindings& values) {
  wide stack[longest_text];  // a text is longer than its program
  wide* end = stack;
  for (const auto& step : program) {
    switch (step.what) {
      case kind::number:
        *end++ = step.number;
        break;
      case kind::n:
        *end++ = values.n;
        break;
      case kind::q:
        *end++ = values.q;
        break;
      case kind::k:
        *end++ = values.k;
        break;
      default: {
        --end;
        end[-1] = apply(step.what, end[-1], *end);
      }
    }
  }
  return end[-1];
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

class expression_parser {
 public:
  explicit expression_parser(std::string_view text) : text_(text) {
    if (text.size() > longest_text) {
      throw error(failure::usage, fmt::format("is longer than {} characters", longest_text));
    }
  }

  std::vector<expression::comparison> comparisons() {
    std::vector<expression::comparison> all;
    do {
      do {
        expression::program left = sum();
        const auto how = relation();
        all.push_back({std::move(left), how, sum()});
      } while (take_word("and"));
      all.back().ends_clause = true;
    } while (take_word("or"));
    expect_end("\"and\", \"or\" or the end");
    return all;
  }

  expression::program constant() {
    variables_ = false;
    expression::program whole = sum();
    expect_end("an operator or the end");
    return whole;
  }

 private:
  using program = expression::program;

  [[noreturn]] void expected(std::string_view what) {
    skip_blanks();
    // Any byte may stand here, but the message must be one line of text.
    const bool printable = at_ < text_.size() && text_[at_] >= ' ' && text_[at_] <= '~';
    const std::string found = at_ == text_.size() ? "the end"
                              : printable         ? fmt::format("'{}'", text_[at_])
                                                  : "an unprintable character";
    throw error(failure::usage,
                fmt::format("column {}: expected {}, found {}", at_ + 1, what, found));
  }

  void expect_end(std::string_view what) {
    skip_blanks();
    if (at_ != text_.size()) expected(what);
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  // Takes whole words only: `nq` is an unknown word, not n and q.
  bool take_word(std::string_view word) {
    skip_blanks();
    const std::size_t end = at_ + word.size();
    if (end < text_.size() && is_word(text_[end])) return false;
    return take(word);
  }

  expression::relation relation() {
    using enum expression::relation;
    // Longer operators first: `<` is a prefix of `<=`.
    if (take("<=")) return less_equal;
    if (take(">=")) return greater_equal;
    if (take("==")) return equal;
    if (take("!=")) return not_equal;
    if (take("<")) return less;
    if (take(">")) return greater;
    expected("an operator or one of < <= > >= == !=");
  }

  program sum() {
    program left = product();
    for (;;) {
      if (take("+")) {
        append(left, product(), kind::add);
      } else if (take("-")) {
        append(left, product(), kind::subtract);
      } else {
        return left;
      }
    }
  }

  program product() {
    program left = power();
    for (;;) {
      if (take("*")) {
        append(left, power(), kind::multiply);
      } else if (take("/")) {
        append(left, power(), kind::divide);
      } else {
        return left;
      }
    }
  }

  program power() {
    program left = atom();
    if (take("^")) append(left, power(), kind::power);
    return left;
  }

  program atom() {
    if (take("(")) {
      program inner = sum();
      if (!take(")")) expected("an operator or ')'");
      return inner;
    }
    if (variables_) {
      if (take_word("n")) return {{kind::n}};
      if (take_word("q")) return {{kind::q}};
      if (take_word("k")) return {{kind::k}};
    }
    return {{kind::number, integer()}};
  }

  std::int64_t integer() {
    skip_blanks();
    std::int64_t value = 0;
    const char* const first = text_.data() + at_;
    const char* const last = text_.data() + text_.size();
    if (first == last || !is_digit(*first)) {
      expected(variables_ ? "an integer, n, q, k or '('" : "an integer or '('");
    }
    const auto [end, problem] = std::from_chars(first, last, value);
    if (problem != std::errc{}) expected("an integer below 2^63");
    if (end != last && is_word(*end)) {
      at_ += static_cast<std::size_t>(end - first);
      expected("an operator after the integer");
    }
    at_ += static_cast<std::size_t>(end - first);
    return value;
  }

  // Powers of constants are a loop each, so they are evaluated once if they have a value.
  static bool folded(program& left, const program& right, kind operation) {
    if (left.size() != 1 || left.front().what != kind::number || right.size() != 1 ||
        right.front().what != kind::number) {
      return false;
    }
    try {
      const wide value = apply(operation, left.front().number, right.front().number);
      if (value > INT64_MAX || value < INT64_MIN) return false;
      left.front().number = static_cast<std::int64_t>(value);
      return true;
    } catch (const error&) {
      return false;
    }
  }

  static void append(program& left, const program& right, kind operation) {
    if (folded(left, right, operation)) return;
    left.insert(left.end(), right.begin(), right.end());
    left.push_back({operation});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool variables_ = true;
};

expression::expression(std::string_view text)
    : text_(text), comparisons_(expression_parser(text).comparisons()) {}

bool expression::holds(std::int64_t n, std::int64_t q, std::int64_t k) const {
  try {
    bool clause = true;
    for (const comparison& each : comparisons_) {
      if (!clause) {  // skips the rest of a clause that has failed
        clause = each.ends_clause;
        continue;
      }
      const wide left = evaluate(each.left, {n, q, k});
      const wide right = evaluate(each.right, {n, q, k});
      const auto order = left <=> right;
      const bool fulfilled = each.how == relation::less            ? order < 0
                             : each.how == relation::less_equal    ? order <= 0
                             : each.how == relation::greater       ? order > 0
                             : each.how == relation::greater_equal ? order >= 0
                             : each.how == relation::equal         ? order == 0
                                                                   : order != 0;
      if (fulfilled && each.ends_clause) return true;
      clause = fulfilled || each.ends_clause;
    }
  } catch (const error& why) {
    throw error(failure::usage, fmt::format("\"{}\" meets {} at n = {}, q = {}, k = {}", text_,
                                            why.what(), n, q, k));
  }
  return false;
}

bool expression::uses(char variable) const {
  const kind wanted = variable == 'n' ? kind::n : variable == 'q' ? kind::q : kind::k;
  const auto in = [&](const program& side) {
    return std::ranges::any_of(side, [&](const step& each) { return each.what == wanted; });
  };
  return std::ranges::any_of(comparisons_,
                             [&](const comparison& c) { return in(c.left) || in(c.right); });
}

std::int64_t constant_value(std::string_view text) {
  const expression::program program = expression_parser(text).constant();
  wide value = 0;
  try {
    value = evaluate(program, {});
  } catch (const error& why) {
    throw error(failure::usage, fmt::format("\"{}\" meets {}", text, why.what()));
  }
  if (value > INT64_MAX || value < INT64_MIN) {
    throw error(failure::usage, fmt::format("\"{}\" does not fit 64 bits", text));
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace kselect::harness
