#pragma once
// A backend for tests that behaves like a GPU.

#include <functional>
#include <memory>
#include <span>

#include "runtime/backend/host_backend.hpp"

namespace kselect::harness {

// Fibers treated like a GPU: kernels poison, hash and prove. `arriving` may change data copied from
// there before the host sees it.
class fibers_in_place final : public backend {
 public:
  const device& description() const override { return inner_->description(); }
  kselect::executor executor() const override { return inner_->executor(); }
  std::byte* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(std::byte* memory) noexcept override { inner_->release(memory); }
  void to_device(std::byte* to, std::span<const std::byte> from) override {
    inner_->to_device(to, from);
  }
  void to_host(std::span<std::byte> to, const std::byte* from) override {
    inner_->to_host(to, from);
    if (arriving) arriving(to);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    inner_->copy(to, from, bytes);
  }
  status synchronise() override { return inner_->synchronise(); }
  timed_run time(const std::function<status()>& enqueue, bool gapless) override {
    return inner_->time(enqueue, gapless);
  }
  const char* clock_name() const override { return inner_->clock_name(); }
  void evict(std::span<const memory_range> working_set) override { inner_->evict(working_set); }
  memory_ceilings measure_ceilings() override { return {}; }
  bool proves_in_place() const override { return true; }

  std::function<void(std::span<std::byte>)> arriving;

 private:
  std::unique_ptr<backend> inner_ = open_host_backend(executor_kind::fiber, 2);
};

}  // namespace kselect::harness
