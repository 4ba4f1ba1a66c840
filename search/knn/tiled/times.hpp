#pragma once
// The times of a search in tiles, rank by rank.

#include <array>
#include <chrono>
#include <string_view>

namespace kselect::search {

// Seconds of one rank. Reading and writing run in the background; read_wait and write_wait are the
// parts that the search waited for. `setup` lasts until all ranks have their memory and the corpus,
// if it stays there; `search` from then until the results are committed.
struct tiled_times {
  double setup = 0;
  double load = 0;  // of setup: a resident corpus, from its files to the executor's memory
  double search = 0;
  double queries = 0;     // reading them on rank 0 and sending them to all ranks
  double nearest = 0;     // distances and selection on this rank's part, waits for tiles included
  double read = 0;        // of the corpus, in the background
  double read_wait = 0;   // for a tile that was not read yet
  double ranks_wait = 0;  // for the slowest rank, before the exchange
  double exchange = 0;    // lists between ranks
  double merge = 0;       // of the exchanged lists
  double write = 0;       // durable, on rank 0 in the background
  double write_wait = 0;  // for rows that were not written yet
};

struct tiled_stage {
  std::string_view name;
  double tiled_times::*time;
};
inline constexpr std::array<tiled_stage, 12> tiled_stages = {
    {{"setup", &tiled_times::setup},
     {"load", &tiled_times::load},
     {"search", &tiled_times::search},
     {"queries", &tiled_times::queries},
     {"nearest", &tiled_times::nearest},
     {"read", &tiled_times::read},
     {"read_wait", &tiled_times::read_wait},
     {"ranks_wait", &tiled_times::ranks_wait},
     {"exchange", &tiled_times::exchange},
     {"merge", &tiled_times::merge},
     {"write", &tiled_times::write},
     {"write_wait", &tiled_times::write_wait}}};

// Adds the seconds of its lifetime to `sum`.
class lap {
 public:
  explicit lap(double& sum) : sum_(sum) {}
  lap(const lap&) = delete;
  lap& operator=(const lap&) = delete;
  ~lap() { sum_ += std::chrono::duration<double>(clock::now() - begin_).count(); }

 private:
  using clock = std::chrono::steady_clock;
  double& sum_;
  clock::time_point begin_ = clock::now();
};

}  // namespace kselect::search
