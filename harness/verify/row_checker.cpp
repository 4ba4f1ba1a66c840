// The checks of one row. Text is formatted for the lowest wrong row alone, because a wrong
// algorithm fails on many rows.

#include "harness/verify/row_checker.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

#include "runtime/format.hpp"

namespace kselect::harness::verification {

namespace {

// Of the type whose bits these are.
template <class Bits>
std::string number_text(Bits bits, dtype type) {
  return visit_number(type, [bits]<class T>(T) -> std::string {
    if constexpr (sizeof(T) != sizeof(Bits)) {
      return {};  // another width
    } else if constexpr (dtype_traits<T>::kind == number_kind::floating && sizeof(T) < 4) {
      return fmt::to_string(to_float(std::bit_cast<T>(bits)));
    } else if constexpr (sizeof(T) == 1) {
      return fmt::to_string(int{std::bit_cast<T>(bits)});
    } else {
      return fmt::to_string(std::bit_cast<T>(bits));
    }
  });
}

std::string times(std::int64_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

}  // namespace

template <class T, class Index>
row_checker<T, Index>::row_checker(const problem& what, const contract& promises, const io& buffers)
    : problem_(what),
      promises_(promises),
      input_(static_cast<const T*>(buffers.input)),
      values_(static_cast<const T*>(buffers.values)),
      indices_(static_cast<const Index*>(buffers.indices)),
      by_(signed_order<T>::of(what.type, what.direction)),
      merged_(promises.zeros == zero_policy::merged && kind_of(what.type) == number_kind::floating),
      chosen_(what.has_indices() ? what.n : 0, what.has_indices() ? what.k : 0),
      better_in_row_(what.payload == payload::values ? what.k : 1) {}

template <class T, class Index>
row_state<T> row_checker<T, Index>::open(std::int64_t row, std::span<order_key_t<T>> storage) {
  row_state<T> state;
  if (problem_.has_indices()) {
    state.open = index_range_holds(row) && index_distinct_holds(row) && value_bits_hold(row);
    if (!state.open) return state;
  }
  state.open = true;
  key worst = std::numeric_limits<key>::min();
  for (const T value : values(row)) worst = std::max(worst, contract_key(value));
  state.tied = {by_, worst, merged_ && worst == better_zero<T> ? worse_zero<T> : worst};
  state.better_returned = count_better(values(row), state.tied);
  if (!problem_.has_indices()) {
    state.tie_columns = problem_.n;
  } else if (promises_.tie_break == tie_break::prefer_smaller_index) {
    state.tie_columns = last_chosen_tie(row, state) + 1;
  }
  if (problem_.payload == payload::values) {
    state.better_seen = storage.first(static_cast<std::size_t>(state.better_returned));
  }
  return state;
}

template <class T, class Index>
void row_checker<T, Index>::consume(row_state<T>& state, std::span<const T> elements,
                                    std::int64_t first_column, counts& seen) const {
  if (problem_.payload == payload::values) {
    seen += collect_better(elements, state.tied, [&](const T* hits, std::int64_t count) {
      const std::int64_t at =
          std::atomic_ref(state.collected).fetch_add(count, std::memory_order_relaxed);
      if (at + count > state.better_returned) return;  // another count: count_holds fails the row
      std::transform(hits, hits + count, state.better_seen.begin() + at,
                     [](T hit) { return bits_of(hit); });
    });
    return;
  }
  const auto size = static_cast<std::int64_t>(elements.size());
  const std::int64_t with_ties =
      std::clamp(state.tie_columns - first_column, std::int64_t{0}, size);
  const auto split = static_cast<std::size_t>(with_ties);
  seen += count_all(elements.first(split), state.tied);
  seen.better += count_better(elements.subspan(split), state.tied);
}

template <class T, class Index>
void row_checker<T, Index>::close(std::int64_t row, const row_state<T>& state) {
  switch (problem_.payload) {
    case payload::values_and_indices:
    case payload::indices:  // with the values that they name (certificate.cpp)
      (void)(count_holds(row, state) && ordering_holds(row) && tie_break_holds(row, state));
      break;
    case payload::values:
      (void)(tied_multiplicity_holds(row, state) && count_holds(row, state) &&
             better_multiplicity_holds(row, state) && ordering_holds(row));
      break;
    case payload::kth_value:
      (void)kth_rank_holds(row, state);
      break;
  }
}

template <class T, class Index>
std::span<const T> row_checker<T, Index>::values(std::int64_t row) const {
  const std::int64_t size = problem_.outputs_per_row();
  return {values_ + row * size, static_cast<std::size_t>(size)};
}

template <class T, class Index>
std::span<const Index> row_checker<T, Index>::indices(std::int64_t row) const {
  return {indices_ + row * problem_.k, static_cast<std::size_t>(problem_.k)};
}

template <class T, class Index>
T row_checker<T, Index>::element(std::int64_t row, std::int64_t column) const {
  return input_[problem_.offset(row, column)];
}

template <class T, class Index>
std::string row_checker<T, Index>::show(T value) const {
  return fmt::format("{} (0x{:0{}x})", number_text(value.bits, problem_.type), value.bits,
                     2 * sizeof(T));
}

template <class T, class Index>
auto row_checker<T, Index>::contract_key(T value) const -> key {
  const key exact = signed_key(value, by_);
  return merged_ && exact == worse_zero<T> ? better_zero<T> : exact;
}

template <class T, class Index>
std::int64_t row_checker<T, Index>::ties_seen(const row_state<T>& state) {
  const bool two_patterns = state.tied.best != state.tied.worst;
  return state.seen.at_best + (two_patterns ? state.seen.at_worst : 0);
}

// How often the row holds the bits of `value`, which must tie with the worst key returned.
template <class T, class Index>
std::int64_t row_checker<T, Index>::pattern_seen(const row_state<T>& state, T value) const {
  return signed_key(value, by_) == state.tied.best ? state.seen.at_best : state.seen.at_worst;
}

template <class T, class Index>
bool row_checker<T, Index>::index_range_holds(std::int64_t row) {
  const auto chosen = indices(row);
  const auto bad = std::find_if(chosen.begin(), chosen.end(), [this](Index index) {
    return !(index >= 0 && static_cast<std::int64_t>(index) < problem_.n);
  });
  if (bad == chosen.end()) return true;
  return fail(check::index_range, row, bad - chosen.begin(), [&] {
    return fmt::format("index {} (0x{:0{}x}) is outside [0, {})", *bad,
                       static_cast<std::make_unsigned_t<Index>>(*bad), 2 * sizeof(Index),
                       problem_.n);
  });
}

template <class T, class Index>
bool row_checker<T, Index>::index_distinct_holds(std::int64_t row) {
  const auto chosen = indices(row);
  const std::int64_t position = chosen_.repeated(chosen);
  if (position < 0) return true;
  return fail(check::index_distinct, row, position, [&] {
    const Index index = chosen[static_cast<std::size_t>(position)];
    return fmt::format("index {} was already returned at position {}", index,
                       std::find(chosen.begin(), chosen.end(), index) - chosen.begin());
  });
}

template <class T, class Index>
bool row_checker<T, Index>::value_bits_hold(std::int64_t row) {
  const auto chosen = indices(row);
  const auto returned = values(row);
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    const T there = element(row, static_cast<std::int64_t>(chosen[j]));
    if (bits_of(returned[j]) == bits_of(there)) continue;
    return fail(check::value_bits, row, static_cast<std::int64_t>(j), [&] {
      return fmt::format("value {} is returned with index {}, where the row holds {}",
                         show(returned[j]), chosen[j], show(there));
    });
  }
  return true;
}

template <class T, class Index>
bool row_checker<T, Index>::count_holds(std::int64_t row, const row_state<T>& state) {
  if (state.seen.better == state.better_returned) return true;
  const auto returned = values(row);
  const auto worst = std::find_if(returned.begin(), returned.end(),
                                  [&](T value) { return state.tied.tied(value); });
  return fail(check::count, row, worst - returned.begin(), [&] {
    std::string text = fmt::format(
        "the row holds {} better than the worst returned, {}; {} of "
        "them are returned",
        runtime::amount_of(state.seen.better, "key"), show(*worst), state.better_returned);
    if (problem_.has_indices()) {
      const std::int64_t column = column_left_out(row);
      text += fmt::format("; left out: {} at index {}", show(element(row, column)), column);
    }
    return text;
  });
}

// The column of the best key that is not among the indices. At least one must be missing.
template <class T, class Index>
std::int64_t row_checker<T, Index>::column_left_out(std::int64_t row) const {
  const auto chosen = indices(row);
  const std::unordered_set<std::int64_t> returned(chosen.begin(), chosen.end());
  std::int64_t best = -1;
  for (std::int64_t column = 0; column < problem_.n; ++column) {
    const auto exact = [&](std::int64_t c) { return signed_key(element(row, c), by_); };
    if (best >= 0 && exact(best) <= exact(column)) continue;
    if (!returned.contains(column)) best = column;
  }
  return best;
}

template <class T, class Index>
bool row_checker<T, Index>::ordering_holds(std::int64_t row) {
  if (promises_.ordering == output_ordering::unsorted) return true;
  const auto returned = values(row);
  const bool stable =
      promises_.ordering == output_ordering::stable_sorted && problem_.has_indices();
  for (std::size_t j = 1; j < returned.size(); ++j) {
    const key before = contract_key(returned[j - 1]);
    const key here = contract_key(returned[j]);
    const auto position = static_cast<std::int64_t>(j);
    if (here < before) {
      return fail(check::ordering, row, position, [&] {
        return fmt::format("{} is better than {} before it", show(returned[j]),
                           show(returned[j - 1]));
      });
    }
    if (stable && here == before && indices(row)[j] < indices(row)[j - 1]) {
      return fail(check::stability, row, position, [&] {
        return fmt::format("{} at index {} stands after its equal {} at index {}",
                           show(returned[j]), indices(row)[j], show(returned[j - 1]),
                           indices(row)[j - 1]);
      });
    }
  }
  return true;
}

template <class T, class Index>
std::int64_t row_checker<T, Index>::last_chosen_tie(std::int64_t row,
                                                    const row_state<T>& state) const {
  std::int64_t last = -1;
  for (std::size_t j = 0; j < values(row).size(); ++j) {
    if (!state.tied.tied(values(row)[j])) continue;
    last = std::max(last, static_cast<std::int64_t>(indices(row)[j]));
  }
  return last;
}

// The chosen ties are the first ones if and only if no other tie lies before the last of them.
template <class T, class Index>
bool row_checker<T, Index>::tie_break_holds(std::int64_t row, const row_state<T>& state) {
  if (promises_.tie_break != tie_break::prefer_smaller_index) return true;
  const std::int64_t ties_returned = problem_.k - state.better_returned;
  if (ties_seen(state) == ties_returned) return true;
  const auto chosen = indices(row);
  const std::int64_t last = state.tie_columns - 1;
  const auto at = std::find(chosen.begin(), chosen.end(), static_cast<Index>(last));
  return fail(check::tie_break, row, at - chosen.begin(), [&] {
    return fmt::format(
        "{} at index {} is chosen; {} of its equals lie before it, of which {} are "
        "chosen",
        show(element(row, last)), last, ties_seen(state) - 1, ties_returned - 1);
  });
}

template <class T, class Index>
bool row_checker<T, Index>::tied_multiplicity_holds(std::int64_t row, const row_state<T>& state) {
  const auto returned = values(row);
  const auto holds = [&](key pattern, std::int64_t in_row) {
    const auto same = [&](T value) { return signed_key(value, by_) == pattern; };
    const std::int64_t count = std::count_if(returned.begin(), returned.end(), same);
    if (count <= in_row) return true;
    const auto last = std::find_if(returned.rbegin(), returned.rend(), same);
    const std::int64_t position = returned.rend() - last - 1;
    return fail(check::value_multiplicity, row, position, [&] {
      return fmt::format("{} is returned {}; the row holds it {}", show(*last), times(count),
                         times(in_row));
    });
  };
  return holds(state.tied.best, state.seen.at_best) && holds(state.tied.worst, state.seen.at_worst);
}

// Requires as many better elements collected as returned. Then the two multisets are equal, or some
// pattern is returned too often.
template <class T, class Index>
bool row_checker<T, Index>::better_multiplicity_holds(std::int64_t row, const row_state<T>& state) {
  const auto returned = values(row);
  better_in_row_.assign(state.better_seen);
  for (std::size_t j = 0; j < returned.size(); ++j) {
    if (!state.tied.better(returned[j]) || better_in_row_.take(bits_of(returned[j]))) continue;
    return fail(check::value_multiplicity, row, static_cast<std::int64_t>(j), [&] {
      const auto pattern = bits_of(returned[j]);
      return fmt::format(
          "{} is returned {}; the row holds it {}", show(returned[j]),
          times(std::count_if(returned.begin(), returned.end(),
                              [&](T value) { return bits_of(value) == pattern; })),
          times(std::count(state.better_seen.begin(), state.better_seen.end(), pattern)));
    });
  }
  return true;
}

template <class T, class Index>
bool row_checker<T, Index>::kth_rank_holds(std::int64_t row, const row_state<T>& state) {
  const T value = values(row).front();
  if (pattern_seen(state, value) == 0) {
    return fail(check::value_bits, row, 0,
                [&] { return fmt::format("value {} is not an element of the row", show(value)); });
  }
  const std::int64_t better = state.seen.better;
  const std::int64_t ties = ties_seen(state);
  if (better < problem_.k && problem_.k <= better + ties) return true;
  return fail(check::kth_rank, row, 0, [&] {
    return fmt::format("value {} has the ranks {} to {}, not {}", show(value), better + 1,
                       better + ties, problem_.k);
  });
}

template <class T, class Index>
template <class Describe>
bool row_checker<T, Index>::fail(check failed, std::int64_t row, std::int64_t position,
                                 Describe&& describe) {
  ++result_.rows_wrong;
  if (!result_.first || row < result_.first->row) {
    result_.first = finding{
        failed, row, position,
        fmt::format("{}: row {}, position {}: {}", to_string(failed), row, position, describe())};
  }
  return false;
}

template class row_checker<word<std::uint8_t>, std::int32_t>;
template class row_checker<word<std::uint8_t>, std::int64_t>;
template class row_checker<word<std::uint16_t>, std::int32_t>;
template class row_checker<word<std::uint16_t>, std::int64_t>;
template class row_checker<word<std::uint32_t>, std::int32_t>;
template class row_checker<word<std::uint32_t>, std::int64_t>;
template class row_checker<word<std::uint64_t>, std::int32_t>;
template class row_checker<word<std::uint64_t>, std::int64_t>;

}  // namespace kselect::harness::verification
