#include "search/knn/tiled/tile_stream.hpp"

#include <algorithm>
#include <vector>

#include "search/knn/cuda/plan.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/times.hpp"

namespace kselect::search {
namespace {

constexpr std::int64_t bytes_a_reader = 1 << 20;  // of a tile, at least

}  // namespace

int reading_threads(const backend& place) {
  return place.shares_host_memory() ? 1 : std::min(place.description().threads, gpu_readers);
}

void read_by_threads(const vector_files& file, std::int64_t first, std::int64_t count, float* out,
                     int threads) {
  const std::int64_t dimension = file.dimension();
  const std::int64_t bytes = file.bytes(first, count);
  const std::int64_t parts = std::clamp<std::int64_t>(bytes / bytes_a_reader, 1, threads);
  const even_cut cut{count, parts};
  std::vector<std::future<void>> others;
  const auto read = [&](std::int64_t part) {
    file.read(first + cut.first(part), cut.width(part), out + cut.first(part) * dimension);
  };
  for (std::int64_t part = 1; part < parts; ++part) {
    others.push_back(std::async(std::launch::async, read, part));
  }
  read(0);
  for (auto& other : others) other.get();
}

tile_stream::tile_stream(const vector_files& file, std::int64_t first, std::int64_t end,
                         std::int64_t length, int threads)
    : file_(file),
      first_(first),
      end_(end),
      length_(length),
      threads_(threads),
      turns_((end - first + length - 1) / length, 2) {}

tile_stream::~tile_stream() {
  for (slot& s : slots_) {
    if (s.reading.valid()) s.reading.wait();
  }
}

void tile_stream::pin(backend& place) {
  for (slot& s : slots_) {
    reserve(s.vectors);
    s.vectors.data.resize(s.vectors.data.capacity());
    s.pinned = place.pin(std::as_writable_bytes(std::span(s.vectors.data)));
  }
}

// For the longest tile, so that memory is allocated once.
void tile_stream::reserve(vector_set& set) const {
  const std::int64_t longest = std::min(length_, end_ - first_);
  set.data.reserve(static_cast<std::size_t>(longest * file_.dimension()));
}

void tile_stream::read(const tile_turns::turn& what) {
  slot& into = slots_[what.slot];
  const std::int64_t begin = first_ + what.tile * length_;
  vector_set& set = into.vectors;
  set.count = std::min(length_, end_ - begin);
  set.dimension = file_.dimension();
  set.source = file_.name();
  reserve(set);
  set.data.resize(static_cast<std::size_t>(set.count * set.dimension));
  bytes_read_ += file_.bytes(begin, set.count);
  into.reading = std::async(std::launch::async, [this, &set, begin] {
    double seconds = 0;
    {
      const lap reading(seconds);
      read_by_threads(file_, begin, set.count, set.data.data(), threads_);
    }
    return seconds;
  });
}

void tile_stream::await(slot& reading) {
  const lap waiting(wait_s_);
  read_s_ += reading.reading.get();
}

tile_stream::tile tile_stream::next() {
  const tile_turns::turn now = turns_.next();
  if (now.load) read(now);
  slot& here = slots_[now.slot];
  if (here.reading.valid()) await(here);
  if (const auto after = turns_.ahead()) read(*after);
  return {here.vectors, first_ + now.tile * length_};
}

}  // namespace kselect::search
