#pragma once
// Kernels that together use every verb, with one output word for each thread and question. They run
// on fibers and on a GPU: fiber_verbs_test.cpp compares the fibers with plain host code, and
// verbs_cuda_test.cu compares a GPU with the fibers.

#include <bit>
#include <cstdint>

#include "kselect/float16.hpp"
#include "kselect/simt/launch.hpp"

namespace kselect::simt::verbs {

inline constexpr int threads = 96;
inline constexpr std::int64_t blocks = 3;
inline constexpr std::int64_t elements = blocks * threads;
inline constexpr int answers = 8;  // words for each thread
inline constexpr std::int64_t words = elements * answers;

struct nothing {};

// `in` has `elements` words, `out` has `words`, aligned to 16 bytes; `totals` has 3.
struct verb_args {
  global<const std::uint32_t> in;
  global<std::uint32_t> out;
  global<std::int64_t> totals;
};

template <class Simt>
KSELECT_HD void answer(Simt& simt, const verb_args& a, int question, std::uint32_t value) {
  const int me = simt.block() * simt.threads() + simt.thread();
  simt.store(a.out, std::int64_t{answers} * me + question, value);
}

template <class Simt>
KSELECT_HD std::uint32_t input(Simt& simt, const verb_args& a) {
  return simt.load(a.in, simt.block() * simt.threads() + simt.thread());
}

struct places {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    answer(simt, a, 0, static_cast<std::uint32_t>(simt.thread()));
    answer(simt, a, 1, static_cast<std::uint32_t>(simt.threads()));
    answer(simt, a, 2, static_cast<std::uint32_t>(simt.lane()));
    answer(simt, a, 3, static_cast<std::uint32_t>(simt.warp()));
    answer(simt, a, 4, static_cast<std::uint32_t>(simt.warps()));
    answer(simt, a, 5, static_cast<std::uint32_t>(simt.block()));
    answer(simt, a, 6, static_cast<std::uint32_t>(simt.blocks()));
    answer(simt, a, 7, simt.lanemask_lt());
  }
};

struct bits {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::uint32_t word = simt.lane() == 5 ? 0 : input(simt, a);
    const std::uint64_t wide = std::uint64_t{word} << 21;
    answer(simt, a, 0, static_cast<std::uint32_t>(simt.popc(word)));
    answer(simt, a, 1, static_cast<std::uint32_t>(simt.ffs(word)));
    answer(simt, a, 2, static_cast<std::uint32_t>(simt.clz(word)));
    answer(simt, a, 3, static_cast<std::uint32_t>(simt.popc(wide)));
    answer(simt, a, 4, static_cast<std::uint32_t>(simt.ffs(wide)));
    answer(simt, a, 5, static_cast<std::uint32_t>(simt.clz(wide)));
    answer(simt, a, 6, static_cast<std::uint32_t>(simt.dot4(word, ~word * 0x9e3779b9U, -7)));
  }
};

struct votes {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::uint32_t word = input(simt, a);
    const std::uint32_t half = simt.lane() < 16 ? 0x0000ffffU : 0xffff0000U;
    answer(simt, a, 0, simt.ballot(full_mask, word % 2 == 1));
    answer(simt, a, 1, simt.ballot(half, word % 3 == 1));
    answer(simt, a, 2, simt.any(half, word % 16 == 1) ? 1 : 0);
    answer(simt, a, 3, simt.all(half, word % 16 != 1) ? 1 : 0);
    answer(simt, a, 4, simt.match_any(full_mask, word % 4));
    answer(simt, a, 5, simt.match_any(half, std::uint64_t{word % 4} << 40));
    if (simt.lane() % 2 == 0) answer(simt, a, 6, simt.ballot(0x55555555U, word % 2 == 1));
  }
};

