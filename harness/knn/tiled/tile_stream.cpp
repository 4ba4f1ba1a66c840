#include "harness/knn/tiled/tile_stream.hpp"

#include <algorithm>

#include "harness/knn/tiled/times.hpp"

namespace kselect {

tile_stream::tile_stream(const vector_files& file, std::int64_t first, std::int64_t end,
                         std::int64_t length)
    : file_(file),
      first_(first),
      end_(end),
      length_(length),
      tiles_((end - first + length - 1) / length) {}

tile_stream::~tile_stream() {
  for (slot& s : slots_) {
    if (s.reading.valid()) s.reading.wait();
  }
}

std::int64_t tile_stream::tile_at(std::int64_t step) const {
  const std::int64_t within = step % tiles_;
  return step / tiles_ % 2 == 0 ? within : tiles_ - 1 - within;
}

void tile_stream::read(slot& into, std::int64_t number) {
  const std::int64_t begin = first_ + number * length_;
  vector_set& set = into.vectors;
  set.count = std::min(length_, end_ - begin);
  set.dimension = file_.dimension();
  set.source = file_.name();
  // The longest tile first and last: the memory is taken once.
  set.data.reserve(static_cast<std::size_t>(std::min(length_, end_ - first_) * set.dimension));
  set.data.resize(static_cast<std::size_t>(set.count * set.dimension));
  into.number = number;
  bytes_read_ += file_.bytes(begin, set.count);
  into.reading = std::async(std::launch::async, [this, &set, begin] {
    double seconds = 0;
    {
      const lap reading(seconds);
      file_.read(begin, set.count, set.data.data());
    }
    return seconds;
  });
}

void tile_stream::await(slot& reading) {
  const lap waiting(wait_s_);
  read_s_ += reading.reading.get();
}

tile_stream::tile tile_stream::next() {
  const std::int64_t wanted = tile_at(step_);
  if (slots_[present_].number != wanted) present_ = 1 - present_;
  slot& here = slots_[present_];
  if (here.number != wanted) read(here, wanted);
  if (here.reading.valid()) await(here);
  const std::int64_t after = tile_at(++step_);
  slot& other = slots_[1 - present_];
  if (after != wanted && after != other.number) read(other, after);
  return {here.vectors, first_ + wanted * length_};
}

}  // namespace kselect
