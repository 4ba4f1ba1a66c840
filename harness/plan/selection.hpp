#pragma once
// The plan's part of the task `select`.

#include "harness/plan/plan.hpp"

namespace kselect::harness {

// Whether a selection can run on these rows at `where`, whose host has `free_bytes`.
cell_prospect foresee_selection(const cell& c, const input_source& input, const device& where,
                                std::size_t free_bytes);

// The task whose cells are selections of the registry's algorithms. harness/run/selection_task.cpp
const task& selection_task();

}  // namespace kselect::harness
