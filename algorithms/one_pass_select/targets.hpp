// The instruction sets that the selections on vector lanes are compiled for.
//
// A build with -march= (KSELECT_MARCH) names the machine: there is one target, and the compiler
// knows it. A build without it runs on any machine of its kind. Files that define KSELECT_TARGETS
// as their own path before they include this are then compiled once for each of Highway's targets,
// in a namespace each, and choose among them when they are called (HWY_DYNAMIC_DISPATCH).
//
// All that runs on vectors stands between KSELECT_TARGET_BEGIN and KSELECT_TARGET_END, in the
// namespace KSELECT_TARGET. A lambda there also needs KSELECT_TARGET_ATTR. Headers with such code
// have a guard that HWY_TARGET_TOGGLE flips, so that each target includes them again.

#if !defined(KSELECT_DYNAMIC_TARGETS)
#define KSELECT_DYNAMIC_TARGETS 0
#endif
// The build sets it to 0 if Highway is present but does not compile
// (cmake/optional_libraries.cmake).
#if !defined(KSELECT_HAS_HIGHWAY) && __has_include(<hwy/highway.h>)
#define KSELECT_HAS_HIGHWAY 1
#endif

#if KSELECT_HAS_HIGHWAY
#define HWY_DISABLE_PCLMUL_AES  // unused here; without it -march=x86-64-v3 counts as SSSE3
#if KSELECT_DYNAMIC_TARGETS && defined(KSELECT_TARGETS)
// SSSE3 alone is rarer than any other. It would cost as much time to compile.
#define HWY_DISABLED_TARGETS HWY_SSSE3
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE KSELECT_TARGETS
#include <hwy/foreach_target.h>
#else
#define HWY_COMPILE_ONLY_STATIC  // 1.0.3 does not compile without it if -march= has all of AVX-512
#endif
#include <hwy/highway.h>
#endif

#ifndef KSELECT_TARGET
#if KSELECT_HAS_HIGHWAY
#define KSELECT_TARGET HWY_NAMESPACE
#else
#define KSELECT_TARGET own_vectors
#endif
#if KSELECT_HAS_HIGHWAY && KSELECT_DYNAMIC_TARGETS && defined(KSELECT_TARGETS)
#define KSELECT_TARGET_BEGIN() HWY_BEFORE_NAMESPACE()
#define KSELECT_TARGET_END() HWY_AFTER_NAMESPACE()
#define KSELECT_TARGET_ATTR HWY_ATTR
#define KSELECT_TARGETS_DONE HWY_ONCE  // 1 in the last of the passes over the file
// KSELECT_EXPORT(f): tables the f of all targets. KSELECT_DISPATCH(f): the best that this machine
// can run.
#define KSELECT_EXPORT(f) HWY_EXPORT(f)
#define KSELECT_DISPATCH(f) HWY_DYNAMIC_DISPATCH(f)
#else
#define KSELECT_TARGET_BEGIN() static_assert(true, "")
#define KSELECT_TARGET_END() static_assert(true, "")
#define KSELECT_TARGET_ATTR
#define KSELECT_TARGETS_DONE 1
#define KSELECT_EXPORT(f) static_assert(true, "")
#define KSELECT_DISPATCH(f) KSELECT_TARGET::f
#endif
// Of functions that change what must stay in registers.
#define KSELECT_INLINED __attribute__((always_inline)) inline
#endif
