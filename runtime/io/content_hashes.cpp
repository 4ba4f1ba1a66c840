#include "runtime/io/content_hashes.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "runtime/error.hpp"
#include "runtime/io/atomic_file.hpp"
#include "runtime/json.hpp"

namespace kselect::runtime::content_hashes {
namespace {

constexpr std::int64_t piece_bytes = 4 << 20;

struct known {
  file_identity identity;
  std::string hash;
};

struct memory {
  std::mutex guard;
  std::vector<known> files;
};

memory& all() {
  static memory of_process;
  return of_process;
}

std::string read_and_hash(const input_file& file) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const std::int64_t size = file.identity().bytes;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(size, piece_bytes)));
  for (std::int64_t at = 0; at < size; at += piece_bytes) {
    const auto now =
        std::span(piece).first(static_cast<std::size_t>(std::min(piece_bytes, size - at)));
    file.read(at, now);
    XXH3_64bits_update(state.get(), now.data(), now.size());
  }
  file.require_unchanged();
  return fmt::format("{:016x}", XXH3_64bits_digest(state.get()));
}

// Identities are those of one host.
std::string host_name() {
  std::string name(256, '\0');
  if (gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.c_str();
}

// Of all that an entry says, so that one that was damaged is not believed.
std::string check_of(const known& k) {
  const file_identity& i = k.identity;
  const std::string said = fmt::format("{} {} {} {} {} {}", i.device, i.inode, i.bytes,
                                       i.written_ns, i.changed_ns, k.hash);
  return fmt::format("{:016x}", XXH3_64bits(said.data(), said.size()));
}

known known_from(const nlohmann::ordered_json& entry) {
  return {.identity = {.device = whole<std::uint64_t>(entry.at("device")),
                       .inode = whole<std::uint64_t>(entry.at("inode")),
                       .bytes = whole<std::int64_t>(entry.at("bytes")),
                       .written_ns = whole<std::int64_t>(entry.at("written_ns")),
                       .changed_ns = whole<std::int64_t>(entry.at("changed_ns"))},
          .hash = entry.at("xxh3")};
}

}  // namespace

std::string of(const input_file& file) {
  const std::scoped_lock lock(all().guard);
  const auto found = std::ranges::find(all().files, file.identity(), &known::identity);
  if (found != all().files.end()) return found->hash;
  all().files.push_back({file.identity(), read_and_hash(file)});
  return all().files.back().hash;
}

void recall(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return;
  try {
    for (const auto& entry : read_json(file)) {
      if (entry.at("host") != host_name()) continue;
      const known before = known_from(entry);
      if (entry.at("check") != check_of(before)) continue;
      const std::scoped_lock lock(all().guard);
      all().files.push_back(before);
    }
  } catch (const std::exception&) {
    // The files are read again.
  }
}

void keep(const std::filesystem::path& file) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  {
    const std::scoped_lock lock(all().guard);
    for (const known& k : all().files) {
      entries.push_back({{"host", host_name()},
                         {"device", k.identity.device},
                         {"inode", k.identity.inode},
                         {"bytes", k.identity.bytes},
                         {"written_ns", k.identity.written_ns},
                         {"changed_ns", k.identity.changed_ns},
                         {"xxh3", k.hash},
                         {"check", check_of(k)}});
    }
  }
  const std::string text = to_text(entries) + "\n";
  atomic_file out(file);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

}  // namespace kselect::runtime::content_hashes
