// Ordered selection on fibers, on rows made for each way of choosing among elements equal to the
// k-th. The certificate proves all indices, and counters show how much of a row is read again.

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "harness/run/trial.hpp"
#include "kselect/registry.hpp"
#include "kselect/simt/fiber.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/backend/host_backend.hpp"
#include "tests/problems.hpp"

namespace kselect {
namespace {

using rows_of = std::function<float(std::int64_t row, std::int64_t column)>;

std::vector<float> made(const problem& p, const rows_of& element) {
  std::vector<float> rows(static_cast<std::size_t>(p.input_elements()));
  for (std::int64_t r = 0; r < p.q; ++r) {
    for (std::int64_t c = 0; c < p.n; ++c) {
      rows[static_cast<std::size_t>(p.offset(r, c))] = element(r, c);
    }
  }
  return rows;
}

void prove_at(backend& place, const std::string& name, const problem& p,
              const std::vector<float>& rows) {
  const input_rows input(place, std::as_bytes(std::span(rows)));
  trial attempt(*find_algorithm(name)->algorithm, p, input, place);
  attempt.prepare();
  const status done = attempt.run();
  EXPECT_TRUE(done.ok()) << name << ": " << done.message;
  EXPECT_EQ(attempt.disprove(), "") << name << " on " << to_string(p);
}

// Selects on fibers, proves the answer, and returns the number of elements that kernels read.
std::int64_t reads(const std::string& name, const problem& p, const rows_of& element) {
  simt::counters counted;
  simt::fiber_options options;
  options.counters = &counted;
  prove_at(*open_host_backend(executor_kind::fiber, 1, options), name, p, made(p, element));
  return counted[simt::counter::global_reads];
}

const float worst = std::bit_cast<float>(0x7fffffffU);  // its key is the greatest

// Selects on fibers and, if there is one, on a GPU, and proves the answers. On the GPU the elements
// lie farther apart, with `worst` in between, because there only longer rows have several parts.
void prove(const std::string& name, const problem& p, const rows_of& element) {
  reads(name, p, element);
  if (!why_unavailable(executor_kind::cuda).empty()) return;
  constexpr std::int64_t apart = 64;
  static const auto gpu = open_backend(executor_kind::cuda);
  problem longer = p;
  longer.n *= apart;
  if (!check_support(*find_algorithm(name)->algorithm, longer, gpu->description())) return;
  prove_at(*gpu, name, longer, made(longer, [&](std::int64_t r, std::int64_t c) {
    return c % apart == 0 ? element(r, c / apart) : worst;
  }));
}

float scattered(std::int64_t row, std::int64_t column) {
  return static_cast<float>((column * 7919 + row) % 10'007);  // no two alike in a row
}

TEST(ordered_select, reads_rows_without_ties_once) {
  for (const char* member : {"bms-warp", "bms-block", "bms-grid"}) {
    const problem p = shaped(1000, 3, 20);
    const std::int64_t alone = reads(member, p, scattered);
    const std::int64_t stable = reads(std::string(member) + "+stable", p, scattered);
    // The answers are read again; half a row is not.
    EXPECT_LT(stable, alone + 3 * 500) << member;
  }
}

// All elements equal the k-th: the first k are the answer, and reading ends there.
TEST(ordered_select, looks_no_further_than_the_last_tie_that_is_wanted) {
  const problem p = shaped(9000, 8, 20);  // in 23 parts
  const auto equal = [](std::int64_t, std::int64_t) { return 1.0F; };
  const std::int64_t alone = reads("bms-block", p, equal);
  EXPECT_LT(reads("bms-block+stable", p, equal), alone + 8 * 2000);
}

// Two elements of a row are tied, and the answer needs the first of them.
TEST(ordered_select, finds_ties_at_both_ends_of_a_row) {
  for (const std::int64_t q : {1, 2, 40}) {
    for (const std::int64_t first : {0, 1, 499, 998}) {
      const auto element = [&](std::int64_t r, std::int64_t c) {
        if (c == first || c == 999) return -1.0F;
        return c % 90 == 7 ? -2.0F - static_cast<float>(c) : scattered(r, c);
      };
      for (const char* name : {"bms-warp+stable", "bms-block+stable", "bms-grid+stable"}) {
        prove(name, shaped(1000, q, 13), element);  // 12 are better than the two
      }
    }
  }
}

// A row of 1,000 in which the answer needs some of its ties, and `surplus` of them are too many.
rows_of with_surplus(std::int64_t k, std::int64_t surplus) {
  const std::int64_t better = k / 2, others = k + surplus;
  return [=](std::int64_t r, std::int64_t c) {
    const std::int64_t place = (c * 37 + r) % 1000;  // in another order in each row
    if (place < better) return -2.0F - static_cast<float>(place);
    return place < others ? -1.0F : 1.0F + static_cast<float>(place);
  };
}

TEST(ordered_select, settles_a_few_surplus_ties) {
  for (const std::int64_t k : {2, 13, 40, 250}) {
    for (const std::int64_t surplus : {0, 1, 2, 3, 7}) {
      for (const char* name : {"bms-warp+stable", "bms-block+stable", "bms-grid+stable"}) {
        if (k > 100 && std::string_view(name) == "bms-grid+stable") continue;  // no room for a list
        for (const std::int64_t q : {1, 5})
          prove(name, shaped(1000, q, k), with_surplus(k, surplus));
      }
    }
  }
}

// A member is asked for two elements more than k.
TEST(ordered_select, reads_no_row_again_for_one_surplus_tie) {
  for (const char* name : {"bms-warp+stable", "bms-block+stable", "bms-grid+stable"}) {
    const problem p = shaped(1000, 5, 13);
    const std::int64_t none = reads(name, p, with_surplus(13, 0));
    EXPECT_LT(reads(name, p, with_surplus(13, 1)), none + 500) << name;
    EXPECT_GT(reads(name, p, with_surplus(13, 2)), none + 500) << name;
  }
}

// Ties in every part of a row, more and fewer than needed, and answers of several runs.
TEST(ordered_select, takes_ties_from_parts_in_order) {
  for (const std::int64_t k : {1, 5, 64, 257, 300, 600}) {
    for (const std::int64_t period : {1, 2, 33, 150}) {
      const auto element = [&](std::int64_t r, std::int64_t c) {
        return c % period == r ? 0.0F : 1.0F + static_cast<float>(c % 3);
      };
      const problem p = shaped(2000, 1, k);  // in twelve parts
      for (const char* name : {"bms-block+stable", "auto+stable"}) prove(name, p, element);
      if (k <= 64) prove("bms-grid+stable", p, element);
    }
  }
}

// Numbers with the key of padding: elements of the answer must come before padding.
TEST(ordered_select, keeps_the_worst_key_of_all_apart_from_padding) {
  for (const std::int64_t k : {1, 9, 33, 100}) {
    for (const std::int64_t n : {k, k + 1, std::int64_t{200}}) {
      for (const char* name : {"bms-warp+sorted", "bms-warp+stable", "auto+stable"}) {
        prove(name, shaped(n, 3, k), [&](std::int64_t, std::int64_t) { return worst; });
      }
    }
  }
}

// Column-major rows are selected by another member, which reads no element again.
TEST(ordered_select, serves_columns_and_the_kth_value) {
  problem p = shaped(300, 5, 7);
  p.layout = layout::column_major;
  const auto ties = [](std::int64_t r, std::int64_t c) { return static_cast<float>((c + r) % 60); };
  prove("auto+sorted", p, ties);
  prove("auto+stable", p, ties);
  p.layout = layout::row_major;
  p.payload = payload::kth_value;
  prove("auto+stable", p, ties);
}

}  // namespace
}  // namespace kselect
