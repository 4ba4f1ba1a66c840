#include "harness/battery/nan_case.hpp"

#include "harness/battery/attempt.hpp"

namespace kselect::harness {
namespace {

workload with_nans(const char* distribution, std::int64_t n, std::int64_t q, std::int64_t k,
                   nan_order place) {
  workload p;
  p.n = n;
  p.q = q;
  p.k = k;
  p.seed = 20261126;
  p.nan = place;
  p.distribution = parse_distribution(distribution).value();
  return p;
}

}  // namespace

void nan_last_or_first(battery_attempt& a) {
  const std::int64_t n = a.on(executor_kind::fiber) ? 700 : 5003;
  int turn = 0;
  for (workload p : a.variants(with_nans("nan_fraction(0.3)", 150, 5, 20, nan_order::last))) {
    if (turn++ % 3 == 0 && a.entry().nans.contains(nan_order::first)) p.nan = nan_order::first;
    if (a.mine()) a.prove(p);
  }
  for (const nan_order place : {nan_order::last, nan_order::first}) {
    if (!a.entry().nans.contains(place)) continue;
    for (const char* const some : {"nan_fraction(0.01)", "nan_fraction(0.9)", "nan_fraction(1)"}) {
      for (const std::int64_t k : {std::int64_t{1}, std::int64_t{100}, n}) {
        workload p = with_nans(some, n, 5, k, place);
        if (k == 100) p.direction = direction::largest;
        if (!a.mine()) continue;
        for (const workload& each : a.admitted_and_narrow(p)) a.prove(each);
      }
    }
  }
  if (a.entry().nans.contains(nan_order::last) && a.result.proven == 0) {
    throw refuted{"", "none of the problems with NaN is within the limits it declares"};
  }
}

}  // namespace kselect::harness
