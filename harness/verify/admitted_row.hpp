#pragma once
// A row without the elements that a mask leaves out, for the certificate.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/verify/certificate.hpp"
#include "kselect/call.hpp"
#include "kselect/problem.hpp"

namespace kselect::harness {

class admitted_row {
 public:
  // Copies the elements of row number `row` that problem::mask admits, in order.
  admitted_row(const problem& p, const io& buffers, std::int64_t row);

  std::int64_t size() const { return static_cast<std::int64_t>(places_.size()); }
  const std::byte* elements() const { return elements_.data(); }

  // The answer's first `count` indices, counted among the copied elements, into `positions`.
  // Returns what is wrong if one names none of them.
  std::optional<finding> positions_of(std::int64_t count,
                                      std::vector<std::int64_t>& positions) const;

 private:
  const problem& p_;
  const io& buffers_;
  std::int64_t row_;
  std::vector<std::int64_t> places_;  // in the row
  std::vector<std::byte> elements_;
};

}  // namespace kselect::harness
