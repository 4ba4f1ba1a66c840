// Kernels that fault on the GPU, which takes the process' CUDA context with it. Anywhere else the
// fault would be a crash, of which planted.cpp has its own.

#include <array>

#include "kselect/simt/launch.hpp"
#include "src/registry_table.hpp"
#include "tests/planted/entry.hpp"
#include "tests/planted/faults.hpp"

namespace kselect {

namespace entries {
std::span<const algorithm> buffered_multi_select_block();
}

namespace {

struct stray_store {
  struct storage {};
  struct args {
    simt::global<float> nowhere;
  };
  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage&, const args& a) {
    if (simt.thread() == 0) simt.store(a.nowhere, 0, 1.0F);
  }
};

status fault(const executor& on) {
  auto* const nowhere = reinterpret_cast<float*>(64);
  return simt::launch<stray_store>(on, {1, 32}, {{nowhere, 1}});
}

status faults(const problem&, const io&, std::span<std::byte>, const executor& on) {
  return fault(on);
}

const algorithm& right() { return entries::buffered_multi_select_block().front(); }

status faults_later(const problem& p, const io& b, std::span<std::byte> w, const executor& on) {
  static int calls = 0;
  if (++calls == 9) return fault(on);
  return solve_by<&right>(p, b, w, on);
}

template <auto run>
algorithm planted(std::string_view name) {
  algorithm entry = kselect::planted<&right, run>(name);
  entry.executors = set_of(executor_kind::cuda);
  return entry;
}

}  // namespace

std::span<const algorithm> planted_faults() {
  static const std::array all = {planted<&faults>("planted/faults"),
                                 planted<&faults_later>("planted/faults-later")};
  return all;
}

}  // namespace kselect
