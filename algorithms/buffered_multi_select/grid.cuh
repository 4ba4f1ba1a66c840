#pragma once
// Buffered multi-select with several blocks a row, for rows too few to fill the card: two launches.
//
//   sample_kernel  each block reads its part of the row's first tile and publishes group minima
//   stream_kernel  each block finds the threshold for itself from all minima of the row, filters
//   its
//                  part of the row, and appends its survivors to the row's; the block that is last
//                  to do so selects from them
//
// No block waits for another.

#include "algorithms/buffered_multi_select/kernels.cuh"

namespace kselect::bms {

template <class T, bool indexed>
struct grid_memory {
  using candidate = typename candidate_of<T, indexed>::type;
  simt::global<order_key_t<T>> minima;  // [rows][minima_of_row]
  simt::global<candidate> survivors;    // [rows][parts * capacity]
  simt::global<position> appended;      // [rows]
  simt::global<position> finished;      // [rows]: blocks
};

template <class T, bool indexed>
struct grid_args {
  rows_view<T> matrix;
  answer_view<T> out;
  grid_memory<T, indexed> memory;
  plan shape;           // of a row's parts
  plan alone;           // of a block that reads the whole row; differs in the tiles
  position parts;       // blocks a row
  position lanes;       // whose groups are joined for a published minimum: 1, 2, 4 ... 32
  position row_minima;  // published, of a row
};

template <class T, bool indexed, int loads>
struct sample_kernel {
  static constexpr int max_threads = 512;
  struct storage {
    control<order_key_t<T>> team;
  };
  using args = grid_args<T, indexed>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    using block_team = team<Simt, T, indexed, false>;
    using reader = row_reader<block_team, loads>;
    const std::int64_t row = simt.block() / a.parts;
    const auto part = static_cast<position>(simt.block() % a.parts);
    const team_memory<T, indexed> none{};
    block_team block(simt, shared.team, none, a.shape);
    reader source(block, baselines::row_at(simt, a.matrix, row), a.matrix.wanted, row, part);
    if (part == 0 && block.thread() == 0) {
      simt.store(a.memory.appended, row, 0);
      simt.store(a.memory.finished, row, 0);
    }
    typename reader::tile own;
    source.load(0, own);
    auto least = minima_of<reader>(block, own);
    const position each = block.threads() / a.lanes;
    std::int64_t to = row * a.row_minima + static_cast<std::int64_t>(part) * each * a.shape.groups +
                      block.thread() / a.lanes;
    KSELECT_UNROLL
    for (int g = 0; g < group_minima<reader>::most; ++g) {
      if (g >= static_cast<int>(a.shape.groups)) continue;
      auto joined = least.x[g];
      for (int delta = 1; delta < static_cast<int>(a.lanes); delta *= 2) {
        joined = simt.smaller(joined, simt.shfl_xor(simt::full_mask, joined, delta));
      }
      if (block.thread() % a.lanes == 0) simt.store(a.memory.minima, to, order_key(joined));
      to += each;
    }
  }
};

template <class T, bool indexed, int loads>
struct stream_kernel {
  static constexpr int max_threads = 512;
  static constexpr int min_blocks = 2;
  using key = order_key_t<T>;
  struct storage {
    control<key> team;
    position first, last;
  };
  using args = grid_args<T, indexed>;

  template <class Simt>
  KSELECT_HD static void run(Simt& simt, storage& shared, const args& a) {
    const std::int64_t row = simt.block() / a.parts;
    work<Simt>(simt, shared, a, row).run(static_cast<position>(simt.block() % a.parts));
  }

 private:
  template <class Simt>
  class work {
   public:
    using block_team = team<Simt, T, indexed, false>;
    using candidates = typename block_team::candidates;
    using candidate = typename block_team::candidate;

    KSELECT_HD work(Simt& simt, storage& shared, const args& a, std::int64_t row)
        : simt_(simt), shared_(shared), a_(a), row_(row) {}

