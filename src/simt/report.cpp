// The error text of a stuck block: the cause, then the position of every lane, equal ones grouped.

#include <array>
#include <cstdio>
#include <string_view>

#include "src/simt/block.hpp"

namespace kselect::simt::detail {
namespace {

constexpr std::array<const char*, 15> operation_names = {
    "ballot",     "any",          "all",           "shfl",       "shfl_up",
    "shfl_down",  "shfl_xor",     "match_any",     "reduce_add", "reduce_min",
    "reduce_max", "multiply_add", "load_matrices", "sync_warp",  "sync_block"};

// "0-15,20"
std::string ranges_text(std::uint32_t set) {
  std::string text;
  for (int first = 0; first < 32; ++first) {
    if ((set >> first & 1U) == 0) continue;
    int last = first;
    while (last < 31 && (set >> (last + 1) & 1U) != 0) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
    first = last;
  }
  return text;
}

std::string plural(const char* noun, std::uint32_t set) {
  const bool one = (set & (set - 1)) == 0;
  return std::string(noun) + (one ? " " : "s ") + ranges_text(set);
}

std::string lanes_text(std::uint32_t lanes) { return plural("lane", lanes); }

std::string where_text(const lane& self) {
  if (self.state == lane_state::returned) return "returned from the kernel";
  return "at " + call_text(self.call.op, self.call.mask) + " at " + site_text(self.at);
}

bool stands_beside(const lane& a, const lane& b) {
  if (a.state != b.state) return false;
  return a.state == lane_state::returned ||
         (a.call.op == b.call.op && a.call.mask == b.call.mask && same_site(a.at, b.at));
}

// Lanes that stand at the same place: one mask per warp.
struct standing {
  const lane* example;
  std::array<std::uint32_t, thread_limit / warp_size> lanes{};
};

// "lanes 0-15 of warp 0, lanes 0-31 of warps 1-3"
std::string members_text(const standing& s) {
  std::string text;
  std::uint32_t told = 0;
  for (std::size_t warp = 0; warp < s.lanes.size(); ++warp) {
    if (s.lanes[warp] == 0 || (told >> warp & 1U) != 0) continue;
    std::uint32_t alike = 0;
    for (std::size_t other = warp; other < s.lanes.size(); ++other) {
      if (s.lanes[other] == s.lanes[warp]) alike |= 1U << other;
    }
    told |= alike;
    if (!text.empty()) text += ", ";
    text += lanes_text(s.lanes[warp]) + " of " + plural("warp", alike);
  }
  return text;
}

// Why a lane is missing from a group. In order of priority, because one stuck group blocks others.
enum class cause : std::uint8_t { returned, barrier, mask, operation, site, cycle };

cause cause_of(const group& waiting, const lane& missing) {
  if (missing.state == lane_state::returned) return cause::returned;
  if (missing.call.op == operation::sync_block) return cause::barrier;
  if ((missing.call.mask & waiting.arrived) == 0) return cause::cycle;
  if (missing.call.mask != waiting.mask) return cause::mask;
  return missing.call.op != waiting.op ? cause::operation : cause::site;
}

constexpr std::array<std::string_view, 6> explanations = {
    "every lane named in a mask must make the call, and a lane that has returned cannot",
    "a lane cannot reach the warp's call before the block's, nor the block the barrier without it",
    "lanes that meet must name the same mask",
    "lanes that meet must make the same call, and these are two operations",
    "lanes that meet must make the same call, and these are two places in the source",
    "a deadlock: each of these lanes waits for another"};

}  // namespace

std::string site_text(const std::source_location& at) {
  return std::string(at.file_name()) + ":" + std::to_string(at.line());
}

std::string call_text(operation op, std::uint32_t mask) {
  if (op == operation::sync_block) return "sync_block()";
  char digits[16];
  std::snprintf(digits, sizeof digits, "0x%08x", mask);
  return std::string(operation_names[static_cast<std::size_t>(op)]) + "(mask " + digits + ")";
}

std::string block::place(const lane& self) const {
  return std::string("kernel ") + kernel_.name + ", block " + std::to_string(index_) + ", warp " +
         std::to_string(self.warp()) + ", lane " + std::to_string(self.index());
}

std::string block::diagnosis() const {
  if (barriers_.size() > 1) {
    return "threads wait at sync_block() at " + site_text(barriers_[0].at) + " and at " +
           site_text(barriers_[1].at) + " (after " + std::to_string(generation_) +
           " completed): all threads of a block must reach the same one";
  }
  for (std::size_t kind = 0; kind < explanations.size(); ++kind) {
    for (std::size_t warp = 0; warp < groups_.size(); ++warp) {
      for (const group& waiting : groups_[warp]) {
        std::uint32_t guilty = 0;
        for (int i = 0; i < warp_size; ++i) {
          const bool missing = ((waiting.mask & ~waiting.arrived) >> i & 1U) != 0;
          const lane& other = lane_of(static_cast<int>(warp), i);
          if (missing && cause_of(waiting, other) == static_cast<cause>(kind)) {
            guilty |= other.bit();
          }
        }
        if (guilty == 0) continue;
        return call_text(waiting.op, waiting.mask) + " at " + site_text(waiting.at) + " has " +
               lanes_text(waiting.arrived) + " of warp " + std::to_string(warp) +
               " and waits in vain for " + lanes_text(guilty) + ": " +
               std::string(explanations[kind]);
      }
    }
  }
  return "no lane can run";
}

std::string block::stuck() const {
  std::vector<standing> standings;
  for (const lane& self : lanes_) {
    auto s = standings.begin();
    while (s != standings.end() && !stands_beside(*s->example, self)) ++s;
    if (s == standings.end()) s = standings.insert(s, standing{&self});
    s->lanes[static_cast<std::size_t>(self.warp())] |= self.bit();
  }
  std::string text = std::string("kernel ") + kernel_.name + ", block " + std::to_string(index_) +
                     ": " + diagnosis() + "; every lane: ";
  for (const standing& s : standings) {
    if (&s != &standings.front()) text += "; ";
    text += members_text(s) + " " + where_text(*s.example);
  }
  return text;
}

}  // namespace kselect::simt::detail
