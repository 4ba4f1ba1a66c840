#pragma once
// Selection from the elements that a mask admits (problem::mask), by any member of `auto`: they are
// gathered, row by row and in order, with their indices. The member then selects from rows of
// lengths of their own, whose elements a map names. So every order, every place of NaN and every k
// is the member's, and no kernel of a member reads a mask.
//
// Cost beside the member's: the masks are read; elements are read where a word of 32 bits admits
// one; what is admitted is written and read once more. Rows are gathered some at a time, so the
// scratch memory does not grow with Q.

#include <algorithm>
#include <cstdint>

#include "algorithms/auto_select/choose.hpp"
#include "kselect/algorithm.hpp"
#include "kselect/simt/carver.hpp"

namespace kselect::admitted {

// The problem of the member, on so many rows at a time.
problem gathered(const problem& p, const device& where);

// The plan of a call on `p` by a member's plan of gathered(p, where).
call_plan plan(const call_plan& member, const problem& p, const device& where);

// A choice for `p` by the member that choose_member(problem) chooses for its gathered rows.
template <class Choose>
choice choose(const problem& p, const device& where, const Choose& choose_member) {
  choice found = choose_member(gathered(p, where));
  if (found.member == nullptr) return found;
  found.plan = plan(found.plan, p, where);
  if (found.plan) {
    found.plan.made_by(*found.member);
  } else {
    found.member = nullptr;
  }
  return found;
}

// Where the gathered rows lie: a matrix of the member's pitch.
struct gathered_memory {
  std::byte* values;
  std::byte* indices;  // int32 or int64, as the member's map; null if none are wanted
  std::int32_t* lengths;
};
inline gathered_memory carve(const problem& member, simt::carver& memory) {
  const std::int64_t elements = member.q * member.effective_pitch();
  gathered_memory m{};
  m.lengths = memory.take<std::int32_t>(member.q).data;
  m.values =
      memory.take<std::byte>(elements * static_cast<std::int64_t>(size_of(member.type))).data;
  if (member.map != row_numbers::none) {
    m.indices =
        memory.take<std::byte>(elements * static_cast<std::int64_t>(size_of(member.map))).data;
  }
  return m;
}

// How rows are gathered.
struct gathering {
  std::int64_t parts;  // of a row; a block gathers each (admitted.cuh)
  int threads;         // of a block, or of the host
};

// That of a GPU and of fibers for the member's rows.
gathering gathering_of(const problem& member, const device& where);

// Gathers the member's rows from row `first` of `p` on: on a GPU or fibers, and on the host.
status gather_on_device(const gathering& how, const problem& p, const problem& member,
                        const io& buffers, std::int64_t first, const gathered_memory& to,
                        const executor& on);
status gather_on_host(const gathering& how, const problem& p, const problem& member,
                      const io& buffers, std::int64_t first, const gathered_memory& to,
                      const executor& on);

}  // namespace kselect::admitted
