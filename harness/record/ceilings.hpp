#pragma once
// The measured memory ceilings, as records and messages show them.

#include <nlohmann/json_fwd.hpp>

#include "harness/harness.hpp"
#include "runtime/backend/backend.hpp"

namespace kselect::harness {

nlohmann::ordered_json to_json(const memory_ceilings& ceilings);
memory_ceilings ceilings_from(const nlohmann::ordered_json& object);

}  // namespace kselect::harness
