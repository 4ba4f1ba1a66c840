// Randomized select, one row at a time: Monroe, Wendelberger & Michalak, "Randomized Selection on
// the GPU", High Performance Graphics, 2011 (from the algorithm of Floyd & Rivest 1975). Komarov et
// al. cite it (their reference 32) as randomized selection. Tang et al. (Sec. II-C) call it sample
// select.
//
// A random sample of the row is sorted. Two sample elements, whose ranks enclose that of the k-th
// by a safe margin, split the row in three. The k-th is almost surely in the narrow middle part,
// which is kept and split in the same way, until the rest is no larger than the sample.
//
//   monroe-randomized         the k-th element alone, as published
//   monroe-randomized+gather  the k smallest, with positions if wanted: the filter of each round
//                             writes them
//
// Cost: two reads of the row (count, filter), then of about a fifth to a tenth of it, and so on. A
// round takes three launches and one return to the host, as in the original: the host decides when
// to stop and whether the splitters failed. So `synchronises`.
//
// Deviations: the sample has 512 elements for any n, so that ranking it in one block takes
// microseconds. If the k-th element is not in the middle part, its side is kept instead of drawing
// again. If a round has not halved the rest, which only ties can cause, the next round splits
// around a single element and separates its ties. The sample's places are a hash of the round, so
// runs repeat.
//
// Our tuning (bin_counts.cuh), as for the other selections of one row at a time: blocks of 512
// threads, or +t128 and +t256; about 1024 threads a multiprocessor; at least 16 elements a thread.
//
// Entries: monroe-randomized

#include <algorithm>
#include <cmath>

#include "kernels/narrowing.cuh"
#include "kselect/simt/transfer.hpp"

namespace kselect::randomized {
namespace {

using kernels::answer;
using kernels::position;

inline constexpr position sample_size = 512;
inline constexpr int most_rounds = 64;  // far more than are needed

// The bins: below the lower splitter, between the two, above the upper one.
template <class T>
class three_parts {
 public:
  using key = order_key_t<T>;
  static constexpr int bits = 2;
  static constexpr bool wants_extremes = false;

  KSELECT_HD three_parts(kernels::narrowing::bounds<key> b, int, direction) : bounds_(b) {}
  KSELECT_HD std::uint32_t bin(key k) const {
    return static_cast<std::uint32_t>(k >= bounds_.low) +
           static_cast<std::uint32_t>(k > bounds_.high);
  }
  KSELECT_HD bool single(std::uint32_t bin) const {
    return bin == 1 && bounds_.low == bounds_.high;
  }
  KSELECT_HD key key_of(std::uint32_t) const { return bounds_.low; }

 private:
  kernels::narrowing::bounds<key> bounds_;
};

// Draws the sample from a round's source and leaves the splitters as the round's bounds.
template <class T>
struct sample_kernel {
  static constexpr int max_threads = 512;
  using key = order_key_t<T>;
  struct storage {
    key sample[sample_size];
  };
  struct args {
    kernels::narrowing::round_args<T> row;
    position left;                 // elements of the source
    position low_rank, high_rank;  // of the splitters in the sample
  };

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const position size = a.left < sample_size ? a.left : sample_size;
    for (auto i = static_cast<position>(simt.thread()); i < size;
         i += static_cast<position>(simt.threads())) {
      shared.sample[i] = key_at(simt, a, size == a.left ? i : random_place(a, i));
    }
    simt.sync_block();
    for (auto i = static_cast<position>(simt.thread()); i < size;
         i += static_cast<position>(simt.threads())) {
      const key own = shared.sample[i];
      position rank = 0;
      for (position j = 0; j < size; ++j) {
        const key other = shared.sample[j];
        rank += static_cast<position>(other < own || (other == own && j < i));
      }
      if (rank == a.low_rank) simt.store(a.row.memory.lows, a.row.round, own);
      if (rank == a.high_rank) simt.store(a.row.memory.highs, a.row.round, own);
    }
  }

 private:
  template <class Simt>
  KSELECT_HD static key key_at(Simt& simt, const args& a, position i) {
    if (a.row.round > 0) return simt.load(a.row.memory.keys((a.row.round - 1) % 2), i);
    return selection_key(simt.load(a.row.matrix.input, i), a.row.matrix.wanted);
  }

