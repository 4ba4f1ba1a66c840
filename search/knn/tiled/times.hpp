#pragma once
// The times of a search in tiles, rank by rank.

#include <array>
#include <chrono>
#include <string_view>

namespace kselect::search {

// Seconds of one rank. `setup` lasts until all ranks have their memory and the corpus, if it stays
// there; `search` from then until the results are committed. During the search, reading, what ranks
// exchange, copies and writing are in the background. The search itself does `nearest` and the
// waits: what is not hidden behind it.
struct tiled_times {
  double setup = 0;
  double load = 0;  // of setup: a resident corpus, from its files to the executor's memory; the
                    // memory and the code of its search
  double search = 0;
  double nearest = 0;  // distances and selection on this rank's part, waits for tiles included
  // In the background.
  double queries = 0;   // reading them on rank 0 and sending them to all ranks
  double read = 0;      // of the corpus
  double download = 0;  // of the lists, from a GPU
  double exchange = 0;  // lists between ranks
  double merge = 0;     // of the exchanged lists
  double write = 0;     // durable, on rank 0
  // Waits of the search.
  double read_wait = 0;     // for a tile of a corpus that is not resident
  double queries_wait = 0;  // for the next queries
  double lists_wait = 0;    // until the lists of an earlier tile were exchanged
  double ranks_wait = 0;    // for the slowest rank, after a tile
  double write_wait = 0;    // for the last rows
};

struct tiled_stage {
  std::string_view name;
  double tiled_times::*time;
};
inline constexpr std::array<tiled_stage, 15> tiled_stages = {
    {{"setup", &tiled_times::setup},
     {"load", &tiled_times::load},
     {"search", &tiled_times::search},
     {"nearest", &tiled_times::nearest},
     {"queries", &tiled_times::queries},
     {"read", &tiled_times::read},
     {"download", &tiled_times::download},
     {"exchange", &tiled_times::exchange},
     {"merge", &tiled_times::merge},
     {"write", &tiled_times::write},
     {"read_wait", &tiled_times::read_wait},
     {"queries_wait", &tiled_times::queries_wait},
     {"lists_wait", &tiled_times::lists_wait},
     {"ranks_wait", &tiled_times::ranks_wait},
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
