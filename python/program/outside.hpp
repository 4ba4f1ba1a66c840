#pragma once
// The program as a shared library: what `kselect` is, and sweeps and the battery in the caller's
// process, with entries whose function is the caller's. The Python package links it.
//
// One call at a time, all from threads that may use the registry (kselect/registry.hpp).

#include <string>
#include <string_view>

#include "kselect/algorithm.hpp"

namespace kselect::outside {

// Selects, as an entry does: its work is done or is on the executor's stream when it returns.
// `number` is that of put_entry(). Returns what is wrong, in one line, or "".
using function = std::string (*)(int number, const problem& p, const io& buffers,
                                 const executor& on);

// The outcome of a call, by value, because exceptions stay in their shared library.
struct outcome {
  int code = 0;      // 0, or one of runtime/error.hpp
  std::string text;  // the result, or what is wrong, in one line
};

// Entries that may be there at the same time.
inline constexpr int most_entries = 64;

// Adds an entry to the registry, or replaces the one of that name that was added here. `facts` is
// JSON with the members of `kselect list --json` that say what an entry is: name, family, source,
// file, contract, limits, dtypes, index_types, payloads, executors (a list), threaded; also
// source_hash, and directions (a list). The text of the outcome is the entry's number.
[[gnu::visibility("default")]] outcome put_entry(const std::string& facts, function call);

struct sweep {
  std::string config;     // a file
  std::string directory;  // of the records
  std::string executor;   // "" as the config says
  std::string filter;     // "" all cells
  bool resume = false;
};

// Runs a sweep in this process, as `kselect run --in-process` does. The code is the command's.
[[gnu::visibility("default")]] outcome run_sweep(const sweep& wanted);

// Runs the battery's cases that match a glob on an entry, as `kselect test` does. The text is JSON:
// a list of {case, executor, proven, skipped, problem, reason, seconds}.
[[gnu::visibility("default")]] outcome test_entry(const std::string& name,
                                                  const std::string& executor,
                                                  const std::string& cases);

// Holds an answer in host memory against its rows by the certificate (harness/verify). `facts` is
// JSON: n, q, k, dtype, direction, payload, index, contract and limits. The buffers are row-major
// and dense, of the sizes that these say. The text is what is wrong, or "".
struct answer {
  std::string_view rows, values, indices;  // bytes
};
[[gnu::visibility("default")]] outcome refute(const std::string& facts, const answer& given);

// The program itself.
[[gnu::visibility("default")]] int program(int argc, char** argv);

}  // namespace kselect::outside
