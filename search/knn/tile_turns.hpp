#pragma once
// In which order the tiles of a corpus pass by again and again, and in which slot of memory each
// lies: decided from numbers alone, for tiles in the host's memory and in a GPU's.
//
// Forwards in the first pass, backwards in the second and so on, so that with two slots the last
// two tiles of a pass are the first two of the next and are not read again. With a slot a tile each
// is read once for all.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kselect::search {

class tile_turns {
 public:
  // `slots`: 2, or at least as many as tiles. At least one tile.
  tile_turns(std::int64_t tiles, std::int64_t slots)
      : tiles_(tiles), held_(static_cast<std::size_t>(slots < tiles ? 2 : tiles), -1) {}

  std::int64_t tiles() const { return tiles_; }
  std::size_t slots() const { return held_.size(); }

  struct turn {
    std::int64_t tile;
    std::size_t slot;
    bool load;  // it is not there yet, nor on its way
  };

  // The tile to work on now.
  turn next() {
    const turn now = place(tile_at(step_++));
    present_ = now.slot;
    return now;
  }
  // The one after it, where that has to be loaded: into a slot whose tile nobody works on any more.
  // Empty if it is there.
  std::optional<turn> ahead() {
    const turn after = place(tile_at(step_));
    if (!after.load) return std::nullopt;
    return after;
  }

 private:
  std::int64_t tile_at(std::int64_t step) const {
    const std::int64_t within = step % tiles_;
    return step / tiles_ % 2 == 0 ? within : tiles_ - 1 - within;
  }
  turn place(std::int64_t tile) {
    for (std::size_t slot = 0; slot < held_.size(); ++slot) {
      if (held_[slot] == tile) return {tile, slot, false};
    }
    const bool own = static_cast<std::int64_t>(held_.size()) == tiles_;
    const std::size_t slot = own ? static_cast<std::size_t>(tile) : present_ ^ 1;
    held_[slot] = tile;
    return {tile, slot, true};
  }

  std::int64_t tiles_;
  std::int64_t step_ = 0;
  std::size_t present_ = 1;         // the slot of the tile that is worked on
  std::vector<std::int64_t> held_;  // by slot: the tile in it or on its way; -1: none
};

}  // namespace kselect::search
