#pragma once
// Puts every NaN last, or first, in answers that a member on the host left, as nan_rows.cuh does on
// a GPU: only a row whose answer has a NaN in the wrong place is selected again, by radix on keys
// in which all NaNs tie. It takes no memory.

#include <algorithm>
#include <array>
#include <cstdint>

#include <omp.h>

#include "algorithms/ordered_select/misplaced.hpp"
#include "kselect/candidate.hpp"
#include "kselect/ragged.hpp"

namespace kselect::ordered {

// Elements as integers in the wanted order (candidate.hpp).
template <class T>
using sortable = typename keyed_candidate<T>::type;

template <class T>
class host_nan_row {
 public:
  host_nan_row(const problem& p, const io& buffers, std::int64_t row)
      : p_(p), buffers_(buffers), answer_(row * p.k), extent_(extent_of(p, buffers, row)) {
    count_ = selected_of(p, buffers, row, extent_.length);
    elements_ = static_cast<const T*>(buffers.input) + extent_.first;
    step_ = p.segments ? 1 : p.offset(0, 1);
  }

  // The elements of its answer.
  std::int64_t count() const { return count_; }

  // Selects the row again if a NaN is misplaced; with `all` any NaN is, because NaNs tie by index.
  void settle(bool all) {
    if (count_ == 0 || !misplaces(all)) return;
    find_last();
    take();
  }

  // Best first, equal keys by ascending index. `own`: room for k; unused without indices.
  void sort(sortable<T>* own) {
    if (!p_.has_indices()) {
      T* const values = static_cast<T*>(buffers_.values) + answer_;
      std::sort(values, values + count_, [&](T a, T b) { return key_of(a) < key_of(b); });
      return;
    }
    for (std::int64_t j = 0; j < count_; ++j) {
      own[j] = keyed_candidate<T>::make(key_of(element(index(j))), index(j));
    }
    std::sort(own, own + count_);
    for (std::int64_t j = 0; j < count_; ++j) write(j, keyed_candidate<T>::index(own[j]));
  }

 private:
  T element(std::int64_t at) const { return elements_[at * step_]; }
  order_key_t<T> key_of(T value) const { return selection_key(value, p_.direction, p_.nan); }

  std::int64_t index(std::int64_t j) const {
    return p_.index == index_type::int32
               ? static_cast<const std::int32_t*>(buffers_.indices)[answer_ + j]
               : static_cast<const std::int64_t*>(buffers_.indices)[answer_ + j];
  }
  T value(std::int64_t j) const {
    return p_.has_values() ? static_cast<const T*>(buffers_.values)[answer_ + j]
                           : element(index(j));
  }

  // Misplaced NaNs are in the answer if they are better than numbers, else they may be left out.
  bool misplaces(bool all) const {
    const bool looks_at_answer = p_.nan == nan_order::last;
    const std::int64_t size = looks_at_answer ? count_ : extent_.length;
    for (std::int64_t j = 0; j < size; ++j) {
      const T one = looks_at_answer ? value(j) : element(j);
      if (is_nan(one) && (all || is_misplaced_nan(one, p_.direction, p_.nan))) return true;
    }
    return false;
  }

  // The key of the last element of the answer, and how many elements with it are taken.
  void find_last() {
    last_ = 0;
    tied_ = count_;
    for (int shift = 8 * static_cast<int>(sizeof(T)) - 8; shift >= 0; shift -= 8) {
      std::array<std::int64_t, 256> counts{};
      for (std::int64_t j = 0; j < extent_.length; ++j) {
        const order_key_t<T> key = key_of(element(j));
        // In two steps, since a shift by all bits of a word is undefined.
        if (static_cast<order_key_t<T>>(key ^ last_) >> shift >> 8 == 0) {
          ++counts[static_cast<std::size_t>(key >> shift & 0xff)];
        }
      }
      std::size_t bin = 0;
      while (counts[bin] < tied_) tied_ -= counts[bin++];
      last_ = static_cast<order_key_t<T>>(last_ | static_cast<order_key_t<T>>(bin) << shift);
    }
  }

  // Writes the elements that are better than the last, then the first that equal it.
  void take() {
    std::int64_t better = 0, tied = count_ - tied_;
    for (std::int64_t j = 0; j < extent_.length; ++j) {
      const order_key_t<T> key = key_of(element(j));
      if (key < last_) write(better++, j);
      if (key == last_ && tied < count_) write(tied++, j);
    }
  }

  void write(std::int64_t j, std::int64_t at) {
    if (p_.has_values()) static_cast<T*>(buffers_.values)[answer_ + j] = element(at);
    if (!p_.has_indices()) return;
    visit(p_.index, [&]<class Index>(Index) {
      static_cast<Index*>(buffers_.indices)[answer_ + j] = static_cast<Index>(at);
    });
  }

  const problem& p_;
  const io& buffers_;
  std::int64_t answer_;
  row_extent extent_;
  std::int64_t count_ = 0, step_ = 1;
  const T* elements_ = nullptr;
  order_key_t<T> last_ = 0;
  std::int64_t tied_ = 0;
};

// In answers in no order.
inline void place_nans(const problem& p, const io& buffers, int threads) {
  visit_number(p.type, [&]<class T>(T) {
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (std::int64_t r = 0; r < p.q; ++r) host_nan_row<T>(p, buffers, r).settle(false);
  });
}

}  // namespace kselect::ordered