struct reductions {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::uint32_t word = input(simt, a);
    const std::uint32_t half = simt.lane() < 16 ? 0x0000ffffU : 0xffff0000U;
    answer(simt, a, 0, simt.reduce_add(full_mask, word));
    answer(simt, a, 1, simt.reduce_min(full_mask, word));
    answer(simt, a, 2, simt.reduce_max(full_mask, word));
    answer(simt, a, 3, simt.reduce_add(half, word));
    answer(simt, a, 4, simt.reduce_min(half, word));
    answer(simt, a, 5, simt.reduce_max(half, word));
    if (simt.lane() % 2 == 0) answer(simt, a, 6, simt.reduce_max(0x55555555U, word));
  }
};

struct shuffles {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::uint32_t word = input(simt, a);
    const std::uint64_t wide = std::uint64_t{word} << 32 | 7U;
    answer(simt, a, 0, simt.shfl(full_mask, word, 3 * simt.lane() + 1));
    answer(simt, a, 1, simt.shfl_up(full_mask, word, 3));
    answer(simt, a, 2, simt.shfl_down(full_mask, word, 5));
    answer(simt, a, 3, simt.shfl_xor(full_mask, word, 9));
    answer(simt, a, 4, simt.shfl(full_mask, word, simt.lane() + 5, 8));
    answer(simt, a, 5, simt.shfl_up(full_mask, word, 2, 8));
    answer(simt, a, 6, static_cast<std::uint32_t>(simt.shfl_down(full_mask, wide, 3, 16) >> 32));
    answer(simt, a, 7, simt.shfl_xor(full_mask, word, 12, 8));
  }
};

// Sums and extremes in shared memory, of both widths and signs, then in global memory.
struct atomics {
  struct storage {
    std::uint32_t sum, least;
    std::int32_t signed_least, signed_most;
    std::uint64_t wide_most;
    std::int64_t wide_sum;
  };
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    if (simt.thread() == 0) shared = {0, 0xffffffffU, 0x7fffffff, -0x7fffffff, 0, 0};
    simt.sync_block();
    const std::uint32_t word = input(simt, a);
    const auto centred = static_cast<std::int32_t>(word % 1001) - 500;
    simt.atomic_add(shared.sum, word);
    simt.atomic_min(shared.least, word);
    simt.atomic_min(shared.signed_least, centred);
    simt.atomic_max(shared.signed_most, centred);
    simt.atomic_max(shared.wide_most, std::uint64_t{word} << 20);
    simt.atomic_add(shared.wide_sum, centred);
    simt.atomic_add(a.totals, 0, word);
    simt.atomic_min(a.totals, 1, centred);
    simt.atomic_max(a.totals, 2, centred);
    simt.sync_block();
    answer(simt, a, 0, shared.sum);
    answer(simt, a, 1, shared.least);
    answer(simt, a, 2, static_cast<std::uint32_t>(shared.signed_least));
    answer(simt, a, 3, static_cast<std::uint32_t>(shared.signed_most));
    answer(simt, a, 4, static_cast<std::uint32_t>(shared.wide_most >> 20));
    answer(simt, a, 5, static_cast<std::uint32_t>(shared.wide_sum));
  }
};

// Vectors and slices of global memory; values passed between lanes through shared memory.
struct memory {
  struct storage {
    std::uint32_t words[threads];
  };
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto row = simt.slice(a.in, simt.block() * threads, threads);
    const auto four = simt.load(as_vec<4>(row), simt.thread() % (threads / 4));
    auto* const dynamic = static_cast<std::uint32_t*>(simt.dynamic_shared());
    shared.words[simt.thread()] = four[1];
    dynamic[simt.thread()] = four[3];
    simt.sync_warp(full_mask);
    const std::uint32_t beside = shared.words[simt.thread() ^ 1];
    simt.sync_block();
    const std::uint32_t opposite = dynamic[threads - 1 - simt.thread()];
    const auto mine = simt.slice(
        a.out, std::int64_t{answers} * (simt.block() * threads + simt.thread()), answers);
    simt.store(as_vec<4>(mine), 0, {{four[0], four[2], beside, opposite}});
    simt.count(counter::passes);
  }
};

