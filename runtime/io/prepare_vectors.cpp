#include "runtime/io/prepare_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kselect/float16.hpp"
#include "runtime/io/block_file.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

constexpr std::int64_t floats_at_once = 1 << 20;

// Calls visit(rows) for all vectors, some at a time.
void each_rows(const vector_files& from, std::int64_t before,
               const std::function<void(std::int64_t)>& done,
               const std::function<void(std::span<const float>)>& visit) {
  const std::int64_t d = from.dimension();
  const std::int64_t most =
      std::max<std::int64_t>(1, floats_at_once / std::max<std::int64_t>(1, d));
  std::vector<float> rows;
  for (std::int64_t first = 0; first < from.count(); first += most) {
    const std::int64_t count = std::min(most, from.count() - first);
    rows.resize(static_cast<std::size_t>(count * d));
    from.read(first, count, rows.data());
    visit(rows);
    done(before + first + count);
  }
}

// Adding 0 makes no difference of zeros' signs: bytes have none, so a negative zero is no byte.
bool is_integer(float x, float least, float most) {
  return x >= least && x <= most && x == std::rint(x) && !(x == 0 && std::signbit(x));
}
bool is_float16(float x) {
  const float back = to_float(from_float<float16>(x));
  return std::memcmp(&back, &x, sizeof x) == 0;
}

template <class T>
void store(std::span<const float> rows, std::vector<std::byte>& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    T value;
    if constexpr (std::is_same_v<T, float16>) {
      value = from_float<float16>(rows[i]);
    } else {
      value = static_cast<T>(rows[i]);
    }
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void store_as(element_type type, std::span<const float> rows, std::vector<std::byte>& out) {
  out.resize(rows.size() * static_cast<std::size_t>(size_of(type)));
  switch (type) {
    case element_type::uint8:
      return store<std::uint8_t>(rows, out);
    case element_type::int8:
      return store<std::int8_t>(rows, out);
    case element_type::float16:
      return store<float16>(rows, out);
    default:
      return store<float>(rows, out);
  }
}

}  // namespace

element_type narrowest_type(const vector_files& from,
                            const std::function<void(std::int64_t)>& done) {
  bool unsigned_bytes = true, signed_bytes = true, halves = true;
  each_rows(from, 0, done, [&](std::span<const float> rows) {
    const auto all = [&](const auto& fits) { return std::ranges::all_of(rows, fits); };
    unsigned_bytes = unsigned_bytes && all([](float x) { return is_integer(x, 0, 255); });
    signed_bytes = signed_bytes && all([](float x) { return is_integer(x, -128, 127); });
    halves = halves && all(is_float16);
  });
  if (unsigned_bytes) return element_type::uint8;
  if (signed_bytes) return element_type::int8;
  return halves ? element_type::float16 : element_type::float32;
}

block_shape prepare_vectors(const vector_files& from, const std::filesystem::path& target,
                            const std::function<void(std::int64_t)>& done) {
  require_block_file_name(target);  // before all vectors are read
  if (from.count() == 0) fail_input(from.name(), "has no vectors to prepare");
  require_free_space(target, from.count() * from.dimension());  // at least: all may be bytes
  const block_shape shape =
      shape_of_blocks(narrowest_type(from, done), from.count(), from.dimension());
  block_writer writer(target, shape);
  std::vector<std::byte> stored;
  each_rows(from, from.count(), done, [&](std::span<const float> rows) {
    store_as(shape.type, rows, stored);
    writer.append(stored);
  });
  from.require_unchanged();
  writer.commit();
  return shape;
}

}  // namespace kselect::runtime
