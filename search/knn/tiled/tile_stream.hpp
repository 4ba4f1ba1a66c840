#pragma once
// A part of a corpus as tiles, in repeated passes. The next tile is read while the present one is
// worked on.

#include <array>
#include <cstdint>
#include <future>
#include <memory>

#include "runtime/backend/backend.hpp"
#include "runtime/io/vector_file.hpp"
#include "runtime/io/vectors.hpp"
#include "search/knn/tile_turns.hpp"
#include "search/search.hpp"

namespace kselect::search {

// How many threads of a rank read for this place: several only where a GPU waits for them.
int reading_threads(const backend& place);

// Reads vectors [first, first + count) by up to `threads` threads, because one may be slower than
// the disk or the page cache. Throws the exceptions of vector_files::read.
void read_by_threads(const vector_files& file, std::int64_t first, std::int64_t count, float* out,
                     int threads);

class tile_stream {
 public:
  // Vectors [first, end) of `file`, `length` to a tile, which up to `threads` threads read. `file`
  // must outlive this object.
  tile_stream(const vector_files& file, std::int64_t first, std::int64_t end, std::int64_t length,
              int threads = 1);
  // Waits for a read under way.
  ~tile_stream();

  std::int64_t tiles() const { return turns_.tiles(); }
  // Takes the tiles' memory, from which this place then copies faster. Before the first next().
  void pin(backend& place);

  struct tile {
    const vector_set& vectors;  // valid until the next call
    std::int64_t first;         // of the file's vectors
  };
  // The next tile, in the order of tile_turns. Throws the exceptions of vector_files::read.
  tile next();
  // Bytes read from the file so far; seconds that reading took; seconds that next() waited for it.
  std::int64_t bytes_read() const { return bytes_read_; }
  double read_s() const { return read_s_; }
  double wait_s() const { return wait_s_; }

 private:
  struct slot {
    vector_set vectors;
    std::shared_ptr<void> pinned;  // its memory, as long as this lives
    std::future<double> reading;   // the seconds that it took
  };
  void reserve(vector_set& set) const;
  void read(const tile_turns::turn& what);
  void await(slot& reading);

  const vector_files& file_;
  std::int64_t first_, end_, length_;
  int threads_;
  tile_turns turns_;
  std::int64_t bytes_read_ = 0;
  double read_s_ = 0, wait_s_ = 0;
  std::array<slot, 2> slots_;
};

}  // namespace kselect::search
