#pragma once
// A common interface of both verifiers, so that the device's passes every test of the host's.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include "harness/verify/certificate.hpp"
#include "harness/verify/device/certificate_on_device.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness::testing_answers {

struct judgement {
  std::int64_t rows_checked = 0;
  std::int64_t rows_wrong = 0;
  std::int64_t first_row = -1;
  std::optional<check> failed;
  std::string detail;
};

// Judges an answer in host memory.
using judge = std::function<judgement(const problem&, const contract&, const io&)>;

inline judgement by_the_host(const problem& what, const contract& promises, const io& answer) {
  const verdict found = verify(what, promises, answer, 1);
  if (found.first) {
    return {found.rows_checked, found.rows_wrong, found.first->row, found.first->failed,
            found.first->detail};
  }
  return {found.rows_checked, found.rows_wrong, -1, std::nullopt, {}};
}

// Judges by kernels of the place, on copies there. The rows begin `shift` elements after an aligned
// address.
inline judge by_kernels(backend& place, device_proof_shape shape = {}, std::int64_t shift = 0) {
  return [&place, shape, shift](const problem& what, const contract& promises, const io& answer) {
    const auto upload = [&place](const void* data, std::size_t bytes, std::size_t lead) {
      device_buffer copy(place, lead + bytes);
      place.to_device(copy.data() + lead, {static_cast<const std::byte*>(data), bytes});
      return copy;
    };
    const std::size_t lead = static_cast<std::size_t>(shift) * size_of(what.type);
    const device_buffer rows = upload(answer.input, what.input_bytes(), lead);
    const device_buffer values = upload(answer.values, what.values_bytes(), 0);
    const device_buffer indices = upload(answer.indices, what.indices_bytes(), 0);
    const auto found = verify_on_device(
        what, promises,
        {.input = rows.data() + lead, .values = values.data(), .indices = indices.data()}, place,
        shape);
    EXPECT_TRUE(found) << "left to the host: " << to_string(what);
    if (!found) return judgement{};
    return judgement{found->rows_checked, found->rows_wrong, found->first_row, found->failed, {}};
  };
}

}  // namespace kselect::harness::testing_answers
