#pragma once
// Memory of answers. That of an answer that is gone serves the searcher's next one. It is then
// pinned, and a GPU copies straight to where the caller reads: no thread moves bytes or pays for
// fresh pages.

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/raw_vector.hpp"
#include "search/metric/kept_blocks.hpp"

namespace kselect::search::metric_space {

// Answers keep this alive. An answer may end in any thread, also after the searcher and the place.
class answer_pages {
 public:
  explicit answer_pages(backend& place) : place_(&place) { free_.reserve(most); }

  // Unset memory; throws std::bad_alloc. Only a thread that may use the place calls it.
  std::byte* take(std::size_t bytes);
  void give(std::byte* memory) noexcept;
  // The searcher ends: no memory is kept for a next answer.
  void retire() noexcept;

 private:
  static constexpr std::size_t most = 4;  // that are kept
  backend* place_;                        // null once the searcher has ended
  std::mutex mutex_;
  std::vector<reused_pages> free_, lent_;
};

// As raw_allocator. Many numbers are in a searcher's pages, if it gave some.
template <class T>
struct answer_allocator : raw_allocator<T> {
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;
  template <class U>
  struct rebind {
    using other = answer_allocator<U>;
  };

  answer_allocator() = default;
  explicit answer_allocator(std::shared_ptr<answer_pages> from) : pages(std::move(from)) {}

  T* allocate(std::size_t count) {
    if (!in_pages(count)) return raw_allocator<T>::allocate(count);
    return reinterpret_cast<T*>(pages->take(count * sizeof(T)));
  }
  void deallocate(T* numbers, std::size_t count) noexcept {
    if (!in_pages(count)) return raw_allocator<T>::deallocate(numbers, count);
    pages->give(reinterpret_cast<std::byte*>(numbers));
  }
  // A copy of an answer has memory of its own.
  answer_allocator select_on_container_copy_construction() const { return {}; }
  bool operator==(const answer_allocator&) const = default;

  std::shared_ptr<answer_pages> pages;

 private:
  static constexpr std::size_t worthwhile = std::size_t{1} << 16;  // bytes
  bool in_pages(std::size_t count) const { return pages && count * sizeof(T) >= worthwhile; }
};

template <class T>
using answer_vector = std::vector<T, answer_allocator<T>>;

}  // namespace kselect::search::metric_space
