// The constraint language: values, precedence, exactness, and the column of every error.

#include "harness/config/expression.hpp"

#include <string>

#include <gtest/gtest.h>

#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

std::string message_of(const auto& action) {
  try {
    action();
  } catch (const runtime::error& why) {
    EXPECT_EQ(why.category(), runtime::failure::usage);
    return why.what();
  }
  return "no error";
}

struct truth {
  const char* text;
  bool at_100_10_7;  // n = 100, q = 10, k = 7
};

TEST(expression, is_evaluated_with_the_usual_precedence) {
  const truth table[] = {
      {"k <= n", true},
      {"n<=k", false},
      {"k < 7", false},
      {"k <= 7", true},
      {"n > 100", false},
      {"n >= 100", true},
      {"n == 100", true},
      {"n != 100", false},
      {"2 + 3 * 4 == 14", true},
      {"(2 + 3) * 4 == 20", true},
      {"2 * 3 ^ 2 == 18", true},
      {"2^3^2 == 512", true},
      {"10 - 3 - 2 == 5", true},
      {"64 / 4 / 2 == 8", true},
      {"n/k == 14", true},
      {"(k - n)/2 == 0 - 46", true},
      {"(0 - 1)^3 == 0 - 1", true},
      {"1^1000000000000 == 1 and 0^0 == 1 and 0^9 == 0", true},
      {"n*q <= 2^10", true},
      {"n*q <= 2^9", false},
      {"k <= n and n*q == 1000", true},
      {"k <= n and n*q == 1001", false},
      {"k > n and n*q == 1000", false},
      {"((((n)))) == 100", true},
  };
  for (const truth& each : table) {
    EXPECT_EQ(expression(each.text).holds(100, 10, 7), each.at_100_10_7) << each.text;
  }
}

TEST(expression, is_exact_beyond_64_bits) {
  const std::int64_t large = std::int64_t{1} << 40;
  EXPECT_FALSE(expression("n*q <= 2^63").holds(large, large, 1));
  EXPECT_TRUE(expression("n*q == 2^80").holds(large, large, 1));
  EXPECT_FALSE(expression("n*q == 2^80 + 1").holds(large, large, 1));
}

TEST(expression, has_no_value_beyond_its_bound_and_says_where) {
  EXPECT_EQ(message_of([] { expression("n^4 < 5").holds(1 << 30, 2, 3); }), "no error");
  EXPECT_EQ(message_of([] { expression("n^5 < 5").holds(1 << 30, 2, 3); }),
            "\"n^5 < 5\" meets a value beyond 2^120 at n = 1073741824, q = 2, k = 3");
  EXPECT_EQ(message_of([] { expression("2^120 + 2^120 > 0").holds(1, 2, 3); }),
            "\"2^120 + 2^120 > 0\" meets a value beyond 2^120 at n = 1, q = 2, k = 3");
  EXPECT_EQ(message_of([] { expression("2^(k - n) == 1").holds(5, 2, 3); }),
            "\"2^(k - n) == 1\" meets a negative exponent at n = 5, q = 2, k = 3");
  EXPECT_EQ(message_of([] { expression("n/q < 5").holds(5, 0, 3); }),
            "\"n/q < 5\" meets a division by zero at n = 5, q = 0, k = 3");
}

TEST(expression, stops_at_the_first_comparison_that_fails) {
  EXPECT_FALSE(expression("q > 0 and n/q < 5").holds(5, 0, 3));
}

TEST(expression, holds_if_one_of_its_clauses_does) {
  const expression shapes("n == 8 and k == 2 or n == 9 and q == 1 and k == 3 or k == 7");
  EXPECT_TRUE(shapes.holds(8, 5, 2));
  EXPECT_TRUE(shapes.holds(9, 1, 3));
  EXPECT_TRUE(shapes.holds(1, 1, 7));
  EXPECT_FALSE(shapes.holds(8, 1, 3));  // parts of two clauses match, but no whole clause
  EXPECT_FALSE(shapes.holds(9, 2, 3));
  EXPECT_FALSE(shapes.holds(9, 1, 2));
  EXPECT_TRUE(expression("k > 5 or n/q > 2").holds(9, 0, 6));  // `or` skips the division by 0
}

TEST(expression, names_the_column_of_a_mistake) {
  const struct {
    const char* text;
    const char* message;
  } table[] = {
      {"", "column 1: expected an integer, n, q, k or '(', found the end"},
      {"n <=", "column 5: expected an integer, n, q, k or '(', found the end"},
      {"n", "column 2: expected an operator or one of < <= > >= == !=, found the end"},
      {"n = 5", "column 3: expected an operator or one of < <= > >= == !=, found '='"},
      {"n < 5 < k", "column 7: expected \"and\", \"or\" or the end, found '<'"},
      {"n < 5 or k", "column 11: expected an operator or one of < <= > >= == !=, found the end"},
      {"n < 5 xor k < 3", "column 7: expected \"and\", \"or\" or the end, found 'x'"},
      {"n < 5 andk", "column 7: expected \"and\", \"or\" or the end, found 'a'"},
      {"nq < 5", "column 1: expected an integer, n, q, k or '(', found 'n'"},
      {"Q < 5", "column 1: expected an integer, n, q, k or '(', found 'Q'"},
      {"(n < 5", "column 4: expected an operator or ')', found '<'"},
      {"n < (5", "column 7: expected an operator or ')', found the end"},
      {"n < 5k", "column 6: expected an operator after the integer, found 'k'"},
      {"n < 1.5", "column 6: expected \"and\", \"or\" or the end, found '.'"},
      {"n < -1", "column 5: expected an integer, n, q, k or '(', found '-'"},
      {"n < 9223372036854775808", "column 5: expected an integer below 2^63, found '9'"},
      {"n < \n5", "column 5: expected an integer, n, q, k or '(', found an unprintable character"},
  };
  for (const auto& each : table) {
    EXPECT_EQ(message_of([&] { expression{each.text}; }), each.message) << each.text;
  }
  EXPECT_EQ(message_of([] { expression(std::string(257, '(')); }), "is longer than 256 characters");
}

TEST(constant_value, is_arithmetic_without_variables) {
  EXPECT_EQ(constant_value("1000"), 1000);
  EXPECT_EQ(constant_value("2^20"), 1048576);
  EXPECT_EQ(constant_value(" 3*2^10 + 1 "), 3073);
  EXPECT_EQ(constant_value("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(message_of([] { constant_value("n"); }),
            "column 1: expected an integer or '(', found 'n'");
  EXPECT_EQ(message_of([] { constant_value("2^20 3"); }),
            "column 6: expected an operator or the end, found '3'");
  EXPECT_EQ(message_of([] { constant_value("2^63"); }), "\"2^63\" does not fit 64 bits");
  EXPECT_EQ(message_of([] { constant_value("1/0"); }), "\"1/0\" meets a division by zero");
}

}  // namespace
}  // namespace kselect::harness