    KSELECT_HD void run(position part) {
      const auto memory = team_memory<T, indexed>::at(simt_.dynamic_shared(), a_.shape);
      block_team block(simt_, shared_.team, memory, a_.shape);
      narrowing<block_team> narrow(block);
      narrow.prepare();
      const key bound = find_threshold(block, narrow);
      survivors<block_team> list(block, narrow, a_.matrix.k);
      list.start(bound);
      row_reader<block_team, loads> source(block, input(), a_.matrix.wanted, row_, part);
      typename row_reader<block_team, loads>::tile own;
      source.load(0, own);
      stream<block_team, loads>(block, source, list).run(own);
      append(block, list.finish());
      if (shared_.last == 0) return;
      merge(block, narrow, list, bound);
    }

   private:
    KSELECT_HD simt::global<const T> input() { return baselines::row_at(simt_, a_.matrix, row_); }
    KSELECT_HD simt::global<candidate> of_row() {
      const std::int64_t most = std::int64_t{a_.parts} * a_.shape.capacity;
      return simt_.slice(a_.memory.survivors, row_ * most, most);
    }

    // The row's minima are searched in shared memory, where the list will be.
    KSELECT_HD key find_threshold(block_team& block, narrowing<block_team>& narrow) {
      key* const minima = reinterpret_cast<key*>(block.memory.list);
      for (position i = block.thread(); i < a_.row_minima; i += block.threads()) {
        minima[i] = simt_.load(a_.memory.minima, row_ * a_.row_minima + i);
      }
      block.sync();
      return threshold(narrow, a_.row_minima, a_.shape.rank, a_.shape.slack, [&](const auto& f) {
        for (position i = block.thread(); i < a_.row_minima; i += block.threads()) f(minima[i]);
      });
    }

    // Adds the block's survivors to the row's, and finds out whether it is the last to do so.
    KSELECT_HD void append(block_team& block, position size) {
      if (block.thread() == 0) shared_.first = simt_.atomic_add(a_.memory.appended, row_, size);
      block.sync();
      const auto to = of_row();
      for (position i = block.thread(); i < size; i += block.threads()) {
        simt_.store(to, std::int64_t{shared_.first} + i, block.memory.list[i]);
      }
      simt_.fence();
      block.sync();
      if (block.thread() == 0) {
        const position before = simt_.atomic_add(a_.memory.finished, row_, 1);
        shared_.last = before + 1 == a_.parts ? 1 : 0;
      }
      block.sync();
      simt_.fence();
    }

    KSELECT_HD void merge(block_team& block, narrowing<block_team>& narrow,
                          survivors<block_team>& list, key bound) {
      const position size = simt_.load_fresh(a_.memory.appended, row_);
      answer<block_team> out(block, narrow, a_.out, row_, a_.matrix.k, a_.matrix.wanted);
      if (size < a_.matrix.k) {  // the tile misled, as in the one-block form
        block_team whole(simt_, shared_.team, block.memory, a_.alone);
        select_all(whole, out);
        return;
      }
      const auto from = of_row();
      list.start(bound);
      for (position first = 0; first < size; first += block.threads()) {
        const position i = first + block.thread();
        list.enter(i < size ? 1U : 0U, [&](int) { return simt_.load_fresh(from, i); });
      }
      const position found = list.finish();
      out.write(list.range(), found);
    }

    // Reads the whole row with this block alone.
    KSELECT_HD void select_all(block_team& whole, answer<block_team>& out) {
      narrowing<block_team> narrow(whole);
      survivors<block_team> list(whole, narrow, a_.matrix.k);
      list.start(static_cast<key>(~key{0}));
      row_reader<block_team, loads> source(whole, input(), a_.matrix.wanted, row_);
      typename row_reader<block_team, loads>::tile own;
      source.load(0, own);
      stream<block_team, loads>(whole, source, list).run(own);
      const position found = list.finish();
      out.write(list.range(), found);
    }

    Simt& simt_;
    storage& shared_;
    const args& a_;
    std::int64_t row_;
  };
};

}  // namespace kselect::bms
