#include "search/knn/tiled/result_store.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "runtime/error.hpp"
#include "runtime/io/npy_header.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

std::int64_t header_bytes(element_type type, std::int64_t queries, std::int64_t k) {
  return std::ssize(format_npy_header(type, std::array{queries, k}));
}

std::string tile_hash(std::uint64_t distances, std::uint64_t indices) {
  return fmt::format("{:016x}{:016x}", distances, indices);
}

// XXH3 of a range of a file, read in pieces. Throws error(failure::input) if the file is shorter.
std::uint64_t hash_of_range(const std::filesystem::path& file, std::int64_t offset,
                            std::int64_t bytes) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(offset);
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> piece(1 << 20);
  while (bytes > 0) {
    const auto now = std::min(bytes, std::ssize(piece));
    if (!in.read(piece.data(), now)) {
      throw error(
          failure::input,
          fmt::format("{}: is shorter than its journal says; remove the job's directory and "
                      "start again without --resume",
                      file.string()));
    }
    XXH3_64bits_update(state.get(), piece.data(), static_cast<std::size_t>(now));
    bytes -= now;
  }
  return XXH3_64bits_digest(state.get());
}

template <class T>
std::string_view as_text(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

std::filesystem::path result_store::partial(const std::filesystem::path& target) const {
  return target.string() + ".partial";
}

result_store::result_store(const result_request& request, file_system& files)
    : request_(request), system_(files), directory_(request.indices.string() + ".job") {
  for (const auto& target : {request.indices, request.distances}) {
    std::error_code ignored;
    if (std::filesystem::exists(target, ignored) &&
        !std::filesystem::is_regular_file(target, ignored)) {
      throw error(failure::output,
                  fmt::format("{}: is not a regular file; name a file to write", target.string()));
    }
  }
  journal_.emplace(journal::open(directory_, open_mode::resume, files));
  // The first line is the request. If no tile follows it, starting anew loses nothing.
  const bool anew = journal_->existing().size() <= 1;
  if (!anew && !request.resume) {
    throw error(failure::output,
                fmt::format("{}: an unfinished job is there; continue it with --resume, or remove "
                            "the directory",
                            directory_.string()));
  }
  anew ? start() : resume(journal_->existing());
}

void result_store::open_partial_files() {
  constexpr int flags = O_RDWR | O_CREAT | O_APPEND;
  indices_.emplace(partial(request_.indices), flags, failure::output, system_);
  distances_.emplace(partial(request_.distances), flags, failure::output, system_);
}

void result_store::start() {
  if (!journal_->existing().empty()) {
    journal_.reset();
    std::filesystem::remove(directory_ / journal_name);
    journal_.emplace(journal::open(directory_, open_mode::create_new, system_));
  }
  open_partial_files();
  const std::array shape = {request_.queries, request_.k};
  indices_->truncate(0);
  indices_->write_all(format_npy_header(element_type::int64, shape));
  distances_->truncate(0);
  distances_->write_all(format_npy_header(element_type::float32, shape));
  indices_->sync();
  distances_->sync();
  json record = {{"schema", journal_schema}};
  record["job"] = json::parse(request_.job);
  journal_->append(record.dump());
}

void result_store::require_same_job(const record_line& line) const {
  const json record = json::parse(line.text);
  const json before = record.contains("job") ? record.at("job") : json::object();
  const json now = json::parse(request_.job);
  for (const auto& [name, value] : now.items()) {
    const json was = before.contains(name) ? before.at(name) : json();
    if (was == value) continue;
    throw error(failure::usage,
                fmt::format("{}: is another job: its {} is {}, now it is {}; ask for the same, or "
                            "remove the directory",
                            directory_.string(), name, was.dump(), value.dump()));
  }
}

void result_store::check_tile(std::int64_t first, std::int64_t count,
                              const std::string& hash) const {
  const auto of = [&](const std::filesystem::path& target, element_type type) {
    const std::int64_t row = request_.k * size_of(type);
    return hash_of_range(partial(target),
                         header_bytes(type, request_.queries, request_.k) + first * row,
                         count * row);
  };
  if (tile_hash(of(request_.distances, element_type::float32),
                of(request_.indices, element_type::int64)) == hash) {
    return;
  }
  throw error(failure::input, fmt::format("{}: the rows of queries {} to {} in the .partial files "
                                          "are not those recorded; remove the directory and start "
                                          "again",
                                          directory_.string(), first, first + count - 1));
}

void result_store::resume(std::span<const record_line> lines) {
  resumed_ = true;
  require_same_job(lines.front());
  std::vector<json> tiles;
  for (const record_line& line : lines.subspan(1)) {
    tiles.push_back(json::parse(line.text));
    if (tiles.back().at("first") != done_) {
      throw error(failure::input, fmt::format("{}: line {} of its journal does not follow the one "
                                              "before; remove the directory and start again",
                                              directory_.string(), line.line));
    }
    done_ += tiles.back().at("count").get<std::int64_t>();
  }
  // All queries are done, and commit() was killed after its first rename.
  if (done_ == request_.queries && !std::filesystem::exists(partial(request_.distances)) &&
      std::filesystem::exists(request_.distances)) {
    return;
  }
  for (const json& tile : tiles) check_tile(tile.at("first"), tile.at("count"), tile.at("hash"));
  open_partial_files();
  const auto cut = [&](file& rows, element_type type) {
    rows.truncate(header_bytes(type, request_.queries, request_.k) +
                  done_ * request_.k * size_of(type));
  };
  cut(*indices_, element_type::int64);
  cut(*distances_, element_type::float32);
}

void result_store::append(std::int64_t count, std::span<const float> distances,
                          std::span<const std::int64_t> indices) {
  distances_->write_all(as_text(distances));
  indices_->write_all(as_text(indices));
  distances_->sync_data();
  indices_->sync_data();
  const json record = {{"schema", journal_schema},
                       {"first", done_},
                       {"count", count},
                       {"hash", tile_hash(XXH3_64bits(distances.data(), distances.size_bytes()),
                                          XXH3_64bits(indices.data(), indices.size_bytes()))}};
  journal_->append(record.dump());
  done_ += count;
}

void result_store::commit() {
  if (done_ != request_.queries) {
    throw error(failure::output, fmt::format("{}: only {} of {} queries have results",
                                             directory_.string(), done_, request_.queries));
  }
  // A network file system may report a failed write only now.
  for (auto* const rows : {&distances_, &indices_}) {
    if (!*rows) continue;
    (*rows)->sync();
    (*rows)->close();
    rows->reset();
  }
  // Distances first: resume() recognises by them that the renaming has begun.
  for (const auto& target : {request_.distances, request_.indices}) {
    if (!std::filesystem::exists(partial(target))) continue;
    if (system_.rename(partial(target).c_str(), target.c_str()) < 0) {
      throw error(failure::output,
                  fmt::format("{}: cannot be renamed to its target: {}", partial(target).string(),
                              std::generic_category().message(errno)));
    }
    sync_directory(target.has_parent_path() ? target.parent_path() : ".", system_);
  }
  journal_.reset();
  std::filesystem::remove_all(directory_);
}

}  // namespace kselect::search
