#include <algorithm>

#include "harness/verify/device/certificate_kernels.cuh"
#include "harness/verify/device/certificate_on_device.hpp"
#include "harness/verify/device/words.hpp"
#include "kselect/simt/carver.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

namespace d = device_proof;

// Carves the records of `rows` rows out of `memory`; a null carver only computes their size.
template <class T>
d::row_records<T> lay_out(simt::carver& memory, std::int64_t rows, std::int64_t n) {
  d::row_records<T> records;
  records.worst = memory.take<order_word_t<T>>(rows);
  records.balance = memory.take<std::int64_t>(rows);
  records.ties = memory.take<std::int64_t>(rows);
  records.tie_columns = memory.take<std::int64_t>(rows);
  records.looked_at = memory.take<std::int64_t>(rows);
  records.failed = memory.take<std::int32_t>(rows);
  records.chosen = memory.take<std::uint32_t>(rows * d::words_for(n));
  return records;
}

template <class T>
std::size_t record_bytes(std::int64_t rows, std::int64_t n) {
  simt::carver sizes(nullptr);
  lay_out<T>(sizes, rows, n);
  return sizes.used();
}

// The most rows whose records fit; 0 if not even one row's fit.
template <class T>
std::int64_t band_height(const problem& what, std::size_t scratch_bytes) {
  std::int64_t fits = 0, too_many = what.q + 1;
  while (fits + 1 < too_many) {
    const std::int64_t middle = fits + (too_many - fits) / 2;
    (record_bytes<T>(middle, what.n) <= scratch_bytes ? fits : too_many) = middle;
  }
  return fits;
}

template <class Kernel>
void launch(backend& place, const typename Kernel::args& a, std::int64_t warps) {
  constexpr std::int64_t in_block = Kernel::max_threads / simt::warp_size;
  constexpr std::int64_t most_blocks = 1 << 16;  // enough for any GPU; warps stride over the rest
  const simt::grid shape{
      .blocks = std::clamp(d::stretches(warps, in_block), std::int64_t{1}, most_blocks),
      .threads = Kernel::max_threads};
  if (const status queued = simt::launch<Kernel>(place.executor(), shape, a); !queued.ok()) {
    throw error(failure::unsupported, queued.message);
  }
}

template <class T, class Index>
d::arguments<T, Index> arguments_for(const problem& what, const contract& promises,
                                     const io& buffers) {
  d::arguments<T, Index> a;
  a.input = {static_cast<const T*>(buffers.input), what.input_elements()};
  a.values = {static_cast<const T*>(buffers.values), what.q * what.k};
  a.indices = {static_cast<const Index*>(buffers.indices), what.q * what.k};
  a.n = what.n;
  a.k = what.k;
  a.pitch = what.effective_pitch();
  a.column_major = what.layout == layout::column_major;
  a.wanted = order_in<T>(what.type, what.direction);
  a.zeros_merged = promises.zeros == zero_policy::merged;
  a.sorted = promises.ordering != output_ordering::unsorted;
  a.stable = promises.ordering == output_ordering::stable_sorted;
  a.first_ties = promises.tie_break == tie_break::prefer_smaller_index;
  return a;
}

template <class T, class Index>
void check_band(backend& place, const d::arguments<T, Index>& a) {
  const std::int64_t outputs = a.rows * d::stretches(a.k, a.stretch);
  const std::int64_t rows = (a.column_major ? d::stretches(a.rows, simt::warp_size) : a.rows) *
                            d::stretches(a.n, a.stretch);
  launch<d::outputs_kernel<T, Index>>(place, a, outputs);
  launch<d::cut_kernel<T, Index>>(place, a, outputs);
  launch<d::row_kernel<T, Index>>(place, a, rows);
  launch<d::verdict_kernel<T, Index>>(place, a, d::stretches(a.rows, simt::warp_size));
}

device_verdict read(const d::summary& found, std::int64_t q) {
  device_verdict answer{.rows_checked = q, .rows_wrong = q - found.proven};
  if (answer.rows_wrong == 0) return answer;
  answer.first_row = found.lowest_wrong / (d::strongest_mark + 1);
  const auto failed = static_cast<std::int32_t>(found.lowest_wrong % (d::strongest_mark + 1));
  if (failed != d::strongest_mark - d::incomplete) answer.failed = static_cast<check>(failed);
  return answer;
}

template <class T, class Index>
std::optional<device_verdict> verify_as(const problem& what, const contract& promises,
                                        const io& buffers, backend& place,
                                        const device_proof_shape& shape) {
  const std::int64_t height = band_height<T>(what, shape.scratch_bytes);
  if (height == 0) return std::nullopt;
  const std::size_t scratch_bytes = record_bytes<T>(height, what.n);
  device_buffer scratch, result;
  try {
    scratch = device_buffer(place, scratch_bytes);
    result = device_buffer(place, sizeof(d::summary));
  } catch (const error& refused) {
    if (refused.category() != failure::resources) throw;
    return std::nullopt;
  }
  d::summary found;
  const std::span host = std::as_writable_bytes(std::span(&found, 1));
  place.to_device(result.data(), host);
  auto* const summary = reinterpret_cast<std::int64_t*>(result.data());
  auto a = arguments_for<T, Index>(what, promises, buffers);
  a.stretch = shape.stretch;
  a.proven = {summary, 1};
  a.lowest_wrong = {summary + 1, 1};
  simt::carver memory(scratch.data());
  a.records = lay_out<T>(memory, height, what.n);
  for (; a.first_row < what.q; a.first_row += height) {
    a.rows = std::min(height, what.q - a.first_row);
    fill_words(place, scratch.data(), scratch_bytes, 0);
    check_band(place, a);
  }
  place.to_host(host, result.data());
  return read(found, what.q);
}

void require(bool holds, const char* what, const problem& of) {
  if (!holds) throw error(failure::usage, "verify " + to_string(of) + ": " + what);
}

}  // namespace

std::optional<device_verdict> verify_on_device(const problem& what, const contract& promises,
                                               const io& buffers, backend& place,
                                               const device_proof_shape& shape) {
  if (what.n == 0 || what.q == 0 || what.k == 0) return device_verdict{};
  const bool equal =
      !what.ragged() && what.map == row_numbers::none && what.nan == nan_order::total_order;
  if (what.payload != payload::values_and_indices || !equal) return std::nullopt;
  require(buffers.input != nullptr, "the input is null", what);
  require(buffers.values != nullptr, "the values are null", what);
  require(buffers.indices != nullptr, "the indices are null", what);
  return visit_words(what.type, [&](auto t) {
    return visit(what.index, [&](auto i) {
      return verify_as<decltype(t), decltype(i)>(what, promises, buffers, place, shape);
    });
  });
}

}  // namespace kselect::harness
