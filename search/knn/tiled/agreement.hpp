#pragma once
// What the ranks of a job tell each other before they begin, so that a rank with another program,
// another request or another file is named instead of mixing its answers with the others'.

#include <functional>

#include <nlohmann/json.hpp>

#include "runtime/error.hpp"
#include "search/exchange/communicator.hpp"
#include "search/search.hpp"

namespace kselect::search {

// An error that all ranks know of: one of them need print it, and each can end by itself.
class agreed_error : public error {
 public:
  using error::error;
};

// Rank 0's text on all ranks.
std::string broadcast_text(communicator& ranks, std::string text);

// Calls `prepare` on every rank and compares what it returns with rank 0's, member by member. On
// all ranks throws one error, the first rank's that has any: what its `prepare` threw, or
// one of failure::usage that names the member that differs. Returns the values of all ranks' member
// "proposal", which may differ, on rank 0.
std::vector<nlohmann::ordered_json> agree(communicator& ranks,
                                          const std::function<nlohmann::ordered_json()>& prepare);

}  // namespace kselect::search
