#pragma once
// The dynamic shared memory that launches of one kernel may ask for.

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace kselect::simt {

// A GPU keeps one such limit a kernel, for all threads of the program. A call that lowered it could
// do so between another thread's own call and its launch, which would then fail; a captured graph
// needs it, too, until it has been instantiated. So this limit only rises.
class shared_limit {
 public:
  // Calls set(bytes), and returns what that returns. `bytes` is the most that any call has wanted
  // so far, but at most `most`, unless this one wants more. Calls follow each other.
  template <class Set>
  auto raise(std::size_t wanted, std::size_t most, const Set& set) {
    const std::lock_guard lock(guard_);
    highest_ = std::max(highest_, wanted);
    return set(std::max(wanted, std::min(highest_, most)));
  }

 private:
  std::mutex guard_;
  std::size_t highest_ = 0;
};

}  // namespace kselect::simt
