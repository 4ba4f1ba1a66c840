// Compares every verb on fibers with plain host code, under every schedule.

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>

#include "tests/simt/fiber_run.hpp"
#include "tests/simt/verbs_kernels.cuh"

namespace kselect::simt::verbs {
namespace {

using word = std::uint32_t;

struct alignas(16) buffers {
  std::array<word, elements> in;
  alignas(16) std::array<word, words> out{};
  std::array<std::int64_t, 3> totals{0, 1 << 30, -(1 << 30)};

  buffers() {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<word>(i * i * 2654435761U) >> 5;
  }
  verb_args args() { return {{in.data(), elements}, {out.data(), words}, {totals.data(), 3}}; }
  // The input of lane `lane` of the warp that starts at thread `first`.
  word given(int first, int lane) const { return in[static_cast<std::size_t>(first + lane)]; }
};

// expected(buffers, first thread of the warp, lane) for every thread of the grid.
using question = std::function<word(const buffers&, int, int)>;

template <class Kernel>
void expect_answers(const std::vector<question>& questions, std::size_t dynamic_bytes = 0,
                    bool awaits = false) {
  const grid shape{.blocks = blocks,
                   .threads = threads,
                   .dynamic_shared_bytes = dynamic_bytes,
                   .awaits_earlier_blocks = awaits};
  for (const fiber_options& options : all_schedules()) {
    buffers data;
    ASSERT_EQ(run_on_fibers<Kernel>(shape, data.args(), options).message, "");
    for (int i = 0; i < elements; ++i) {
      for (std::size_t q = 0; q < questions.size(); ++q) {
        ASSERT_EQ(data.out[static_cast<std::size_t>(i * answers) + q],
                  questions[q](data, i / 32 * 32, i % 32))
            << "question " << q << ", thread " << i;
      }
    }
  }
}

// The lanes of `mask` for whose input p holds.
word lanes_where(const buffers& b, int first, word mask, const std::function<bool(word)>& p) {
  word lanes = 0;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0 && p(b.given(first, lane))) lanes |= 1U << lane;
  }
  return lanes;
}

word half_of(int lane) { return lane < 16 ? 0x0000ffffU : 0xffff0000U; }

TEST(fiber_verbs, places) {
  expect_answers<places>({
      [](auto&, int first, int lane) { return word((first + lane) % threads); },
      [](auto&, int, int) { return word(threads); },
      [](auto&, int, int lane) { return word(lane); },
      [](auto&, int first, int) { return word(first % threads / 32); },
      [](auto&, int, int) { return word(threads / 32); },
      [](auto&, int first, int) { return word(first / threads); },
      [](auto&, int, int) { return word(blocks); },
      [](auto&, int, int lane) { return word((1ULL << lane) - 1); },
  });
}

word dot_of_bytes(word x, word y) {
  std::array<signed char, 4> of_x{}, of_y{};
  std::memcpy(of_x.data(), &x, 4);
  std::memcpy(of_y.data(), &y, 4);
  return static_cast<word>(std::inner_product(of_x.begin(), of_x.end(), of_y.begin(), 0));
}

TEST(fiber_verbs, bits) {
  const auto given = [](const buffers& b, int first, int lane) {
    return lane == 5 ? 0 : b.given(first, lane);
  };
  const auto lowest = [](std::uint64_t v) {
    word position = 0;
    for (word i = 64; i > 0; --i) position = (v >> (i - 1) & 1U) != 0 ? i : position;
    return position;
  };
  const auto leading = [](std::uint64_t v, word width) {
    word zeros = 0;
    while (zeros < width && (v >> (width - 1 - zeros) & 1U) == 0) ++zeros;
    return zeros;
  };
  const auto ones = [](std::uint64_t v) {
    word n = 0;
    for (; v != 0; v &= v - 1) ++n;
    return n;
  };
  const auto wide = [=](const buffers& b, int first, int lane) {
    return std::uint64_t{given(b, first, lane)} << 21;
  };
  expect_answers<bits>({
      [=](auto& b, int first, int lane) { return ones(given(b, first, lane)); },
      [=](auto& b, int first, int lane) { return lowest(given(b, first, lane)); },
      [=](auto& b, int first, int lane) { return leading(given(b, first, lane), 32); },
      [=](auto& b, int first, int lane) { return ones(wide(b, first, lane)); },
      [=](auto& b, int first, int lane) { return lowest(wide(b, first, lane)); },
      [=](auto& b, int first, int lane) { return leading(wide(b, first, lane), 64); },
      [=](auto& b, int first, int lane) {
        const word x = given(b, first, lane);
        return dot_of_bytes(x, ~x * 0x9e3779b9U) - 7;
      },
  });
}

