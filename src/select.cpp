// The library's call, at once or by a kept plan. A plan's calls rely on the checks made here.

#include "kselect/select.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "src/gpu_code.hpp"
#include "src/gpu_device.hpp"
#include "src/objections.hpp"

namespace kselect {

namespace entries {
std::span<const algorithm> auto_select();
}

namespace {

// Stands for `auto` in a build without it.
const algorithm& auto_left_out() {
  static const algorithm none = [] {
    algorithm a;
    a.name = "auto";
    a.missing = "this build leaves auto out (KSELECT_ALGORITHMS); name an algorithm in the options";
    return a;
  }();
  return none;
}

// One element a row needs no sorting.
requirements needed_by(const problem& p, requirements wanted) {
  if (p.k <= 1 && wanted.ordering == output_ordering::sorted) wanted.ordering = {};
  return wanted;
}

// The named entry, or the cheapest form of `auto` that keeps the requirements.
const algorithm& chosen(const select_options& options, const problem& p) {
  if (options.algorithm != nullptr) return *options.algorithm;
  const auto forms = entries::auto_select();
  if (forms.empty()) return auto_left_out();
  const requirements wanted = needed_by(p, options.require);
  const auto found =
      std::ranges::find_if(forms, [&](const algorithm& a) { return keeps(a.promises, wanted); });
  return found != forms.end() ? *found : forms.back();
}

// Of no element the answer is empty, and no entry is asked.
status select_nothing(const problem&, const io&, std::span<std::byte>, const executor&) {
  return {};
}

// The entry's plan, if it promises what is required.
call_plan planned(const algorithm& entry, const problem& p, const place& where,
                  const requirements& wanted) {
  if (p.k == 0 && entry.missing.empty()) {
    call_plan nothing = call_plan::of<&select_nothing>(p);
    nothing.made_by(entry);
    return nothing;
  }
  if (!entry.missing.empty() || keeps(entry.promises, needed_by(p, wanted))) {
    return plan_call(entry, p, where.device());
  }
  const contract& c = entry.promises;
  const auto terms = [](output_ordering ordering, tie_break ties, determinism how) {
    return std::string(to_string(ordering)) + ", " + std::string(to_string(ties)) + ", " +
           std::string(to_string(how));
  };
  return call_plan::refused("it promises no more than " +
                            terms(c.ordering, c.tie_break, c.determinism) + "; required are " +
                            terms(wanted.ordering, wanted.tie_break, wanted.determinism));
}

// Algorithms want their scratch memory to begin at a multiple of this. Callers need not know it.
constexpr std::size_t workspace_alignment = 256;

// The first `needed` bytes of a workspace that are aligned; shorter if they do not fit.
std::span<std::byte> aligned_part(std::span<std::byte> workspace, std::size_t needed) {
  if (needed == 0) return {};
  const std::size_t above =
      reinterpret_cast<std::uintptr_t>(workspace.data()) % workspace_alignment;
  const std::size_t skipped = above == 0 ? 0 : workspace_alignment - above;
  if (workspace.size() < skipped + needed) return {};
  return workspace.subspan(skipped, needed);
}

// With room to align what an algorithm needs.
std::size_t with_alignment(std::size_t needed) {
  return needed == 0 ? 0 : needed + workspace_alignment - 1;
}

#if KSELECT_HAS_CUDA

std::string text(cudaError_t code) {
  static_cast<void>(cudaGetLastError());
  return std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code);
}

struct gpu {
  device description;
  std::string obstacle;  // why nothing can run there; empty if it can
};

gpu read_gpu(int ordinal) {
  gpu read;
  cudaDeviceProp properties{};
  if (const auto code = cudaGetDeviceProperties(&properties, ordinal); code != cudaSuccess) {
    read.obstacle = "no usable GPU: " + text(code);
  }
  read.description = describe_gpu(properties);
  if (read.obstacle.empty()) read.obstacle = cut_shared_memory(read.description);
  if (read.obstacle.empty()) read.obstacle = why_no_code(code_here(read.description));
  return read;
}

// The description of a GPU. It is read on first use and cached.
const gpu& gpu_number(int ordinal) {
  static std::mutex guard;
  static std::vector<std::unique_ptr<gpu>> known;
  const std::scoped_lock lock(guard);
  if (known.size() <= static_cast<std::size_t>(ordinal)) {
    known.resize(static_cast<std::size_t>(ordinal) + 1);
  }
  auto& slot = known[static_cast<std::size_t>(ordinal)];
  if (slot == nullptr) slot = std::make_unique<gpu>(read_gpu(ordinal));
  return *slot;
}

#endif

device described_cpu(int threads) {
  device d;
  d.kind = executor_kind::cpu;
  d.name = "cpu";
  d.threads = threads;
  return d;
}

}  // namespace