  // splitmix64's finaliser over round and draw, scaled to the source.
  KSELECT_HD static position random_place(const args& a, position draw) {
    std::uint64_t x = static_cast<std::uint64_t>(a.row.round) << 32 ^ draw;
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<position>(((x ^ (x >> 31)) >> 32) * a.left >> 32);
  }
};

// The ranks in the sample that enclose the wanted one, three standard deviations away on each side,
// or with no margin for a single splitter.
struct ranks {
  position low, high;
};
ranks enclosing(const kernels::narrowing::progress& now, bool single) {
  if (now.left <= sample_size) return {now.wanted - 1, now.wanted - 1};
  const double fraction = static_cast<double>(now.wanted) / now.left;
  const double mean = fraction * sample_size;
  const double margin = single ? 0 : 3 * std::sqrt(mean * (1 - fraction)) + 1;
  const auto clamped = [](double rank) {
    return static_cast<position>(std::clamp(rank, 0.0, double{sample_size - 1}));
  };
  return {clamped(mean - margin), clamped(mean + margin)};
}

template <class T, answer what>
status select_row(const kernels::narrowing::round_args<T>& row, const simt::grid& shape,
                  const executor& on) {
  kernels::narrowing::round_args<T> a = row;
  kernels::narrowing::progress now{a.matrix.k, a.matrix.n, 0};
  bool single = false;
  status done = simt::launch<kernels::narrowing::start_kernel<T>>(on, {1, shape.threads}, a);
  for (a.round = 0; done.ok() && now.finished == 0; ++a.round) {
    if (a.round == most_rounds) return {status_code::failed, "randomized select: too many rounds"};
    const ranks at = enclosing(now, single);
    done = simt::launch<sample_kernel<T>>(on, {1, shape.threads}, {a, now.left, at.low, at.high});
    if (done.ok())
      done = simt::launch<kernels::narrowing::count_kernel<T, three_parts<T>>>(on, shape, a);
    if (done.ok()) {
      done = simt::launch<kernels::narrowing::filter_kernel<T, three_parts<T>, what>>(on, shape, a);
    }
    const position before = now.left;
    if (done.ok()) done = simt::copy(on, &now, a.memory.rounds.data + a.round + 1, sizeof now);
    single = now.left > before / 2;
  }
  return done;
}

template <class T>
kernels::narrowing::memory<T> carve(const problem& p, simt::carver& pieces) {
  return kernels::narrowing::carve<T>(p, three_parts<T>::bits, most_rounds, pieces);
}

template <class T, answer what>
status start(const simt::grid& shape, const problem& p, const io& buffers,
             std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  return kernels::narrowing::each_row<T>(p, buffers, carve<T>(p, pieces), [&](const auto& row) {
    return select_row<T, what>(row, shape, on);
  });
}

template <int wanted_threads>
call_plan plan_for(const problem& p, const device& where) {
  return kernels::visit_answer(p, [&]<class T, answer what>() {
    simt::carver sizes(nullptr);
    carve<T>(p, sizes);
    return call_plan::of<&start<T, what>>(p, sizes.used(),
                                          kernels::narrowing::shape_of(p, where, wanted_threads));
  });
}

template <int threads>
constexpr algorithm entry(std::string_view name, enum_set<payload> payloads) {
  algorithm a = kernels::gpu_entry(name, "randomized select (one row)",
                                   "Monroe et al. 2011; Tang et al. 2015: sample select");
  a.promises.synchronises = true;
  a.payloads = payloads;
  a.plan = &plan_for<threads>;
  return a;
}

constexpr std::array variants = {
    entry<0>("monroe-randomized", kernels::kth_alone),
    entry<128>("monroe-randomized+t128", kernels::kth_alone),
    entry<256>("monroe-randomized+t256", kernels::kth_alone),
    entry<0>("monroe-randomized+gather", kernels::k_smallest),
    entry<128>("monroe-randomized+gather+t128", kernels::k_smallest),
    entry<256>("monroe-randomized+gather+t256", kernels::k_smallest),
};

}  // namespace
}  // namespace kselect::randomized

namespace kselect::entries {

std::span<const algorithm> randomized_select() { return randomized::variants; }

}  // namespace kselect::entries
