// Counts what is left of a grid of n, q and k without visiting it. For each pair (n, k) and (q, k)
// the constraints are evaluated once, into a bit for each k; a row then is an `and` of bits. A row
// whose bits do not settle it (arithmetic without a result, an impossible combination) is visited.

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "harness/config/combinations.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

// One bit for each value of k.
using bits = std::vector<std::uint64_t>;

bits all_ones(std::size_t count) {
  bits ones((count + 63) / 64, ~std::uint64_t{0});
  if (count % 64 != 0) ones.back() = (std::uint64_t{1} << count % 64) - 1;
  return ones;
}
void clear(bits& of, std::size_t at) { of[at / 64] &= ~(std::uint64_t{1} << at % 64); }
void set(bits& of, std::size_t at) { of[at / 64] |= std::uint64_t{1} << at % 64; }

// For each value of n (or q): the values of k for which expressions hold, and those for which their
// arithmetic has no result.
struct pair_table {
  std::vector<bits> holds, thrown;

  template <class Evaluate>
  pair_table(std::size_t rows, std::size_t ks, const Evaluate& evaluate)
      : holds(rows, all_ones(ks)), thrown(rows, bits((ks + 63) / 64)) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t k = 0; k < ks; ++k) {
        try {
          if (!evaluate(row, k)) clear(holds[row], k);
        } catch (const error&) {
          set(thrown[row], k);
        }
      }
    }
  }
};

// Expressions on a grid, sorted by the variables that they use.
class grid_predicate {
 public:
  grid_predicate(const combinations& all, const std::vector<const expression*>& given)
      : with_n_(pairs(all.lengths(), all.config().axes.k, select(given, false, true), true)),
        with_q_(pairs(all.counts(), all.config().axes.k, select(given, true, true), false)),
        of_rows_(select(given, true, false)),
        ks_(all.config().axes.k) {
    for (const expression* e : given) {
      if (uses_all(*e)) of_all_.push_back(e);
    }
  }

  // Narrows `left` to the values of k for which all hold. False if that is not settled for one.
  bool narrow(bits& left, std::size_t n, std::size_t q, const rows_to_try& row) const {
    for (std::size_t word = 0; word < left.size(); ++word) {
      if ((left[word] & (with_n_.thrown[n][word] | with_q_.thrown[q][word])) != 0) return false;
      left[word] &= with_n_.holds[n][word] & with_q_.holds[q][word];
    }
    try {
      for (const expression* e : of_rows_) {
        if (!e->holds(row.n, row.q, 1)) std::ranges::fill(left, 0);
      }
      for (const expression* e : of_all_) narrow_one_by_one(left, *e, row);
    } catch (const error&) {
      return false;
    }
    return true;
  }

 private:
  static bool uses_all(const expression& e) { return e.uses('n') && e.uses('q') && e.uses('k'); }

  void narrow_one_by_one(bits& left, const expression& e, const rows_to_try& row) const {
    for (std::size_t word = 0; word < left.size(); ++word) {
      for (std::uint64_t rest = left[word]; rest != 0; rest &= rest - 1) {
        const std::size_t k = word * 64 + static_cast<std::size_t>(std::countr_zero(rest));
        if (!e.holds(row.n, row.q, ks_[k])) clear(left, k);
      }
    }
  }

  // Those for a table: of (q, k) if `q` and `k`, of (n, k) if only `k`, of the rows if only `q`.
  static std::vector<const expression*> select(const std::vector<const expression*>& given, bool q,
                                               bool k) {
    std::vector<const expression*> chosen;
    for (const expression* e : given) {
      const bool of_rows = e->uses('q') && !e->uses('k');
      if (uses_all(*e)) continue;
      if (k ? !of_rows && e->uses('q') == q : of_rows) chosen.push_back(e);
    }
    return chosen;
  }

  static pair_table pairs(std::span<const std::int64_t> sizes, std::span<const std::int64_t> ks,
                          const std::vector<const expression*>& given, bool are_lengths) {
    return {sizes.size(), ks.size(), [&](std::size_t row, std::size_t k) {
              return std::ranges::all_of(given, [&](const expression* e) {
                return are_lengths ? e->holds(sizes[row], 1, ks[k])
                                   : e->holds(1, sizes[row], ks[k]);
              });
            }};
  }

  pair_table with_n_, with_q_;
  std::vector<const expression*> of_rows_, of_all_;
  std::span<const std::int64_t> ks_;
};

// The exclusions that apply once all axes but n, q and k are chosen.
using exclusions = std::vector<const exclusion*>;

// Counts the combinations of n, q and k that are left.
class shape_counter {
 public:
  shape_counter(const combinations& all, const expression* where)
      : all_(all),
        where_(where),
        constraints_(all, constraints_of(all)),
        condition_(all, where == nullptr ? std::vector<const expression*>{} : std::vector{where}),
        too_long_(all.lengths().size(), all.config().axes.k.size(),
                  [&](std::size_t n, std::size_t k) {
                    return all.config().axes.k[k] > all.lengths()[n];
                  }) {}

  // Those that at least one of the sets does not exclude.
  std::int64_t left_by(const std::vector<exclusions>& sets) const {
    std::int64_t count = 0;
    for (std::int64_t number = 0; number < all_.rows(); ++number) {
      const rows_to_try row = all_.row(number);
      const auto settled = all_.is_grid() ? count_bits(sets, number, row) : std::nullopt;
      count += settled ? *settled : visit(sets, row);
    }
    return count;
  }