place place::cpu(int threads) {
  // Read once: asking the system takes longer than a small selection.
  static const kselect::device all =
      described_cpu(std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  if (threads <= 0 || threads == all.threads) return {&all, nullptr, -1, {}};
  static std::mutex guard;
  static std::vector<std::unique_ptr<kselect::device>> known;
  const std::scoped_lock lock(guard);
  for (const auto& d : known) {
    if (d->threads == threads) return {d.get(), nullptr, -1, {}};
  }
  known.push_back(std::make_unique<kselect::device>(described_cpu(threads)));
  return {known.back().get(), nullptr, -1, {}};
}

place place::cuda(void* stream) {
#if KSELECT_HAS_CUDA
  int ordinal = 0;
  if (const auto code = cudaGetDevice(&ordinal); code == cudaSuccess) {
    const gpu& found = gpu_number(ordinal);
    return {&found.description, stream, ordinal, found.obstacle};
  } else {
    static const kselect::device none{.kind = executor_kind::cuda, .name = {}};
    return {&none, stream, -1, "no usable GPU: " + text(code)};
  }
#else
  static const kselect::device none{.kind = executor_kind::cuda, .name = {}};
  return {&none, stream, -1, "this build of kselect has no CUDA"};
#endif
}

namespace {

// The most that values with or without indices need: for values alone, `auto` may choose another
// member.
std::size_t most_workspace(const algorithm& entry, const problem& p, const place& where,
                           const requirements& wanted) {
  if (!p.has_values()) return planned(entry, p, where, wanted).workspace();
  problem values_only = p;
  values_only.payload = payload::values;
  values_only.map = row_numbers::none;
  return std::max(planned(entry, p, where, wanted).workspace(),
                  planned(entry, values_only, where, wanted).workspace());
}

// Whether the call can begin, before its plan is made; if not, its error.
status admit(const problem& p, const detail::call_buffers& buffers, const place& where) {
  if (!where.obstacle().empty()) return {status_code::unsupported, where.obstacle()};
  std::string wrong = objection(p);
  if (wrong.empty()) wrong = objection(p, buffers);
  if (!wrong.empty()) return {status_code::invalid, std::move(wrong)};
  return {};
}

status refusal(const algorithm& entry, const call_plan& plan) {
  return {status_code::unsupported, std::string(entry.name) + ": " + std::string(plan.reason())};
}

status start(const call_plan& plan, const detail::call_buffers& buffers,
             std::span<std::byte> aligned, const executor& on) {
  return plan.enqueue({buffers.rows, buffers.values, buffers.indices, buffers.lengths,
                       buffers.starts, buffers.k_each, buffers.map, buffers.mask},
                      aligned, on);
}

// With a workspace of the caller's.
status start_in(const call_plan& plan, const detail::call_buffers& buffers,
                std::span<std::byte> workspace, const executor& on, const char* who_knows) {
  const std::size_t needed = plan.workspace();
  const std::span<std::byte> aligned = aligned_part(workspace, needed);
  if (aligned.size() < needed) {
    return {status_code::invalid, "the workspace has " + std::to_string(workspace.size()) +
                                      " bytes, but " + std::to_string(with_alignment(needed)) +
                                      " are needed; ask " + who_knows};
  }
  return start(plan, buffers, aligned, on);
}

}  // namespace

std::size_t detail::workspace_for(const problem& p, const place& where,
                                  const select_options& options) {
  if (!objection(p).empty() || !where.obstacle().empty()) return 0;
  return with_alignment(most_workspace(chosen(options, p), p, where, options.require));
}

status detail::select_checked(const problem& p, const call_buffers& buffers,
                              std::span<std::byte> workspace, const place& where,
                              const select_options& options) {
  if (status refused = admit(p, buffers, where); !refused.ok()) return refused;
  const algorithm& entry = chosen(options, p);
  const call_plan plan = planned(entry, p, where, options.require);
  if (!plan) return refusal(entry, plan);
  return start_in(plan, buffers, workspace, where.executor(), "select_workspace()");
}

status detail::select_allocating(const problem& p, const call_buffers& buffers, const place& where,
                                 const select_options& options) {
  if (where.device().kind != executor_kind::cpu) {
    return {status_code::invalid,
            "a call on a GPU allocates nothing; pass a workspace of select_workspace() bytes"};
  }
  if (status refused = admit(p, buffers, where); !refused.ok()) return refused;
  const algorithm& entry = chosen(options, p);
  const call_plan plan = planned(entry, p, where, options.require);
  if (!plan) return refusal(entry, plan);
  const std::size_t needed = plan.workspace();
  const auto release = [](void* memory) {
    ::operator delete (memory, std::align_val_t{workspace_alignment});
  };
  std::unique_ptr<void, decltype(release)> memory;
  if (needed != 0) {
    memory.reset(::operator new (needed, std::align_val_t{workspace_alignment}, std::nothrow));
    if (memory == nullptr) {
      return {status_code::out_of_memory,
              "no memory for a workspace of " + std::to_string(needed) + " bytes"};
    }
  }
  return start(plan, buffers, {static_cast<std::byte*>(memory.get()), needed}, where.executor());
}

// ---- kept plans

select_plan detail::plan_checked(const problem& p, const place& where,
                                 const select_options& options) {
  select_plan kept;
  kept.device_ = &where.device();
  kept.stream_ = where.executor().stream;
  kept.ordinal_ = where.ordinal_;
  if (!where.obstacle().empty()) {
    kept.plan_ = call_plan::refused(where.obstacle());
  } else if (const std::string wrong = objection(p); !wrong.empty()) {
    kept.refusal_ = status_code::invalid;
    kept.plan_ = call_plan::refused(wrong);
  } else {
    const algorithm& entry = chosen(options, p);
    kept.plan_ = planned(entry, p, where, options.require);
    if (!kept.plan_) kept.plan_ = call_plan::refused(refusal(entry, kept.plan_).message);
  }
  return kept;
}

status select_plan::outcome() const {
  if (plan_) return {};
  return {refusal_, std::string(plan_.reason())};
}

std::size_t select_plan::workspace() const { return with_alignment(plan_.workspace()); }

std::string_view select_plan::algorithm() const {
  return plan_.entry() == nullptr ? std::string_view{} : plan_.entry()->name;
}

namespace {

// Whether the calling thread's GPU is that number; -1 stands for the host.
bool is_current(int ordinal) {
#if KSELECT_HAS_CUDA
  int current = -1;
  return ordinal < 0 || (cudaGetDevice(&current) == cudaSuccess && current == ordinal);
#else
  return ordinal < 0;
#endif
}

}  // namespace

status detail::select_planned(const select_plan& kept, const problem& p,
                              const call_buffers& buffers, std::span<std::byte> workspace,
                              const place* where) {
  if (status refused = kept.outcome(); !refused.ok()) return refused;
  if (where != nullptr && &where->device() != kept.device_) {
    return {status_code::invalid, "the plan was made for " + kept.device_->name +
                                      ", and the call is on " + where->device().name +
                                      " or with other threads; plan_select() there"};
  }
  if (!is_current(kept.ordinal_)) {
    return {status_code::invalid, "the plan was made for GPU " + std::to_string(kept.ordinal_) +
                                      ", which is not the calling thread's current one"};
  }
  if (p != kept.plan_.problem()) {
    return {status_code::invalid, "the plan is for " + to_string(kept.plan_.problem()) +
                                      ", and the call for " + to_string(p)};
  }
  if (std::string wrong = objection(p, buffers); !wrong.empty()) {
    return {status_code::invalid, std::move(wrong)};
  }
  void* const stream = where != nullptr ? where->executor().stream : kept.stream_;
  return start_in(kept.plan_, buffers, workspace, {kept.device_, stream, nullptr},
                  "select_plan::workspace()");
}

}  // namespace kselect
