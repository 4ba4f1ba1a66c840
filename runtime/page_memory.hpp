#pragma once
// Arrays in whole pages of memory of their own: for reads past the page cache, and for pinning
// (backend::pin), since pages are pinned whole, and none twice.

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>
#include <unistd.h>

namespace kselect::runtime {

struct free_pages {
  void operator()(void* pages) const noexcept { std::free(pages); }
};
template <class T>
using page_array = std::unique_ptr<T[], free_pages>;

// `count` numbers, unset. Throws std::bad_alloc.
template <class T>
page_array<T> make_pages(std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (count * sizeof(T) + page - 1) / page * page;
  void* const pages = std::aligned_alloc(page, bytes == 0 ? page : bytes);
  if (pages == nullptr) throw std::bad_alloc();
  return page_array<T>(static_cast<T*>(pages));
}

}  // namespace kselect::runtime
