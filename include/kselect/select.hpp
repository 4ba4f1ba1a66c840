#pragma once
// The library's call: the k smallest (or largest) of each row of a matrix, with their indices.
//
// On the CPU, with std::vector or any other contiguous range of host memory:
//     kselect::row_matrix<float> rows{.data = distances.data(), .q = 1000, .n = 100'000};
//     kselect::status done = kselect::select(rows, 100, values, indices);
//
// On a GPU, or with a workspace of your own, which is used again and again:
//     kselect::place gpu = kselect::place::cuda(stream);
//     std::size_t bytes = kselect::select_workspace<float, std::int32_t>(rows, 100, gpu);
//     kselect::status done =
//         kselect::select(rows, 100, values, indices, workspace, gpu);  // spans of device memory
//
// ragged_rows.hpp has the same calls for rows of lengths of their own.
//
// Calls of one shape may share a plan, which costs each of them less time of the host:
//     kselect::select_plan plan = kselect::plan_select(rows, 100, gpu);
//     kselect::status done = kselect::select(plan, rows, values, indices, workspace);
//
// Default contract (terms of contract.hpp). select_options can require more or name another
// algorithm, whose own contract then holds.
//  determinism      not_guaranteed: ties with the k-th element and the output order may differ
//                   between runs; the selected values never do
//  tie_break        unspecified
//  output_ordering  unsorted
//  NaN, -0          ordered by IEEE totalOrder (order.hpp): +NaN above +inf, -0 below +0;
//                   select_options::nan puts every NaN last, or first
// On a GPU a call enqueues its work on the stream and returns. It does not allocate or synchronise,
// and CUDA graphs can capture it. On the CPU it returns when the answer is complete; without a
// workspace it allocates one and frees it.
//
// Errors are return values. A later fault of the GPU is an error of the stream's next call, as with
// any launch.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "kselect/algorithm.hpp"
#include "kselect/requirements.hpp"

namespace kselect {

// Q rows of n elements. Row-major: element (r, c) at r * pitch + c; column-major: c * pitch + r.
template <class T>
struct row_matrix {
  const T* data = nullptr;
  std::int64_t q = 0, n = 0;
  std::int64_t pitch = 0;  // elements between neighbouring rows (columns); 0: dense
  kselect::layout layout = layout::row_major;
};

class place;
class select_plan;
struct select_options;

namespace detail {
template <class T>
constexpr std::optional<dtype> listed_as() {
  if constexpr (requires { dtype_traits<T>::type; }) return dtype_traits<T>::type;
  return std::nullopt;
}
struct place_access;  // tests make places of fibers
// A caller's buffers: the outputs' sizes are in elements.
struct call_buffers {
  const void* rows;
  void* values;  // null: indices alone are wanted
  std::int64_t value_count;
  void* indices;  // null: values alone are wanted
  std::int64_t index_count;
  const void* lengths = nullptr;  // of ragged rows
  const void* starts = nullptr;
  const void* k_each = nullptr;
  const void* map = nullptr;
  const void* mask = nullptr;
};
// What the buffers that are not empty can hold.
constexpr payload payload_of(bool values, bool indices) {
  if (!indices) return payload::values;
  return values ? payload::values_and_indices : payload::indices;
}
std::size_t workspace_for(const problem& p, const place& where, const select_options& options);
status select_checked(const problem& p, const call_buffers& buffers, std::span<std::byte> workspace,
                      const place& where, const select_options& options);
// With a workspace that the call allocates; for place::cpu() alone.
status select_allocating(const problem& p, const call_buffers& buffers, const place& where,
                         const select_options& options);
select_plan plan_checked(const problem& p, const place& where, const select_options& options);
// `where` null: the plan's own place.
status select_planned(const select_plan& plan, const problem& p, const call_buffers& buffers,
                      std::span<std::byte> workspace, const place* where);
}  // namespace detail

// The device of a call and of its buffers.
class place {
 public:
  // This process's CPUs: `threads` of them; 0 means all that it may use.
  static place cpu(int threads = 0);
  // The calling thread's current GPU. `stream` is a cudaStream_t; null is the default stream. The
  // properties of a GPU are read once and cached. Without CUDA or a GPU, every call returns
  // `unsupported` with the reason.
  static place cuda(void* stream = nullptr);

  const kselect::device& device() const { return *device_; }
  // Why nothing can run here; empty if it can.
  const std::string& obstacle() const { return obstacle_; }
  kselect::executor executor() const { return {device_, stream_, nullptr}; }

 private:
  place(const kselect::device* device, void* stream, int ordinal, std::string obstacle)
      : device_(device), stream_(stream), ordinal_(ordinal), obstacle_(std::move(obstacle)) {}
  friend select_plan detail::plan_checked(const problem&, const place&, const select_options&);
  friend struct detail::place_access;

