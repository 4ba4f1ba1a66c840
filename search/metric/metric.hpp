#pragma once
// What a metric is: one struct in one file, from which every index, search and kernel here is made.
//
//     // search/metric/metrics/my_metric.hpp
//     struct my_metric {
//       static constexpr std::string_view name;
//       static constexpr std::string_view objects;  // what it compares: "vectors", "words"
//       class set;                  // objects in host memory; count(), gather(ids), read, write
//       struct probe;               // one object made ready to be compared on the host
//       struct view;                // a set in an executor's memory; trivially copyable
//       ... and the functions that `metric` below asks for
//     };
//
// The build finds the file (cmake/metrics.cmake); what only the host needs may be in a .cpp beside
// it. Two metrics of the same objects share them: a metric may derive from another.
//
// A distance is a float32 and a pure function of two objects: symmetric, zero between equal
// objects, the same bits on every executor. So an index may keep distances that it has computed
// elsewhere, an answer may be proven by distances of the host, and whether two answers agree is no
// matter of rounding. The triangle inequality holds for what the distances are rounded from; a
// metric states how far they may be off (`tolerance`), and `separated` allows for that before it
// discards anything.

#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kselect/candidate.hpp"
#include "kselect/hd.hpp"
#include "kselect/simt/types.hpp"

namespace kselect::search::metric_space {

// A computed distance is within a factor 1 +- relative of the true one, and `absolute` beside.
// Metrics that compute exactly have zeros.
struct tolerance {
  float relative = 0, absolute = 0;
};

// Whether two objects are certainly further apart than `radius`, by their distances `greater` and
// `less` to a third: the true distance is at least the difference of the true ones. With e =
// relative, the computed distance exceeds (1 - e) ((greater - less) - e (greater + less)), so the
// margin asked for is 2 e of the sum and the radius, and 8 roundings of this very expression. False
// where a value is infinite or NaN.
KSELECT_HD inline bool separated(float greater, float less, float radius, tolerance slack) {
  constexpr float roundings = 8 * 0x1p-24F;
  const float factor = slack.relative == 0 ? 0 : fmaf(2, slack.relative, roundings);
  return greater - less > fmaf(factor, greater + less + radius, radius) + slack.absolute;
}

// An object found, ordered by distance, then by number. Objects are numbered with 32 bits.
using found_object = keyed_candidate<float>;
using entry = found_object::type;
inline constexpr std::int64_t most_objects = 0x7fffffff;

KSELECT_HD inline entry make_entry(float distance, std::int64_t object) {
  return found_object::make(order_key(distance), object);
}
KSELECT_HD inline float distance_of(entry e) { return from_order_key<float>(found_object::key(e)); }
KSELECT_HD inline std::int64_t object_of(entry e) { return found_object::index(e); }

// A run of bytes with a name: what a set is written as and read from
// (search/metric/index_file.hpp).
struct section {
  std::string name;
  std::vector<std::byte> bytes;
};
using sections = std::vector<section>;

template <class M>
concept metric = std::is_trivially_copyable_v<typename M::view> &&
    requires(const typename M::set& objects, typename M::set& queries, std::int64_t i,
             const typename M::probe& ready, std::span<const std::int64_t> numbers,
             std::byte* memory, const std::string& file, sections& out) {
  { M::name } -> std::convertible_to<std::string_view>;
  { M::objects } -> std::convertible_to<std::string_view>;
  { objects.count() } -> std::same_as<std::int64_t>;
  // The objects of these numbers, in this order.
  { objects.gather(numbers) } -> std::same_as<typename M::set>;
  // Objects from a file of the user's; throws failure::input.
  { M::load(file) } -> std::same_as<typename M::set>;
  // The same objects to a file that load() reads; throws failure::output.
  M::save(objects, file);
  // An object as people read it; empty where that is a row of numbers.
  { M::text(objects, i) } -> std::same_as<std::string>;
  // To and from sections; reading throws std::invalid_argument with what is wrong.
  M::write(objects, out);
  { M::read(out) } -> std::same_as<typename M::set>;
  // Makes `queries` comparable with `objects`; throws failure::usage where that cannot be.
  M::adapt(queries, objects);
  { M::tolerance_of(objects) } -> std::same_as<tolerance>;
  // The host's distance, between object i and one made ready.
  { M::prepare(queries, i) } -> std::same_as<typename M::probe>;
  { M::distance(objects, i, ready) } -> std::same_as<float>;
  // What an executor's memory has to hold, and the view of it once it is there.
  { M::image(objects) } -> std::same_as<std::vector<std::byte>>;
  { M::attach(objects, memory) } -> std::same_as<typename M::view>;
  // Shared memory in which a kernel holds one of `queries`, made ready.
  { M::staged_bytes(queries) } -> std::same_as<std::size_t>;
  // And two verbs of kernels: all threads of a block make query q ready, to be followed by a
  // barrier; one thread computes a distance to it.
  //   template <class Simt> static void stage(Simt&, const view& queries, std::int64_t q, void*);
  //   template <class Simt> static float distance(Simt&, const view&, std::int64_t i, const void*);
};

}  // namespace kselect::search::metric_space
