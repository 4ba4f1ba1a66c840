// Bucket select, one row at a time: Alabi, Blanchard, Gordon & Steinbach, "Fast k-Selection
// Algorithms for Graphics Processing Units", J. Exp. Algorithmics 17, 2012.
//
// The range between the least and the greatest element is cut into 1024 buckets of equal width. The
// elements of each are counted, and the bucket that holds the k-th is cut in the same way.
//
//   alabi-bucket         the k-th element alone, as published
//   alabi-bucket+gather  the k smallest, with positions if wanted: the filter of each round writes
//                        them
//
// Cost: three reads of the row (extremes, counts, filter) for any k; then of a thousandth of it if
// the values are evenly distributed. Clustered values cost a round for each level of clustering:
// the weakness that the paper names. Every row takes the launches of the most rounds that it may
// need; on evenly distributed values most of them do nothing.
//
// Deviations: buckets have equal widths in values in the first round only, and only if both
// extremes are finite; later in keys (order.hpp). So a row takes at most (bits of a key) / 10 + 1
// rounds, and NaN, infinities and both zeros are ordered. The original returns to the host every
// round; here all possible rounds are enqueued at once, and those not needed return at once.
//
// Our tuning (bin_counts.cuh): blocks of 512 threads, or +t128 and +t256; about 1024 threads a
// multiprocessor; at least 16 elements a thread. 1024 buckets are the authors' choice.
//
// Entries: alabi-bucket

#include "kernels/narrowing.cuh"

namespace kselect::bucket {
namespace {

using kernels::answer;

template <class T>
class even_buckets {
 public:
  using key = order_key_t<T>;
  static constexpr int bits = 10;
  static constexpr bool wants_extremes = true;

  KSELECT_HD even_buckets(kernels::narrowing::bounds<key> b, int round, direction wanted)
      : low_(b.low), wanted_(wanted) {
    const T first = from_selection_key<T>(b.low, wanted);
    const T last = from_selection_key<T>(b.high, wanted);
    const T span = last - first;  // negative if the largest are wanted
    const T scale = static_cast<T>(1 << bits) / span;
    by_value_ = round == 0 && finite(span) && finite(scale) && span != 0;
    origin_ = first;
    scale_ = scale;
    key range = b.high - b.low;
    while (range >> bits != 0) {
      range >>= 1;
      ++shift_;
    }
  }

  KSELECT_HD std::uint32_t bin(key k) const {
    constexpr std::uint32_t last = (1U << bits) - 1;
    if (!by_value_) return static_cast<std::uint32_t>((k - low_) >> shift_);
    // Monotone despite rounding: subtraction, multiplication and conversion all are.
    const T place = (from_selection_key<T>(k, wanted_) - origin_) * scale_;
    const auto whole = static_cast<std::uint32_t>(place);
    return whole < last ? whole : last;
  }
  KSELECT_HD bool single(std::uint32_t) const { return !by_value_ && shift_ == 0; }
  KSELECT_HD key key_of(std::uint32_t bin) const { return low_ + bin; }

 private:
  KSELECT_HD static bool finite(T x) { return !is_nan(x - x); }

  key low_;
  direction wanted_;
  bool by_value_;
  int shift_ = 0;
  T origin_, scale_;
};

// Each round after the first takes `bits` bits off the range of keys; the last only finds one
// bucket a key.
template <class T>
inline constexpr int most_rounds =
    1 + (8 * static_cast<int>(sizeof(T)) + even_buckets<T>::bits - 1) / even_buckets<T>::bits;

template <class T, answer what>
status select_row(const kernels::narrowing::round_args<T>& row, const simt::grid& shape,
                  const executor& on) {
  kernels::narrowing::round_args<T> a = row;
  status done = simt::launch<kernels::narrowing::start_kernel<T>>(on, {8, shape.threads}, a);
  if (done.ok()) done = simt::launch<kernels::narrowing::extremes_kernel<T>>(on, shape, a);
  for (int round = 0; done.ok() && round < most_rounds<T>; ++round) {
    a.round = round;
    done = simt::launch<kernels::narrowing::count_kernel<T, even_buckets<T>>>(on, shape, a);
    if (!done.ok()) break;
    done = simt::launch<kernels::narrowing::filter_kernel<T, even_buckets<T>, what>>(on, shape, a);
  }
  return done;
}

template <class T>
kernels::narrowing::memory<T> carve(const problem& p, simt::carver& pieces) {
  return kernels::narrowing::carve<T>(p, even_buckets<T>::bits, most_rounds<T>, pieces);
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
  algorithm a =
      kernels::gpu_entry(name, "bucket select (one row)", "Alabi et al. 2012, bucket select");
  a.payloads = payloads;
  a.plan = &plan_for<threads>;
  return a;
}

constexpr std::array variants = {
    entry<0>("alabi-bucket", kernels::kth_alone),
    entry<128>("alabi-bucket+t128", kernels::kth_alone),
    entry<256>("alabi-bucket+t256", kernels::kth_alone),
    entry<0>("alabi-bucket+gather", kernels::k_smallest),
    entry<128>("alabi-bucket+gather+t128", kernels::k_smallest),
    entry<256>("alabi-bucket+gather+t256", kernels::k_smallest),
};

}  // namespace
}  // namespace kselect::bucket

namespace kselect::entries {

std::span<const algorithm> bucket_select() { return bucket::variants; }

}  // namespace kselect::entries
