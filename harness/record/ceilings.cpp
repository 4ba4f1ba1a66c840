#include "harness/record/ceilings.hpp"

#include <nlohmann/json.hpp>

namespace kselect::harness {

nlohmann::ordered_json to_json(const memory_ceilings& ceilings) {
  return {{"read", ceilings.read}, {"copy", ceilings.copy}, {"cached_read", ceilings.cached_read}};
}

memory_ceilings ceilings_from(const nlohmann::ordered_json& object) {
  return {object.at("read"), object.at("copy"), object.at("cached_read")};
}

}  // namespace kselect::harness
