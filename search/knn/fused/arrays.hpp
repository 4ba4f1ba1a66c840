#pragma once
// Arrays in a backend's memory, and launches and selections whose failures are thrown.

#include <span>
#include <string>
#include <string_view>

#include "kselect/registry.hpp"
#include "kselect/simt/launch.hpp"
#include "runtime/backend/backend.hpp"
#include "runtime/error.hpp"
#include "search/search.hpp"

namespace kselect::search::fused {

// At least one element, so that the memory has an address.
template <class T>
device_buffer make(backend& place, std::int64_t count) {
  return {place, static_cast<std::size_t>(count < 1 ? 1 : count) * sizeof(T)};
}

template <class T>
simt::global<T> view(const device_buffer& memory) {
  return {reinterpret_cast<T*>(memory.data()),
          static_cast<std::int64_t>(memory.size() / sizeof(std::remove_const_t<T>))};
}

inline void require(const status& done) {
  if (done.ok()) return;
  throw error(done.code == status_code::out_of_memory ? failure::resources : failure::unsupported,
              done.message);
}

template <class Kernel>
void start(backend& place, std::int64_t blocks, const typename Kernel::args& args,
           int threads = Kernel::max_threads, std::size_t dynamic_bytes = 0) {
  require(simt::launch<Kernel>(place.executor(), {blocks, threads, dynamic_bytes}, args));
}

inline std::int64_t blocks_for(std::int64_t items, std::int64_t a_block) {
  return (items + a_block - 1) / a_block;
}

// A call of the first of the named entries that supports it.
struct chosen_plan {
  chosen_plan() = default;
  chosen_plan(const problem& p, std::span<const std::string_view> names, const device& place);
  const algorithm* entry = nullptr;  // null: none does
  call_plan plan;
  std::string reasons;  // why the entries before it, or all of them, do not
};

// A selection by the first of the named entries that supports it, with its workspace.
class chosen_selection {
 public:
  // For at most p.q rows. Throws error(failure::unsupported) if no entry supports it.
  chosen_selection(backend& place, const problem& p, std::span<const std::string_view> names);
  // Plans calls of so many rows, and allocates their workspace. A run does so where it must.
  void prepare(backend& place, std::int64_t rows);
  void run(backend& place, std::int64_t rows, const io& buffers);

 private:
  void reserve(backend& place);

  chosen_plan chosen_;  // of the last run's rows
  device_buffer workspace_;
};

}  // namespace kselect::search::fused
