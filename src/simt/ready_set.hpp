#pragma once
// Chooses the lane that runs next. A lane that steps back (before an atomic) runs again only when
// no other lane is ready. So a lane that spins on an atomic cannot starve the lane it waits for.

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "kselect/simt/fiber.hpp"

namespace kselect::simt::detail {

// A set of threads of one block: a bit per thread, and a bit per non-empty warp.
class thread_set {
 public:
  void insert(int warp, std::uint32_t lanes) {
    lanes_[static_cast<std::size_t>(warp)] |= lanes;
    warps_ |= 1U << warp;
  }
  void erase(int warp, int lane) {
    std::uint32_t& lanes = lanes_[static_cast<std::size_t>(warp)];
    lanes &= ~(1U << lane);
    if (lanes == 0) warps_ &= ~(1U << warp);
  }
  void clear() { *this = {}; }
  bool empty() const { return warps_ == 0; }
  std::uint32_t warps() const { return warps_; }
  std::uint32_t lanes(int warp) const { return lanes_[static_cast<std::size_t>(warp)]; }

 private:
  std::array<std::uint32_t, thread_limit / warp_size> lanes_{};
  std::uint32_t warps_ = 0;
};

// SplitMix64. Its state is a counter, so each (seed, block) has its own stream.
class random_bits {
 public:
  explicit random_bits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

class ready_set {
 public:
  // Empties the set. The random order depends on seed and block, not on the host thread.
  void restart(schedule order, std::uint64_t seed, std::int64_t block) {
    order_ = order;
    random_ = random_bits(random_bits(seed).next() + static_cast<std::uint64_t>(block));
    ready_.clear();
    stepped_back_.clear();
  }
  void add(int warp, std::uint32_t lanes) { ready_.insert(warp, lanes); }
  void step_back(int thread) { stepped_back_.insert(thread / warp_size, 1U << thread % warp_size); }
  // Removes and returns the thread that runs next; -1 if no thread can run.
  int next() {
    if (ready_.empty()) std::swap(ready_, stepped_back_);
    if (ready_.empty()) return -1;
    const int warp = pick(ready_.warps());
    const int lane = pick(ready_.lanes(warp));
    ready_.erase(warp, lane);
    return warp * warp_size + lane;
  }

 private:
  int pick(std::uint32_t from) {
    if (order_ == schedule::in_order) return std::countr_zero(from);
    if (order_ == schedule::reversed) return 31 - std::countl_zero(from);
    const auto choices = static_cast<std::uint64_t>(std::popcount(from));
    for (std::uint64_t skip = random_.next() % choices; skip > 0; --skip) from &= from - 1;
    return std::countr_zero(from) % 32;  // always below 32; % silences a warning of GCC 13
  }

  schedule order_ = schedule::in_order;
  random_bits random_{0};
  thread_set ready_;
  thread_set stepped_back_;
};

}  // namespace kselect::simt::detail
