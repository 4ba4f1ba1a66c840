// The plan of a selection under a mask, and how the host gathers (admitted.hpp).

#include "algorithms/auto_select/admitted.hpp"

#include <bit>
#include <limits>
#include <span>
#include <type_traits>

#include <omp.h>

#include "kselect/ragged.hpp"

namespace kselect::admitted {
namespace {

bool on_host(const device& where) { return where.kind == executor_kind::cpu; }

// Scratch memory that pays: on a GPU some hundred MB, which fill it for longer than launches take;
// on the host what a thread's part of the caches holds.
std::int64_t bytes_at_once(const device& where) {
  if (on_host(where)) return std::int64_t{where.threads} << 20;
  return std::int64_t{where.multiprocessors} * where.resident_threads * 1024;
}

// Rows that are gathered at a time, in parts of equal size. Each thread of a host has one, at
// least: members give it a row.
std::int64_t rows_at_once(const problem& member, const device& where) {
  const auto element = static_cast<std::int64_t>(size_of(member.type) + size_of(member.map));
  const std::int64_t row = member.pitch * element + std::int64_t{sizeof(std::int32_t)};
  const std::int64_t least = on_host(where) ? where.threads : 1;
  const std::int64_t most = std::min(std::max(bytes_at_once(where) / row, least), member.q);
  const std::int64_t parts = (member.q + most - 1) / most;
  return (member.q + parts - 1) / parts;
}

// One row's elements, gathered in order. `indices`: null if none are wanted.
template <class T, class Index>
struct row_gatherer {
  const T* elements;
  T* values;
  Index* indices;
  std::int64_t count = 0;  // gathered so far

  // The elements from number `j` on whose bits are set, of `of` bits. From a word with many bits
  // each element is written, and the next one over it if it was not meant: no branch is
  // mispredicted.
  void take(std::int64_t j, std::uint32_t bits, std::int64_t of) {
    constexpr int many = 8;
    if (std::popcount(bits) > many) {
      for (std::int64_t i = 0; i < of; ++i) {
        put(j + i);
        count += bits >> i & 1U;
      }
    } else {
      for (; bits != 0; bits &= bits - 1) {
        put(j + std::countr_zero(bits));
        ++count;
      }
    }
  }

