#pragma once
// Buffered multi-select, several blocks a row: the arguments of a launch and the layout of memory.

#include "algorithms/buffered_multi_select/steps/team.cuh"
#include "kernels/gpu_rows.cuh"

namespace kselect::bms {

template <class T, bool indexed>
struct grid_memory {
  using candidate = typename candidate_of<T, indexed>::type;
  simt::global<simt::message> minima;   // [rows][parts][messages]
  simt::global<simt::message> entries;  // [rows][parts][slots][entry_words]: survivors of the part
  simt::global<candidate> overflow;  // [rows][parts][capacity]: survivors of a part with too many
};

// A block's dynamic shared memory: first the team's, then what the block knows of each part, then
// the list of an answer that is put in order.
template <class T, bool indexed, class Told>
struct grid_shared {
  using candidate = typename candidate_of<T, indexed>::type;

  // `listed`: room of the list.
  static std::size_t bytes(const plan& shape, position parts, position listed = 0) {
    if (listed == 0) return team_memory<T, indexed>::bytes(shape) + parts * sizeof(Told);
    return list_at(shape, parts) + listed * sizeof(candidate);
  }
  KSELECT_HD static Told* told(void* start, const plan& shape) {
    return reinterpret_cast<Told*>(static_cast<unsigned char*>(start) +
                                   team_memory<T, indexed>::bytes(shape));
  }
  KSELECT_HD static candidate* answer_list(void* start, const plan& shape, position parts) {
    return reinterpret_cast<candidate*>(static_cast<unsigned char*>(start) + list_at(shape, parts));
  }

 private:
  KSELECT_HD static std::size_t list_at(const plan& shape, position parts) {
    constexpr std::size_t align = alignof(candidate);
    return (team_memory<T, indexed>::bytes(shape) + parts * sizeof(Told) + align - 1) / align *
           align;
  }
};

// What a block knows of a crowded part, one with more survivors than slots. The part leaves those
// without a slot in grid_memory::overflow: their number, and the least key among them. Size 0: the
// part is not crowded.
template <class T>
struct crowded_part {
  key_of<T> least;
  position size;
};
// A part's report where each has its own threshold: a key that no element of it is below, and a key
// below which its posted survivors are all of its elements.
template <class T>
struct told_part {
  key_of<T> least, complete;
};

template <class T, bool indexed>
struct grid_args {
  using shared = grid_shared<T, indexed, crowded_part<T>>;
  rows_view<T> matrix;
  answer_view<T> out;
  grid_memory<T, indexed> memory;
  simt::global<std::uint64_t> tags;  // [rows]: tags of the call before
  plan shape;                        // of a row's parts
  plan alone;                        // of a block that reads the whole row; differs in the tiles
  std::uint64_t call;                // of this call alone
  position parts;                    // blocks a row
  position lanes;     // threads whose groups are joined for a posted minimum: a power of two
  position messages;  // that hold a part's minima
  position slots;     // for a part's survivors: nearly always enough
  position patience;  // how often a block looks for a missing minimum
  bool in_order;      // the last block puts the row's answer in order
};

// The same where each part has its own threshold (grid/own.cuh).
template <class T, bool indexed>
struct own_args {
  using shared = grid_shared<T, indexed, told_part<T>>;
  rows_view<T> matrix;
  answer_view<T> out;
  simt::global<simt::message> heads;    // [rows][parts][entry_words]: the parts' reports
  simt::global<simt::message> entries;  // [rows][parts][slots][entry_words]: its survivors
  simt::global<std::uint64_t> tags;     // [rows]: tags of the call before
  plan shape;                           // of a row's parts; `rank` is among the part's own minima
  std::uint64_t call;                   // of this call alone
  position parts;                       // blocks a row: no more than a block has threads
  position slots;                       // for a part's survivors
  position enough;                      // survivors to post, if there are more than slots
  bool in_order;                        // as above
};

// Messages for a survivor.
template <class T>
inline constexpr int entry_words = sizeof(key_of<T>) / 4;

// Minima in a message; they are of neighbouring groups of the same threads.
template <class T>
KSELECT_HD constexpr position minima_each(const plan& p) {
  constexpr position most = sizeof(std::uint64_t) / sizeof(key_of<T>);
  return p.groups < most ? p.groups : most;
}

inline constexpr int most_grid_threads = 512;  // of a block

// A block's place among those of its launch.
struct row_part {
  position row;
  position number;  // of the parts of the row
  KSELECT_HD static row_part of(position block, std::int64_t rows, position parts) {
    const position row = rows == 1 ? 0 : block / parts;  // division is slow
    return {row, block - row * parts};
  }
  KSELECT_HD bool is_last(position parts) const { return number + 1 == parts; }
};

template <class Team, class Args>
KSELECT_HD simt::global<simt::message> heads_of_row(Team& team, const Args& a, std::int64_t row) {
  const std::int64_t all = std::int64_t{a.parts} * entry_words<typename Team::stored>;
  return team.simt.slice(a.heads, row * all, all);
}
template <class Team, class Args>
KSELECT_HD simt::global<simt::message> entries_of_row(Team& team, const Args& a, std::int64_t row) {
  const std::int64_t all = std::int64_t{a.parts} * a.slots * entry_words<typename Team::stored>;
  return team.simt.slice(a.entries, row * all, all);
}

// The tag of a row's messages in this call, from the call's number and the row's tag before. The
// first call takes whatever the memory holds as the tag before. So the tag is new even where a CUDA
// graph repeats a call, and no memory need be cleared.
KSELECT_HD inline std::uint64_t tag_after(std::uint64_t before, std::uint64_t call) {
  return call + before * 0x9e3779b97f4a7c15;  // linear congruential: for most calls a long period
}
// By the row's last block, when all blocks have posted and so have read the tag before.
template <class Team, class Args>
KSELECT_HD void keep_tag(Team& team, const Args& a, std::int64_t row, std::uint64_t tag) {
  if (team.thread() == 0) team.simt.store(a.tags, row, tag);
}

}  // namespace kselect::bms
