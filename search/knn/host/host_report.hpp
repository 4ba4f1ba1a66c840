#pragma once
// What a search on the host did and spent its time on.

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace kselect::search {

// Seconds, summed over blocks of queries.
struct host_knn_report {
  double prepare = 0;         // of the corpus, and moving the queries
  double distance = 0;        // products for the first thresholds
  double selection = 0;       // by the algorithm, with its proof
  double filter = 0;          // products of all other vectors, and what falls below a threshold
  double order = 0;           // of the candidates, by float64 differences
  std::int64_t compared = 0;  // float64 differences
  std::int64_t doubled = 0;   // tiles of queries that went on with float64 products
};

struct host_knn_stage {
  std::string_view name;
  double host_knn_report::*seconds;
};
inline constexpr std::array<host_knn_stage, 5> host_knn_stages = {
    {{"prepare", &host_knn_report::prepare},
     {"distance", &host_knn_report::distance},
     {"selection", &host_knn_report::selection},
     {"filter", &host_knn_report::filter},
     {"order", &host_knn_report::order}}};

// Times stages that follow each other.
class host_stage_watch {
 public:
  // Null: times nothing.
  explicit host_stage_watch(host_knn_report* report) : report_(report) {}

  // A stage begins that is none of those counted, or nothing does.
  void restart() { begun_ = clock::now(); }
  // The stage ended that began when the last one did.
  void ended(double host_knn_report::*stage) {
    const auto now = clock::now();
    if (report_ != nullptr) {
      report_->*stage += std::chrono::duration<double>(now - begun_).count();
    }
    begun_ = now;
  }

 private:
  using clock = std::chrono::steady_clock;

  host_knn_report* report_;
  clock::time_point begun_ = clock::now();
};

}  // namespace kselect::search
