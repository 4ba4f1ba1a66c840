#pragma once
// A metric is one struct in one file. Every index, search and kernel here is made from it.
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
// The build finds the file (cmake/metrics.cmake). Code for the host alone may be in a .cpp beside
// it. A metric may derive from another to share its objects.
//
// A distance is a float32 and a pure function of two objects: symmetric, zero between equal
// objects, with the same bits on every executor. So an index may store distances computed
// elsewhere, the host may prove a GPU's answer, and equal answers are equal bit by bit. The
// triangle inequality holds for exact distances. A metric states the error of computed ones
// (`tolerance`), which `separated` takes into account before an object is ruled out.

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

// A computed distance d' of a true distance d has |d' - d| <= relative * d + absolute. Both are 0
// for metrics that compute exactly.
struct tolerance {
  float relative = 0, absolute = 0;
};

// Whether two objects are certainly further apart than `radius`. `greater` and `less` are their
// computed distances to a third object. By the triangle inequality the true distance is at least
// the difference of the true ones. With e = relative, the computed distance exceeds
// (1 - e) ((greater - less) - e (greater + less)). So the margin is 2 e of the sum and the radius,
// plus 8 roundings of this expression. False if a value is infinite or NaN.
KSELECT_HD inline bool separated(float greater, float less, float radius, tolerance slack) {
  constexpr float roundings = 8 * 0x1p-24F;
  const float factor = slack.relative == 0 ? 0 : fmaf(2, slack.relative, roundings);
  return greater - less > fmaf(factor, greater + less + radius, radius) + slack.absolute;
}

// The same of many pairs, in four operations: whether distances a and b to a third object differ by
// so much that `separated` holds. With f = factor and b > a, that asks for
//   (1 - f) (b - a) > f (2 a + radius) + radius + absolute,
// and for less with b < a. To divide by 1 - f takes less than the factor 1 + 3 f. The rest of it
// covers the roundings.
class separation {
 public:
  KSELECT_HD explicit separation(tolerance slack) {
    const float f = slack.relative == 0 ? 0 : fmaf(2, slack.relative, 8 * 0x1p-24F);
    const float more = 1 + 3 * f;
    of_distance_ = 2 * f * more;
    of_radius_ = (1 + f) * more;
    absolute_ = slack.absolute * more;
  }
  // `b` must not be infinite. False if a value is NaN, or another one infinite.
  KSELECT_HD bool operator()(float a, float b, float radius) const {
    return fabsf(a - b) > fmaf(of_distance_, a, fmaf(of_radius_, radius, absolute_));
  }

 private:
  float of_distance_, of_radius_, absolute_;
};

// A found object, ordered by distance, then by number. Object numbers have 32 bits.
using found_object = keyed_candidate<float>;
using entry = found_object::type;
inline constexpr std::int64_t most_objects = 0x7fffffff;

KSELECT_HD inline entry make_entry(float distance, std::int64_t object) {
  return found_object::make(order_key(distance), object);
}
KSELECT_HD inline float distance_of(entry e) { return from_order_key<float>(found_object::key(e)); }
KSELECT_HD inline std::int64_t object_of(entry e) { return found_object::index(e); }

// Named bytes of an index file (search/metric/index_file.hpp). Sets are written to and read from
// sections.
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
  // Reads objects from a user's file; throws failure::input.
  { M::load(file) } -> std::same_as<typename M::set>;
  // Writes objects to a file that load() reads; throws failure::output.
  M::save(objects, file);
  // An object as readable text; empty if it is a row of numbers.
  { M::text(objects, i) } -> std::same_as<std::string>;
  // To and from sections. Reading throws std::invalid_argument that names the defect.
  M::write(objects, out);
  { M::read(out) } -> std::same_as<typename M::set>;
  // Makes `queries` comparable with `objects`; throws failure::usage if that is impossible.
  M::adapt(queries, objects);
  { M::tolerance_of(objects) } -> std::same_as<tolerance>;
  // On the host: prepares a query, and the distance between object i and a prepared one.
  { M::prepare(queries, i) } -> std::same_as<typename M::probe>;
  { M::distance(objects, i, ready) } -> std::same_as<float>;
  // The number of bytes that an executor's memory holds of the objects. At most so many threads
  // write them to `memory`. Then the view of that memory.
  { M::image_bytes(objects) } -> std::same_as<std::size_t>;
  M::write_image(objects, memory, 1);
  { M::attach(objects, memory) } -> std::same_as<typename M::view>;
  // Bytes of shared memory for one prepared query.
  { M::staged_bytes(queries) } -> std::same_as<std::size_t>;
  // Two functions for kernels. stage(): all threads of a block prepare query q; a barrier must
  // follow. distance(): one thread computes a distance to the staged query.
  //   template <class Simt> static void stage(Simt&, const view& queries, std::int64_t q, void*);
  //   template <class Simt> static float distance(Simt&, const view&, std::int64_t i, const void*);
};

}  // namespace kselect::search::metric_space
