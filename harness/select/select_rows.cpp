#include "harness/select/select_rows.hpp"

#include <fmt/format.h>

#include "harness/run/trial.hpp"
#include "kselect/ragged.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

// Throws if the rows hold values that the contract excludes.
void refuse_excluded(const algorithm& entry, const problem& p, std::span<const std::byte> rows,
                     const row_places& ragged) {
  const bool takes_nan = entry.promises.nan == nan_policy::total_order;
  if (takes_nan && entry.promises.infinities) return;
  visit_number(p.type, [&]<class T>(T) {
    const T* const data = reinterpret_cast<const T*>(rows.data());
    const auto refuse = [&](std::int64_t r, std::int64_t c, const char* what, const char* wanted) {
      throw error(
          failure::input,
          fmt::format("row {}, column {} is {}, which the contract of {} excludes; choose an "
                      "algorithm with {} (`kselect list`)",
                      r, c, what, entry.name, wanted));
    };
    const io numbers{.lengths = ragged.lengths.data(), .starts = ragged.starts.data()};
    const std::int64_t step = p.layout == layout::row_major ? 1 : p.effective_pitch();
    for (std::int64_t r = 0; r < p.q; ++r) {
      const row_extent e = p.ragged() ? extent_of(p, numbers, r) : row_extent{p.offset(r, 0), p.n};
      for (std::int64_t c = 0; c < e.length; ++c) {
        const T value = data[e.first + c * step];
        if (is_nan(value)) {
          if (!takes_nan) refuse(r, c, "NaN", "`NaN: total_order`");
        } else if (!entry.promises.infinities && is_infinite(value)) {
          refuse(r, c, "infinite", "a contract without `no infinities`");
        }
      }
    }
  });
}

std::vector<std::int64_t> widened(const problem& p, std::span<const std::byte> indices) {
  return visit(p.index, [&]<class Index>(Index) {
    const Index* const data = reinterpret_cast<const Index*>(indices.data());
    return std::vector<std::int64_t>(data, data + indices.size() / sizeof(Index));
  });
}

}  // namespace

index_type preferred_index(const algorithm& entry) {
  return entry.index_types.contains(index_type::int64) ? index_type::int64 : index_type::int32;
}

selection select_rows(const algorithm& entry, const problem& p, std::span<const std::byte> rows,
                      backend& place, const row_places& ragged) {
  if (p.q == 0 || p.n == 0 || p.k == 0) return {};
  refuse_excluded(entry, p, rows, ragged);
  input_rows input(place, rows);
  input.give_numbers(ragged);
  trial attempt(entry, p, input, place);
  attempt.prepare();
  if (const status result = attempt.run(); !result.ok()) {
    throw error(
        result.code == status_code::out_of_memory ? failure::resources : failure::unsupported,
        fmt::format("{} failed on {}: {}", entry.name, to_string(p), result.message));
  }
  // Proves the host's copy, which is what this function returns.
  if (const std::string wrong = attempt.disprove_copy(); !wrong.empty()) {
    throw error(failure::wrong_answer,
                fmt::format("{} gave a wrong answer on {}, nothing was written: {}", entry.name,
                            to_string(p), wrong));
  }
  const auto values = attempt.values();
  return {.values = {values.begin(), values.end()}, .indices = widened(p, attempt.indices())};
}

}  // namespace kselect::harness
