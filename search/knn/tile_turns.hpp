#pragma once
// The order of a corpus' tiles in repeated passes, and the memory slot of each tile. It follows
// from numbers alone and serves host memory and GPUs.
//
// Passes go forwards and backwards in turn. With two slots, the last two tiles of a pass are then
// the first two of the next one and are not read again. With a slot for every tile, each tile is
// read once.

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
    bool load;  // the slot does not hold the tile, and no load of it is under way
  };

  // The tile to work on now.
  turn next() {
    const turn now = place(tile_at(step_++));
    present_ = now.slot;
    return now;
  }
  // The tile after it, if it must be loaded, with a slot that is free for it. Empty if the tile is
  // there.
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
  std::vector<std::int64_t> held_;  // by slot: its tile, perhaps still being loaded; -1: none
};

}  // namespace kselect::search
