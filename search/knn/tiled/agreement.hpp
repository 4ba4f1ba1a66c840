#pragma once
// The ranks of a job compare program, request and files before they begin. A rank that differs is
// named, instead of mixing its answers with the others'.

#include <functional>

#include <nlohmann/json.hpp>

#include "runtime/error.hpp"
#include "search/exchange/communicator.hpp"
#include "search/search.hpp"

namespace kselect::search {

// An error that all ranks throw: only one must print it, and each can end by itself.
class agreed_error : public error {
 public:
  using error::error;
};

// Returns rank 0's text on all ranks.
std::string broadcast_text(communicator& ranks, std::string text);

// Calls `prepare` on every rank and compares its result with rank 0's, member by member. If a rank
// fails, all ranks throw one agreed_error, that of the first such rank: the error of its `prepare`,
// or failure::usage with the name of the member that differs. The member "proposal" may differ;
// returns its values of all ranks on rank 0.
std::vector<nlohmann::ordered_json> agree(communicator& ranks,
                                          const std::function<nlohmann::ordered_json()>& prepare);

}  // namespace kselect::search