// f folded over the inputs of the lanes of `mask`.
word folded(const buffers& b, int first, word mask, word start,
            const std::function<word(word, word)>& f) {
  word result = start;
  for (int lane = 0; lane < 32; ++lane) {
    if ((mask >> lane & 1U) != 0) result = f(result, b.given(first, lane));
  }
  return result;
}

TEST(fiber_verbs, reductions) {
  const auto sum = [](word a, word b) { return a + b; };
  const auto least = [](word a, word b) { return a < b ? a : b; };
  const auto most = [](word a, word b) { return a < b ? b : a; };
  constexpr word all = 0xffffffffU;
  expect_answers<reductions>({
      [=](auto& b, int first, int) { return folded(b, first, all, 0, sum); },
      [=](auto& b, int first, int) { return folded(b, first, all, all, least); },
      [=](auto& b, int first, int) { return folded(b, first, all, 0, most); },
      [=](auto& b, int first, int lane) { return folded(b, first, half_of(lane), 0, sum); },
      [=](auto& b, int first, int lane) { return folded(b, first, half_of(lane), all, least); },
      [=](auto& b, int first, int lane) { return folded(b, first, half_of(lane), 0, most); },
      [=](auto& b, int first, int lane) {
        return lane % 2 == 0 ? folded(b, first, 0x55555555U, 0, most) : 0;
      },
  });
}

TEST(fiber_verbs, votes) {
  const auto odd = [](word w) { return w % 2 == 1; };
  const auto first_of_16 = [](word w) { return w % 16 == 1; };
  const auto equal = [](const buffers& b, int first, int lane, word mask) {
    const word mine = b.given(first, lane) % 4;
    return lanes_where(b, first, mask, [mine](word w) { return w % 4 == mine; });
  };
  expect_answers<votes>({
      [=](auto& b, int first, int) { return lanes_where(b, first, full_mask, odd); },
      [=](auto& b, int first, int lane) {
        return lanes_where(b, first, half_of(lane), [](word w) { return w % 3 == 1; });
      },
      [=](auto& b, int first, int lane) {
        return word{lanes_where(b, first, half_of(lane), first_of_16) != 0};
      },
      [=](auto& b, int first, int lane) {
        return word{lanes_where(b, first, half_of(lane), first_of_16) == 0};
      },
      [=](auto& b, int first, int lane) { return equal(b, first, lane, full_mask); },
      [=](auto& b, int first, int lane) { return equal(b, first, lane, half_of(lane)); },
      [=](auto& b, int first, int lane) {
        return lane % 2 == 0 ? lanes_where(b, first, 0x55555555U, odd) : 0;
      },
  });
}

TEST(fiber_verbs, shuffles) {
  expect_answers<shuffles>({
      [](auto& b, int first, int lane) { return b.given(first, (3 * lane + 1) % 32); },
      [](auto& b, int first, int lane) { return b.given(first, lane < 3 ? lane : lane - 3); },
      [](auto& b, int first, int lane) { return b.given(first, lane > 26 ? lane : lane + 5); },
      [](auto& b, int first, int lane) { return b.given(first, lane ^ 9); },
      [](auto& b, int first, int lane) { return b.given(first, lane / 8 * 8 + (lane + 5) % 8); },
      [](auto& b, int first, int lane) { return b.given(first, lane % 8 < 2 ? lane : lane - 2); },
      [](auto& b, int first, int lane) { return b.given(first, lane % 16 > 12 ? lane : lane + 3); },
      // An exclusive or may reach into an earlier segment, never into a later one.
      [](auto& b, int first, int lane) {
        return b.given(first, (lane ^ 12) > lane / 8 * 8 + 7 ? lane : lane ^ 12);
      },
  });
}

