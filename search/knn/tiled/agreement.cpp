#include "search/knn/tiled/agreement.hpp"

#include <array>

#include <fmt/format.h>

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

// Rank r's own error, or the member in which it differs from rank 0; empty if there is neither.
json complaint(const communicator& ranks, int r, const json& said, const json& root) {
  const auto of = [&](failure category, const std::string& what) {
    return json{{"code", static_cast<int>(category)},
                {"message", ranks.size() == 1 ? what : fmt::format("{}: {}", ranks.name(r), what)}};
  };
  if (said.contains("error")) {
    return of(static_cast<failure>(said.at("code").get<int>()), said.at("error"));
  }
  for (const auto& [name, value] : said.items()) {
    if (name == "proposal" || root.contains("error") || root.at(name) == value) continue;
    return of(failure::usage,
              fmt::format("its {} is {}, but {} has {}; give all ranks the same program, options "
                          "and files",
                          name, value.dump(), ranks.name(0), root.at(name).dump()));
  }
  return {};
}

std::string say(const json& what) {
  return what.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string broadcast_text(communicator& ranks, std::string text) {
  std::array<std::uint64_t, 1> length = {text.size()};
  ranks.broadcast(std::as_writable_bytes(std::span(length)));
  text.resize(length[0]);
  ranks.broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

std::vector<json> agree(communicator& ranks, const std::function<json()>& prepare) {
  json mine;
  try {
    mine = prepare();
  } catch (const error& failed) {
    mine = {{"error", failed.what()}, {"code", failed.exit_code()}};
  } catch (const std::bad_alloc&) {
    mine = {{"error", "out of memory"}, {"code", static_cast<int>(failure::resources)}};
  }
  std::vector<json> all;
  for (const std::string& text : ranks.gather(say(mine))) all.push_back(json::parse(text));
  json verdict;
  std::vector<json> proposals;
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (verdict.is_null()) {
      verdict = complaint(ranks, static_cast<int>(r), all[r], all.front());
    }
    if (all[r].contains("proposal")) proposals.push_back(all[r].at("proposal"));
  }
  verdict = json::parse(broadcast_text(ranks, say(verdict)));
  if (!verdict.is_null()) {
    throw agreed_error(static_cast<failure>(verdict.at("code").get<int>()), verdict.at("message"));
  }
  return proposals;
}

}  // namespace kselect::search
