// Ordered selection: buffered multi-select with its answers in order (+sorted), and with every tie
// settled by index as well (+stable). Composed, not copied: the member runs as it is, and a kernel
// after it finishes its answers, which L2 mostly still holds. Short answers of +sorted come in
// order from the member's own kernels.
//
//   +sorted  Each answer is sorted where it lies (sort.cuh). Beyond what a block holds, runs are
//            sorted, then merged pair by pair (runs.cuh), so any k will do. Up to 256
//            elements are put in order by the block that selects them, up to 64 by the warp, if
//            rows have one length, and indices, and are floats of 16 or 32 bits
//            (buffered_multi_select/in_order.hpp says when).
//   +stable  The member is asked for two elements more, for one where answers are long or rows
//            ragged. An element equal to the k-th can have been left out only if all beyond k
//            equal it. Only then is the row read again, up to the last tie that is wanted
//            (finish.cuh, ties.cuh).
//   ragged   Rows of any length are ordered as rows of k elements; complete.cuh then fills what
//            they lack, cuts what is more than a row wants, and names elements by a map.
//   NaN      is put last, or first, in the answers that are there (nan_rows.cuh).
//
// Two other ways to settle ties cost more. If the member narrowed (key, index), no row would be
// read again, but its stream would compare indices, and its largest kernels would need more
// instances. Reading every row again would cost half a read. Two more elements cost almost nothing.
//
// Cost beside the member's (configs/ordered_price.json measures it): a launch that overlaps the
// member's end, and one or two that look for ties; one more read and write of the answer;
// log2(k) (log2(k) + 1) / 2 comparisons for each of its elements. Rows with surplus ties are read
// again up to about the last that is wanted, and parts of them with many ties a second time.
// Nothing is allocated and nothing waits for the host.
//
// The order is (key, index): the same on any device, whatever order the member left.
//
// Entries: bms-warp+sorted, bms-warp+stable, bms-block+sorted, bms-block+stable,
// Entries: bms-grid+sorted, bms-grid+stable

#include <algorithm>
#include <array>

#include "algorithms/buffered_multi_select/in_order.hpp"
#include "algorithms/ordered_select/complete.cuh"
#include "algorithms/ordered_select/finishing.cuh"
#include "algorithms/ordered_select/nan_rows.cuh"
#include "algorithms/ordered_select/ordered.hpp"
#include "algorithms/ordered_select/runs.cuh"