 private:
  static std::vector<const expression*> constraints_of(const combinations& all) {
    std::vector<const expression*> constraints;
    for (const expression& each : all.config().constraints) constraints.push_back(&each);
    return constraints;
  }

  static bool excludes(const exclusion& e, const rows_to_try& row) {
    return (!e.n || *e.n == row.n) && (!e.q || *e.q == row.q);
  }

  bits not_excluded(const std::vector<exclusions>& sets, const rows_to_try& row) const {
    const std::vector<std::int64_t>& ks = all_.config().axes.k;
    bits left((ks.size() + 63) / 64);
    for (const exclusions& set : sets) {
      bits by_this = all_ones(ks.size());
      for (const exclusion* const e : set) {
        if (!excludes(*e, row)) continue;
        if (!e->k) std::ranges::fill(by_this, 0);
        const auto at = e->k ? std::ranges::find(ks, *e->k) : ks.end();
        if (at != ks.end()) clear(by_this, static_cast<std::size_t>(at - ks.begin()));
      }
      for (std::size_t word = 0; word < left.size(); ++word) left[word] |= by_this[word];
    }
    return left;
  }

  // Empty if the row has to be visited.
  std::optional<std::int64_t> count_bits(const std::vector<exclusions>& sets, std::int64_t number,
                                         const rows_to_try& row) const {
    const auto n = static_cast<std::size_t>(number) / all_.counts().size();
    const auto q = static_cast<std::size_t>(number) % all_.counts().size();
    bits left = not_excluded(sets, row);
    if (!constraints_.narrow(left, n, q, row)) return std::nullopt;
    if (std::ranges::all_of(left, [](std::uint64_t word) { return word == 0; })) return 0;
    if (!is_possible(left, n, row)) return std::nullopt;
    if (!condition_.narrow(left, n, q, row)) return std::nullopt;
    std::int64_t count = 0;
    for (const std::uint64_t word : left) count += std::popcount(word);
    return count;
  }

  bool is_possible(const bits& left, std::size_t n, const rows_to_try& row) const {
    if (row.n != 0 && row.q != 0) {
      for (std::size_t word = 0; word < left.size(); ++word) {
        if ((left[word] & too_long_.holds[n][word]) != 0) return false;
      }
    }
    workload p;
    p.n = row.n;
    p.q = row.q;
    p.k = 1;
    try {
      all_.check_possible(p);
    } catch (const error&) {
      return false;  // the visit says it of the first k
    }
    return true;
  }

  std::int64_t visit(const std::vector<exclusions>& sets, const rows_to_try& row) const {
    std::int64_t count = 0;
    workload p;
    p.n = row.n;
    p.q = row.q;
    for (const std::int64_t k : row.k) {
      p.k = k;
      const bool excluded = std::ranges::all_of(sets, [&](const exclusions& set) {
        return std::ranges::any_of(
            set, [&](const exclusion* e) { return excludes(*e, row) && (!e->k || *e->k == k); });
      });
      if (excluded || !all_.fulfils_constraints(p)) continue;
      all_.check_possible(p);
      if (where_ == nullptr || where_->holds(p.n, p.q, p.k)) ++count;
    }
    return count;
  }

  const combinations& all_;
  const expression* where_;
  grid_predicate constraints_, condition_;
  pair_table too_long_;  // k > n
};

// The exclusions that agree with `p` on all axes but n, q and k.
exclusions applying(const std::vector<exclusion>& given, const workload& p) {
  exclusions found;
  for (const exclusion& e : given) {
    const auto agrees = [](const auto& wanted, const auto& value) {
      return !wanted || *wanted == value;
    };
    if (agrees(e.type, p.type) && agrees(e.payload, p.payload) && agrees(e.index, p.index) &&
        agrees(e.direction, p.direction) && agrees(e.layout, p.layout) &&
        agrees(e.distribution, p.distribution)) {
      found.push_back(&e);
    }
  }
  return found;
}

// Calls visit(p) for every choice of all axes but n, q, k and layout.
template <class Visit>
void for_each_setting(const combinations& all, const Visit& visit) {
  const sweep_axes& axes = all.config().axes;
  workload p;
  for (const auto type : axes.types) {
    p.type = type;
    for (const auto& distribution : axes.distributions) {
      p.distribution = distribution;
      for (const auto direction : axes.directions) {
        p.direction = direction;
        for (const auto payload : axes.payloads) {
          p.payload = payload;
          for (const auto index : all.indices(payload)) {
            p.index = index;
            const std::size_t same = axes.row_lengths.size() * axes.masks.size() * axes.nans.size();
            for (std::size_t i = 0; i < same; ++i) visit(p);
          }
        }
      }
    }
  }
}

}  // namespace

std::int64_t count_left(const combinations& all, const counted_for& what) {
  const shape_counter counter(all, what.where);
  // Most settings have the same exclusions, if any.
  std::map<std::vector<exclusions>, std::int64_t> known;
  std::int64_t count = 0;
  for_each_setting(all, [&](workload p) {
    std::map<layout, std::vector<exclusions>> by_read;
    for (const layout written : all.config().axes.layouts) {
      p.layout = written;
      const auto number = static_cast<std::size_t>(written);
      by_read[what.reads.empty() ? written : what.reads[number]].push_back(
          applying(all.config().excludes, p));
    }
    for (const auto& [read, sets] : by_read) {
      const auto [at, is_new] = known.try_emplace(sets, 0);
      if (is_new) at->second = counter.left_by(sets);
      count += at->second;
    }
  });
  return count;
}

}  // namespace kselect::harness
