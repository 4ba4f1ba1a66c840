#pragma once
// Backends for tests, which a derived class makes differ where its test needs it.

#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "runtime/backend/host_backend.hpp"

namespace kselect {

// Forwards to another backend.
class like_another : public runtime::backend {
 public:
  explicit like_another(std::unique_ptr<runtime::backend> other) : inner_(std::move(other)) {}

  const device& description() const override { return inner_->description(); }
  kselect::executor executor() const override { return inner_->executor(); }
  std::byte* allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  void release(std::byte* memory) noexcept override { inner_->release(memory); }
  void to_device(std::byte* to, std::span<const std::byte> from) override {
    inner_->to_device(to, from);
  }
  void to_host(std::span<std::byte> to, const std::byte* from) override {
    inner_->to_host(to, from);
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    inner_->copy(to, from, bytes);
  }
  status synchronise() override { return inner_->synchronise(); }
  runtime::timed_run time(const std::function<status()>& enqueue, bool gapless) override {
    return inner_->time(enqueue, gapless);
  }
  const char* clock_name() const override { return inner_->clock_name(); }
  void evict(std::span<const runtime::memory_range> working_set) override {
    inner_->evict(working_set);
  }
  runtime::memory_ceilings measure_ceilings() override { return inner_->measure_ceilings(); }

 private:
  std::unique_ptr<runtime::backend> inner_;
};

class on_fibers : public like_another {
 protected:
  explicit on_fibers(int threads)
      : like_another(runtime::open_host_backend(executor_kind::fiber, threads)) {}
};

}  // namespace kselect
