#pragma once
// Records single searches as cells of a run: a folder with runs.jsonl and meta.json, as a sweep
// has. So `kselect compare` and `show`, and plots/, read them without code of their own. A further
// search of the same key adds its rounds to the cell.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/plan/plan.hpp"
#include "harness/record/journal.hpp"
#include "harness/record/outcome.hpp"
#include "search/search.hpp"

namespace kselect::search {

// A search that was made and timed.
struct measured_call {
  cell what;                           // its key is made by call_record
  nlohmann::ordered_json input = {};   // as sweep_input::description
  int threads = 0;                     // of the host
  std::string device = {};             // the backend's name, which the key has
  std::string clock = {};              // "steady" or "cuda_event"
  std::vector<double> rounds_ns = {};  // at least one
  std::vector<stage_log> stages = {};  // of the same rounds
  std::vector<std::pair<std::string, double>> counts = {};
  std::string proof = {};  // how the answer was proven, or that it was not
  bool proven = false;
  nlohmann::ordered_json ranks = {};  // what each rank says of its part; null: no ranks
  std::chrono::system_clock::time_point started{};
  double elapsed_s = 0;           // from there, reading the files included
  memory_ceilings ceilings = {};  // of the GPU; not measured if `read` is 0
};

// The open folder. Nobody else records in it meanwhile.
class call_record {
 public:
  // Makes the folder if it is not there. Throws error(failure::output) if it cannot be written, is
  // held by another process, or has other records: a sweep's, or those of another build or machine.
  explicit call_record(const std::filesystem::path& folder);
  // Throws error(failure::output).
  void add(const measured_call& call);

 private:
  std::filesystem::path folder_;
  journal records_;
};

}  // namespace kselect::search
