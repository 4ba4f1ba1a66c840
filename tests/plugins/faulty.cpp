// Entries from outside that fail in the ways that a caller cannot foresee. Each costs its cell.

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "tests/plugins/entry.hpp"

namespace kselect::entries {
namespace {

status fine(const problem& p, const io& b, std::span<std::byte>, const executor&) {
  return solve_rows(p, b);
}
status throws(const problem&, const io&, std::span<std::byte>, const executor&) {
  throw std::runtime_error("the planted exception");
}
status crashes(const problem&, const io&, std::span<std::byte>, const executor&) { std::abort(); }
status hangs(const problem&, const io&, std::span<std::byte>, const executor&) {
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}
call_plan doubts(const problem&, const device&) { throw std::runtime_error("the planted doubt"); }

}  // namespace

std::span<const algorithm> faulty() {
  static const std::array all = [] {
    std::array entries = {outside<&fine>("faulty/fine"),     outside<&first_k>("faulty/wrong"),
                          outside<&throws>("faulty/throws"), outside<&crashes>("faulty/crashes"),
                          outside<&hangs>("faulty/hangs"),   outside<&fine>("faulty/doubts")};
    entries.back().plan = &doubts;
    return entries;
  }();
  return all;
}

}  // namespace kselect::entries

KSELECT_PLUGIN(faulty);
