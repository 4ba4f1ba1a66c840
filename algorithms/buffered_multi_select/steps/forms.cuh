#pragma once
// Buffered multi-select, one team a row: how a row is worked on, and the arguments of a launch.

#include "algorithms/buffered_multi_select/steps/team.cuh"

namespace kselect::bms {

// filtered: few elements pass the threshold. filtered_many: several of each thread pass. resident:
// the whole row stays in registers. brief: as warp/brief_row.cuh says.
enum class form : std::uint8_t { filtered, filtered_many, resident, brief };

template <class T>
struct row_args {
  rows_view<T> matrix;
  answer_view<T> out;
  plan shape;
};

}  // namespace kselect::bms