// Compares numbers and NaNs of both signs.
struct numbers {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const auto one = std::bit_cast<float>(number(simt.lane() / 6));
    const auto other = std::bit_cast<float>(number(simt.lane() % 6));
    answer(simt, a, 0, std::bit_cast<std::uint32_t>(simt.smaller(one, other)));
    const auto wide = [](std::uint32_t bits) {
      return std::bit_cast<double>(std::uint64_t{bits} << 32);
    };
    const double least = simt.smaller(wide(number(simt.lane() / 6)), wide(number(simt.lane() % 6)));
    answer(simt, a, 1, least != least ? 1 : 0);
    answer(simt, a, 2, least < 0 ? 1 : 0);
    answer(simt, a, 3, simt.exceeds(one, other));
    const float zero = simt.lane() % 2 == 0 ? 0.0F : -0.0F, minus = -zero;
    answer(simt, a, 4, simt.exceeds(zero, minus));
    answer(simt, a, 5, std::bit_cast<std::uint32_t>(simt.fma_clamped(one, 0.375F, other / 8)));
  }
  // As the high half of a double, each has the same kind (number or NaN).
  KSELECT_HD static constexpr std::uint32_t number(int i) {
    constexpr std::uint32_t all[6] = {0x3ff00000U, 0xbff00000U, 0x7fffffffU,
                                      0xffffffffU, 0x40100000U, 0xc0100000U};
    return all[i % 6];
  }
};

// Reads data of another block past the caches, in words of three sizes.
struct fresh {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    simt.fence();
    answer(simt, a, 0, simt.load_fresh(a.in, simt.block() * threads + simt.thread()));
    const int pair = simt.thread() / 2;
    answer(simt, a, 1, simt.load_fresh(as_vec<2>(a.in), pair)[1]);
    answer(simt, a, 2, simt.load_fresh(as_vec<4>(a.in), pair / 2)[3]);
  }
};

// Every block except the last stores data and posts messages; the last block sees the data.
// Messages use the places of answers 4 to 7, and a thread also sees its own messages.
struct messages {
  using storage = nothing;
  using args = verb_args;
  static constexpr std::uint64_t tag = 0x1234'5678'9abc'def0;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const global<message> all{reinterpret_cast<message*>(a.out.data), words / 4};
    const std::uint32_t own = input(simt, a);
    answer(simt, a, 0, own);
    const auto place = [](std::int64_t block, int thread) {
      return 2 * (block * threads + thread) + 1;
    };
    if (simt.block() + 1 != blocks) {
      simt.sync_block();
      simt.fence();
      // Posts in the place of another thread: the fence covers the stores of the whole block.
      const int other = threads - 1 - simt.thread();
      simt.post(all, place(simt.block(), other), {~std::uint64_t{own}, tag});
      answer(simt, a, 1, simt.look(all, place(simt.block(), other)).tag == tag ? 1 : 0);
      return;
    }
    std::uint32_t sum = 0, paid = 0;
    for (int block = 0; block + 1 < blocks; ++block) {
      const std::uint64_t payload = simt.await(all, place(block, simt.thread()), tag);
      paid += static_cast<std::uint32_t>(~payload);
      sum += simt.load_fresh(a.out, std::int64_t{answers} * (block * threads + simt.thread()));
    }
    answer(simt, a, 2, sum);
    answer(simt, a, 3, paid);
  }
};

// Two launches; the second overlaps the first. It reads independent data early, and data written by
// the first launch after the wait.
struct first_of_two {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    simt.let_next_start();
    answer(simt, a, 0, 2 * input(simt, a));
  }
};
struct second_of_two {
  using storage = nothing;
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    const std::uint32_t own = input(simt, a);
    simt.wait_for_previous();
    const std::int64_t next = (simt.block() + 1) % blocks * threads + simt.thread();
    answer(simt, a, 1, own + simt.load(a.out, answers * next));
  }
};

// Launches both; the first starts after all earlier work on the stream has ended.
inline status launch_two(const executor& where, const verb_args& a) {
  const status first = launch<first_of_two>(where, {blocks, threads}, a);
  if (!first.ok()) return first;
  return launch<second_of_two>(
      where, {.blocks = blocks, .threads = threads, .overlaps_previous = true}, a);
}

