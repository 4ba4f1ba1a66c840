#pragma once
// A part of a corpus as tiles that pass by again and again, the next one read while the
// present one is worked on.

#include <array>
#include <cstdint>
#include <future>

#include "harness/io/vector_file.hpp"
#include "harness/io/vectors.hpp"

namespace kselect {

class tile_stream {
 public:
  // Vectors `first` to `end` of `file`, which must outlive this object, `length` to a tile.
  tile_stream(const vector_files& file, std::int64_t first, std::int64_t end, std::int64_t length);
  // Waits for a read under way.
  ~tile_stream();

  std::int64_t tiles() const { return tiles_; }

  struct tile {
    const vector_set& vectors;  // valid until the next call
    std::int64_t first;         // of the file's vectors
  };
  // The next tile: forwards in the first pass, backwards in the second and so on, so that the last
  // tile of a pass is the first of the next and is not read again. Throws what vector_files::read
  // does.
  tile next();
  // Bytes read from the file so far; seconds that took, and those next() waited for it.
  std::int64_t bytes_read() const { return bytes_read_; }
  double read_s() const { return read_s_; }
  double wait_s() const { return wait_s_; }

 private:
  struct slot {
    vector_set vectors;
    std::int64_t number = -1;
    std::future<double> reading;  // its seconds
  };
  std::int64_t tile_at(std::int64_t step) const;
  void read(slot& into, std::int64_t number);
  void await(slot& reading);

  const vector_files& file_;
  std::int64_t first_, end_, length_, tiles_;
  std::int64_t step_ = 0;
  std::int64_t bytes_read_ = 0;
  double read_s_ = 0, wait_s_ = 0;
  std::array<slot, 2> slots_;
  std::size_t present_ = 0;
};

}  // namespace kselect
