#pragma once
// Reads meta.json, the record of a whole run (records.hpp). Whoever uses a member finds it to be of
// the kind that this program writes; which members there are depends on the version that wrote it.

#include <filesystem>

#include <nlohmann/json.hpp>

namespace kselect::harness {

// Throws error(failure::input), naming the file and the member, if the file cannot be read, is no
// JSON object, or has a member of another kind.
nlohmann::ordered_json read_meta(const std::filesystem::path& file);

}  // namespace kselect::harness
