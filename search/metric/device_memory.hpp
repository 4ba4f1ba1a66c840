#pragma once
// Typed arrays in a backend's memory, and launches whose failures are thrown as errors.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kselect/simt/types.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"
#include "search/metric/metric.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

// Device memory that a search leaves for the next: to allocate and to release it takes longer than
// many a search. For one thread.
class kept_memory {
 public:
  explicit kept_memory(backend& place) : place_(&place) { kept_.reserve(most); }
  backend& place() const { return *place_; }

  // At least so many bytes. Throws failure::resources.
  device_buffer take(std::size_t bytes);
  void give(device_buffer buffer) noexcept {
    if (kept_.size() < most) kept_.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t most = 32;  // buffers
  backend* place_;
  std::vector<device_buffer> kept_;
};

// A buffer that goes back where it was taken from, if anywhere.
class lent_buffer {
 public:
  lent_buffer() = default;
  explicit lent_buffer(device_buffer own) : buffer_(std::move(own)) {}
  lent_buffer(kept_memory& home, std::size_t bytes) : buffer_(home.take(bytes)), home_(&home) {}
  lent_buffer(lent_buffer&& other) noexcept
      : buffer_(std::move(other.buffer_)), home_(std::exchange(other.home_, nullptr)) {}
  lent_buffer& operator=(lent_buffer&& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(home_, other.home_);
    return *this;
  }
  ~lent_buffer() {
    if (home_ != nullptr) home_->give(std::move(buffer_));
  }
  std::byte* data() const { return buffer_.data(); }

 private:
  device_buffer buffer_;
  kept_memory* home_ = nullptr;
};

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
  static std::size_t bytes_of(std::int64_t count) {
    return static_cast<std::size_t>(count < 1 ? 1 : count) * sizeof(T);
  }

  backend* place_ = nullptr;
  std::int64_t count_ = 0;
  lent_buffer memory_;
};

template <metric M>
struct uploaded {
  // `Place`: a backend, or memory that is kept.
  template <class Place>
  uploaded(Place& place, const typename M::set& set)
      : uploaded(place, set, M::image(set, threads_of(place))) {}

  device_array<std::byte> memory;
  typename M::view view;

 private:
  static int threads_of(const backend& place) { return place.description().threads; }
  static int threads_of(const kept_memory& from) { return threads_of(from.place()); }
  template <class Place>
  uploaded(Place& place, const typename M::set& set, const raw_vector<std::byte>& image)
      : memory(place, std::span(image)), view(M::attach(set, memory.view().data)) {}
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
