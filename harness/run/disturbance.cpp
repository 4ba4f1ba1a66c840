#include "harness/run/disturbance.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <random>

#include "harness/verify/certificate.hpp"
#include "kselect/order.hpp"

namespace kselect::harness {
namespace {

// Longest row that is looked through, or proven after a call, on the host.
constexpr std::int64_t longest_look = std::int64_t{1} << 18;

std::int64_t draw(std::int64_t below) {
  return static_cast<std::int64_t>(unforeseen_bits() % static_cast<std::uint64_t>(below));
}

std::uint64_t bits_of_element(const std::byte* from, std::size_t bytes) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, bytes);  // little-endian, as all machines of ours
  return bits;
}

// Smaller is better; the order of order.hpp, from bits.
std::uint64_t key_of(std::uint64_t bits, dtype type, direction wanted) {
  return visit_words(type, [&]<class Bits>(word<Bits>) -> std::uint64_t {
    return selection_key(word<Bits>{static_cast<Bits>(bits)}, order_in<word<Bits>>(type, wanted));
  });
}

std::int64_t index_at(const std::vector<std::byte>& indices, index_type type, std::int64_t at) {
  const std::byte* const from = indices.data() + static_cast<std::size_t>(at) * size_of(type);
  const std::uint64_t bits = bits_of_element(from, size_of(type));
  return type == index_type::int32 ? static_cast<std::int32_t>(bits)
                                   : static_cast<std::int64_t>(bits);
}

}  // namespace

std::uint64_t unforeseen_bits() {
  // random_device alone takes a system call a draw.
  thread_local std::mt19937_64 source = [] {
    std::random_device entropy;
    std::seed_seq seed{entropy(), entropy(), entropy(), entropy(), entropy(), entropy()};
    return std::mt19937_64(seed);
  }();
  return source();
}

disturbance::~disturbance() {
  try {
    rows_.restore();
  } catch (const std::exception&) {
    // A lost GPU keeps no rows.
  }
}

std::uint64_t disturbance::bits_at(std::int64_t row, std::int64_t column) const {
  const std::size_t bytes = size_of(problem_.type);
  std::array<std::byte, 8> element{};
  place_.to_host(std::span(element).first(bytes),
                 rows_.device() + static_cast<std::size_t>(problem_.offset(row, column)) * bytes);
  return bits_of_element(element.data(), bytes);
}

void disturbance::write(std::int64_t row, std::int64_t column, std::uint64_t bits) {
  const std::size_t bytes = size_of(problem_.type);
  const auto element = std::as_bytes(std::span(&bits, 1)).first(bytes);
  rows_.write(static_cast<std::size_t>(problem_.offset(row, column)) * bytes, element);
}

// The value of output j of the row that was read; without values, that of the column it names.
std::uint64_t disturbance::value_given(std::int64_t row, std::int64_t j,
                                       std::int64_t column) const {
  if (!problem_.has_values()) return bits_at(row, column);
  const std::size_t bytes = size_of(problem_.type);
  return bits_of_element(values_.data() + static_cast<std::size_t>(j) * bytes, bytes);
}

// A column that the last answer names for the row, if the row holds the value that it gives.
std::optional<std::int64_t> disturbance::answered(std::int64_t row) {
  if (!problem_.has_indices()) return std::nullopt;
  attempt_.read_row(row, values_, indices_);
  const std::int64_t j = draw(problem_.k);
  const std::int64_t column = index_at(indices_, problem_.index, j);
  if (column < 0 || column >= problem_.n) return std::nullopt;
  const std::uint64_t value = value_given(row, j, column);
  return value == bits_at(row, column) ? std::optional(column) : std::nullopt;
}

// The column of the row's best element. Leaves the row in row_.
std::optional<std::int64_t> disturbance::best_of(std::int64_t row) {
  const bool strided = problem_.layout == layout::column_major;
  if (problem_.n > longest_look || (strided && !place_.shares_host_memory())) return std::nullopt;
  const std::size_t bytes = size_of(problem_.type);
  row_.resize(static_cast<std::size_t>(problem_.n) * bytes);
  if (strided) {
    for (std::int64_t c = 0; c < problem_.n; ++c) {
      std::memcpy(row_.data() + static_cast<std::size_t>(c) * bytes,
                  rows_.device() + static_cast<std::size_t>(problem_.offset(row, c)) * bytes,
                  bytes);
    }
  } else {
    place_.to_host(row_,
                   rows_.device() + static_cast<std::size_t>(problem_.offset(row, 0)) * bytes);
  }
  std::int64_t best = 0;
  std::uint64_t least = ~std::uint64_t{0};
  for (std::int64_t c = 0; c < problem_.n; ++c) {
    const std::uint64_t bits =
        bits_of_element(row_.data() + static_cast<std::size_t>(c) * bytes, bytes);
    const std::uint64_t key = key_of(bits, problem_.type, problem_.direction);
    if (key < least) {
      least = key;
      best = c;
    }
  }
  return best;
}

void disturbance::stir() {
  rows_.restore();
  moved_.reset();
  // A ragged row may have no element to move.
  if (problem_.q == 0 || problem_.n < 2 || problem_.ragged()) return;
  const std::int64_t row = draw(problem_.q);
  std::optional<std::int64_t> from = answered(row);
  if (!from) from = best_of(row);
  if (!from) return;
  std::int64_t to = draw(problem_.n - 1);
  if (to >= *from) ++to;
  const std::uint64_t chosen = bits_at(row, *from), other = bits_at(row, to);
  write(row, *from, other);
  if (problem_.has_indices()) {
    write(row, to, chosen);
  } else {
    const std::size_t bytes = size_of(problem_.type);
    std::memcpy(row_.data() + static_cast<std::size_t>(*from) * bytes, &other, bytes);
  }
  if (chosen != other) moved_ = moved{row, *from, to, chosen};
}

bool disturbance::shown() {
  if (!moved_) return true;
  attempt_.read_row(moved_->row, values_, indices_);
  return problem_.has_indices() ? shows_move(*moved_) : proves_row();
}

bool disturbance::shows_move(const moved& m) {
  bool there = false;
  for (std::int64_t j = 0; j < problem_.k; ++j) {
    const std::int64_t column = index_at(indices_, problem_.index, j);
    if (column != m.to && column != m.from) continue;
    const std::uint64_t value = value_given(m.row, j, column);
    if (column == m.from && value == m.bits) return false;
    there = there || (column == m.to && value == m.bits);
  }
  return there;
}

bool disturbance::proves_row() {
  problem alone = problem_;
  alone.q = 1;
  alone.layout = layout::row_major;
  alone.pitch = 0;
  const io answer{.input = row_.data(), .values = values_.data(), .indices = nullptr};
  return static_cast<bool>(verify(alone, promises_, answer, 1));
}

}  // namespace kselect::harness