namespace kselect::ordered {
namespace {

// ---- memory

template <class T>
struct scratch {
  // [Q][k + extra] from the member, or [Q][k] runs; empty if neither is needed
  answer_view<T> answers;
  tie_memory ties;
};

template <class T>
answer_view<T> take_answers(simt::carver& memory, std::int64_t count, bool indexed) {
  answer_view<T> taken;
  taken.values = memory.take<T>(count);
  if (indexed) taken.indices_32 = memory.take<std::int32_t>(count);
  return taken;
}

template <class T>
scratch<T> carve(const problem& p, const finishing& how, simt::carver& memory) {
  scratch<T> s{};
  if (how.settles || how.runs > 1) {
    s.answers = take_answers<T>(memory, p.q * (p.k + how.extra), p.has_indices());
  }
  if (how.settles) s.ties.complete = memory.take<position>(p.q);
  if (how.parts > 1) {
    s.ties.counts = memory.take<position>(p.q * how.parts);
    s.ties.noted = memory.take<position>(p.q * how.parts * noted_ties);
  }
  return s;
}

// ---- launches

template <class Kernel>
status start(const executor& on, std::int64_t blocks, int threads, std::size_t shared,
             const typename Kernel::args& a) {
  return simt::launch<Kernel>(on, {blocks, threads, shared, true}, a);
}

template <class T>
tie_args<T> ties_of(const problem& p, const io& buffers, const finishing& how,
                    const scratch<T>& s) {
  return {.source = source_of<T>(p, buffers),
          .out = kernels::answer_in<T>(p, buffers),
          .memory = s.ties,
          .wanted = order_in<T>(p.type, p.direction),
          .rows = p.q,
          .k = static_cast<position>(p.k),
          .parts = how.parts};
}

// Sorts the runs of the answers in `from`, and settles their ties if `settles`.
template <class T, bool indexed, bool settles>
status finish(const problem& p, const finishing& how, const answer_view<T>& from,
              const answer_view<T>& out, const tie_args<T>& ties, const executor& on) {
  const finish_args<T> a{from,     out,
                         ties,     order_in<T>(p.type, p.direction),
                         p.q,      static_cast<position>(p.k),
                         how.run,  how.runs,
                         how.team, how.runs_of_block,
                         how.extra};
  const std::int64_t blocks = (p.q * how.runs + how.runs_of_block - 1) / how.runs_of_block;
  return start<finish_kernel<T, indexed, settles>>(on, blocks, how.threads,
                                                   shared_bytes<T, indexed>(how.threads), a);
}

// Looks for the ties of all rows that lack some.
template <class Kernel, class Ties>
status find_ties(const finishing& how, const Ties& ties, const executor& on) {
  status done;
  for (const bool counts : {true, false}) {
    if (counts && ties.parts == 1) continue;
    if (done.ok()) done = start<Kernel>(on, how.looking, how.looking_threads, 0, {ties, counts});
  }
  return done;
}

// Sorts answers of several runs: first the runs, then merges. Each merge moves the answers from one
// of `out` and `spare` to the other; the runs are written where the last merge ends in `out`.
template <class T, bool indexed>
status sort_long(const problem& p, const finishing& how, const answer_view<T>& out,
                 const answer_view<T>& spare, const executor& on) {
  int merges = 0;
  for (position runs = how.runs; runs > 1; runs = (runs + 1) / 2) ++merges;
  const answer_view<T> both[2] = {out, spare};
  status done = finish<T, indexed, false>(p, how, out, both[merges % 2], {}, on);
  constexpr int threads = merge_kernel<T, indexed>::max_threads;
  const std::int64_t blocks = (p.q * p.k + threads - 1) / threads;
  for (std::int64_t run = how.run; merges > 0 && done.ok(); run *= 2, --merges) {
    done = start<merge_kernel<T, indexed>>(
        on, blocks, threads, 0,
        {both[merges % 2], both[(merges - 1) % 2], order_in<T>(p.type, p.direction), p.q,
         static_cast<position>(p.k), run});
  }
  return done;
}

// Settles the ties of the member's answers, and sorts them if that is done at once.
template <class T>
status settle(const problem& p, const finishing& how, const io& buffers, const scratch<T>& s,
              const executor& on) {
  const tie_args<T> ties = ties_of<T>(p, buffers, how, s);
  if (how.given_in_order) {
    const ordered_tie_args<T> in_order{ties, s.answers, ties.k + how.extra};
    return find_ties<ordered_tie_kernel<T>>(how, in_order, on);
  }
  if (p.ragged()) {
    const ragged_tie_args<T> of_rows{ties, kernels::ragged_rows_of<T>(p, buffers)};
    const status done =
        start<settle_ragged_kernel<T>>(on, p.q, how.settling_threads, 0, {s.answers, of_rows});
    return done.ok() ? find_ties<ragged_tie_kernel<T>>(how, of_rows, on) : done;
  }
  const status done =
      how.at_once ? finish<T, true, true>(p, how, s.answers, ties.out, ties, on)
                  : start<settle_kernel<T>>(on, p.q, how.settling_threads, 0, {s.answers, ties});
  return done.ok() ? find_ties<tie_kernel<T>>(how, ties, on) : done;
}

// Completes answers in order: fills them, and names their elements.
template <class T>
status complete(const problem& p, const io& buffers, const executor& on) {
  constexpr int threads = complete_kernel<T>::max_threads;
  const std::int64_t blocks = std::min<std::int64_t>((p.q * p.k + threads - 1) / threads, 1 << 24);
  return start<complete_kernel<T>>(on, blocks, threads, 0, complete_args_of<T>(p, buffers));
}

// Launches what follows the member, whose answers are in s.answers if ties are to be settled, else
// in `buffers`.
template <class T, bool indexed>
status finish_answers(const problem& p, const finishing& how, const io& buffers,
                      const scratch<T>& s, const executor& on) {
  const answer_view<T> out = kernels::answer_in<T>(p, buffers);
  if constexpr (indexed) {
    if (how.settles) {
      const status done = settle<T>(p, how, buffers, s, on);
      if (!done.ok() || how.at_once) return done;
    }
  }
  if (how.runs == 1) return finish<T, indexed, false>(p, how, out, out, {}, on);
  return sort_long<T, indexed>(p, how, out, s.answers, on);
}

bool settles_ties(const algorithm& member, const problem& p, answer_order wanted) {
  return wanted == answer_order::stable && p.has_indices() && p.k < p.n &&
         member.promises.tie_break != tie_break::prefer_smaller_index;
}

}  // namespace

std::int64_t extra_for_ties(const problem& p, const device& where) {
  // Only registers have room for more than one (finish.cuh).
  const bool at_once =
      visit_bits(p.type, [&]<class T>(T) { return finishing_of<T, true>(p, where, 1).at_once; });
  return std::min<std::int64_t>(at_once ? most_extra : 1, p.n - p.k);
}

problem asked_for_ties(const problem& p, std::int64_t extra) {
  problem asked = in_positions(p);
  asked.k = p.k + extra;
  asked.index = index_type::int32;
  return asked;
}

namespace {

// A member's plan, for elements beyond k or none, that leaves answers in order or not.
struct planned_member {
  call_plan plan;
  position extra;
  bool in_order;
};

// The decisions of a call.
struct ordered_call {
  member_plan member;
  finishing how;
};

template <class T, bool indexed>
status start_ordered(const ordered_call& c, const problem& p, const io& buffers,
                     std::span<std::byte> memory, const executor& on) {
  simt::carver pieces(memory.data());
  const scratch<T> own = carve<T>(p, c.how, pieces);
  io members = buffers;
  if (c.how.settles) {
    members.values = own.answers.values.data;
    members.indices = own.answers.indices_32.data;
  }
  const auto rest = static_cast<std::int64_t>(c.member.workspace());
  status done =
      c.member.enqueue(members, {pieces.take<std::byte>(rest).data, c.member.workspace()}, on);
  if (done.ok()) done = finish_answers<T, indexed>(p, c.how, buffers, own, on);
  if (done.ok()) done = place_nans<T>(p, buffers, true, c.how.settling_threads, on);
  const bool incomplete = p.ragged() || p.map != row_numbers::none;
  if (done.ok() && incomplete) done = complete<T>(p, buffers, on);
  return done;
}

template <class T, bool indexed>
call_plan plan_finished(const planned_member& member, const problem& p, const device& where) {
  ordered_call c{member_plan(member.plan), finishing_of<T, indexed>(p, where, member.extra)};
  c.how.given_in_order = member.in_order;
  if (member.in_order) c.how.at_once = true;
  simt::carver sizes(nullptr);
  static_cast<void>(carve<T>(p, c.how, sizes));
  return call_plan::of<&start_ordered<T, indexed>>(p, sizes.used() + c.member.workspace(), c);
}

// Asks for fewer elements beyond k if the member cannot take as many. Where rows are many, ties are
// settled sooner in answers that are not in order (finish.cuh).
planned_member plan_member(const algorithm& member, const problem& p, bool settles, bool is_plain,
                           const device& where) {
  const std::int64_t most = settles ? extra_for_ties(p, where) : 0;
  planned_member found{};
  for (const bool in_order : {true, false}) {
    if (in_order && !is_plain) continue;
    for (std::int64_t extra = most; extra > 0 || extra == most; --extra) {
      const problem asked = settles ? asked_for_ties(p, extra) : in_positions(p);
      found.plan = !in_order ? plan_call(member, asked, where)
                   : settles ? bms::plan_of_grid_in_order(member, asked, where)
                             : bms::plan_in_order(member, asked, where);
      found.extra = static_cast<position>(extra);
      found.in_order = in_order;
      if (found.plan) return found;
    }
  }
  return found;
}

}  // namespace

call_plan plan_ordered(const algorithm& member, const problem& p, const device& where,
                       answer_order wanted) {
  if (p.n > kernels::longest_row) return call_plan::refused("n > 2147483647");
  const bool settles = settles_ties(member, p, wanted);
  const bool is_plain =
      p.map == row_numbers::none && p.nan == nan_order::total_order && !p.ragged();
  const bool is_sorted = member.promises.ordering == output_ordering::stable_sorted;
  if (is_plain && is_sorted && !settles) return plan_call(member, p, where);  // no step follows
  const planned_member first = plan_member(member, p, settles, is_plain, where);
  if (!first.plan) return call_plan::refused(first.plan.reason());
  if (first.in_order && !settles) return first.plan;
  return visit_bits(p.type, [&]<class T>(T) {
    return p.has_indices() ? plan_finished<T, true>(first, p, where)
                           : plan_finished<T, false>(first, p, where);
  });
}

// ---- names

namespace {

// A member's plan, and scratch memory for values that only the member needs.
struct named_call {
  member_plan member;
  std::size_t members_workspace;  // rounded up to the alignment of what follows
  int threads;                    // of a block that puts NaN where it belongs
};

template <class T>
status start_named(const named_call& c, const problem& p, const io& buffers,
                   std::span<std::byte> memory, const executor& on) {
  io members = buffers;
  if (!p.has_values()) members.values = memory.subspan(c.members_workspace).data();
  status done = c.member.enqueue(members, memory.first(c.member.workspace()), on);
  if (done.ok()) done = place_nans<T>(with_values(p), members, false, c.threads, on);
  return done.ok() && p.map != row_numbers::none ? complete<T>(p, buffers, on) : done;
}

}  // namespace

call_plan plan_named(const call_plan& member, const problem& p, const device& where) {
  const member_plan first(member);
  if (!first) return call_plan::refused(first.reason());
  constexpr std::size_t alignment = 256;  // of a workspace
  const std::size_t own = (first.workspace() + alignment - 1) / alignment * alignment;
  const std::size_t values = p.has_values() ? 0 : with_values(p).values_bytes();
  return visit_bits(p.type, [&]<class T>(T) {
    return call_plan::of<&start_named<T>>(p, own + values,
                                          named_call{first, own, settling_threads(where)});
  });
}

// ---- entries

namespace {

using entry_of = const algorithm& (*)();

// A member's answers in order.
template <entry_of member, answer_order wanted>
struct composed {
  static call_plan plan_for(const problem& p, const device& where) {
    return plan_ordered(member(), p, where, wanted);
  }

