#pragma once
// Typed arrays in a backend's memory, and launches whose failures are thrown as errors.

#include <span>
#include <string>
#include <vector>

#include "kselect/simt/types.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"
#include "runtime/raw_vector.hpp"
#include "search/metric/kept_memory.hpp"
#include "search/metric/metric.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

template <class T>
class device_array {
 public:
  device_array() = default;
  device_array(backend& place, std::int64_t count)
      : place_(&place), count_(count), memory_(device_buffer(place, bytes_of(count))) {}
  device_array(kept_memory& from, std::int64_t count)
      : place_(&from.place()), count_(count), memory_(from, bytes_of(count)) {}
  // `Place`: a backend, or memory that is kept.
  template <class Place>
  device_array(Place& place, std::span<const T> values)
      : device_array(place, static_cast<std::int64_t>(values.size())) {
    place_->to_device(memory_.data(), std::as_bytes(values));
  }

  // The memory of other numbers of that size, which are not needed any more: the first `count`.
  template <class U>
  device_array(device_array<U>&& other, std::int64_t count) noexcept
      : place_(other.place_), count_(count), memory_(std::move(other.memory_)) {
    static_assert(sizeof(U) == sizeof(T));
  }

  simt::global<T> view() const { return {reinterpret_cast<T*>(memory_.data()), count_}; }
  std::vector<T> download(std::int64_t count) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    download(std::span<T>(values));
    return values;
  }
  void download(std::span<T> to) const {
    place_->to_host(std::as_writable_bytes(to), memory_.data());
  }
  std::vector<T> download() const { return download(count_); }
  void fill(T value) {
    const std::vector<T> values(static_cast<std::size_t>(count_), value);
    place_->to_device(memory_.data(), std::as_bytes(std::span(values)));
  }

 private:
  template <class U>
  friend class device_array;
  static std::size_t bytes_of(std::int64_t count) {
    return static_cast<std::size_t>(count < 1 ? 1 : count) * sizeof(T);
  }

  backend* place_ = nullptr;
  std::int64_t count_ = 0;
  lent_buffer memory_;
};

template <metric M>
struct uploaded {
  uploaded(backend& place, const typename M::set& set)
      : memory(place, bytes_of(set)), view(M::attach(set, memory.view().data)) {
    raw_vector<std::byte> image(M::image_bytes(set));
    copy(place, set, image);
  }
  uploaded(kept_memory& from, const typename M::set& set)
      : memory(from, bytes_of(set)), view(M::attach(set, memory.view().data)) {
    const std::size_t bytes = M::image_bytes(set);
    if (bytes <= kept_memory::most_staged) {
      copy(from.place(), set, from.staged(bytes));
    } else {
      raw_vector<std::byte> image(bytes);
      copy(from.place(), set, image);
    }
  }

  device_array<std::byte> memory;
  typename M::view view;

 private:
  static std::int64_t bytes_of(const typename M::set& set) {
    return static_cast<std::int64_t>(M::image_bytes(set));
  }
  void copy(backend& place, const typename M::set& set, std::span<std::byte> image) {
    M::write_image(set, image.data(), place.description().threads);
    place.to_device(memory.view().data, image);
  }
};

// Object numbers in the 32 bits that kernels use.
std::vector<std::uint32_t> narrowed(std::span<const std::int64_t> numbers);
inline device_array<std::uint32_t> numbers_on(backend& place,
                                              std::span<const std::int64_t> numbers) {
  return {place, std::span<const std::uint32_t>(narrowed(numbers))};
}

// Throws failure::resources, or failure::unsupported with the kernel's message.
void require_ok(const status& result);
// Throws failure::unsupported unless a block may have `bytes` of shared memory.
void require_shared(const device& where, std::size_t bytes, const std::string& what_to_do);

// Blocks that share `pieces` pieces of work: as many as are resident, at most one a piece.
std::int64_t resident_blocks(const device& where, int threads, std::int64_t pieces);

}  // namespace kselect::search::metric_space
