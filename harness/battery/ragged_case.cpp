#include "harness/battery/ragged_case.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "harness/battery/attempt.hpp"
#include "harness/workload/rows.hpp"

namespace kselect::harness {
namespace {

// How rows are given.
enum class row_form : std::uint8_t { lengths, lengths_and_starts, starts, segments };
constexpr std::array row_forms = {row_form::lengths, row_form::lengths_and_starts, row_form::starts,
                                  row_form::segments};

constexpr std::int64_t gap = 8;  // elements of the matrix beyond n

std::vector<std::byte> as_numbers(row_numbers type, const std::vector<std::int64_t>& numbers) {
  if (type == row_numbers::none) return {};
  std::vector<std::byte> bytes(numbers.size() * size_of(type));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto narrow = static_cast<std::int32_t>(numbers[i]);
    const bool wide = type == row_numbers::int64;
    std::memcpy(bytes.data() + i * size_of(type),
                wide ? static_cast<const void*>(&numbers[i]) : &narrow, size_of(type));
  }
  return bytes;
}

// At least so many rows; as many as the test device of fibers needs to give short ones to warps.
std::vector<std::int64_t> lengths_around(std::int64_t n, std::int64_t k, std::size_t least) {
  std::vector<std::int64_t> all = {n,     0,     1,     k - 1, k,   k + 1, 33,    n / 2, n - 1,
                                   n / 3, n / 5, 2 * k, 64,    200, 1024,  n - 7, 1025,  5};
  for (std::int64_t& length : all) length = std::clamp<std::int64_t>(length, 0, n);
  const std::size_t once = all.size();
  while (all.size() < least) all.push_back(all[all.size() - once]);
  return all;
}

// The declared enumerator whose turn it is.
template <class Enum>
Enum turn_of(enum_set<Enum> declared, int turn, std::initializer_list<Enum> of) {
  std::vector<Enum> mine;
  for (const Enum each : of) {
    if (declared.contains(each)) mine.push_back(each);
  }
  return mine.empty() ? *of.begin() : mine[static_cast<std::size_t>(turn) % mine.size()];
}

// Two of three problems have a mask: rows share its bits, or each has its own.
void give_mask(workload& p, int turn) {
  const int own_turn = (turn + turn / 3) % 3;  // unlike that of a k of each row
  if (own_turn == 0) return;
  p.mask = own_turn == 1 || p.segments ? mask_bits::columns : mask_bits::elements;
  if (p.mask == mask_bits::elements) p.mask_pitch = (p.n + gap + 31) / 32 + 1;
}

// Bits that admit nothing, everything, few elements and half of them, some words each.
std::vector<std::uint32_t> bits_of_mask(const workload& p) {
  if (p.mask == mask_bits::none) return {};
  const std::int64_t count =
      p.mask == mask_bits::elements ? p.q * p.mask_pitch : p.elements / 32 + 1;
  std::mt19937 random(static_cast<unsigned>(p.seed));
  std::vector<std::uint32_t> words;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto drawn = static_cast<std::uint32_t>(random());
    switch (i / 5 % 4) {
      case 0:
        words.push_back(drawn);
        break;
      case 1:
        words.push_back(0);
        break;
      case 2:
        words.push_back(~std::uint32_t{0});
        break;
      default:
        words.push_back(std::uint32_t{1} << drawn % 32);
    }
  }
  return words;
}

// A problem of that form, in types that take turns.
workload ragged_problem(const algorithm& entry, row_form form, std::int64_t n, std::int64_t k,
                        int turn) {
  workload p;
  p.n = n;
  p.k = k;
  p.seed = 20261125;
  p.type =
      turn_of(entry.dtypes, turn,
              {dtype::float32, dtype::bfloat16, dtype::float64, dtype::float16, dtype::int32,
               dtype::float8_e4m3fn, dtype::uint8, dtype::uint32, dtype::int8, dtype::float8_e5m2});
  p.payload = turn_of(entry.payloads, turn / 2,
                      {payload::values_and_indices, payload::indices, payload::values});
  p.index = turn_of(entry.index_types, turn / 3, {index_type::int64, index_type::int32});
  p.direction = turn % 3 == 0 ? direction::largest : direction::smallest;
  p.distribution = parse_distribution(turn % 2 == 0 ? "uniform" : "few_distinct(7)").value();
  p.nan =
      turn_of(entry.nans, turn / 2, {nan_order::total_order, nan_order::last, nan_order::first});
  if (p.nan != nan_order::total_order) {
    p.distribution = parse_distribution("nan_fraction(0.2)").value();
  }
  p.fill = turn % 5 == 0 ? n : -1;
  const auto type = turn % 2 == 0 ? row_numbers::int32 : row_numbers::int64;
  if (form == row_form::lengths || form == row_form::lengths_and_starts) p.lengths = type;
  if (form != row_form::lengths) p.starts = type;
  p.segments = form == row_form::segments;
  if (turn % 3 == 1) p.k_each = type;
  if (entry.maps && p.has_indices() && turn % 2 == 0) {
    p.map = p.index == index_type::int64 && turn % 4 == 0 ? row_numbers::int64 : row_numbers::int32;
    p.map_of_input = turn % 8 == 2;
  }
  if (entry.masks) give_mask(p, turn);
  return p;
}

