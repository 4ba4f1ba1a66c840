#pragma once
// The axes that the task `index` has of its own.

#include <vector>

#include "harness/config/config.hpp"
#include "harness/task/task.hpp"
#include "search/search.hpp"

namespace kselect::search {

std::vector<task_axis> index_axes();

// Throws error(failure::usage) for stand-ins (search/metric/stand_ins.hpp) together with files, or
// with another dimension or distribution than theirs, which the records would name wrongly.
void refuse_stand_ins(const sweep_config& config, bool has_dataset);

}  // namespace kselect::search
