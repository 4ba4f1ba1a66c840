#include "python/extension/kept_calls.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "python/extension/array.hpp"
#include "python/extension/raise.hpp"
#include "python/extension/selection.hpp"
#include "python/extension/tensor_call.hpp"
#include "python/extension/torch_tensors.hpp"
#include "python/extension/where.hpp"

namespace kselect::python {
namespace {

constexpr const char* capsule_name = "kselect.kept_call";

// Never changed, so that any thread may read it.
struct kept_call {
  tensor_call call;
  array workspace;
  std::array<PyObject*, 4> numbers;  // lengths, starts, offsets, mask, or None
  PyObject* held = nullptr;          // all objects whose memory is used

  kept_call() = default;
  kept_call(const kept_call&) = delete;
  kept_call& operator=(const kept_call&) = delete;
  ~kept_call() { Py_XDECREF(held); }

  answer_memory memory() const {
    return {call.values.data,
            call.indices.data,
            {static_cast<std::byte*>(workspace.data), static_cast<std::size_t>(workspace.count())},
            true};
  }
};

void drop(PyObject* capsule) {
  delete static_cast<kept_call*>(PyCapsule_GetPointer(capsule, capsule_name));
}

bool read_workspace(kept_call& kept, PyObject* given) {
  const array& rows = kept.call.asked.rows;
  return is_tensor(given) && kept.workspace.read(given, "workspace", true) &&
         kept.workspace.type == element::uint8 && kept.workspace.dense() &&
         kept.workspace.on_gpu == rows.on_gpu && kept.workspace.gpu == rows.gpu;
}

bool is_like(const array& a, const array& wanted) {
  return a.type == wanted.type && a.on_gpu == wanted.on_gpu && a.gpu == wanted.gpu &&
         a.dimensions == wanted.dimensions &&
         std::equal(a.shape.begin(), a.shape.begin() + a.dimensions, wanted.shape.begin());
}

// What the call is about with these rows. False: it goes another way; an exception may be set.
bool ask(question& q, const kept_call& kept, PyObject* a) {
  const question& wanted = kept.call.asked;
  if (!is_tensor(a) || !is_plain(a) || !q.rows.read(a, "a", false) ||
      !is_like(q.rows, wanted.rows)) {
    return false;
  }
  q.flags = wanted.flags;
  const bool is_ragged = wanted.asked.problem.ragged();
  if (is_ragged) {
    if (!q.ragged.read_numbers_of(kept.numbers.data())) return false;
    q.ragged.fill = wanted.ragged.fill;
    q.ragged.most = wanted.ragged.most;
  }
  if (make_request(q.rows, wanted.asked.problem.k, q.rows.dimensions - 1, q.flags,
                   is_ragged ? &q.ragged : nullptr, q.asked) != outcome::made) {
    return false;
  }
  q.asked.problem.payload = wanted.asked.problem.payload;
  return q.asked.problem.q == wanted.asked.problem.q;
}

}  // namespace

PyObject* keep_call(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (!has_arguments(count, argument_count + 1)) return nullptr;
  std::unique_ptr<kept_call> kept(new (std::nothrow) kept_call);
  if (kept == nullptr) return PyErr_NoMemory();
  given_outputs out;
  if (!read_call(kept->call, out, given) || !kept->call.is_given ||
      !read_workspace(*kept, given[argument_count])) {
    PyErr_Clear();
    Py_RETURN_NONE;
  }
  std::copy_n(given + lengths_, kept->numbers.size(), kept->numbers.begin());
  kept->held = PyTuple_Pack(6, given[lengths_], given[starts_], given[offsets_], given[mask_],
                            given[out_], given[argument_count]);
  if (kept->held == nullptr) return nullptr;
  PyObject* const capsule = PyCapsule_New(kept.get(), capsule_name, &drop);
  if (capsule != nullptr) static_cast<void>(kept.release());
  return capsule;
}

PyObject* run_kept(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (!has_arguments(count, 2)) return nullptr;
  const auto* kept = static_cast<const kept_call*>(PyCapsule_GetPointer(given[0], capsule_name));
  if (kept == nullptr) return nullptr;
  question q;
  void* stream = nullptr;
  bool done = ask(q, *kept, given[1]) && (!q.rows.on_gpu || current_stream(q.rows.gpu, stream));
  if (done) {
    Py_BEGIN_ALLOW_THREADS const where at(q.rows, kept->call.threads, stream);
    done = run(plan_of(q, at.place()), q, kept->memory(), at.place()).ok();
    Py_END_ALLOW_THREADS
  }
  PyErr_Clear();
  return PyBool_FromLong(done ? 1 : 0);
}

}  // namespace kselect::python
