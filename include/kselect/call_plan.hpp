#pragma once
// The plan of a call: all that an algorithm decides about a problem on a device before it starts,
// or the reason why it cannot. It is made once and may start any number of calls with other
// buffers, so nothing is decided twice. A plan is a value of fixed size and owns no memory: keeping
// and copying one costs 672 bytes.
//
// An algorithm keeps its decisions in a struct of its own, and names the function that starts a
// call from them:
//
//     struct shape { int threads; std::int64_t blocks; };
//     status start(const shape&, const problem&, const io&, std::span<std::byte>, const executor&);
//     call_plan plan_for(const problem& p, const device& where) {
//       if (p.k > 512) return call_plan::refused("k > 512");
//       return call_plan::of<&start>(p, bytes, shape{128, p.q});
//     }

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "kselect/call.hpp"
#include "kselect/problem.hpp"

namespace kselect {

struct algorithm;

// `room`: bytes for decisions, or for the reason of a refusal.
template <std::size_t room>
class basic_plan {
 public:
  // A plan whose calls are started by start(decisions, problem, buffers, workspace, executor).
  // `workspace`: bytes of scratch memory that a call needs, aligned to 256 by the caller.
  template <auto start, class Decisions>
  static basic_plan of(const kselect::problem& p, std::size_t workspace, const Decisions& decided) {
    static_assert(std::is_trivially_copyable_v<Decisions>, "a plan is copied byte by byte");
    static_assert(sizeof(Decisions) <= room, "decisions have the room of a plan");
    static_assert(alignof(Decisions) <= alignof(std::int64_t));
    basic_plan made(p, workspace, &with_decisions<start, Decisions>);
    made.keep(&decided, sizeof decided);
    return made;
  }
  // The same where the problem decides all: start(problem, buffers, workspace, executor).
  template <auto start>
  static basic_plan of(const kselect::problem& p, std::size_t workspace = 0) {
    return {p, workspace, &without_decisions<start>};
  }
  // No plan, and why; a reason longer than the room is cut.
  static basic_plan refused(std::string_view reason) {
    basic_plan none;
    none.keep(reason.data(), std::min(reason.size(), room));
    return none;
  }
  basic_plan() = default;

  // The same plan with other room. Refused if its decisions do not fit.
  template <std::size_t other>
  explicit basic_plan(const basic_plan<other>& plan)
      : problem_(plan.problem_),
        workspace_(plan.workspace_),
        start_(plan.start_),
        entry_(plan.entry_) {
    if (plan.size_ <= room) {
      keep(plan.decided_.data(), plan.size_);
    } else {
      *this = refused("the plan of a member has no room in the plan of another algorithm");
    }
  }

  // Whether there is a plan; if not, the reason.
  explicit operator bool() const { return start_ != nullptr; }
  std::string_view reason() const {
    if (*this) return {};
    if (size_ == 0) return "no plan was made";
    return {reinterpret_cast<const char*>(decided_.data()), size_};
  }

  const kselect::problem& problem() const { return problem_; }
  std::size_t workspace() const { return workspace_; }
  // The entry that made the plan, for messages: `auto` has its member's. Null if a test calls
  // algorithm::plan itself.
  const algorithm* entry() const { return entry_; }
  void made_by(const algorithm& entry) {
    if (entry_ == nullptr) entry_ = &entry;
  }
  std::size_t bytes_of_decisions() const { return *this ? size_ : 0; }

  // Starts the selection. Never allocates device memory and, unless the contract declares it, never
  // synchronises. `workspace` has workspace() bytes; `on` is the device of the plan.
  status enqueue(const io& buffers, std::span<std::byte> workspace, const executor& on) const {
    if (!*this) return {status_code::unsupported, std::string(reason())};
    return start_(decided_.data(), problem_, buffers, workspace, on);
  }

 private:
  template <std::size_t>
  friend class basic_plan;
  using start_function = status (*)(const std::byte* decided, const kselect::problem&, const io&,
                                    std::span<std::byte>, const executor&);

  basic_plan(const kselect::problem& p, std::size_t workspace, start_function start)
      : problem_(p), workspace_(workspace), start_(start) {}

  void keep(const void* bytes, std::size_t count) {
    size_ = count;
    if (count != 0) std::memcpy(decided_.data(), bytes, count);
  }
  template <auto start, class Decisions>
  static status with_decisions(const std::byte* decided, const kselect::problem& p,
                               const io& buffers, std::span<std::byte> workspace,
                               const executor& on) {
    return start(*std::launder(reinterpret_cast<const Decisions*>(decided)), p, buffers, workspace,
                 on);
  }
  template <auto start>
  static status without_decisions(const std::byte*, const kselect::problem& p, const io& buffers,
                                  std::span<std::byte> workspace, const executor& on) {
    return start(p, buffers, workspace, on);
  }

  kselect::problem problem_;
  std::size_t workspace_ = 0;
  start_function start_ = nullptr;  // null: there is no plan, and `decided_` is the reason
  const algorithm* entry_ = nullptr;
  std::size_t size_ = 0;  // bytes in use
  alignas(std::int64_t) std::array<std::byte, room> decided_{};
};

using call_plan = basic_plan<568>;
// As decisions of a composed algorithm, which adds some of its own; and as those of an algorithm
// that is composed of such a one.
using member_plan = basic_plan<176>;
using composed_plan = basic_plan<328>;

static_assert(sizeof(call_plan) == 672 && std::is_trivially_copyable_v<call_plan>);
static_assert(sizeof(member_plan) == 280 && sizeof(composed_plan) == 432);

}  // namespace kselect
