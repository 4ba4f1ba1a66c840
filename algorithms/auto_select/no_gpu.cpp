// Replaces gpu_members.cpp and the kernels of ordered_select.cu in kselect::auto_select without
// CUDA, which selects on the CPU alone. Its `place` offers no other device, so nothing here is
// called.

#include "algorithms/auto_select/admitted.hpp"
#include "algorithms/auto_select/members.hpp"
#include "algorithms/ordered_select/ordered.hpp"

namespace kselect {

std::span<const rule> gpu_rules() { return {}; }

std::span<const entries_of_file> gpu_files() { return {}; }

namespace ordered {

std::int64_t extra_for_ties(const problem&, const device&) { return 0; }

call_plan plan_named(const call_plan&, const problem&, const device&) {
  return call_plan::refused("kselect::auto_select without CUDA selects on the CPU alone");
}

call_plan plan_ordered(const algorithm&, const problem&, const device&, answer_order) {
  return call_plan::refused("kselect::auto_select without CUDA selects on the CPU alone");
}

}  // namespace ordered

namespace admitted {

std::int64_t rows_at_once(const problem& member, const device&) { return member.q; }

call_plan plan_on_device(const composed_plan&, const problem&, const device&) {
  return call_plan::refused("kselect::auto_select without CUDA selects on the CPU alone");
}

}  // namespace admitted
}  // namespace kselect
