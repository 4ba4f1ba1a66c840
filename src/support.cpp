// The checks that all entries share: the declared fields and limits against a problem and a device.
// What passes them gets the entry's plan.

#include <exception>

#include "kselect/algorithm.hpp"

namespace kselect {
namespace {

template <class Enum>
std::string lacks(std::string_view what, Enum value) {
  return std::string(what) + " " + std::string(to_string(value)) + " is not supported";
}

// The first limit that a problem exceeds; empty if there is none.
std::string exceeded(const limits& most, const problem& p) {
  const auto above = [](const char* name, std::int64_t limit) {
    return std::string(name) + " > " + std::to_string(limit);
  };
  if (p.n > most.max_n) return above("n", most.max_n);
  if (p.q > most.max_q) return above("Q", most.max_q);
  if (p.k > most.max_k) return above("k", most.max_k);
  return {};
}

// Why an entry does not take ragged rows; empty if it does.
std::string excluded_ragged(const algorithm& entry, const problem& p, const device& where) {
  if (entry.ragged.bits == 0) return "rows of lengths or starts of their own are not supported";
  if (!entry.ragged.contains(where.kind)) return lacks("ragged rows: executor", where.kind);
  if (p.layout != layout::row_major) return lacks("layout of ragged rows", p.layout);
  if (p.payload == payload::kth_value) return lacks("payload of ragged rows", p.payload);
  return {};
}

// Why an entry does not put NaN where the problem wants it; empty if it does.
std::string excluded_nan(const algorithm& entry, const problem& p) {
  if (!entry.nans.contains(p.nan)) return lacks("NaN", p.nan);
  if (p.nan != nan_order::total_order && p.payload == payload::kth_value) {
    return "the k-th value alone is of the total order";
  }
  return {};
}

// Why the declared fields exclude a problem; empty if they do not.
std::string excluded(const algorithm& entry, const problem& p, const device& where) {
  if (!entry.missing.empty()) return std::string(entry.missing);
  if (!entry.executors.contains(where.kind)) return lacks("executor", where.kind);
  if (!entry.dtypes.contains(p.type)) return lacks("dtype", p.type);
  if (p.mask != mask_bits::none && !entry.masks) return "masks are not supported";
  if (std::string reason = p.ragged() ? excluded_ragged(entry, p, where) : ""; !reason.empty()) {
    return reason;
  }
  if (p.map != row_numbers::none && !entry.maps) {
    return "names of elements by a map are not supported";
  }
  if (std::string reason = excluded_nan(entry, p); !reason.empty()) return reason;
  if (!entry.payloads.contains(p.payload)) return lacks("payload", p.payload);
  if (!entry.layouts.contains(p.layout)) return lacks("layout", p.layout);
  if (p.has_indices() && !entry.index_types.contains(p.index)) {
    return lacks("index type", p.index);
  }
  const limits& most = entry.promises.limits;
  if (std::string reason = exceeded(most, p); !reason.empty()) return reason;
  if (p.has_indices() && p.index == index_type::int32 && p.n > std::int64_t{0x7fffffff}) {
    return "n > 2147483647 does not fit index type int32";
  }
  const auto pitch_bytes = p.effective_pitch() * static_cast<std::int64_t>(size_of(p.type));
  if (most.alignment != 0 && pitch_bytes % most.alignment != 0) {
    return "rows are not aligned to " + std::to_string(most.alignment) + " bytes";
  }
  return {};
}

call_plan plan_checked(const algorithm& entry, const problem& p, const device& where) {
  if (const std::string reason = excluded(entry, p, where); !reason.empty()) {
    return call_plan::refused(reason);
  }
  try {
    call_plan made = entry.plan(p, where);
    made.made_by(entry);
    return made;
  } catch (const std::exception& thrown) {  // of a plug-in; our entries throw nothing
    return call_plan::refused(std::string("its plan() threw an exception: ") + thrown.what());
  }
}

// Indices alone, from an entry that also writes values: these go to scratch memory.
using pairs_plan = basic_plan<456>;  // of a composed entry, too
struct unwanted_values {
  pairs_plan pairs;
  std::size_t pairs_workspace;  // rounded up to the alignment of what follows
};

status start_without_values(const unwanted_values& c, const problem&, const io& buffers,
                            std::span<std::byte> workspace, const executor& on) {
  io both = buffers;
  both.values = workspace.subspan(c.pairs_workspace).data();
  return c.pairs.enqueue(both, workspace.first(c.pairs.workspace()), on);
}

}  // namespace

problem with_values(problem p) {
  if (p.payload == payload::indices) p.payload = payload::values_and_indices;
  return p;
}

call_plan plan_without_values(const call_plan& pairs) {
  const pairs_plan member(pairs);
  if (!member) return call_plan::refused(member.reason());
  constexpr std::size_t alignment = 256;  // of a workspace
  const std::size_t first = (member.workspace() + alignment - 1) / alignment * alignment;
  problem p = member.problem();
  const std::size_t values = p.values_bytes();
  p.payload = payload::indices;
  call_plan made =
      call_plan::of<&start_without_values>(p, first + values, unwanted_values{member, first});
  if (member.entry() != nullptr) made.made_by(*member.entry());
  return made;
}

call_plan plan_call(const algorithm& entry, const problem& p, const device& where) {
  const bool left_out = p.payload == payload::indices &&
                        !entry.payloads.contains(payload::indices) &&
                        entry.payloads.contains(payload::values_and_indices);
  if (!left_out) return plan_checked(entry, p, where);
  return plan_without_values(plan_checked(entry, with_values(p), where));
}

support check_support(const algorithm& entry, const problem& p, const device& where) {
  const call_plan made = plan_call(entry, p, where);
  return made ? supported() : unsupported(std::string(made.reason()));
}

}  // namespace kselect
