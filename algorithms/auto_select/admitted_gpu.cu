// How a GPU and fibers gather what a mask admits (admitted.hpp, admitted.cuh).

#include <algorithm>

#include "algorithms/auto_select/admitted.cuh"
#include "algorithms/auto_select/admitted.hpp"
#include "kselect/simt/device_size.hpp"

namespace kselect::admitted {
namespace {

template <class T>
gather_args<T> args_of(const gathering& how, const problem& p, const problem& member,
                       const io& buffers, std::int64_t first, const gathered_memory& to) {
  const std::int64_t elements = member.q * member.pitch;
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
  a.parts = how.parts;
  a.values = {reinterpret_cast<T*>(to.values), elements};
  if (member.map == row_numbers::int32) {
    a.indices_32 = {reinterpret_cast<std::int32_t*>(to.indices), elements};
  }
  if (member.map == row_numbers::int64) {
    a.indices_64 = {reinterpret_cast<std::int64_t*>(to.indices), elements};
  }
  a.lengths = {to.lengths, member.q};
  a.pitch = member.pitch;
  return a;
}

}  // namespace

// If rows do not fill the card, several blocks share one; but each has some thousand elements, and
// they are few: what comes before a part is counted anew in each.
gathering gathering_of(const problem& member, const device& where) {
  const int threads = simt::block_threads(where, 256);
  const std::int64_t wanted = 2 * simt::resident_blocks(where, threads);
  const std::int64_t most = std::min<std::int64_t>(4 * member.n / simt::long_row(where), 64);
  return {std::max<std::int64_t>(std::min(wanted / member.q, most), 1), threads};
}

status gather_on_device(const gathering& how, const problem& p, const problem& member,
                        const io& buffers, std::int64_t first, const gathered_memory& to,
                        const executor& on) {
  const std::int64_t blocks = std::min<std::int64_t>(member.q * how.parts, 1 << 24);
  return visit_words(p.type, [&]<class T>(T) {
    return simt::launch<gather_kernel<T>>(on, {blocks, how.threads},
                                          args_of<T>(how, p, member, buffers, first, to));
  });
}

}  // namespace kselect::admitted
