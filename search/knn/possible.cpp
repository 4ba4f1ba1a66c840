#include "search/knn/possible.hpp"

#include <fmt/format.h>

#include "runtime/error.hpp"
#include "runtime/format.hpp"

namespace kselect::search {

using runtime::error;
using runtime::failure;

void require_possible(const set_size& base, const set_size& queries, std::int64_t k,
                      bool exclude_self) {
  if (queries.dimension != base.dimension && queries.count != 0 && base.count != 0) {
    throw error(failure::input,
                fmt::format("{}: has dimension {}, but {} has {}; queries and base need the same",
                            queries.name, queries.dimension, base.name, base.dimension));
  }
  if (queries.count == 0 && base.count != 0) {
    throw error(failure::usage,
                fmt::format("{} has no vectors: there is nothing to find", queries.name));
  }
  const std::int64_t candidates = base.count - (exclude_self ? 1 : 0);
  if (k < 1 || k > candidates) {
    throw error(failure::usage,
                fmt::format("k = {} is not in 1 .. {}: {} has {}{}", k, candidates, base.name,
                            runtime::amount_of(base.count, "vector"),
                            exclude_self ? ", one of which is the query itself" : ""));
  }
}

void require_older_products(runtime::metric of, bool filtered) {
  const char* const wanted = of == runtime::metric::inner_product ? "inner products need"
                             : filtered                           ? "a filter needs"
                                                                  : nullptr;
  if (wanted == nullptr) return;
  throw error(failure::unsupported,
              fmt::format("{} products in float16 on executor cuda: name --product float16, which "
                          "says what it lacks, or take --executor cpu",
                          wanted));
}

}  // namespace kselect::search
