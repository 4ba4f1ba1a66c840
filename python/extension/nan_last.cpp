#include "python/extension/nan_last.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <new>
#include <vector>

#include "kselect/ragged.hpp"

namespace kselect::python {
namespace {

// The rows of one call whose elements are T and whose indices are Index.
template <class T, class Index>
class answered_rows {
 public:
  answered_rows(const request& asked, const detail::call_buffers& buffers)
      : asked_(asked),
        p_(asked.problem),
        all_{buffers.rows, buffers.values, buffers.indices, buffers.lengths, buffers.starts} {
    const auto sign = p_.direction == direction::largest ? sign_bit<T> : order_key_t<T>{0};
    worst_ = static_cast<order_key_t<T>>((~sign_bit<T> & static_cast<order_key_t<T>>(-1)) | sign);
  }

  status correct(const place& where) {
    for (std::int64_t row = 0; row < p_.q; ++row) {
      const row_extent place_of = extent_of(p_, all_, row);
      const std::int64_t found = std::min(p_.k, place_of.length);
      const T* const elements = static_cast<const T*>(all_.input) + place_of.first;
      Index* const indices = static_cast<Index*>(all_.indices) + row * p_.k;
      if (std::none_of(indices, indices + found,
                       [&](Index at) { return is_misplaced(elements[at]); })) {
        continue;
      }
      status done = select_again(elements, place_of.length, indices, found, where);
      if (!done.ok()) return done;
      if (!p_.has_values()) continue;
      T* const values = static_cast<T*>(all_.values) + row * p_.k;
      std::transform(indices, indices + found, values, [&](Index at) { return elements[at]; });
    }
    return {};
  }

 private:
  bool is_misplaced(T element) const {
    const bool any = asked_.options.require.tie_break == tie_break::prefer_smaller_index;
    return is_nan(element) && (any || ((bits_of(element) ^ worst_) & sign_bit<T>) != 0);
  }

  status select_again(const T* elements, std::int64_t length, Index* indices, std::int64_t found,
                      const place& where) {
    copy_.resize(static_cast<std::size_t>(length));
    std::transform(elements, elements + length, copy_.begin(),
                   [&](T one) { return is_nan(one) ? std::bit_cast<T>(worst_) : one; });
    problem one;
    one.n = length;
    one.q = 1;
    one.k = found;
    one.type = p_.type;
    one.index = p_.index;
    one.direction = p_.direction;
    one.payload = payload::indices;
    return detail::select_allocating(one, {copy_.data(), nullptr, 0, indices, found}, where,
                                     asked_.options);
  }

  const request& asked_;
  const problem& p_;
  const io all_;
  order_key_t<T> worst_;  // the bits of the NaN that is after everything else
  std::vector<T> copy_;
};

}  // namespace

status put_nan_last(const request& asked, const detail::call_buffers& buffers, const place& where) {
  const problem& p = asked.problem;
  try {
    return visit_number(p.type, [&]<class T>(T) -> status {
      if constexpr (!dtype_traits<T>::has_nan) {
        return {};
      } else {
        return visit(p.index, [&]<class Index>(Index) {
          return answered_rows<T, Index>(asked, buffers).correct(where);
        });
      }
    });
  } catch (const std::bad_alloc&) {
    return {status_code::out_of_memory, "there is no memory for a copy of a row with NaN"};
  }
}

}  // namespace kselect::python
