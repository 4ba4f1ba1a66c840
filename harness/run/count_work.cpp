#include "harness/run/count_work.hpp"

#include <fmt/format.h>

#include "harness/run/trial.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/error.hpp"

namespace kselect::harness {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 17;

}  // namespace

bool counts_work(const cell& c) {
  const algorithm& entry = *c.entry->algorithm;
  if (c.executor == executor_kind::cpu || !entry.executors.contains(executor_kind::fiber)) {
    return false;
  }
  return c.executor == executor_kind::fiber || c.problem.input_elements() <= most_elements;
}

std::optional<counted_work> count_work(const cell& c, std::span<const std::byte> rows,
                                       int threads) {
  counted_work counted;
  simt::fiber_options options;
  options.counters = &counted.counters;
  options.places = &counted.places;
  const auto place = open_host_backend(executor_kind::fiber, threads, options);
  if (!check_support(*c.entry->algorithm, c.problem, place->description())) return std::nullopt;
  input_rows input(*place, rows);
  input.give_places(c.problem);
  trial attempt(*c.entry->algorithm, c.problem, input, *place);
  attempt.prepare();
  if (const status result = attempt.run(); !result.ok()) {
    throw error(failure::unsupported, "on fibers: " + result.message);
  }
  if (const std::string wrong = attempt.disprove(); !wrong.empty()) {
    throw error(failure::wrong_answer, "on fibers: " + wrong);
  }
  return counted;
}

}  // namespace kselect::harness