  static constexpr algorithm entry(std::string_view name) {
    algorithm a = kernels::gpu_entry(name, "buffered multi-select", "kselect");
    a.dtypes = every_dtype;
    a.promises = promises_of(a.promises, wanted);
    a.ragged = a.executors;
    a.maps = true;
    a.nans = every_nan_order;
    a.plan = &plan_for;
    return a;
  }
};

}  // namespace
}  // namespace kselect::ordered

namespace kselect::entries {

std::span<const algorithm> buffered_multi_select_block();
std::span<const algorithm> buffered_multi_select_grid();

namespace {

const algorithm& named(std::span<const algorithm> entries, std::string_view name) {
  return *std::ranges::find(entries, name, &algorithm::name);
}
const algorithm& bms_warp() { return named(buffered_multi_select_block(), "bms-warp"); }
const algorithm& bms_block() { return named(buffered_multi_select_block(), "bms-block"); }
const algorithm& bms_grid() { return named(buffered_multi_select_grid(), "bms-grid"); }

}  // namespace

std::span<const algorithm> ordered_select() {
  using ordered::answer_order;
  using ordered::composed;
  static constexpr std::array all = {
      composed<&bms_warp, answer_order::sorted>::entry("bms-warp+sorted"),
      composed<&bms_warp, answer_order::stable>::entry("bms-warp+stable"),
      composed<&bms_block, answer_order::sorted>::entry("bms-block+sorted"),
      composed<&bms_block, answer_order::stable>::entry("bms-block+stable"),
      composed<&bms_grid, answer_order::sorted>::entry("bms-grid+sorted"),
      composed<&bms_grid, answer_order::stable>::entry("bms-grid+stable"),
  };
  return all;
}

}  // namespace kselect::entries
