#pragma once
// Buffered multi-select, several blocks a row: what a launch is given.

#include "algorithms/buffered_multi_select/team.cuh"
#include "baselines/gpu_rows.cuh"

namespace kselect::bms {

template <class T, bool indexed>
struct grid_memory {
  using candidate = typename candidate_of<T, indexed>::type;
  simt::global<simt::message> minima;   // [rows][parts][messages]
  simt::global<simt::message> entries;  // [rows][parts][slots][entry_words]: survivors of the part
  simt::global<candidate> overflow;     // [rows][parts][capacity]: those of one that has too many
};

template <class T, bool indexed>
struct grid_args {
  rows_view<T> matrix;
  answer_view<T> out;
  grid_memory<T, indexed> memory;
  plan shape;         // of a row's parts
  plan alone;         // of a block that reads the whole row; differs in the tiles
  std::uint64_t tag;  // of this call's messages, not 0
  position parts;     // blocks a row
  position lanes;     // threads whose groups are joined for a posted minimum: a power of two
  position messages;  // of minima, of a part
  position slots;     // for survivors, of a part: nearly always enough
  position patience;  // how often a block looks for a minimum that is not there
};

// Messages for a survivor.
template <class T>
inline constexpr int entry_words = sizeof(key_of<T>) / 4;

// Minima in a message: those of neighbouring groups of the same threads.
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
  KSELECT_HD bool is_last(position parts) const { return number + 1 == parts; }
};

// By the row's last block, when all have read what they need: so that a repeated call does not take
// these messages for its own.
template <class Team>
KSELECT_HD void take_tags_off(Team& team, simt::global<simt::message> messages, position count) {
  for (position i = team.thread(); i < count; i += team.threads()) {
    team.simt.store(messages, i, {0, 0});
  }
}

}  // namespace kselect::bms
