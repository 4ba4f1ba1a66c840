// Warp collectives and the block barrier.

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/simt/block.hpp"

namespace kselect::simt::detail {
namespace {

constexpr std::uint64_t inactive_poison = 0xdbdbdbdbdbdbdbdbULL;

bool is_shuffle(operation op) {
  return op == operation::shfl || op == operation::shfl_up || op == operation::shfl_down ||
         op == operation::shfl_xor;
}

bool is_reduction(operation op) {
  return op == operation::reduce_add || op == operation::reduce_min || op == operation::reduce_max;
}

bool contains(std::uint32_t mask, int lane) { return (mask >> lane & 1U) != 0; }

}  // namespace

int shuffle_source(operation op, int lane, int argument, int width) {
  const int first = lane & ~(width - 1);
  const int last = first + width - 1;
  const int distance = argument & (warp_size - 1);  // PTX shfl reads five bits
  int source = lane;
  if (op == operation::shfl) source = first | (distance & (width - 1));
  if (op == operation::shfl_up) source = lane - distance;
  if (op == operation::shfl_down) source = lane + distance;
  if (op == operation::shfl_xor) source = lane ^ distance;  // may read an earlier segment
  const bool outside = op == operation::shfl_up ? source < first : source > last;
  return outside ? lane : source;
}

bool same_site(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

// Errors that do not depend on other lanes. Builds text only on errors: this is a hot path.
void block::check_call(const lane& self, const collective_call& call, std::source_location at) {
  const auto what = [&] { return call_text(call.op, call.mask); };
  if (!contains(call.mask, self.index())) {
    fail(self, what() + ": the calling lane is not in its own mask", at);
  }
  if (!is_shuffle(call.op)) return;
  if (call.width < 1 || call.width > warp_size || (call.width & (call.width - 1)) != 0) {
    fail(self, what() + ": width " + std::to_string(call.width) + " is no power of two up to 32",
         at);
  }
  const int source = shuffle_source(call.op, self.index(), call.argument, call.width);
  if (contains(call.mask, source)) return;
  if (!options_.poison_inactive_reads) {
    fail(self,
         what() + ": reads from lane " + std::to_string(source) + ", which is not in the mask", at);
  }
  counts_.add(counter::inactive_reads, 1);
}

std::uint64_t block::meet(lane& self, const collective_call& call, std::source_location at) {
  // In a whole warp, every source is in the mask.
  if (call.mask != full_mask || call.width != warp_size) check_call(self, call, at);
  self.call = call;
  self.at = at;
  self.state = lane_state::waiting;
  auto& groups = groups_[static_cast<std::size_t>(self.warp())];
  std::size_t g = 0;
  while (g < groups.size() &&
         !(groups[g].op == call.op && groups[g].mask == call.mask && same_site(groups[g].at, at))) {
    ++g;
  }
  if (g == groups.size()) groups.push_back({call.op, call.mask, at, 0});
  groups[g].arrived |= self.bit();
  if (groups[g].arrived == groups[g].mask) {
    complete(self.warp(), groups[g]);
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(g));
  }
  // The last lane to arrive also waits for its turn: the schedule chooses who continues first.
  suspend(self);
  return self.result;
}

template <class Visit>
void block::each_lane(int warp, std::uint32_t mask, const Visit& visit) {
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    visit(lane_of(warp, std::countr_zero(rest)));
  }
}

// Computes the results of all lanes before any of them can reach its next collective.
void block::complete(int warp, const group& done) {
  counted_steps_[static_cast<std::size_t>(warp)] = 0;
  counts_.add(done.op == operation::sync_warp ? counter::warp_syncs : counter::collectives, 1);
  const auto give_all = [&](std::uint64_t result) {
    each_lane(warp, done.mask, [&](lane& self) { self.result = result; });
  };
  if (is_shuffle(done.op)) {
    each_lane(warp, done.mask, [&](lane& self) { self.result = shuffled(self, done.mask); });
  } else if (is_reduction(done.op)) {
    give_all(reduced(warp, done));
  } else if (done.op == operation::match_any) {
    each_lane(warp, done.mask, [&](lane& self) { self.result = matching(self, done.mask); });
  } else if (done.op == operation::multiply_add) {
    multiply(warp);
  } else if (done.op == operation::load_matrices) {
    bring_matrices(warp);
  } else if (done.op != operation::sync_warp) {
    give_all(voted(warp, done));
  }
  ready_.add(warp, done.mask);
}

std::uint32_t block::voted(int warp, const group& done) {
  std::uint32_t votes = 0;
  each_lane(warp, done.mask, [&](const lane& self) {
    if (self.call.value != 0) votes |= self.bit();
  });
  if (done.op == operation::any) return votes != 0 ? 1 : 0;
  if (done.op == operation::all) return votes == done.mask ? 1 : 0;
  return votes;
}

std::uint64_t block::shuffled(const lane& self, std::uint32_t mask) {
  const int source =
      shuffle_source(self.call.op, self.index(), self.call.argument, self.call.width);
  return contains(mask, source) ? lane_of(self.warp(), source).call.value : inactive_poison;
}

std::uint32_t block::reduced(int warp, const group& done) {
  // The neutral element.
  std::uint32_t result = done.op == operation::reduce_min ? ~0U : 0U;
  each_lane(warp, done.mask, [&](const lane& self) {
    const auto own = static_cast<std::uint32_t>(self.call.value);
    if (done.op == operation::reduce_add) result += own;
    if (done.op == operation::reduce_min) result = std::min(result, own);
    if (done.op == operation::reduce_max) result = std::max(result, own);
  });
  return result;
}

std::uint32_t block::matching(const lane& self, std::uint32_t mask) {
  std::uint32_t equal = 0;
  each_lane(self.warp(), mask, [&](const lane& other) {
    if (other.call.value == self.call.value) equal |= other.bit();
  });
  return equal;
}

void block::meet_block(lane& self, std::source_location at) {
  self.call = {operation::sync_block, full_mask};
  self.at = at;
  self.state = lane_state::waiting;
  std::size_t b = 0;
  while (b < barriers_.size() && !options_.mixed_block_syncs && !same_site(barriers_[b].at, at)) {
    ++b;
  }
  if (b == barriers_.size()) barriers_.push_back({at, 0});
  ++barriers_[b].arrived;
  release_barriers();
  suspend(self);
}

// With two call sites in use neither fills up, and the block is reported stuck.
void block::release_barriers() {
  if (barriers_.empty() || barriers_.front().arrived + returned_ < shape_.threads) return;
  barriers_.clear();
  ++generation_;
  counts_.add(counter::block_syncs, 1);
  for (auto& counted : counted_steps_) counted = 0;
  for (const lane& self : lanes_) {
    if (self.state == lane_state::waiting) ready_.add(self.warp(), self.bit());
  }
}

}  // namespace kselect::simt::detail