// A product of two matrices of small integers, which every accumulation adds exactly. A warp's A
// has 16 rows, its B 8 columns, of 32 bytes each.
template <product factors>
struct products {
  struct storage {
    alignas(16) std::uint32_t a[threads / warp_size][16][8];
    alignas(16) std::uint32_t b[threads / warp_size][8][8];
  };
  using args = verb_args;
  static constexpr int of_word = of_bytes(factors) ? 4 : 2;

  // Component i of word w of a row.
  KSELECT_HD static constexpr int component(int warp, int row, int w, int i) {
    const int mixed = (warp * 31 + row * 7 + w * 5 + i * 3) * 2654435 >> 7 & 15;
    return factors == product::uint8 ? mixed + 200 : mixed - 8;
  }
  KSELECT_HD static std::uint32_t word(int warp, int row, int w) {
    std::uint32_t bits = 0;
    for (int i = 0; i < of_word; ++i) {
      const int x = component(warp, row, w, i);
      const auto own = of_bytes(factors) ? static_cast<std::uint32_t>(x) & 0xffU
                       : factors == product::float16
                           ? from_float<float16>(static_cast<float>(x)).bits
                           : from_float<bfloat16>(static_cast<float>(x)).bits;
      bits |= own << 32 / of_word * i;
    }
    return bits;
  }
  KSELECT_HD static constexpr int start(int lane, int i) { return lane * 4 + i - 50; }

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const int warp = simt.warp(), lane = simt.lane();
    for (int i = lane; i < 24 * 8; i += warp_size) {
      const int row = i / 8, w = i % 8;
      if (row < 16) shared.a[warp][row][w] = word(warp, row, w);
      if (row >= 16) shared.b[warp][row - 16][w] = word(warp, row, w);
    }
    simt.sync_warp(full_mask);
    std::uint32_t left[4], right[4];
    product_sum<factors> sums[4];
    for (int i = 0; i < 4; ++i) sums[i] = static_cast<product_sum<factors>>(start(lane, i));
    simt.load_matrices(left, &shared.a[warp][lane % 16][lane / 16 * 4]);
    simt.load_matrices(right, &shared.b[warp][lane % 8][lane / 8 % 2 * 4]);
    simt.template multiply_add<factors>(sums, left, right[0], right[1]);
    for (int i = 0; i < 4; ++i)
      answer(simt, a, i, static_cast<std::uint32_t>(std::int32_t(sums[i])));
    answer(simt, a, 4, right[2]);
  }
};

// Copies its block's input to shared memory in two groups and waits for one after the other.
struct copies {
  struct storage {
    alignas(16) std::uint32_t words[2][threads];
  };
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const auto row = as_vec<4>(simt.slice(a.in, simt.block() * threads, threads));
    const int vectors = threads / 4, t = simt.thread();
    for (int group = 0; group < 2; ++group) {
      if (t < vectors) {
        simt.copy_async(&shared.words[group][4 * t], row, (t + 5 * group) % vectors);
      }
      simt.commit_copies();
    }
    simt.template wait_copies<1>();
    simt.sync_block();
    answer(simt, a, 0, shared.words[0][threads - 1 - t]);
    simt.template wait_copies<0>();
    simt.sync_block();
    answer(simt, a, 1, shared.words[1][threads - 1 - t]);
  }
};

// More shared memory than a kernel may declare: more than 48 KiB of storage, plus dynamic memory.
struct large_storage {
  struct storage {
    std::uint32_t words[13'000];
  };
  using args = verb_args;
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    auto* const dynamic = static_cast<std::uint32_t*>(simt.dynamic_shared());
    dynamic[simt.thread()] = 1;
    shared.words[12'999 - simt.thread()] = input(simt, a);
    simt.sync_block();
    answer(simt, a, 0, shared.words[12'999 - (simt.thread() + 50) % threads]);
    answer(simt, a, 1, dynamic[threads - 1 - simt.thread()]);
  }
};

}  // namespace kselect::simt::verbs
