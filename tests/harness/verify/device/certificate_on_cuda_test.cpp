// The device's certificate on a GPU: every kind of error, agreement with the host on large shapes,
// and hash and fill at sizes that use the whole GPU.

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../mutations.hpp"
#include "../solved.hpp"
#include "harness/verify/device/certificate_on_device.hpp"
#include "harness/verify/device/words.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {
namespace {

using namespace testing_answers;

class CertificateOnCuda : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
    place_ = open_backend(executor_kind::cuda);
  }

  std::unique_ptr<backend> place_;
};

TEST_F(CertificateOnCuda, EveryMutationIsCaughtByTheCheckMeantForIt) {
  for (const device_proof_shape cut :
       {device_proof_shape{}, device_proof_shape{.scratch_bytes = 7 * 256, .stretch = 7}}) {
    expect_mutations_caught<float, std::int32_t>(by_kernels(*place_, cut));
    expect_mutations_caught<float, std::int64_t>(by_kernels(*place_, cut, 1));
    expect_mutations_caught<double, std::int32_t>(by_kernels(*place_, cut, 1));
    expect_mutations_caught<double, std::int64_t>(by_kernels(*place_, cut));
    expect_mutations_caught<float16, std::int32_t>(by_kernels(*place_, cut, 1));
    expect_mutations_caught<bfloat16, std::int64_t>(by_kernels(*place_, cut));
  }
}

// A problem and its answer, on the host and on the GPU. Only spoilt elements are copied.
class uploaded {
 public:
  uploaded(backend& place, sample& it) : place_(place), it_(it) {
    rows_ = upload(it.input);
    values_ = upload(it.values);
    indices_ = upload(it.indices);
  }

  // Compares both verdicts on the answer with output j of the row replaced, then restores it.
  void expect_agreement(std::int64_t row, std::int64_t j, float value, std::int64_t index) {
    const auto at = static_cast<std::size_t>(row * it_.what.k + j);
    const float value_before = std::exchange(it_.values[at], value);
    const std::int64_t index_before = std::exchange(it_.indices[at], index);
    update(at);
    expect_agreement();
    it_.values[at] = value_before;
    it_.indices[at] = index_before;
    update(at);
  }

  void expect_agreement() {
    const verdict on_host =
        verify(it_.what, it_.promises, it_.buffers(), place_.description().threads);
    const auto here = verify_on_device(
        it_.what, it_.promises,
        {.input = rows_.data(), .values = values_.data(), .indices = indices_.data()}, place_);
    ASSERT_TRUE(here.has_value());
    EXPECT_EQ(here->rows_checked, on_host.rows_checked);
    EXPECT_EQ(here->rows_wrong, on_host.rows_wrong);
    EXPECT_EQ(here->first_row, on_host.first ? on_host.first->row : -1);
    EXPECT_EQ(here->failed.has_value(), on_host.first.has_value());
    if (here->failed && on_host.first) {
      EXPECT_EQ(to_string(*here->failed), to_string(on_host.first->failed));
    }
  }

 private:
  template <class T>
  device_buffer upload(const std::vector<T>& data) {
    const auto bytes = std::as_bytes(std::span(data));
    device_buffer copy(place_, bytes.size());
    place_.to_device(copy.data(), bytes);
    return copy;
  }
  void update(std::size_t at) {
    place_.to_device(values_.data() + at * sizeof(float),
                     std::as_bytes(std::span(it_.values).subspan(at, 1)));
    place_.to_device(indices_.data() + at * sizeof(std::int64_t),
                     std::as_bytes(std::span(it_.indices).subspan(at, 1)));
  }

  backend& place_;
  sample& it_;
  device_buffer rows_, values_, indices_;
};

TEST_F(CertificateOnCuda, AgreesWithTheHostOnLargeShapes) {
  std::mt19937_64 random(3);
  for (const shape& of : {shape{"one row", 1 << 23, 1, 2048, layout::row_major, 0},
                          shape{"rows", 1 << 16, 64, 2048, layout::row_major, (1 << 16) + 3},
                          shape{"short rows", 256, 1 << 15, 256, layout::row_major, 0},
                          shape{"columns", 1 << 12, 1 << 10, 100, layout::column_major, 0}}) {
    sample it = solved(of, payload::values_and_indices);
    SCOPED_TRACE(to_string(it.what));
    uploaded there(*place_, it);
    there.expect_agreement();
    const auto below = [&](std::int64_t limit) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
    };
    for (int i = 0; i < 8; ++i) {
      const std::int64_t row = below(of.q), j = below(of.k), column = below(of.n);
      there.expect_agreement(row, j, it.element(row, column), column);
      const auto other = static_cast<std::size_t>(row * of.k + (j + 1) % of.k);
      there.expect_agreement(row, j, it.values[other], it.indices[other]);
      there.expect_agreement(row, j, -1.0F, column);
      there.expect_agreement(row, j, it.values[other], i % 2 == 0 ? of.n : -1);
    }
  }
}

TEST_F(CertificateOnCuda, HashAndFillReachEveryWord) {
  for (const std::size_t count : {1, 255, 100'003, 1 << 24}) {
    std::vector<std::uint32_t> words(count);
    for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::uint32_t>(i * i);
    const auto bytes = std::as_writable_bytes(std::span(words));
    const device_buffer copy(*place_, bytes.size() + 8);
    std::byte* const at = copy.data() + 4;  // only aligned to a word
    place_->to_device(at, bytes);
    EXPECT_EQ(hash_words(*place_, at, bytes.size()), hash_words(bytes, 2)) << count;
    words[count / 2] ^= 1U << 31;
    place_->to_device(at + count / 2 * 4, bytes.subspan(count / 2 * 4, 4));
    EXPECT_EQ(hash_words(*place_, at, bytes.size()), hash_words(bytes, 2)) << count;

    const std::uint32_t guard = 77;
    place_->to_device(at - 4, std::as_bytes(std::span(&guard, 1)));
    place_->to_device(at + bytes.size(), std::as_bytes(std::span(&guard, 1)));
    fill_words(*place_, at, bytes.size(), 5);
    place_->to_host(bytes, at);
    EXPECT_EQ(std::ranges::count(words, 5U), static_cast<std::ptrdiff_t>(count));
    for (const std::byte* const side : {at - 4, at + bytes.size()}) {
      std::uint32_t found = 0;
      place_->to_host(std::as_writable_bytes(std::span(&found, 1)), side);
      EXPECT_EQ(found, guard) << "the fill went too far";
    }
  }
}

}  // namespace
}  // namespace kselect::harness
