#include "src/objections.hpp"

#include <algorithm>

namespace kselect {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

std::string objection_to_map(const problem& p) {
  if (p.map == row_numbers::int64 && p.index == index_type::int32) {
    return "the map has numbers of 64 bits, and the indices have 32";
  }
  return {};
}

std::string objection_to_ragged(const problem& p) {
  if (p.k < 0) return "k = " + number(p.k) + ", but must be at least 0";
  if (p.pitch < 0) return "pitch = " + number(p.pitch) + ", but must be 0 or more";
  if (p.elements < 0) return "elements = " + number(p.elements) + ", but must be 0 or more";
  const std::int64_t last = std::max(p.n, p.effective_pitch());
  if (p.index == index_type::int32 && p.has_indices() &&
      p.fill != static_cast<std::int32_t>(p.fill)) {
    return "fill = " + number(p.fill) + " does not fit indices of 32 bits";
  }
  if (!p.segments && p.elements == 0 && last > p.effective_pitch() && p.q > 1) {
    return "pitch = " + number(p.pitch) + " is less than n = " + number(p.n) +
           ", so say how many elements the input has";
  }
  return {};
}

std::string objection_to_mask(const problem& p) {
  if (p.mask == mask_bits::elements && p.segments) {
    return "segments take one mask for all elements of the input";
  }
  if (p.mask == mask_bits::elements && 32 * p.mask_pitch < p.n) {
    return "mask.pitch = " + number(p.mask_pitch) + " words, but rows of n = " + number(p.n) +
           " need at least " + number((p.n + 31) / 32);
  }
  return {};
}

}  // namespace

std::string objection(const problem& p) {
  const std::int64_t shortest = p.layout == layout::row_major ? p.n : p.q;
  if (p.q < 1 || p.n < 1) {
    return "the matrix is empty: Q = " + number(p.q) + ", n = " + number(p.n);
  }
  if (std::string wrong = objection_to_map(p); !wrong.empty()) return wrong;
  if (std::string wrong = objection_to_mask(p); !wrong.empty()) return wrong;
  if (p.ragged()) return objection_to_ragged(p);
  if (p.k < 0 || p.k > p.n) {
    return "k = " + number(p.k) + ", but must be 0 to n = " + number(p.n);
  }
  if (p.pitch != 0 && p.pitch < shortest) {
    return "pitch = " + number(p.pitch) + ", but must be 0 or at least " + number(shortest);
  }
  return {};
}

std::string objection(const problem& p, const detail::call_buffers& buffers) {
  const auto too_few = [&](const char* name, std::int64_t elements) {
    return std::string(name) + " has " + number(elements) +
           " elements, but Q * k = " + number(p.q * p.k) + " are written";
  };
  if (buffers.rows == nullptr && p.input_elements() > 0) return "rows.data is null";
  if (p.lengths != row_numbers::none && buffers.lengths == nullptr) return "rows.lengths is null";
  if (p.starts != row_numbers::none && buffers.starts == nullptr) {
    return p.segments ? "rows.offsets is null" : "rows.starts is null";
  }
  if (p.k_each != row_numbers::none && buffers.k_each == nullptr) return "rows.k_each is null";
  if (p.map != row_numbers::none && buffers.map == nullptr) return "rows.map is null";
  if (p.mask != mask_bits::none && buffers.mask == nullptr) return "rows.mask is null";
  if (p.has_values() && buffers.value_count < p.q * p.k) {
    return too_few("values", buffers.value_count);
  }
  if (p.has_indices() && buffers.index_count < p.q * p.k) {
    return too_few("indices", buffers.index_count);
  }
  return {};
}

}  // namespace kselect