 private:
  void put(std::int64_t j) {
    values[count] = elements[j];
    if (indices != nullptr) indices[count] = static_cast<Index>(j);
  }
};

// Gathers one row; returns how many elements the mask admits.
template <class T, class Index>
std::int64_t gather_row(const problem& p, const io& buffers, std::int64_t row, T* values,
                        Index* indices) {
  const row_extent e = extent_of(p, buffers, row);
  const mask_range mask = mask_of(p, buffers, row);
  row_gatherer<T, Index> to{static_cast<const T*>(buffers.input) + e.first, values, indices};
  for (std::int64_t j = 0; j < e.length;) {
    const std::int64_t bit = mask.first + j;
    const std::int64_t left = std::min(32 - bit % 32, e.length - j);
    std::uint32_t bits = mask.words[bit / 32] >> (bit % 32);
    if (left < 32) bits &= (std::uint32_t{1} << left) - 1;
    to.take(j, bits, left);
    j += left;
  }
  return to.count;
}

// Names the gathered elements of a row by the caller's map.
template <class Index>
void name_elements(const problem& p, const io& buffers, std::int64_t row, Index* indices,
                   std::int64_t count) {
  const std::int64_t place = p.segments || p.map_of_input ? 0 : p.offset(row, 0);
  const std::int64_t first = extent_of(p, buffers, row).first - place;
  for (std::int64_t i = 0; i < count; ++i) {
    indices[i] = static_cast<Index>(row_number(p.map, buffers.map, first + indices[i]));
  }
}

// The buffers of the member's call for the rows from `first` on.
io members_buffers(const problem& p, const problem& member, const io& buffers, std::int64_t first,
                   const gathered_memory& from) {
  const auto behind = [&](auto* array, std::int64_t count, std::size_t size) {
    using byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(array)>>,
                                    const std::byte, std::byte>;
    return array == nullptr ? nullptr
                            : static_cast<byte*>(array) + static_cast<std::size_t>(count) * size;
  };
  return {.input = from.values,
          .values = behind(buffers.values, first * p.k, size_of(p.type)),
          .indices = behind(buffers.indices, first * p.k, size_of(p.index)),
          .lengths = from.lengths,
          .k_each = behind(buffers.k_each, first, size_of(p.k_each)),
          .map = member.map == row_numbers::none ? nullptr : from.indices};
}

// The decisions of a call.
struct masked_call {
  composed_plan member;  // of so many rows
  gathering how;
  decltype(&gather_on_host) gather;
};

status start(const masked_call& c, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor& on) {
  const problem& member = c.member.problem();
  simt::carver pieces(memory.data());
  const gathered_memory rows = carve(member, pieces);
  const auto rest = memory.subspan(pieces.used());
  // The last rows may be some that were selected from before: the member takes only so many.
  for (std::int64_t next = 0; next < p.q; next += member.q) {
    const std::int64_t first = std::min(next, p.q - member.q);
    status done = c.gather(c.how, p, member, buffers, first, rows, on);
    if (done.ok()) {
      done = c.member.enqueue(members_buffers(p, member, buffers, first, rows), rest, on);
    }
    if (!done.ok()) return done;
  }
  return {};
}

}  // namespace

problem gathered(const problem& p, const device& where) {
  problem m = p;
  m.mask = mask_bits::none;
  m.mask_pitch = 0;
  m.lengths = row_numbers::int32;
  m.starts = row_numbers::none;
  m.segments = false;
  m.elements = 0;
  m.pitch = (p.n + 31) / 32 * 32;  // rows begin at whole lines
  if (p.has_indices()) {
    // A map of the caller's already names the gathered elements.
    m.map = p.map != row_numbers::none ? p.map : row_numbers::int32;
    m.map_of_input = true;
  }
  m.q = rows_at_once(m, where);
  return m;
}

status gather_on_host(const gathering& how, const problem& p, const problem& member,
                      const io& buffers, std::int64_t first, const gathered_memory& to,
                      const executor&) {
  const auto gather = [&]<class T, class Index>(T*, Index*, std::int64_t r) {
    const std::int64_t at = r * member.pitch;
    auto* const indices =
        to.indices == nullptr ? nullptr : reinterpret_cast<Index*>(to.indices) + at;
    const std::int64_t count =
        gather_row(p, buffers, first + r, reinterpret_cast<T*>(to.values) + at, indices);
    if (p.map != row_numbers::none && indices != nullptr) {
      name_elements(p, buffers, first + r, indices, count);
    }
    to.lengths[r] = static_cast<std::int32_t>(count);
  };
  visit_words(p.type, [&]<class T>(T) {
#pragma omp parallel for num_threads(how.threads) schedule(dynamic) if (how.threads > 1)
    for (std::int64_t r = 0; r < member.q; ++r) {
      if (member.map == row_numbers::int64) {
        gather(static_cast<T*>(nullptr), static_cast<std::int64_t*>(nullptr), r);
      } else {
        gather(static_cast<T*>(nullptr), static_cast<std::int32_t*>(nullptr), r);
      }
    }
  });
  return {};
}

call_plan plan(const call_plan& member, const problem& p, const device& where) {
  if (p.n > std::numeric_limits<std::int32_t>::max()) {
    return call_plan::refused("n > 2147483647: a mask's elements are counted in 32 bits");
  }
  const composed_plan first(member);
  if (!first) return call_plan::refused(first.reason());
  masked_call c{first, {1, where.threads}, &gather_on_host};
  if (!on_host(where)) {
    c.how = gathering_of(first.problem(), where);
    c.gather = &gather_on_device;
  }
  simt::carver sizes(nullptr);
  static_cast<void>(carve(first.problem(), sizes));
  return call_plan::of<&start>(p, sizes.used() + first.workspace(), c);
}

}  // namespace kselect::admitted