TEST(fiber_verbs, atomics) {
  const auto over_block = [](auto start, auto fold) {
    return [=](const buffers& b, int first, int) {
      const auto* const row = b.in.data() + first / threads * threads;
      return static_cast<word>(std::accumulate(row, row + threads, start, fold));
    };
  };
  const auto centred = [](word w) { return static_cast<int>(w % 1001) - 500; };
  expect_answers<atomics>({
      over_block(word{0}, std::plus<>{}),
      over_block(full_mask, [](word a, word w) { return std::min(a, w); }),
      over_block(1000, [=](int a, word w) { return std::min(a, centred(w)); }),
      over_block(-1000, [=](int a, word w) { return std::max(a, centred(w)); }),
      over_block(word{0}, [](word a, word w) { return std::max(a, w); }),
      over_block(0, [=](int a, word w) { return a + centred(w); }),
  });
  buffers data;
  ASSERT_TRUE(run_on_fibers<atomics>({blocks, threads}, data.args()).ok());
  std::array<std::int64_t, 3> totals{0, 1000, -1000};
  for (const word w : data.in) {
    totals[0] += w;
    totals[1] = std::min<std::int64_t>(totals[1], centred(w));
    totals[2] = std::max<std::int64_t>(totals[2], centred(w));
  }
  EXPECT_EQ(data.totals, totals);
}

TEST(fiber_verbs, numbers) {
  const auto pair = [](int lane) {
    return std::pair{std::bit_cast<float>(numbers::number(lane / 6)),
                     std::bit_cast<float>(numbers::number(lane % 6))};
  };
  const auto has_nan = [=](int lane) {
    const auto [a, b] = pair(lane);
    return a != a || b != b;
  };
  expect_answers<numbers>({
      [=](auto&, int, int lane) {
        const auto [a, b] = pair(lane);
        return has_nan(lane) ? word{0x7fffffffU} : std::bit_cast<word>(std::min(a, b));
      },
      [=](auto&, int, int lane) { return word(has_nan(lane) ? 1 : 0); },
      [=](auto&, int, int lane) {
        const auto [a, b] = pair(lane);
        return word(!has_nan(lane) && std::min(a, b) < 0 ? 1 : 0);
      },
      [=](auto&, int, int lane) {
        const auto [a, b] = pair(lane);
        return word(!has_nan(lane) && a > b ? 1 : 0);
      },
      [](auto&, int, int lane) { return word(lane % 2 == 0 ? 1 : 0); },
      [=](auto&, int, int lane) {
        const auto [a, b] = pair(lane);
        const float sum = has_nan(lane) ? 0.0F : a * 0.375F + b / 8;  // exact
        return std::bit_cast<word>(std::clamp(sum, 0.0F, 1.0F));
      },
  });
}

TEST(fiber_verbs, fresh) {
  const auto at = [](const buffers& b, int i) { return b.in[static_cast<std::size_t>(i)]; };
  expect_answers<fresh>({
      [=](auto& b, int first, int lane) { return at(b, first + lane); },
      [=](auto& b, int first, int lane) { return at(b, (first + lane) % threads / 2 * 2 + 1); },
      [=](auto& b, int first, int lane) { return at(b, (first + lane) % threads / 4 * 4 + 3); },
  });
}

TEST(fiber_verbs, memory) {
  const auto given = [](const buffers& b, int thread, int element) {
    return b.in[static_cast<std::size_t>(thread / threads * threads +
                                         thread % threads % (threads / 4) * 4 + element)];
  };
  expect_answers<memory>(
      {[=](auto& b, int first, int lane) { return given(b, first + lane, 0); },
       [=](auto& b, int first, int lane) { return given(b, first + lane, 2); },
       [=](auto& b, int first, int lane) { return given(b, (first + lane) ^ 1, 1); },
       [=](auto& b, int first, int lane) {
         const int thread = first + lane;
         return given(b, thread / threads * threads + threads - 1 - thread % threads, 3);
       }},
      threads * sizeof(word));
}

