#include "harness/verify/nan_order.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "kselect/ragged.hpp"

namespace kselect::harness {
namespace {

// Elements with every NaN replaced by one.
template <class T>
std::vector<T> with_one_nan(const problem& p, const void* elements, std::int64_t count,
                            int threads) {
  const T one = from_selection_key<T>(nan_key<T>(p.nan), p.direction);
  const T* const from = static_cast<const T*>(elements);
  std::vector<T> all(static_cast<std::size_t>(count));
#pragma omp parallel for num_threads(threads)
  for (std::int64_t i = 0; i < count; ++i) {
    all[static_cast<std::size_t>(i)] = is_nan(from[i]) ? one : from[i];
  }
  return all;
}

// The NaNs of one answer.
template <class T>
class nans_of_row {
 public:
  nans_of_row(const problem& p, const io& buffers, std::int64_t row)
      : p_(p), buffers_(buffers), row_(row), extent_(extent_of(p, buffers, row)) {
    count_ = selected_of(p, buffers, row, extent_.length);
    step_ = p.segments ? 1 : p.offset(0, 1);
  }

  // The first that is no element of the row; empty if all are.
  std::optional<finding> wrong() const { return p_.has_indices() ? by_index() : by_bits(); }

 private:
  T element(std::int64_t at) const {
    return static_cast<const T*>(buffers_.input)[extent_.first + at * step_];
  }
  T value(std::int64_t j) const { return static_cast<const T*>(buffers_.values)[row_ * p_.k + j]; }
  std::int64_t index(std::int64_t j) const {
    return visit(p_.index, [&]<class Index>(Index) {
      return std::int64_t{static_cast<const Index*>(buffers_.indices)[row_ * p_.k + j]};
    });
  }

  std::optional<finding> by_index() const {
    for (std::int64_t j = 0; j < count_; ++j) {
      if (!is_nan(value(j)) || bits_of(value(j)) == bits_of(element(index(j)))) continue;
      return found(j, fmt::format("bits 0x{:x} at index {}, where the row has 0x{:x}",
                                  bits_of(value(j)), index(j), bits_of(element(index(j)))));
    }
    return std::nullopt;
  }

  std::optional<finding> by_bits() const {
    std::vector<order_key_t<T>> left;
    for (std::int64_t at = 0; at < extent_.length; ++at) {
      if (is_nan(element(at))) left.push_back(bits_of(element(at)));
    }
    for (std::int64_t j = 0; j < count_; ++j) {
      if (!is_nan(value(j))) continue;
      const auto same = std::ranges::find(left, bits_of(value(j)));
      if (same == left.end()) {
        return found(
            j, fmt::format("the NaN 0x{:x} comes more often than in the row", bits_of(value(j))));
      }
      *same = left.back();
      left.pop_back();
    }
    return std::nullopt;
  }

  finding found(std::int64_t j, const std::string& what) const {
    const check failed = p_.has_indices() ? check::value_bits : check::value_multiplicity;
    return {failed, row_, j,
            fmt::format("{}: row {}, position {}: {}", to_string(failed), row_, j, what)};
  }

  const problem& p_;
  const io& buffers_;
  std::int64_t row_;
  row_extent extent_;
  std::int64_t count_ = 0, step_ = 1;
};

template <class T>
verdict prove_on_copy(const problem& p, const contract& promises, const io& buffers, int threads) {
  std::vector<T> rows = with_one_nan<T>(p, buffers.input, p.input_elements(), threads);
  std::vector<T> values;
  if (p.has_values()) values = with_one_nan<T>(p, buffers.values, p.q * p.k, threads);
  io answer = buffers;
  answer.input = rows.data();
  answer.values = p.has_values() ? values.data() : nullptr;
  verdict proof = verify(in_total_order(p), promises, answer, threads);
  if (!proof || !p.has_values()) return proof;
  for (std::int64_t row = 0; row < p.q; ++row) {
    const auto wrong = nans_of_row<T>(p, buffers, row).wrong();
    if (!wrong) continue;
    ++proof.rows_wrong;
    if (!proof.first) proof.first = wrong;
  }
  return proof;
}

}  // namespace

verdict verify_nan_order(const problem& p, const contract& promises, const io& buffers,
                         int threads) {
  return visit_number(p.type,
                      [&]<class T>(T) { return prove_on_copy<T>(p, promises, buffers, threads); });
}

}  // namespace kselect::harness
