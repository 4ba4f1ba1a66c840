#pragma once
// A backend for tests that behaves like a GPU.

#include <functional>
#include <span>

#include "tests/on_fibers.hpp"

namespace kselect::harness {

// Fibers treated like a GPU: kernels poison, hash and prove. `arriving` may change data copied from
// there before the host sees it.
class fibers_in_place final : public on_fibers {
 public:
  fibers_in_place() : on_fibers(2) {}
  void to_host(std::span<std::byte> to, const std::byte* from) override {
    on_fibers::to_host(to, from);
    if (arriving) arriving(to);
  }
  memory_ceilings measure_ceilings() override { return {}; }
  bool proves_in_place() const override { return true; }

  std::function<void(std::span<std::byte>)> arriving;
};

}  // namespace kselect::harness
