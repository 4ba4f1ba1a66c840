#pragma once
// The buffer of a one-pass selection: a list of sorted runs in shared memory; the best items are
// kept as one run. In its bitonic network long distances use shared memory. All others use the
// registers of a warp and need no barrier.

#include "kernels/bitonic.cuh"

namespace kselect::kernels {

inline constexpr int run_registers = 4;  // items of a lane
inline constexpr position least_run = run_registers * simt::warp_size;

// A list is a sequence of runs of 2^log_run places, at least `least_run`. All threads of a block
// call these functions together. Each begins and ends with a barrier.
template <class Simt, class Key, bool indexed>
class sorted_runs {
 public:
  using list = shared_list<Key, indexed>;
  static constexpr int registers = run_registers;
  static constexpr position chunk = least_run;

  KSELECT_HD sorted_runs(Simt& simt, const list& items, position log_run)
      : simt_(simt), items_(items), log_run_(log_run), run_(position{1} << log_run) {}

  // Sorts each of the runs `first` ... `last` - 1 in ascending order.
  KSELECT_HD void sort(position first, position last) {
    const position begin = first << log_run_;
    const position size = (last - first) << log_run_;
    simt_.sync_block();
    for_each_chunk(size, [&](position at) {
      in_registers(begin + at, [&](auto& held) { held.sort(simt_, up(at, chunk)); });
    });
    for (position sorted = 2 * chunk; sorted <= run_; sorted *= 2) {
      merge(size, sorted, [&](position at) { return begin + at; });
    }
    simt_.sync_block();
  }

  // Moves the best items of the sorted runs 0 ... count - 1 to run 0. Runs are joined in pairs: one
  // run is compared, place by place, with the other reversed. The better items are the best of both
  // runs and form a bitonic run.
  KSELECT_HD void keep_best(position count) {
    for (position step = 1; step < count; step *= 2) {
      const position size = ((count + step - 1) / (2 * step)) << log_run_;  // of all pairs' firsts
      const auto first = [&](position at) {
        return 2 * step * (at & ~(run_ - 1)) + (at & (run_ - 1));
      };
      const auto second = [&](position at) {  // the place that `at` is compared with
        return first(at) - (at & (run_ - 1)) + (step << log_run_) + run_ - 1 - (at & (run_ - 1));
      };
      if (run_ == chunk) {
        for_each_chunk(size, [&](position at) {
          in_registers(first(at), [&](auto& held) {
            unrolled<registers>([&](auto r) {
              const auto other = items_.get(second(at + offset_of(r)));
              if (before(other, held.items[r])) held.items[r] = other;
            });
            held.merge(simt_, true);
          });
        });
      } else {
        for (auto at = static_cast<position>(simt_.thread()); at < size;
             at += static_cast<position>(simt_.threads())) {
          const auto other = items_.get(second(at));
          if (before(other, items_.get(first(at)))) items_.set(first(at), other);
        }
        merge(size, run_, first);
      }
      simt_.sync_block();
    }
  }

 private:
  // Sorts bitonic parts of `sorted` places, alternately upwards and downwards; whole runs upwards.
  // place(at) maps to places of the list; each part is contiguous there.
  template <class Place>
  KSELECT_HD void merge(position size, position sorted, const Place& place) {
    for (position distance = sorted / 2; distance >= chunk; distance /= 2) {
      simt_.sync_block();
      for (auto p = static_cast<position>(simt_.thread()); p < size / 2;
           p += static_cast<position>(simt_.threads())) {
        const position at = 2 * p - (p & (distance - 1));
        items_.order(place(at), place(at) + distance, up(at, sorted));
      }
    }
    simt_.sync_block();
    for_each_chunk(size, [&](position at) {
      in_registers(place(at), [&](auto& held) { held.merge(simt_, up(at, sorted)); });
    });
  }

  KSELECT_HD bool up(position at, position sorted) const {
    return sorted == run_ || (at & sorted) == 0;
  }

  // Shares `size` places among the warps: calls f(first place of a chunk).
  template <class F>
  KSELECT_HD void for_each_chunk(position size, const F& f) {
    for (position at = static_cast<position>(simt_.warp()) * chunk; at < size;
         at += static_cast<position>(simt_.warps()) * chunk) {
      f(at);
    }
  }

  template <class R>
  KSELECT_HD position offset_of(R r) const {
    return static_cast<position>(decltype(r)::value * simt::warp_size + simt_.lane());
  }

  template <class F>
  KSELECT_HD void in_registers(position begin, const F& f) {
    warp_list<Key, indexed, registers> held;
    unrolled<registers>([&](auto r) { held.items[r] = items_.get(begin + offset_of(r)); });
    f(held);
    unrolled<registers>([&](auto r) { items_.set(begin + offset_of(r), held.items[r]); });
  }

  Simt& simt_;
  list items_;
  position log_run_, run_;
};

}  // namespace kselect::kernels
