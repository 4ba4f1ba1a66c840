// The tests of the shared battery (battery.hpp).

#include "tests/algorithms/battery.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "harness/run/trial.hpp"
#include "harness/workload/rows.hpp"
#include "kselect/simt/fiber.hpp"
#include "runtime/backend/host_backend.hpp"
#include "tests/problems.hpp"

namespace kselect::battery {
namespace {

INSTANTIATE_TEST_SUITE_P(All, Battery, testing::ValuesIn(contenders()), test_name);
INSTANTIATE_TEST_SUITE_P(All, FiberBattery, testing::ValuesIn(contenders(executor_kind::fiber)),
                         test_name);
INSTANTIATE_TEST_SUITE_P(All, GpuBattery, testing::ValuesIn(contenders(executor_kind::cuda)),
                         test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FiberBattery);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuBattery);

workload sized(std::int64_t n, std::int64_t q, std::int64_t k) {
  workload p = posed(n, q, k);
  p.seed = 20140508;
  return p;
}

distribution of(const char* text) { return parse_distribution(text).value(); }

// All rows over an alphabet: element c of row r is digit c of r in base alphabet.size().
template <class T>
std::vector<T> all_rows(const std::vector<T>& alphabet, const workload& p) {
  std::vector<T> rows(static_cast<std::size_t>(p.input_elements()));
  for (std::int64_t r = 0; r < p.q; ++r) {
    std::int64_t digits = r;
    for (std::int64_t c = 0; c < p.n; ++c) {
      const auto letters = static_cast<std::int64_t>(alphabet.size());
      rows[static_cast<std::size_t>(p.offset(r, c))] =
          alphabet[static_cast<std::size_t>(digits % letters)];
      digits /= letters;
    }
  }
  return rows;
}

// Every row of up to five elements over critical values, every k, both directions, every type.
// Finds errors with zeros, infinities, NaN and ties.
TEST_P(Battery, ExhaustiveSmallWorlds) {
  const std::int64_t longest = on(executor_kind::fiber) ? 4 : 5;
  for (std::int64_t n = 1; n <= longest; ++n) {
    for (std::int64_t k = 1; k <= n; ++k) {
      const workload smallest = sized(n, 1, k);
      // The longest rows are slow on fibers, so only one variant is tried there.
      const bool all = !on(executor_kind::fiber) || n < longest;
      for (const workload& p : all ? variants(smallest) : admitted_and_narrow(smallest)) {
        if (n == longest && all && is_16_bits(p.type)) continue;  // equally slow
        if (!mine()) continue;
        visit_number(p.type, [&]<class T>(T) {
          using limits = std::numeric_limits<float>;
          std::vector<T> alphabet;
          for (const float x : {-1.0F, -0.0F, 0.0F, 1.0F}) alphabet.push_back(from_float<T>(x));
          if (entry().promises.infinities) alphabet.push_back(from_float<T>(-limits::infinity()));
          if (entry().promises.nan == nan_policy::total_order) {
            alphabet.push_back(from_float<T>(limits::quiet_NaN()));
          }
          workload world = p;
          world.q = static_cast<std::int64_t>(
              std::llround(std::pow(alphabet.size(), static_cast<double>(n))));
          const std::vector<T> rows = all_rows(alphabet, world);
          prove_on(world, std::as_bytes(std::span(rows)));
        });
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(proven_, 0);
}

// n and k from sizes around a warp, a block and powers of two: finds errors in tails, padding and
// partial tiles.
TEST_P(Battery, BoundarySizes) {
  std::vector<std::int64_t> sizes = {1,   2,   3,   31,  32,  33,  63,  64,   65,   95,   127, 128,
                                     129, 255, 256, 257, 511, 512, 513, 1000, 1023, 1024, 1025};
  if (!on(executor_kind::fiber)) sizes.insert(sizes.end(), {2047, 2048, 2049, 4095, 4097, 10007});
  for (const std::int64_t n : sizes) {
    for (const std::int64_t k : sizes) {
      if (k > n || !mine()) continue;
      for (const workload& p : admitted_and_narrow(sized(n, 2, k))) {
        prove(p);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(proven_, 0);
}

TEST_P(Battery, EveryDistribution) {
  const std::int64_t n = on(executor_kind::fiber) ? 700 : 3001;
  for (const char* text :
       {"uniform", "normal", "ascending", "descending", "all_equal", "few_distinct(2)",
        "few_distinct(16)", "organ_pipe", "same_leading_bits(20)", "same_leading_bits(31)",
        "inf_fraction(0.5)", "inf_fraction(1)", "nan_fraction(0.1)", "nan_fraction(1)",
        "kth_ties(0)", "kth_ties(1)", "kth_ties(100)"}) {
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{32}, std::int64_t{100}, n - 1, n}) {
      workload p = sized(n, 3, k);
      p.distribution = of(text);
      for (const direction wanted : {direction::smallest, direction::largest}) {
        p.direction = wanted;
        if (!mine()) continue;
        for (const workload& admitted : admitted_and_narrow(p)) {
          prove(admitted);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(proven_, 0);
}

// All declared types, payloads and layouts, in all combinations.
TEST_P(Battery, EveryDeclaredTypePayloadAndLayout) {
  for (const char* text : {"normal", "few_distinct(5)"}) {
    workload p = sized(on(executor_kind::fiber) ? 150 : 1500, 37, 20);
    p.distribution = of(text);
    for (const workload& variant : variants(p)) {
      if (!mine()) continue;
      prove(variant);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(proven_, 0);
}

// Rows that do not start on 16 bytes, and rows with a gap between them.
TEST_P(Battery, MisalignedInputAndPitch) {
  const std::int64_t n = on(executor_kind::fiber) ? 131 : 1031;
  for (workload p : admitted_and_narrow(sized(n, 5, 17))) {
    const std::int64_t dense = p.effective_pitch();
    for (std::int64_t shift = 0; shift < (is_16_bits(p.type) ? 8 : 4); ++shift) {
      for (const std::int64_t gap : {0, 1, 2, 3, 29}) {
        p.pitch = dense + gap;
        std::vector<std::byte> rows(p.input_bytes());
        generate_rows(p, rows, 1);
        prove_on(p, rows, shift);
        if (HasFatalFailure()) return;
      }
    }
  }
  EXPECT_GT(proven_, 0);
}

// More rows than a grid's y extent (65,535), and not a multiple of a warp.
TEST_P(Battery, ManyShortRows) {
  for (const workload& p :
       admitted_and_narrow(sized(3, on(executor_kind::fiber) ? 1037 : 70001, 2))) {
    prove(p);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Battery, OneLongRow) {
  const std::int64_t n = on(executor_kind::fiber) ? 20000 : 1500000;
  for (const std::int64_t k : {std::int64_t{1}, std::int64_t{100}, n / 3}) {
    for (const workload& p : admitted_and_narrow(sized(n, 1, k))) {
      prove(p);
      if (HasFatalFailure()) return;
    }
  }
}

// An algorithm that promises determinism gives the same bytes again, also with other thread counts.
TEST_P(Battery, DeterministicWhereItPromisesSo) {
  if (entry().promises.determinism == determinism::not_guaranteed) return;
  workload p = admitted(sized(on(executor_kind::fiber) ? 300 : 2000, 40, 25));
  p.distribution = of("few_distinct(9)");
  std::vector<std::byte> rows(p.input_bytes());
  generate_rows(p, rows, 1);
  std::vector<std::byte> first;
  for (const int threads : {1, 2, 3}) {
    const auto place = open_backend(GetParam().executor, threads);
    const input_rows input(*place, rows);
    trial attempt(entry(), p, input, *place);
    attempt.prepare();
    ASSERT_TRUE(attempt.run().ok());
    ASSERT_EQ(attempt.disprove_copy(), "");
    std::vector<std::byte> answer(attempt.values().begin(), attempt.values().end());
    answer.insert(answer.end(), attempt.indices().begin(), attempt.indices().end());
    if (first.empty()) first = answer;
    EXPECT_EQ(answer, first) << threads << " threads";
  }
}

// The answer does not depend on the order in which lanes run between two collectives.
TEST_P(FiberBattery, EveryLaneSchedule) {
  workload p = admitted(sized(500, 4, 40));
  p.distribution = of("few_distinct(50)");
  std::vector<std::byte> rows(p.input_bytes());
  generate_rows(p, rows, 1);
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    simt::fiber_options fiber;
    fiber.order = seed == 0   ? simt::schedule::in_order
                  : seed == 1 ? simt::schedule::reversed
                              : simt::schedule::random;
    fiber.seed = seed;
    const auto place = open_host_backend(executor_kind::fiber, 2, fiber);
    const input_rows input(*place, rows);
    trial attempt(entry(), p, input, *place);
    attempt.prepare();
    const status result = attempt.run();
    ASSERT_TRUE(result.ok()) << result.message;
    ASSERT_EQ(attempt.disprove(), "") << "seed " << seed;
  }
}

// More than 2^31 elements, so that 32-bit offsets would wrap.
TEST_P(GpuBattery, MoreThanTwoToThe31Elements) {
  prove(admitted(sized((std::int64_t{1} << 31) / 4 + 7, 4, 100)));
  // Algorithms that process rows one after another need minutes for this problem.
  if (mine()) prove(admitted(sized(1000, (std::int64_t{1} << 31) / 1000 + 5, 10)));
}

}  // namespace
}  // namespace kselect::battery
