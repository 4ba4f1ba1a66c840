// kselect with algorithms that are bad on purpose, each in one way. tests/cli/test_planted.py
// demands that every one of them ends in its right status and without a time. They are in no other
// program.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>
#include <vector>

#include "cli/program.hpp"
#include "src/registry_table.hpp"
#include "tests/planted/entry.hpp"
#include "tests/planted/faults.hpp"

namespace kselect {

namespace entries {
std::span<const algorithm> full_sort();
}

namespace {

// cpu/sort, not by way of the registry, which is being made when these entries are.
const algorithm& right() { return entries::full_sort().front(); }

status solve(const problem& p, const io& buffers, std::span<std::byte> workspace,
             const executor& on) {
  return solve_by<&right>(p, buffers, workspace, on);
}

template <auto run>
algorithm planted(std::string_view name) {
  return kselect::planted<&right, run>(name);
}

status fine(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  return solve(p, b, w, on);
}

status no_op(const problem&, const io&, std::span<std::byte>, const executor&) { return {}; }

// Answers every call with what it found out in its first.
status stale(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  static std::vector<std::byte> values, indices;
  if (values.empty()) {
    if (status first = solve(p, b, w, on); !first.ok()) return first;
    const auto* const v = static_cast<const std::byte*>(b.values);
    const auto* const i = static_cast<const std::byte*>(b.indices);
    values.assign(v, v + p.values_bytes());
    indices.assign(i, i + p.indices_bytes());
    return {};
  }
  std::memcpy(b.values, values.data(), values.size());
  std::memcpy(b.indices, indices.data(), indices.size());
  return {};
}

// Returns before its work is done, as a kernel on a stream of its own would be.
status late(const problem& p, const io& b, std::span<std::byte>, const executor& on) {
  std::thread([p, b, where = *on.device] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::vector<std::byte> own(right().plan(p, where).workspace());
    static_cast<void>(solve(p, b, own, {.device = &where}));
  }).detach();
  return {};
}

status past_the_end(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  const status done = solve(p, b, w, on);
  static_cast<float*>(b.values)[p.q * p.k] = 0;
  return done;
}

// Promises the smallest indices among equal keys and returns the largest for the last of each row.
status wrong_ties(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  const status done = solve(p, b, w, on);
  for (std::int64_t row = 0; row < p.q; ++row) {
    const float* const keys = static_cast<const float*>(b.input) + p.offset(row, 0);
    const float last = static_cast<const float*>(b.values)[(row + 1) * p.k - 1];
    auto& index = static_cast<std::int32_t*>(b.indices)[(row + 1) * p.k - 1];
    for (auto i = static_cast<std::int32_t>(p.n - 1); i > index; --i) {
      if (keys[i] == last) index = i;
    }
  }
  return done;
}

status sometimes_wrong(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  static int calls = 0;
  const status done = solve(p, b, w, on);
  if (++calls % 7 == 0) static_cast<std::int32_t*>(b.indices)[0] = -1;
  return done;
}

// Right, because it relies on rows being in ascending order already.
status peeks(const problem& p, const io& b, std::span<std::byte>, const executor&) {
  for (std::int64_t row = 0; row < p.q; ++row) {
    for (std::int64_t j = 0; j < p.k; ++j) {
      static_cast<float*>(b.values)[row * p.k + j] =
          static_cast<const float*>(b.input)[p.offset(row, j)];
      if (b.indices == nullptr) continue;
      static_cast<std::int32_t*>(b.indices)[row * p.k + j] = static_cast<std::int32_t>(j);
    }
  }
  return {};
}

// Declares that it knows masks.
status ignores_mask(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  problem unmasked = p;
  unmasked.mask = mask_bits::none;
  unmasked.mask_pitch = 0;
  return solve(unmasked, b, w, on);
}
algorithm declaring_masks(algorithm entry) {
  entry.masks = true;
  return entry;
}

status slow(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  std::this_thread::sleep_for(std::chrono::seconds(8));
  return solve(p, b, w, on);
}

status hangs(const problem&, const io&, std::span<std::byte>, const executor&) {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

status crashes(const problem&, const io&, std::span<std::byte>, const executor&) { std::abort(); }

status crashes_later(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  static int calls = 0;
  if (++calls == 9) std::abort();
  return solve(p, b, w, on);
}

status exits(const problem&, const io&, std::span<std::byte>, const executor&) { _exit(0); }

// As an algorithm does that writes to descriptors at random: the worker's socket is number 3.
status says(std::string_view message) {
  if (::write(3, message.data(), message.size()) < 0) return {status_code::failed, "no socket"};
  return {};
}
status babbles(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  return says("\x01 no json\n").ok() ? solve(p, b, w, on) : status{status_code::failed, ""};
}
status forges(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  says(
      "{\"schema\":1,\"key\":\"of another "
      "cell\",\"status\":\"ok\",\"reason\":\"\",\"time\":null}\n");
  return solve(p, b, w, on);
}

// As an algorithm does that closes descriptors at random, and hangs.
status hangs_up(const problem&, const io&, std::span<std::byte>, const executor&) {
  close(3);
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

status fails(const problem&, const io&, std::span<std::byte>, const executor&) {
  return {status_code::failed, "the planted failure"};
}

status prints(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  std::puts("printed by an algorithm");
  std::fflush(stdout);
  return solve(p, b, w, on);
}

}  // namespace

static std::span<const algorithm> planted_entries() {
  static const std::array all = {planted<&fine>("planted/fine"),
                                 planted<&no_op>("planted/no-op"),
                                 planted<&stale>("planted/stale"),
                                 planted<&late>("planted/late"),
                                 planted<&past_the_end>("planted/past-the-end"),
                                 planted<&wrong_ties>("planted/wrong-ties"),
                                 planted<&sometimes_wrong>("planted/sometimes-wrong"),
                                 planted<&peeks>("planted/peeks"),
                                 declaring_masks(planted<&ignores_mask>("planted/ignores-mask")),
                                 planted<&slow>("planted/slow"),
                                 planted<&hangs>("planted/hangs"),
                                 planted<&crashes>("planted/crashes"),
                                 planted<&crashes_later>("planted/crashes-later"),
                                 planted<&exits>("planted/exits"),
                                 planted<&babbles>("planted/babbles"),
                                 planted<&forges>("planted/forges"),
                                 planted<&hangs_up>("planted/hangs-up"),
                                 planted<&fails>("planted/fails"),
                                 planted<&prints>("planted/prints")};
  return all;
}

}  // namespace kselect

int main(int argc, char** argv) {
  kselect::detail::add_entry_file(
      {&kselect::planted_entries, "tests/planted/planted.cpp", "planted"});
  kselect::detail::add_entry_file({&kselect::planted_faults, "tests/planted/faults.cu", "planted"});
  return kselect::cli::program(argc, argv);
}