// Fewer than k of each row, more, and none.
std::vector<std::int64_t> wanted_of_each(std::int64_t q, std::int64_t k) {
  const std::array<std::int64_t, 5> some = {k, 0, 1, k / 2, k + 3};
  std::vector<std::int64_t> all;
  for (std::int64_t r = 0; r < q; ++r) all.push_back(some[static_cast<std::size_t>(r) % 5]);
  return all;
}

// Names in no order, two elements to a name where `twice`.
std::vector<std::int64_t> names_of_elements(std::int64_t count, bool twice) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back((twice ? i / 2 : i) * 7919 % 1'000'003);
  return all;
}

struct shape {
  std::int64_t n, k;
  std::size_t least_rows = 0;
};

void prove_form(battery_attempt& a, row_form form, const shape& s, int turn) {
  workload p = ragged_problem(a.entry(), form, s.n, s.k, turn);
  const std::int64_t n = s.n, k = s.k;
  const std::vector<std::int64_t> lengths = lengths_around(n, k, s.least_rows);
  p.q = static_cast<std::int64_t>(lengths.size());
  workload matrix = p;  // in whose memory the rows lie
  matrix.lengths = matrix.starts = row_numbers::none;
  matrix.segments = false;
  matrix.n = n + gap;
  matrix.k = 1;
  std::vector<std::byte> rows(matrix.input_bytes());
  generate_rows(matrix, rows, a.place().description().threads);
  std::vector<std::int64_t> starts;
  std::int64_t at = 3;  // segments begin anywhere
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    starts.push_back(p.segments ? at : static_cast<std::int64_t>(r) % gap);
    at += lengths[r];
  }
  if (p.segments) starts.push_back(at);
  if (!p.segments) p.pitch = n + gap;
  p.elements = matrix.input_elements();
  const auto of_rows = as_numbers(p.lengths, lengths), begin = as_numbers(p.starts, starts);
  const auto wanted = as_numbers(p.k_each, wanted_of_each(p.q, k));
  const auto names = as_numbers(p.map, names_of_elements(p.elements, turn % 16 == 0));
  const auto admitted = bits_of_mask(p);
  a.prove_ragged(p, rows, {of_rows, begin, wanted, names, std::as_bytes(std::span(admitted))});
}

}  // namespace

void rows_of_their_own_lengths(battery_attempt& a) {
  // A warp's row, tiles of a block and pieces of a row, a large part of the row and a smaller one,
  // and more than the row has.
  constexpr std::array shapes = {shape{40, 5},     shape{2500, 32},  shape{9000, 17},
                                 shape{5000, 900}, shape{5000, 200}, shape{300, 300},
                                 shape{20, 50}};
  // Rows long enough to be cut on a GPU; the fibers' device cuts those above. Of the last there are
  // so many that warps take the short ones meanwhile.
  const auto many = 4 * static_cast<std::size_t>(a.place().description().multiprocessors) + 2;
  const std::array long_shapes = {shape{40'000, 17}, shape{300'000, 900}, shape{70'000, 2048},
                                  shape{20'000, 65, many}};
  int turn = 0;
  const auto prove_all = [&](std::span<const shape> all) {
    for (const shape& s : all) {
      for (const row_form form : row_forms) {
        if (a.mine()) prove_form(a, form, s, turn);
        ++turn;
      }
    }
  };
  prove_all(shapes);
  if (a.on(executor_kind::cuda)) prove_all(long_shapes);
  if (a.entry().ragged.contains(a.executor()) && a.result.proven == 0) {
    throw refuted{"", "none of the problems with ragged rows is within the limits it declares"};
  }
}

}  // namespace kselect::harness