  const kselect::device* device_;  // lives as long as the program
  void* stream_;
  int ordinal_;  // of the GPU, in CUDA's numbering; -1: none
  std::string obstacle_;
};

struct select_options {
  kselect::direction direction = direction::smallest;
  // Where NaN stands: by its bits in the total order, or last or first in either direction. `last`
  // costs a look at the answer, and a row whose answer has a misplaced NaN is selected again, more
  // slowly; `first` costs one more read of the rows. On a GPU kernels do so, and nothing waits.
  nan_order nan = nan_order::total_order;
  // Promises beyond the default contract. They cost some extra work. Example: best first in each
  // row is
  //    {.require = {.ordering = output_ordering::sorted}}
  // With .tie_break = tie_break::prefer_smaller_index or .determinism = determinism::gpu_to_gpu the
  // answer is unique: the same values, indices and order everywhere.
  requirements require = {};
  // Runs this entry instead of `auto` if not null, e.g. find_algorithm("qms-block")->algorithm,
  // which links in all algorithms. `unsupported` if it does not promise what `require` asks for.
  const kselect::algorithm* algorithm = nullptr;
};

// The dtype of T. Specialise it for a type of the same layout, such as CUDA's __half:
//     template <> inline constexpr std::optional<kselect::dtype> kselect::dtype_of<__half> =
//         kselect::dtype::float16;
template <class T>
inline constexpr std::optional<dtype> dtype_of = detail::listed_as<T>();

namespace detail {
template <class Index>
constexpr index_type index_type_of() {
  static_assert(std::is_same_v<Index, std::int32_t> || std::is_same_v<Index, std::int64_t>,
                "indices are std::int32_t or std::int64_t");
  return std::is_same_v<Index, std::int32_t> ? index_type::int32 : index_type::int64;
}

template <class T, class Index>
problem problem_of(const row_matrix<T>& rows, std::int64_t k, payload wanted,
                   const select_options& options) {
  problem p;
  p.n = rows.n;
  p.q = rows.q;
  p.k = k;
  static_assert(dtype_of<T> && sizeof(T) == size_of(*dtype_of<T>),
                "rows are of an element type (kselect/dtypes.hpp), or of a type for which "
                "kselect::dtype_of says which of these it is");
  p.type = *dtype_of<T>;
  p.index = index_type_of<Index>();
  p.direction = options.direction;
  p.nan = options.nan;
  p.payload = wanted;
  p.layout = rows.layout;
  p.pitch = rows.pitch;
  return p;
}

template <class T, class Index>
call_buffers buffers_of(const row_matrix<T>& rows, std::span<T> values, std::span<Index> indices) {
  return {rows.data, values.empty() ? nullptr : values.data(),
          static_cast<std::int64_t>(values.size()), indices.empty() ? nullptr : indices.data(),
          static_cast<std::int64_t>(indices.size())};
}

// A vector, an array or a span that takes indices.
template <class Range>
concept index_range = std::ranges::contiguous_range<Range> && std::ranges::sized_range<Range>;
template <index_range Range>
using index_in = std::ranges::range_value_t<Range>;
}  // namespace detail

// Bytes of scratch memory that select() needs at that place, whatever their alignment. 0 if it
// needs none, or would refuse the call. Both directions need the same size.
template <class T, class Index>
std::size_t select_workspace(const row_matrix<T>& rows, std::int64_t k, const place& where,
                             const select_options& options = {}) {
  return detail::workspace_for(
      detail::problem_of<T, Index>(rows, k, payload::values_and_indices, options), where, options);
}

// The same for calls without values. An algorithm that has to write values writes them here.
template <class T, class Index>
std::size_t select_indices_workspace(const row_matrix<T>& rows, std::int64_t k, const place& where,
                                     const select_options& options = {}) {
  return detail::workspace_for(detail::problem_of<T, Index>(rows, k, payload::indices, options),
                               where, options);
}

// Selects the k best elements of each row. Row r: values[r * k ...] and their columns in indices[r
// * k ...].
//
// values, indices: at least Q * k elements each. An empty `indices` selects only values; the same
// workspace suffices. An empty `values` selects only indices; ask select_indices_workspace(). All
// memory is the place's own. k = 0 selects nothing. Errors start no work: `invalid` (k not in
// 0..n, a span or the workspace too short, null data, a pitch shorter than a row), `unsupported`,
// and `failed` or `out_of_memory` from the launch.
//
// This overload is for calls that name the types, select<float, std::int32_t>(...); `indices` may
// then be {}. The others deduce them. `values` may be {} in all.
template <class T, class Index>
status select(const row_matrix<T>& rows, std::int64_t k, std::type_identity_t<std::span<T>> values,
              std::type_identity_t<std::span<Index>> indices, std::span<std::byte> workspace,
              const place& where, const select_options& options = {}) {
  const problem p = detail::problem_of<T, Index>(
      rows, k, detail::payload_of(!values.empty(), !indices.empty()), options);
  return detail::select_checked(p, detail::buffers_of<T, Index>(rows, values, indices), workspace,
                                where, options);
}

// The same; `indices` is a std::vector, a std::array or a span of std::int32_t or std::int64_t.
template <class T, detail::index_range Indices>
status select(const row_matrix<T>& rows, std::int64_t k, std::type_identity_t<std::span<T>> values,
              Indices&& indices, std::span<std::byte> workspace, const place& where,
              const select_options& options = {}) {
  using index = detail::index_in<Indices>;
  return select<T, index>(rows, k, values, std::span<index>(indices), workspace, where, options);
}

// Selects on the CPU with a workspace that the call allocates. `where` may say how many threads:
// place::cpu(2). Errors are those above; `invalid` if `where` is a GPU, whose calls allocate
// nothing; `out_of_memory` if there is none for the workspace.
template <class T, detail::index_range Indices>
status select(const row_matrix<T>& rows, std::int64_t k, std::type_identity_t<std::span<T>> values,
              Indices&& indices, const place& where = place::cpu(),
              const select_options& options = {}) {
  using index = detail::index_in<Indices>;
  const std::span<index> found(indices);
  const problem p = detail::problem_of<T, index>(
      rows, k, detail::payload_of(!values.empty(), !found.empty()), options);
  return detail::select_allocating(p, detail::buffers_of<T, index>(rows, values, found), where,
                                   options);
}

// ---- kept plans

// All that is decided about calls of one shape on one device, or the reason why they cannot be
// made. A value without memory of its own: keep it, copy it, share it between threads.
class select_plan {
 public:
  // Whether calls can be made. If not, outcome() says why: `invalid` (k not in 0..n, a pitch
  // shorter than a row) or `unsupported`. Each call with the plan returns that outcome, too.
  explicit operator bool() const { return static_cast<bool>(plan_); }
  status outcome() const;
  // Bytes of scratch memory that a call needs, whatever their alignment.
  std::size_t workspace() const;
  // The entry that calls run, such as `bms-block`; empty if there is none.
  std::string_view algorithm() const;
  // What the calls compute.
  const kselect::problem& problem() const { return plan_.problem(); }

