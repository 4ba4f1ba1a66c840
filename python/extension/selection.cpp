#include "python/extension/selection.hpp"

#include <memory>
#include <new>
#include <string>

#include "python/extension/kept_plans.hpp"

namespace kselect::python {
namespace {

status run_in(std::span<std::byte> workspace, const select_plan& plan, const question& q,
              const detail::call_buffers& buffers, const place& at) {
  return detail::select_planned(plan, q.asked.problem, buffers, workspace, &at);
}

status run_allocating(const select_plan& plan, const question& q,
                      const detail::call_buffers& buffers, const place& at) {
  const std::size_t needed = plan.workspace();
  if (needed == 0) return run_in({}, plan, q, buffers, at);
  const std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[needed]);
  if (memory == nullptr) {
    return {status_code::out_of_memory,
            "no memory for a workspace of " + std::to_string(needed) + " bytes"};
  }
  return run_in({memory.get(), needed}, plan, q, buffers, at);
}

}  // namespace

select_plan plan_of(const question& q, const place& at) {
  return plan_for(q.asked, at, q.rows.on_gpu ? q.rows.gpu : -1 - at.device().threads);
}

bool takes_no_columns(const select_plan& plan, const question& q) {
  return !plan && q.rows.on_gpu && q.asked.problem.layout == layout::column_major;
}

status run(const select_plan& plan, const question& q, const answer_memory& out, const place& at) {
  const problem& p = q.asked.problem;
  const detail::call_buffers buffers{.rows = q.rows.data,
                                     .values = out.values,
                                     .value_count = out.values == nullptr ? 0 : p.q * p.k,
                                     .indices = out.indices,
                                     .index_count = p.q * p.k,
                                     .lengths = q.ragged.lengths.data,
                                     .starts = q.ragged.starts.data,
                                     .mask = q.ragged.mask.data};
  const bool is_given = q.rows.on_gpu || out.has_workspace;
  if (!is_given) return run_allocating(plan, q, buffers, at);
  status done = run_in(out.workspace, plan, q, buffers, at);
  const bool too_small = out.has_workspace && out.workspace.size() < plan.workspace();
  if (done.code == status_code::invalid && too_small) {
    done.message = "workspace has " + std::to_string(out.workspace.size()) + " bytes, but " +
                   std::to_string(plan.workspace()) +
                   " are needed, as workspace_bytes of such a kselect.plan says";
  }
  return done;
}

}  // namespace kselect::python
