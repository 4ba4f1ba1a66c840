#pragma once
// The rows that trials read, their hash, and changes to them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/harness.hpp"
#include "harness/workload/workload.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/backend/host_memory.hpp"

namespace kselect::harness {

// The arrays that say where the rows of a problem lie, how many elements each wants, what their
// names are, and which may be selected (problem.hpp), in host memory. Those that it does not have
// are empty.
struct row_places {
  std::span<const std::byte> lengths, starts, k_each = {}, map = {}, mask = {};
};

// The rows of a problem, on the host and in the backend's memory. Many trials share them.
class input_rows {
 public:
  // `host` holds problem.input_bytes() bytes and must outlive this object.
  input_rows(backend& place, std::span<const std::byte> host);
  // Rows that already lie at `device` in the backend's memory. `host` is a copy, to prove answers
  // against.
  static input_rows at(backend& place, std::span<const std::byte> host, const std::byte* device);
  // Rows made at `device`, for a backend that proves in place. The first host() copies them.
  static input_rows made_at(backend& place, const std::byte* device, std::size_t bytes);

  // Copies the arrays.
  void give_numbers(const row_places& arrays);
  // The lengths and the mask that a workload draws, if it has them.
  void give_places(const workload& p);
  struct numbers {
    std::vector<std::byte> host;
    device_buffer device;
  };
  const numbers& lengths() const { return lengths_; }
  const numbers& starts() const { return starts_; }
  const numbers& k_each() const { return k_each_; }
  const numbers& map() const { return map_; }
  const numbers& mask() const { return mask_; }

  std::size_t bytes() const { return bytes_; }
  // The rows in host memory. Throws error(failure::resources) if a copy does not fit,
  // error(failure::unsupported) if the copy differs from the rows that were made.
  std::span<const std::byte> host() const;
  const std::byte* device() const { return device_; }
  // Copies rows that were made at the backend to the host, even if a copy exists. The time is by
  // the backend's clock.
  timed_run time_to_host() const;
  // Whether the bytes at the backend are still the ones given, apart from what write() changed.
  bool unchanged() const;

  // Changes an element, at byte `at`, at the backend and in the host's copy. Only of rows in memory
  // that may be written. restore() undoes all.
  void write(std::size_t at, std::span<const std::byte> element);
  void restore();

 private:
  input_rows(backend& place, std::span<const std::byte> host, const std::byte* device);
  input_rows(backend& place, const std::byte* device, std::size_t bytes);
  std::uint64_t hash_of(std::span<const std::byte> host) const;

  struct change {
    std::size_t at, bytes;
    std::array<std::byte, 8> before, after;
  };
  void put(std::size_t at, std::span<const std::byte> bytes) const;
  void undo() const;
  void redo() const;
  bool shows_changes() const;

  backend* place_;
  std::size_t bytes_;
  mutable host_buffer host_copy_;            // of rows that were made at the backend
  mutable std::span<const std::byte> host_;  // empty until that copy exists
  device_buffer copy_;                       // empty if the backend reads host memory
  const std::byte* device_;
  std::uint64_t hash_;
  std::vector<change> changes_;
  numbers lengths_, starts_, k_each_, map_, mask_;  // empty if the problem has none
};

}  // namespace kselect::harness
