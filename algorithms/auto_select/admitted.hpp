#pragma once
// Selection from the elements that a mask admits (problem::mask), by any member of `auto`: they are
// gathered, row by row and in order, with their indices. The member then selects from rows of
// lengths of their own, whose elements a map names. So every order, every place of NaN and every k
// is the member's, and no kernel of a member reads a mask.
//
// Cost beside the member's: the masks are read; elements are read where a word of 32 bits admits
// one; what is admitted is written and read once more. Rows are gathered some at a time, so the
// scratch memory does not grow with Q: on the host a row a thread.

#include <cstdint>
#include <span>

#include "algorithms/auto_select/choose.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/simt/carver.hpp"

namespace kselect::admitted {

// The problem of the member, on so many rows at a time, and the device that it is planned for.
problem gathered(const problem& p, const device& where);
device members_device(const device& where);

// The plan of a call on `p` by the member's plan.
call_plan plan(const call_plan& member, const problem& p, const device& where);

// A choice for `p` by the member that choose_member(problem, device) chooses for its gathered rows.
template <class Choose>
choice choose(const problem& p, const device& where, const Choose& choose_member) {
  choice found = choose_member(gathered(p, where), members_device(where));
  if (found.member == nullptr) return found;
  found.plan = plan(found.plan, p, where);
  if (found.plan) {
    found.plan.made_by(*found.member);
  } else {
    found.member = nullptr;
  }
  return found;
}

// ---- for the files that gather

// Rows that a GPU, or fibers, gather at a time: of the size that pays, in parts of equal size.
std::int64_t rows_at_once(const problem& member, const device& where);

call_plan plan_on_device(const composed_plan& member, const problem& p, const device& where);
call_plan plan_on_host(const composed_plan& member, const problem& p, const device& where);

// Where the gathered rows lie: a matrix of the member's pitch.
struct gathered_memory {
  std::byte* values;
  std::byte* indices;  // int32 or int64, as the member's map; null if none are wanted
  std::int32_t* lengths;
};
gathered_memory carve(const problem& member, simt::carver& memory);

// The buffers of the member's call for the rows of `p` from `first` on.
io members_buffers(const problem& p, const problem& member, const io& buffers, std::int64_t first,
                   const gathered_memory& from);

}  // namespace kselect::admitted
