// Selection under a mask on the host: each thread gathers a row and selects from it while its
// caches hold it (admitted.hpp).

#include <algorithm>
#include <bit>

#include <omp.h>

#include "algorithms/auto_select/admitted.hpp"
#include "kselect/ragged.hpp"

namespace kselect::admitted {
namespace {

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
  const std::int64_t first = first_name_of(p, buffers, row);
  for (std::int64_t i = 0; i < count; ++i) {
    indices[i] = static_cast<Index>(row_number(p.map, buffers.map, first + indices[i]));
  }
}

void gather(const problem& p, const problem& member, const io& buffers, std::int64_t row,
            const gathered_memory& to) {
  const auto gather_as = [&]<class T, class Index>(T* values, Index* indices) {
    const std::int64_t count = gather_row(p, buffers, row, values, indices);
    if (p.map != row_numbers::none && indices != nullptr) {
      name_elements(p, buffers, row, indices, count);
    }
    *to.lengths = static_cast<std::int32_t>(count);
  };
  visit_words(p.type, [&]<class T>(T) {
    auto* const values = reinterpret_cast<T*>(to.values);
    if (member.map == row_numbers::int64) {
      gather_as(values, reinterpret_cast<std::int64_t*>(to.indices));
    } else {
      gather_as(values, reinterpret_cast<std::int32_t*>(to.indices));
    }
  });
}

// The decisions of a call.
struct masked_call {
  composed_plan member;       // of one row, by one thread
  std::int64_t threads;       // each has a part of the workspace
  std::size_t of_one_thread;  // bytes
};

status start(const masked_call& c, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor& on) {
  const problem& member = c.member.problem();
  const std::int64_t together = std::max<std::int64_t>(1, (1 << 15) / p.n);  // rows
  status outcome;
#pragma omp parallel for num_threads(static_cast <int>(c.threads)) \
    schedule(dynamic, together) if (c.threads > 1)
  for (std::int64_t row = 0; row < p.q; ++row) {
    const auto own = memory.subspan(
        static_cast<std::size_t>(omp_get_thread_num()) * c.of_one_thread, c.of_one_thread);
    simt::carver pieces(own.data());
    const gathered_memory gathered = carve(member, pieces);
    gather(p, member, buffers, row, gathered);
    const status done = c.member.enqueue(members_buffers(p, member, buffers, row, gathered),
                                         own.subspan(pieces.used()), on);
#pragma omp critical(kselect_masked_outcome)
    if (!done.ok()) outcome = done;
  }
  return outcome;
}

}  // namespace

call_plan plan_on_host(const composed_plan& member, const problem& p, const device& where) {
  simt::carver sizes(nullptr);
  static_cast<void>(carve(member.problem(), sizes));
  sizes.take<std::byte>(static_cast<std::int64_t>(member.workspace()));
  const bool little = p.n * p.q < std::int64_t{1} << 15;  // to start threads for
  const std::int64_t threads = little ? 1 : std::min<std::int64_t>(where.threads, p.q);
  return call_plan::of<&start>(p, static_cast<std::size_t>(threads) * sizes.used(),
                               masked_call{member, threads, sizes.used()});
}

}  // namespace kselect::admitted
