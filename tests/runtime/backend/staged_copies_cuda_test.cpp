// Large copies to and from a GPU, which go through two pinned buffers.

#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/backend/backend.hpp"
#include "runtime/backend/cuda/staged_copies.hpp"

namespace kselect::runtime {
namespace {

class staged_copies_cuda : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
      GTEST_SKIP() << why;
    }
    place_ = open_backend(executor_kind::cuda, 3);  // parts of a buffer are not equal
  }

  std::unique_ptr<backend> place_;
};

// Every 4 bytes differ from those of any other place in a buffer, and of the same place in others.
std::vector<std::uint32_t> numbered(std::size_t bytes, std::uint32_t first) {
  std::vector<std::uint32_t> all(bytes / sizeof(std::uint32_t));
  for (std::uint32_t& one : all) one = first++;
  return all;
}

TEST_P(staged_copies_cuda, keep_every_byte) {
  const auto sent = numbered(GetParam(), 1);
  const device_buffer there(*place_, GetParam());
  place_->to_device(there.data(), std::as_bytes(std::span(sent)));
  std::vector<std::uint32_t> back(sent.size());
  place_->to_host(std::as_writable_bytes(std::span(back)), there.data());
  EXPECT_TRUE(back == sent);
  // A second copy finds the buffers full of the first.
  const auto again = numbered(GetParam(), 0x40000000);
  place_->to_device(there.data(), std::as_bytes(std::span(again)));
  place_->to_host(std::as_writable_bytes(std::span(back)), there.data());
  EXPECT_TRUE(back == again);
}

// Another thread copies beside the backend's own, by buffers and a stream of their own.
TEST_P(staged_copies_cuda, go_beside_those_of_another_thread) {
  const auto mine = numbered(GetParam(), 1), theirs = numbered(GetParam(), 0x40000000);
  const device_buffer here(*place_, GetParam()), beside(*place_, GetParam());
  std::vector<std::uint32_t> my_back(mine.size()), their_back(theirs.size());
  place_->to_device(here.data(), std::as_bytes(std::span(theirs)));  // uses the backend first
  {
    const std::jthread courier([&] {
      place_->serve_this_thread();
      place_->to_device_beside(beside.data(), std::as_bytes(std::span(theirs)));
      place_->to_host_beside(std::as_writable_bytes(std::span(their_back)), beside.data());
    });
    place_->to_device(here.data(), std::as_bytes(std::span(mine)));
    place_->to_host(std::as_writable_bytes(std::span(my_back)), here.data());
  }
  EXPECT_TRUE(my_back == mine);
  EXPECT_TRUE(their_back == theirs);
}

INSTANTIATE_TEST_SUITE_P(sizes, staged_copies_cuda,
                         testing::Values(staged_copies::worthwhile_bytes - 4,
                                         staged_copies::worthwhile_bytes,
                                         staged_copies::buffer_bytes,
                                         2 * staged_copies::buffer_bytes + 4,
                                         5 * staged_copies::buffer_bytes - 12));

}  // namespace
}  // namespace kselect::runtime
