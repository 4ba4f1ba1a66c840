#pragma once
// An index described for users, as JSON.

#include <nlohmann/json_fwd.hpp>

#include "search/metric/index_file.hpp"

namespace kselect::search::metric_space {

// Kind, metric, objects and their source, parameters.
nlohmann::ordered_json index_json(const indexed_objects& indexed);

}  // namespace kselect::search::metric_space
