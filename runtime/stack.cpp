#include "runtime/stack.hpp"

#include <pthread.h>
#include <sys/resource.h>

namespace kselect::runtime {
namespace {

constexpr rlim_t enough = rlim_t{1} << 20;
constexpr std::size_t large = std::size_t{8} << 20;  // the usual limit

struct call {
  const std::function<int()>& work;
  int result = 0;
};

void* run(void* given) {
  auto* const this_call = static_cast<call*>(given);
  this_call->result = this_call->work();
  return nullptr;
}

}  // namespace

int on_large_stack(const std::function<int()>& work) {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= enough) return work();
  // The limit holds for the first thread alone; it only was the default size of all others.
  pthread_attr_t attributes{};
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, large);
  pthread_setattr_default_np(&attributes);
  call this_call{work};
  pthread_t thread{};
  const bool made = pthread_create(&thread, &attributes, run, &this_call) == 0;
  pthread_attr_destroy(&attributes);
  if (!made) return work();
  pthread_join(thread, nullptr);
  return this_call.result;
}

}  // namespace kselect::runtime
