#include "search/knn/tiled/result_store.hpp"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <fstream>
#include <future>
#include <sys/stat.h>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/atomic_file.hpp"
#include "runtime/io/npy_header.hpp"
#include "runtime/json.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

constexpr const char* start_again = "; remove the directory and start again";

std::string header_of(element_type type, std::int64_t queries, std::int64_t k) {
  return format_npy_header(type, std::array{queries, k});
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

std::filesystem::path directory_of_job(const std::filesystem::path& indices) {
  return runtime::behind_links(indices).string() + ".job";
}

// Bytes of the disk that a target's rows have beyond their end.
std::int64_t reserved_for(const std::filesystem::path& target) {
  struct stat found {};
  if (stat(partial_file(target).c_str(), &found) != 0) return 0;
  constexpr std::int64_t block = 512;  // whatever the file system's own
  return std::max<std::int64_t>(0, std::int64_t{found.st_blocks} * block - found.st_size);
}

template <class T>
std::string_view as_text(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

// A job that has tiles is only continued by --resume, so advice to run again names it.
template <class F>
void advising_to_resume(bool has_tiles, const F& write) {
  try {
    write();
  } catch (const error& failed) {
    const std::string said = failed.what();
    if (!has_tiles || !said.ends_with("run again")) throw;
    throw error(failed.category(), said + " with --resume");
  }
}

}  // namespace

std::filesystem::path partial_file(const std::filesystem::path& target) {
  return runtime::behind_links(target).string() + ".partial";
}

std::filesystem::path known_inputs_of(const std::filesystem::path& indices) {
  return directory_of_job(indices) / "inputs.json";
}

result_store::result_store(const result_request& request, file_system& files)
    : request_(request), system_(files), directory_(directory_of_job(request.indices)) {
  for (auto* const target : {&request_.indices, &request_.distances}) {
    require_regular_target(*target);
    *target = runtime::behind_links(*target);
  }
  if (!std::filesystem::exists(directory_)) require_room();  // before anything is made
  journal_.emplace(journal::open(directory_, open_mode::resume, files, record_kind::knn_tile));
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

// For the rows to come. Files in one folder share its disk. Space that an earlier start reserved is
// this job's own.
void result_store::require_room() const {
  const std::array shape = {request_.queries - done_, request_.k};
  const auto indices = dense_bytes(element_type::int64, shape);
  if (!indices) {
    throw error(failure::output, fmt::format("{}: its bytes do not fit 64 bits; lower --k",
                                             request_.indices.string()));
  }
  const bool shared = request_.indices.parent_path() == request_.distances.parent_path();
  const std::int64_t lacks = std::max<std::int64_t>(0, *indices - reserved_for(request_.indices));
  runtime::require_free_space(request_.indices, lacks);
  runtime::require_free_space(
      request_.distances,
      std::max<std::int64_t>(0, *indices / 2 - reserved_for(request_.distances)),
      shared ? lacks : 0);
}

void result_store::open_partial_files() {
  constexpr int flags = O_RDWR | O_CREAT | O_APPEND;
  indices_.emplace(partial_file(request_.indices), flags, failure::output, system_);
  distances_.emplace(partial_file(request_.distances), flags, failure::output, system_);
}

// So another program cannot fill the disk half-way.
void result_store::reserve() {
  const auto whole = [&](element_type type) {
    return std::ssize(header_of(type, request_.queries, request_.k)) +
           request_.queries * request_.k * size_of(type);
  };
  indices_->reserve(whole(element_type::int64));
  distances_->reserve(whole(element_type::float32));
}

void result_store::start() {
  if (!journal_->existing().empty()) {
    journal_.reset();
    std::filesystem::remove(directory_ / journal_name);
    journal_.emplace(
        journal::open(directory_, open_mode::create_new, system_, record_kind::knn_tile));
  }
  open_partial_files();
  indices_->truncate(0);
  indices_->write_all(header_of(element_type::int64, request_.queries, request_.k));
  distances_->truncate(0);
  distances_->write_all(header_of(element_type::float32, request_.queries, request_.k));
  reserve();
  indices_->sync();
  distances_->sync();
  json record = {{"schema", journal_schema}, {"what", to_string(record_kind::knn_tile)}};
  record["job"] = json::parse(request_.job);
  journal_->append(to_text(record));
}

void result_store::require_same_job(const record_line& line) const {
  const json record = parse_json(line.text, directory_.string());
  const json before = record.value("job", json());
  if (!before.is_object()) {
    throw error(failure::input, fmt::format("{}: line 1 of its journal is not that of a job{}",
                                            directory_.string(), start_again));
  }
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

// The file of a target's rows. A commit() that was killed may have renamed it already.
std::filesystem::path result_store::rows_of(const std::filesystem::path& target) const {
  const std::filesystem::path partial = partial_file(target);
  const bool renamed = done_ == request_.queries && !std::filesystem::exists(partial);
  return renamed ? target : partial;
}

void result_store::check_headers() const {
  const auto check = [&](const std::filesystem::path& target, element_type type) {
    const std::string header = header_of(type, request_.queries, request_.k);
    const std::filesystem::path rows = rows_of(target);
    if (hash_of_range(rows, 0, std::ssize(header)) == XXH3_64bits(header.data(), header.size())) {
      return;
    }
    throw error(failure::input, fmt::format("{}: the header of {} is not the one written{}",
                                            directory_.string(), rows.string(), start_again));
  };
  check(request_.indices, element_type::int64);
  check(request_.distances, element_type::float32);
}

void result_store::check_tile(std::int64_t first, std::int64_t count,
                              const std::string& hash) const {
  const auto of = [&](const std::filesystem::path& target, element_type type) {
    const std::int64_t row = request_.k * size_of(type);
    const std::int64_t header = std::ssize(header_of(type, request_.queries, request_.k));
    return hash_of_range(rows_of(target), header + first * row, count * row);
  };
  if (tile_hash(of(request_.distances, element_type::float32),
                of(request_.indices, element_type::int64)) == hash) {
    return;
  }
  throw error(failure::input, fmt::format("{}: the rows of queries {} to {} in {} and {} are not "
                                          "those recorded{}",
                                          directory_.string(), first, first + count - 1,
                                          rows_of(request_.indices).string(),
                                          rows_of(request_.distances).string(), start_again));
}

// Counts their queries as done.
std::vector<result_store::tile> result_store::recorded_tiles(std::span<const record_line> lines) {
  std::vector<tile> tiles;
  for (const record_line& line : lines) {
    const std::string name =
        fmt::format("{}: line {} of its journal", directory_.string(), line.line);
    const json record = parse_json(line.text, name);
    try {
      tiles.push_back(read_members(name, [&]() -> tile {
        return {runtime::whole<std::int64_t>(record.at("first")),
                runtime::whole<std::int64_t>(record.at("count")), record.at("hash")};
      }));
    } catch (const error& wrong) {
      throw error(wrong.category(), wrong.what() + std::string(start_again));
    }
    const std::int64_t left = request_.queries - done_;
    if (tiles.back().first != done_ || tiles.back().count < 1 || tiles.back().count > left) {
      throw error(failure::input,
                  fmt::format("{} does not follow the one before{}", name, start_again));
    }
    done_ += tiles.back().count;
  }
  return tiles;
}

void result_store::resume(std::span<const record_line> lines) {
  resumed_ = true;
  require_same_job(lines.front());
  const std::vector<tile> tiles = recorded_tiles(lines.subspan(1));
  require_room();
  check_headers();
  for (const tile& t : tiles) check_tile(t.first, t.count, t.hash);
  // All queries are done, and commit() was killed after its first rename.
  if (rows_of(request_.distances) == request_.distances) return;
  open_partial_files();
  const auto cut = [&](file& rows, element_type type) {
    rows.truncate(std::ssize(header_of(type, request_.queries, request_.k)) +
                  done_ * request_.k * size_of(type));
  };
  cut(*indices_, element_type::int64);
  cut(*distances_, element_type::float32);
  reserve();
}

void result_store::append(std::int64_t count, std::span<const float> distances,
                          std::span<const std::int64_t> indices) {
  advising_to_resume(done_ != 0, [&] { append_tile(count, distances, indices); });
}

void result_store::append_tile(std::int64_t count, std::span<const float> distances,
                               std::span<const std::int64_t> indices) {
  const auto write = [](file& rows, std::string_view text) {
    rows.write_all(text);
    rows.sync_data();
  };
  // The system copies what it writes, as fast as one thread can.
  std::future<void> beside =
      std::async(std::launch::async, write, std::ref(*indices_), as_text(indices));
  write(*distances_, as_text(distances));
  beside.get();
  const json record = {{"schema", journal_schema},
                       {"what", to_string(record_kind::knn_tile)},
                       {"first", done_},
                       {"count", count},
                       {"hash", tile_hash(XXH3_64bits(distances.data(), distances.size_bytes()),
                                          XXH3_64bits(indices.data(), indices.size_bytes()))}};
  journal_->append(to_text(record));
  done_ += count;
}

void result_store::commit() {
  if (done_ != request_.queries) {
    throw error(failure::output, fmt::format("{}: results of only {} of {}", directory_.string(),
                                             done_, runtime::amount_of(request_.queries, "query")));
  }
  // A network file system may report a failed write only now.
  for (auto* const rows : {&distances_, &indices_}) {
    if (!*rows) continue;
    advising_to_resume(done_ != 0, [&] {
      (*rows)->sync();
      (*rows)->close();
    });
    rows->reset();
  }
  // Distances first: resume() recognises by them that the renaming has begun.
  for (const auto& target : {request_.distances, request_.indices}) {
    if (!std::filesystem::exists(partial_file(target))) continue;
    if (system_.rename(partial_file(target).c_str(), target.c_str()) < 0) {
      throw error(failure::output, fmt::format("{}: cannot be renamed to its target: {}",
                                               partial_file(target).string(),
                                               std::generic_category().message(errno)));
    }
    sync_directory(target.has_parent_path() ? target.parent_path() : ".", system_);
  }
  journal_.reset();
  std::filesystem::remove_all(directory_);
}

}  // namespace kselect::search