 private:
  friend select_plan detail::plan_checked(const kselect::problem&, const place&,
                                          const select_options&);
  friend status detail::select_planned(const select_plan&, const kselect::problem&,
                                       const detail::call_buffers&, std::span<std::byte>,
                                       const place*);
  call_plan plan_;
  const kselect::device* device_ = nullptr;
  void* stream_ = nullptr;
  int ordinal_ = -1;  // as place's
  status_code refusal_ = status_code::unsupported;
};
static_assert(std::is_trivially_copyable_v<select_plan>);

// Plans calls of select() on matrices of the shape of `rows`, whose data is not looked at and may
// be null. Index: std::int32_t or std::int64_t; void plans for values alone. An algorithm that the
// options name must live as long as the plan.
template <class Index = std::int32_t, class T>
select_plan plan_select(const row_matrix<T>& rows, std::int64_t k, const place& where,
                        const select_options& options = {}) {
  constexpr bool indexed = !std::is_void_v<Index>;
  using index = std::conditional_t<indexed, Index, std::int32_t>;
  return detail::plan_checked(
      detail::problem_of<T, index>(rows, k, detail::payload_of(true, indexed), options), where,
      options);
}

// The same for calls without values.
template <class Index = std::int32_t, class T>
select_plan plan_select_indices(const row_matrix<T>& rows, std::int64_t k, const place& where,
                                const select_options& options = {}) {
  return detail::plan_checked(detail::problem_of<T, Index>(rows, k, payload::indices, options),
                              where, options);
}

namespace detail {
template <class Index, class T>
status select_with(const select_plan& plan, const row_matrix<T>& rows, std::span<T> values,
                   std::span<Index> indices, std::span<std::byte> workspace, const place* where) {
  const problem p =
      problem_of<T, Index>(rows, plan.problem().k, payload_of(!values.empty(), !indices.empty()),
                           {.direction = plan.problem().direction, .nan = plan.problem().nan});
  return select_planned(plan, p, buffers_of<T, Index>(rows, values, indices), workspace, where);
}
}  // namespace detail

// Selects as planned, on the plan's place. `rows` may be another matrix of the same shape; its
// types, the buffers' sizes and the workspace are as for the calls above. Besides their errors:
// `invalid` if the matrix or the types are not those of the plan, or if the calling thread's
// current GPU is not the plan's.
template <class T, detail::index_range Indices>
status select(const select_plan& plan, const row_matrix<T>& rows,
              std::type_identity_t<std::span<T>> values, Indices&& indices,
              std::span<std::byte> workspace) {
  using index = detail::index_in<Indices>;
  return detail::select_with<index, T>(plan, rows, values, std::span<index>(indices), workspace,
                                       nullptr);
}

// The same on `where`, which may have another stream. `invalid` if it is another device, or another
// number of threads.
template <class T, detail::index_range Indices>
status select(const select_plan& plan, const row_matrix<T>& rows,
              std::type_identity_t<std::span<T>> values, Indices&& indices,
              std::span<std::byte> workspace, const place& where) {
  using index = detail::index_in<Indices>;
  return detail::select_with<index, T>(plan, rows, values, std::span<index>(indices), workspace,
                                       &where);
}

}  // namespace kselect
