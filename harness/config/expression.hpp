#pragma once
// The language of constraints: `k <= n and n*q <= 2^28`.
//
//   expression = clause { "or" clause }
//   clause     = comparison { "and" comparison }
//   comparison = sum ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum
//   sum        = product { ( "+" | "-" ) product }
//   product    = power { ( "*" | "/" ) power }
//   power      = atom [ "^" power ]
//   atom       = integer | "n" | "q" | "k" | "(" sum ")"
//
// Arithmetic is on integers and exact. A value beyond 2^120, a division by zero or a negative
// exponent is an error; no value wraps. `/` rounds toward zero. `and` stops at the first comparison
// that fails, so `q > 0 and n/q <= 4` is safe at q = 0. `or` stops at the first clause that holds.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kselect::harness {

class expression {
 public:
  // Throws error(failure::usage). The message gives the column, from 1, and what was expected.
  explicit expression(std::string_view text);

  // Throws error(failure::usage), which names n, q and k, if the arithmetic has no result for them.
  bool holds(std::int64_t n, std::int64_t q, std::int64_t k) const;

  const std::string& text() const { return text_; }
  // Whether the variable 'n', 'q' or 'k' occurs. One that does not has no effect on holds().
  bool uses(char variable) const;
  bool operator==(const expression& other) const { return text_ == other.text_; }

  // One instruction of a `sum` in postfix order.
  struct step {
    enum class kind : std::uint8_t { number, n, q, k, add, subtract, multiply, divide, power };
    kind what;
    std::int64_t number = 0;
  };
  using program = std::vector<step>;

 private:
  enum class relation : std::uint8_t { less, less_equal, greater, greater_equal, equal, not_equal };
  struct comparison {
    program left;
    relation how;
    program right;
    bool ends_clause = false;
  };
  friend class expression_parser;

  std::string text_;
  std::vector<comparison> comparisons_;
};

// The value of a `sum` without variables, such as "2^20" or "3*2^10 + 1". Throws
// error(failure::usage) like expression, and if the value does not fit 64 bits.
std::int64_t constant_value(std::string_view text);

}  // namespace kselect::harness
