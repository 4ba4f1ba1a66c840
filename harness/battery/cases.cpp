// The cases of the shared battery (battery.hpp).

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "harness/battery/attempt.hpp"
#include "harness/battery/nan_case.hpp"
#include "harness/battery/ragged_case.hpp"
#include "harness/run/trial.hpp"
#include "harness/workload/rows.hpp"
#include "kselect/simt/fiber.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/format.hpp"

namespace kselect::harness {
using namespace runtime;

namespace {

workload sized(std::int64_t n, std::int64_t q, std::int64_t k) {
  workload p;
  p.n = n;
  p.q = q;
  p.k = k;
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

// Critical values: zeros, ones, and the extremes. Of integers those at the ends and in the middle
// of their order.
template <class T>
std::vector<T> critical_values(const contract& promises, float sign) {
  std::vector<T> letters;
  if constexpr (dtype_traits<T>::kind == number_kind::floating) {
    using limits = std::numeric_limits<float>;
    for (const float x : {-1.0F, -0.0F, 0.0F, 1.0F}) letters.push_back(from_float<T>(x));
    // One infinity and one NaN at a time, of opposite signs: 6^5 rows and not 8^5.
    if (promises.infinities) letters.push_back(from_float<T>(sign * limits::infinity()));
    if (promises.nan == nan_policy::total_order) {
      letters.push_back(from_float<T>(std::copysign(limits::quiet_NaN(), -sign)));
    }
  } else {
    using key = order_key_t<T>;
    for (const key last : {key{0}, key{1}, static_cast<key>(sign_bit<T> - 1), sign_bit<T>,
                           static_cast<key>(sign_bit<T> + 1), static_cast<key>(~key{0})}) {
      letters.push_back(from_order_key<T>(last));
    }
  }
  return letters;
}

// `counts`, or every k up to the entry's limit if that is small.
std::vector<std::int64_t> counts_within(const battery_attempt& a,
                                        std::vector<std::int64_t> counts) {
  constexpr std::int64_t small = 32;
  const std::int64_t most = a.entry().promises.limits.max_k;
  if (most > small) return counts;
  counts.resize(static_cast<std::size_t>(most));
  std::iota(counts.begin(), counts.end(), 1);
  return counts;
}

// A case whose problems are all beyond the limits proves nothing of the entry.
void some_proven(const battery_attempt& a) {
  if (a.result.proven == 0 && a.has_problems()) {
    throw refuted{"", fmt::format("none of {} is within the limits that it declares",
                                  runtime::amount_of(a.result.beyond_limits, "problem"))};
  }
}

// Every row of up to five elements over critical values, every k, both directions, every type.
// Finds errors with zeros, infinities, NaN and ties.
void exhaustive_small_worlds(battery_attempt& a) {
  const std::int64_t longest = a.on(executor_kind::fiber) ? 4 : 5;
  for (std::int64_t n = 1; n <= longest; ++n) {
    for (std::int64_t k = 1; k <= n; ++k) {
      const workload smallest = sized(n, 1, k);
      // The longest rows are slow on fibers, so only one variant is tried there.
      const bool all = !a.on(executor_kind::fiber) || n < longest;
      for (const workload& p : all ? a.variants(smallest) : a.admitted_and_narrow(smallest)) {
        const bool usual = p.type == dtype::float32 || p.type == dtype::float64;
        if (n == longest && all && !usual) continue;  // equally slow
        if (!a.mine()) continue;
        visit_number(p.type, [&]<class T>(T) {
          const float sign = k % 2 == 0 ? 1.0F : -1.0F;
          const auto alphabet = critical_values<T>(a.entry().promises, sign);
          workload world = p;
          world.q = static_cast<std::int64_t>(
              std::llround(std::pow(alphabet.size(), static_cast<double>(n))));
          const std::vector<T> rows = all_rows(alphabet, world);
          a.prove_on(world, std::as_bytes(std::span(rows)));
        });
      }
    }
  }
  some_proven(a);
}

// n and k from sizes around a warp, a block and powers of two: finds errors in tails, padding and
// partial tiles.
void boundary_sizes(battery_attempt& a) {
  std::vector<std::int64_t> sizes = {1,   2,   3,   31,  32,  33,  63,  64,   65,   95,   127, 128,
                                     129, 255, 256, 257, 511, 512, 513, 1000, 1023, 1024, 1025};
  if (!a.on(executor_kind::fiber)) sizes.insert(sizes.end(), {2047, 2048, 2049, 4095, 4097, 10007});
  const std::vector<std::int64_t> counts = counts_within(a, sizes);
  for (const std::int64_t n : sizes) {
    for (const std::int64_t k : counts) {
      if (k > n || !a.mine()) continue;
      for (const workload& p : a.admitted_and_narrow(sized(n, 2, k))) {
        a.prove(p);
      }
    }
  }
  some_proven(a);
}

void every_distribution(battery_attempt& a) {
  // On fibers long enough for kernels whose blocks share a row to have two blocks.
  const bool fibers = a.on(executor_kind::fiber);
  const std::int64_t longest = a.entry().promises.limits.max_n;
  const std::int64_t n = std::min<std::int64_t>(fibers ? 1100 : 3001, longest), q = fibers ? 2 : 3;
  for (const char* text :
       {"uniform", "normal", "ascending", "descending", "all_equal", "few_distinct(2)",
        "few_distinct(16)", "organ_pipe", "same_leading_bits(20)", "same_leading_bits(31)",
        "inf_fraction(0.5)", "inf_fraction(1)", "nan_fraction(0.1)", "nan_fraction(1)",
        "kth_ties(0)", "kth_ties(1)", "kth_ties(100)"}) {
    for (const std::int64_t k : counts_within(a, {1, 32, 100, n - 1, n})) {
      if (k > n) continue;
      workload p = sized(n, q, k);
      p.distribution = of(text);
      for (const direction wanted : {direction::smallest, direction::largest}) {
        p.direction = wanted;
        if (!a.mine()) continue;
        for (const workload& admitted : a.admitted_and_narrow(p)) {
          a.prove(a.shortened(admitted));
        }
      }
    }
  }
  some_proven(a);
}

// All declared types, payloads and layouts, in all combinations.
void every_declared_type_payload_and_layout(battery_attempt& a) {
  for (const char* text : {"normal", "few_distinct(5)"}) {
    workload p = a.limited(sized(a.on(executor_kind::fiber) ? 150 : 1500, 37, 20));
    p.distribution = of(text);
    for (const workload& variant : a.variants(p)) {
      if (!a.mine()) continue;
      a.prove(variant);
    }
  }
  some_proven(a);
}

// Rows that do not start on 16 bytes, and rows with a gap between them.
void misaligned_input_and_pitch(battery_attempt& a) {
  const std::int64_t n = a.on(executor_kind::fiber) ? 131 : 1031;
  for (workload p : a.admitted_and_narrow(a.limited(sized(n, 5, 17)))) {
    p = a.shortened(p);
    const std::int64_t dense = p.effective_pitch();
    const auto shifts = std::max<std::int64_t>(4, 16 / static_cast<std::int64_t>(size_of(p.type)));
    for (std::int64_t shift = 0; shift < shifts; ++shift) {
      for (const std::int64_t gap : {0, 1, 2, 3, 29}) {
        if (!a.due()) continue;
        p.pitch = dense + gap;
        std::vector<std::byte> rows(p.input_bytes());
        generate_rows(p, rows, 1);
        a.prove_on(p, rows, shift);
      }
    }
  }
  some_proven(a);
}

// More rows than a grid's y extent (65,535), and not a multiple of a warp.
void many_short_rows(battery_attempt& a) {
  for (const workload& p :
       a.admitted_and_narrow(a.limited(sized(3, a.on(executor_kind::fiber) ? 1037 : 70001, 2)))) {
    a.prove(p);
  }
}

void one_long_row(battery_attempt& a) {
  const std::int64_t n = a.on(executor_kind::fiber) ? 20000 : 1500000;
  for (const std::int64_t k : {std::int64_t{1}, std::int64_t{100}, n / 3}) {
    for (const workload& p : a.admitted_and_narrow(sized(n, 1, k))) {
      if (a.due()) a.prove(p);
    }
  }
}

// An algorithm that promises determinism gives the same bytes again, also with other thread counts.
void deterministic_where_it_promises_so(battery_attempt& a) {
  if (a.entry().promises.determinism == determinism::not_guaranteed) return;
  const auto fitted = a.fitted(sized(a.on(executor_kind::fiber) ? 300 : 2000, 40, 25));
  if (!fitted) return;
  workload p = *fitted;
  p.distribution = of("few_distinct(9)");
  std::vector<std::byte> rows(p.input_bytes());
  generate_rows(p, rows, 1);
  std::vector<std::byte> first;
  for (const int threads : {1, 2, 3}) {
    const auto place = open_backend(a.executor(), threads);
    const input_rows input(*place, rows);
    trial attempt(a.entry(), p, input, *place);
    attempt.prepare();
    const std::string title =
        fmt::format("{}, {}", to_string(p), runtime::amount_of(threads, "thread"));
    if (const status done = attempt.run(); !done.ok()) throw refuted{title, done.message};
    if (std::string wrong = attempt.disprove_copy(); !wrong.empty()) throw refuted{title, wrong};
    std::vector<std::byte> answer(attempt.values().begin(), attempt.values().end());
    answer.insert(answer.end(), attempt.indices().begin(), attempt.indices().end());
    if (first.empty()) first = answer;
    if (answer != first) {
      throw refuted{title,
                    "the answer's bytes differ from those with 1 thread, although the entry "
                    "promises determinism"};
    }
    a.count_proven();
  }
}

// The answer does not depend on the order in which lanes run between two collectives.
void every_lane_schedule(battery_attempt& a) {
  const auto fitted = a.fitted(sized(500, 4, 40));
  if (!fitted) return;
  workload p = *fitted;
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
    trial attempt(a.entry(), p, input, *place);
    attempt.prepare();
    const std::string title = fmt::format("{}, lanes {}, seed {}", to_string(p),
                                          seed == 0   ? "in order"
                                          : seed == 1 ? "reversed"
                                                      : "at random",
                                          seed);
    if (const status done = attempt.run(); !done.ok()) throw refuted{title, done.message};
    if (std::string wrong = attempt.disprove(); !wrong.empty()) throw refuted{title, wrong};
    a.count_proven();
  }
}

// More than 2^31 elements, so that 32-bit offsets would wrap.
void more_than_two_to_the_31_elements(battery_attempt& a) {
  const std::int64_t most = a.entry().promises.limits.max_k;
  a.prove(a.admitted(sized((std::int64_t{1} << 31) / 4 + 7, 4, std::min<std::int64_t>(most, 100))));
  // Algorithms that process rows one after another need minutes for this problem.
  if (!a.mine()) return;
  const std::int64_t k = std::min<std::int64_t>(most, 10);
  a.prove(a.admitted(sized(1000, (std::int64_t{1} << 31) / 1000 + 5, k)));
}

constexpr battery_case cases[] = {
    battery_case{
        "ExhaustiveSmallWorlds",
        "every row of up to 5 elements over zeros, infinities and NaN; every k, type and direction",
        {},
        &exhaustive_small_worlds},
    battery_case{
        "BoundarySizes", "n and k around warps, blocks and powers of two", {}, &boundary_sizes},
    battery_case{"EveryDistribution", "orders, ties, infinities and NaN", {}, &every_distribution},
    battery_case{"EveryDeclaredTypePayloadAndLayout",
                 "all declared types, payloads and layouts together",
                 {},
                 &every_declared_type_payload_and_layout},
    battery_case{"MisalignedInputAndPitch",
                 "rows that begin anywhere, with gaps between them",
                 {},
                 &misaligned_input_and_pitch},
    battery_case{"ManyShortRows", "more rows than the y extent of a grid", {}, &many_short_rows},
    battery_case{"RowsOfTheirOwnLengths",
                 "ragged rows: empty, shorter than k, from any start, as segments",
                 {},
                 &rows_of_their_own_lengths},
    battery_case{"NanLastOrFirst",
                 "NaN after or before all numbers, where an entry can",
                 {},
                 &nan_last_or_first},
    battery_case{"OneLongRow", "one row alone", {}, &one_long_row},
    battery_case{"DeterministicWhereItPromisesSo",
                 "the same bytes again, with other threads",
                 {},
                 &deterministic_where_it_promises_so},
    battery_case{"EveryLaneSchedule", "lanes run in other orders between collectives",
                 executor_kind::fiber, &every_lane_schedule},
    battery_case{"MoreThanTwoToThe31Elements", "32-bit offsets would wrap", executor_kind::cuda,
                 &more_than_two_to_the_31_elements},
};

}  // namespace

std::span<const battery_case> battery_cases() { return cases; }

}  // namespace kselect::harness
