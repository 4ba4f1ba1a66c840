// How a GPU and fibers gather what a mask admits (admitted.hpp, admitted.cuh).

#include <algorithm>

#include "algorithms/auto_select/admitted.cuh"
#include "algorithms/auto_select/admitted.hpp"
#include "kselect/simt/device_size.hpp"

namespace kselect::admitted {
namespace {

// The decisions of a call.
struct masked_call {
  composed_plan member;  // of so many rows
  std::int64_t parts;    // of a row; a block gathers each
  int threads;           // of a block
};

template <class T>
gather_args<T> args_of(const masked_call& c, const problem& p, const io& buffers,
                       std::int64_t first, const gathered_memory& to) {
  const problem& member = c.member.problem();
  // How many words a mask that rows share has, and numbers a map, is the caller's matter.
  constexpr std::int64_t any = std::int64_t{1} << 40;
  gather_args<T> a;
  a.places = kernels::places_of(p, buffers);
  a.input = {static_cast<const T*>(buffers.input), p.input_elements()};
  a.mask = {static_cast<const std::uint32_t*>(buffers.mask),
            p.mask_pitch == 0 ? any : p.q * p.mask_pitch};
  a.mask_pitch = p.mask_pitch;
  a.named = p.map != row_numbers::none;
  a.map = kernels::numbers_of(p.map, buffers.map, p.map_of_input ? p.input_elements() : any);
  a.map_step = p.map_of_input ? a.places.pitch : 0;
  a.first_row = first;
  a.rows = member.q;
  a.parts = c.parts;
  a.pitch = member.pitch;
  a.values = {reinterpret_cast<T*>(to.values), a.rows * a.pitch};
  if (member.map == row_numbers::int32) {
    a.indices_32 = {reinterpret_cast<std::int32_t*>(to.indices), a.rows * a.pitch};
  }
  if (member.map == row_numbers::int64) {
    a.indices_64 = {reinterpret_cast<std::int64_t*>(to.indices), a.rows * a.pitch};
  }
  a.lengths = {to.lengths, a.rows};
  return a;
}

// Gathers the member's rows from row `first` of `p` on.
status gather(const masked_call& c, const problem& p, const io& buffers, std::int64_t first,
              const gathered_memory& to, const executor& on) {
  const std::int64_t blocks = std::min<std::int64_t>(c.member.problem().q * c.parts, 1 << 24);
  return visit_words(p.type, [&]<class T>(T) {
    return simt::launch<gather_kernel<T>>(on, {blocks, c.threads},
                                          args_of<T>(c, p, buffers, first, to));
  });
}

status start(const masked_call& c, const problem& p, const io& buffers, std::span<std::byte> memory,
             const executor& on) {
  const problem& member = c.member.problem();
  simt::carver pieces(memory.data());
  const gathered_memory rows = carve(member, pieces);
  const auto rest = memory.subspan(pieces.used());
  // The last rows may be some that were selected from before: the member takes only so many.
  for (std::int64_t next = 0; next < p.q; next += member.q) {
    const std::int64_t first = std::min(next, p.q - member.q);
    status done = gather(c, p, buffers, first, rows, on);
    if (done.ok()) {
      done = c.member.enqueue(members_buffers(p, member, buffers, first, rows), rest, on);
    }
    if (!done.ok()) return done;
  }
  return {};
}

}  // namespace

// Scratch memory of a KiB for each thread that the device holds: some hundred MB on a GPU, which
// fill it for longer than launches take.
std::int64_t rows_at_once(const problem& member, const device& where) {
  const std::int64_t bytes = std::int64_t{where.multiprocessors} * where.resident_threads * 1024;
  const auto element = static_cast<std::int64_t>(size_of(member.type) + size_of(member.map));
  const std::int64_t row = member.pitch * element + std::int64_t{sizeof(std::int32_t)};
  const std::int64_t most = std::clamp<std::int64_t>(bytes / row, 1, member.q);
  const std::int64_t parts = (member.q + most - 1) / most;
  return (member.q + parts - 1) / parts;
}

// If rows do not fill the card, several blocks share one; but each has some thousand elements, and
// they are few: what comes before a part is counted anew in each.
call_plan plan_on_device(const composed_plan& member, const problem& p, const device& where) {
  const std::int64_t rows = member.problem().q;
  const int threads = simt::block_threads(where, 256);
  const std::int64_t wanted = 2 * simt::resident_blocks(where, threads);
  const std::int64_t most = std::min<std::int64_t>(4 * p.n / simt::long_row(where), 64);
  const std::int64_t parts = std::max<std::int64_t>(std::min(wanted / rows, most), 1);
  simt::carver sizes(nullptr);
  static_cast<void>(carve(member.problem(), sizes));
  return call_plan::of<&start>(p, sizes.used() + member.workspace(),
                               masked_call{member, parts, threads});
}

}  // namespace kselect::admitted
