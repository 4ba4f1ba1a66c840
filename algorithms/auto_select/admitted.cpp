// The member's problem and buffers in a selection under a mask (admitted.hpp).

#include "algorithms/auto_select/admitted.hpp"

#include <limits>

#include "kselect/ragged.hpp"

namespace kselect::admitted {
namespace {

bool on_host(const device& where) { return where.kind == executor_kind::cpu; }

}  // namespace

device members_device(const device& where) {
  device own = where;
  if (on_host(where)) own.threads = 1;  // each thread gathers a row and selects from it
  return own;
}

problem gathered(const problem& p, const device& where) {
  problem m = p;
  m.mask = mask_bits::none;
  m.mask_pitch = 0;
  m.lengths = row_numbers::int32;
  m.starts = row_numbers::none;
  m.segments = false;
  m.elements = 0;
  m.pitch = (p.n + 31) / 32 * 32;  // rows begin at whole lines
  if (p.has_indices()) {
    // A map of the caller's already names the gathered elements.
    m.map = p.map != row_numbers::none ? p.map : row_numbers::int32;
    m.map_of_input = true;
  }
  m.q = on_host(where) ? 1 : rows_at_once(m, where);
  return m;
}

gathered_memory carve(const problem& member, simt::carver& memory) {
  const std::int64_t elements = member.q * member.pitch;
  const auto bytes = [&](std::size_t of_element) {
    return memory.take<std::byte>(elements * static_cast<std::int64_t>(of_element)).data;
  };
  gathered_memory m{};
  m.lengths = memory.take<std::int32_t>(member.q).data;
  m.values = bytes(size_of(member.type));
  if (member.map != row_numbers::none) m.indices = bytes(size_of(member.map));
  return m;
}

io members_buffers(const problem& p, const problem& member, const io& buffers, std::int64_t first,
                   const gathered_memory& from) {
  return {.input = from.values,
          .values = array_from(buffers.values, first * p.k, size_of(p.type)),
          .indices = array_from(buffers.indices, first * p.k, size_of(p.index)),
          .lengths = from.lengths,
          .k_each = array_from(buffers.k_each, first, size_of(p.k_each)),
          .map = member.map == row_numbers::none ? nullptr : from.indices};
}

call_plan plan(const call_plan& member, const problem& p, const device& where) {
  if (p.n > std::numeric_limits<std::int32_t>::max()) {
    return call_plan::refused("n > 2147483647: a mask's elements are counted in 32 bits");
  }
  const composed_plan first(member);
  if (!first) return call_plan::refused(first.reason());
  return on_host(where) ? plan_on_host(first, p, where) : plan_on_device(first, p, where);
}

}  // namespace kselect::admitted