TEST(fiber_verbs, messages) {
  // The sum over all blocks except the last, for the thread of that number.
  const auto all_before = [](const buffers& b, int thread) {
    word sum = 0;
    for (int i = thread % threads; i < elements - threads; i += threads) sum += b.given(i, 0);
    return sum;
  };
  const auto last = [](int thread) { return thread >= elements - threads; };
  expect_answers<messages>(
      {
          [](auto& b, int first, int lane) { return b.given(first, lane); },
          [=](auto&, int first, int lane) { return word{last(first + lane) ? 0U : 1U}; },
          [=](auto& b, int first, int lane) {
            return last(first + lane) ? all_before(b, first + lane) : 0;
          },
          [=](auto& b, int first, int lane) {
            return last(first + lane) ? all_before(b, threads - 1 - (first + lane) % threads) : 0;
          },
      },
      0, true);
}

TEST(fiber_verbs, two_launches_that_overlap) {
  for (const fiber_options& options : all_schedules()) {
    buffers data;
    device cpu;
    cpu.kind = executor_kind::fiber;
    ASSERT_EQ(launch_two({.device = &cpu, .fiber = &options}, data.args()).message, "");
    for (int i = 0; i < elements; ++i) {
      const auto next = static_cast<std::size_t>((i + threads) % elements);
      ASSERT_EQ(data.out[static_cast<std::size_t>(i * answers + 1)],
                data.given(i, 0) + 2 * data.in[next]);
    }
  }
}

template <product factors>
void expect_products() {
  using matrices = products<factors>;
  const auto sum = [](int first, int lane, int i) {
    const int warp = first / 32 % (threads / 32);
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    int all = matrices::start(lane, i);
    for (int w = 0; w < 8; ++w) {
      for (int c = 0; c < matrices::of_word; ++c) {
        all += matrices::component(warp, row, w, c) * matrices::component(warp, column + 16, w, c);
      }
    }
    return static_cast<word>(all);
  };
  expect_answers<matrices>(
      {[=](const buffers&, int first, int lane) { return sum(first, lane, 0); },
       [=](const buffers&, int first, int lane) { return sum(first, lane, 1); },
       [=](const buffers&, int first, int lane) { return sum(first, lane, 2); },
       [=](const buffers&, int first, int lane) { return sum(first, lane, 3); },
       [](const buffers&, int first, int lane) {
         return matrices::word(first / 32 % (threads / 32), lane / 4 + 16, lane % 4);
       }});
}

TEST(fiber_verbs, products) {
  expect_products<product::float16>();
  expect_products<product::bfloat16>();
  expect_products<product::int8>();
  expect_products<product::uint8>();
}

TEST(fiber_verbs, copies) {
  const auto given = [](const buffers& b, int first, int lane, int shift) {
    const int row = first / threads * threads, opposite = row + threads - 1 - (first + lane - row);
    return b.in[static_cast<std::size_t>(row + (opposite - row + shift) % threads)];
  };
  expect_answers<copies>(
      {[=](const buffers& b, int first, int lane) { return given(b, first, lane, 0); },
       [=](const buffers& b, int first, int lane) { return given(b, first, lane, 20); }});
}

// A lane that does not take part is named, and so is a row at a wrong address.
struct partial_product {
  using storage = nothing;
  struct args {
    bool misaligned;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    alignas(16) std::uint32_t words[8] = {};
    std::uint32_t registers[4];
    if (a.misaligned) simt.load_matrices(registers, words + 1);
    float sums[4] = {};
    if (simt.lane() == 7) return;
    simt.template multiply_add<product::float16>(sums, {1, 2, 3, 4}, 5, 6);
  }
};

TEST(fiber_verbs, faulty_products) {
  expect_failure(run_on_fibers<partial_product>({1, 32}, {false}),
                 {"multiply_add(mask 0xffffffff)", "waits in vain for lane 7"});
  expect_failure(run_on_fibers<partial_product>({1, 32}, {true}), {"load_matrices"});
}

TEST(fiber_verbs, large_storage) {
  expect_answers<large_storage>({[](auto& b, int first, int lane) {
                                   const int thread = first + lane;
                                   return b.given(thread / threads * threads,
                                                  (thread % threads + 50) % threads);
                                 },
                                 [](auto&, int, int) { return 1U; }},
                                threads * sizeof(word));
}

}  // namespace
}  // namespace kselect::simt::verbs
