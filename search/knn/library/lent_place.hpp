#pragma once
// A caller's place as a backend: its device and stream, and the memory that the caller lends.
//
// It counts, lends or owns. What counts hands out addresses that nobody may use, so that a search
// can be constructed to learn what it needs. What lends hands out parts of one block and takes none
// back. What owns allocates, for queries that are done again.

#include <span>
#include <vector>

#include "kselect/select.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::search {

class lent_place final : public runtime::backend {
 public:
  // Lends `memory`, which must hold needed() bytes of the same allocations. Counts if it is empty.
  lent_place(const place& where, std::span<std::byte> memory);
  ~lent_place() override;

  // Bytes for all allocations so far, with room to align them.
  std::size_t needed() const { return used_ + alignment; }
  // From now on allocations are the place's own, or lent again.
  void own(bool owns) { owns_ = owns; }

  const device& description() const override { return where_.device(); }
  kselect::executor executor() const override { return where_.executor(); }
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* memory) noexcept override;
  void to_device(std::byte* to, std::span<const std::byte> from) override;
  void to_host(std::span<std::byte> to, const std::byte* from) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  status synchronise() override;
  runtime::timed_run time(const std::function<status()>& enqueue, bool) override {
    return wall_time(enqueue);
  }
  const char* clock_name() const override { return "steady"; }
  // A caller's caches stay as they are, and nothing is measured.
  void evict(std::span<const runtime::memory_range>) override {}
  runtime::memory_ceilings measure_ceilings() override { return {}; }

 private:
  static constexpr std::size_t alignment = 256;

  void move_bytes(void* to, const void* from, std::size_t bytes);
  std::byte* lend(std::size_t bytes);

  place where_;
  std::span<std::byte> memory_;  // no data: it counts
  std::size_t used_ = 0;
  bool owns_ = false;
  std::vector<std::byte*> owned_;
};

}  // namespace kselect::search
