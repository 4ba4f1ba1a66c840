#include "search/metric/index_file.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "runtime/error.hpp"
#include "runtime/io/atomic_file.hpp"
#include "runtime/io/mapped_file.hpp"
#include "runtime/io/readers.hpp"
#include "runtime/json.hpp"
#include "search/metric/section_io.hpp"

namespace kselect::search::metric_space {
namespace {

using json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "index files are mapped as they are");

constexpr std::uint32_t file_version = 1;
constexpr std::uint64_t alignment = 64;

struct preamble {
  char magic[8] = {'k', 's', 'e', 'l', 'i', 'd', 'x', '\n'};
  std::uint32_t version = file_version;
  std::uint32_t reserved = 0;
  std::uint64_t header_bytes = 0;
  std::uint64_t header_hash = 0;
  std::uint64_t file_bytes = 0;
};
static_assert(sizeof(preamble) == 40);

std::uint64_t aligned(std::uint64_t at) { return (at + alignment - 1) / alignment * alignment; }

std::string hash_text(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

// The header's text. Sections are laid out behind a header of `header_bytes`.
std::string header_text(const indexed_objects& contents, const sections& parts,
                        std::uint64_t header_bytes) {
  json list = json::array();
  std::uint64_t at = sizeof(preamble) + header_bytes;
  for (const section& s : parts) {
    at = aligned(at);
    list.push_back({{"name", s.name},
                    {"offset", at},
                    {"bytes", s.bytes.size()},
                    {"xxh3", hash_text(s.bytes)}});
    at += s.bytes.size();
  }
  const json header = {{"metric", contents.in->metric_name()},
                       {"kind", to_string(contents.index.kind)},
                       {"objects", contents.objects->count()},
                       {"source", contents.source},
                       {"sections", list}};
  return header.dump(-1, ' ', false, json::error_handler_t::replace);
}

sections sections_of(const indexed_objects& contents) {
  sections parts;
  contents.objects->write(parts);
  if (!contents.numbers.empty()) append_section(parts, "source.numbers", contents.numbers);
  if (contents.index.kind == index_kind::list_of_clusters) {
    write_index(contents.index.clusters, parts);
  }
  if (contents.index.kind == index_kind::sss) write_index(contents.index.pivots, parts);
  return parts;
}

// ---- reading

class reader {
 public:
  reader(const std::string& file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes) {}

  json header() {
    preamble p;
    const preamble expected;
    if (bytes_.size() < sizeof p) fail("is too short for an index file");
    std::memcpy(&p, bytes_.data(), sizeof p);
    if (std::memcmp(p.magic, expected.magic, sizeof p.magic) != 0) fail("is no index file");
    if (p.version != file_version) {
      fail(fmt::format("has version {}, this program reads {}", p.version, file_version));
    }
    if (p.file_bytes != bytes_.size()) {
      fail(fmt::format("has {} bytes of {}; it was cut off or appended to", bytes_.size(),
                       p.file_bytes));
    }
    if (p.header_bytes > bytes_.size() - sizeof p) fail("has a damaged header");
    const auto text = bytes_.subspan(sizeof p, p.header_bytes);
    if (XXH3_64bits(text.data(), text.size()) != p.header_hash) fail("has a damaged header");
    return parse_json({reinterpret_cast<const char*>(text.data()), text.size()}, file_);
  }

  sections read_sections(const json& header) {
    sections parts;
    std::uint64_t end = 0;
    for (const json& entry : header.at("sections")) {
      const std::string name = entry.at("name");
      const std::uint64_t offset = runtime::whole<std::uint64_t>(entry.at("offset")),
                          size = runtime::whole<std::uint64_t>(entry.at("bytes"));
      // Sections are copied: many over one range would take many times the file's memory.
      if (offset < end) fail(fmt::format("section {} overlaps the one before it", name));
      if (offset > bytes_.size() || size > bytes_.size() - offset) {
        fail(fmt::format("section {} lies outside the file", name));
      }
      end = offset + size;
      const auto bytes = bytes_.subspan(offset, size);
      if (json(hash_text(bytes)) != entry.at("xxh3"))
        fail(fmt::format("section {} is damaged", name));
      parts.push_back({name, {bytes.begin(), bytes.end()}});
    }
    return parts;
  }

  [[noreturn]] void fail(std::string_view problem) const {
    fail_input(file_, fmt::format("{}; build it again with `kselect index build`", problem));
  }

 private:
  const std::string& file_;
  std::span<const std::byte> bytes_;
};

const space& space_of_file(std::string_view metric) {
  try {
    return find_space(metric);
  } catch (const error& unknown) {
    throw std::invalid_argument(unknown.what());  // an error of the file, not of the command line
  }
}

indexed_objects assemble(const json& header, const sections& parts) {
  indexed_objects found;
  found.in = &space_of_file(std::string(header.at("metric")));
  found.source = header.at("source");
  found.objects = found.in->read(parts);
  const std::int64_t n = found.objects->count();
  if (n != header.at("objects")) throw std::invalid_argument("the number of objects is wrong");
  const auto kind = parse<index_kind>(std::string(header.at("kind")));
  if (!kind) throw std::invalid_argument("the kind of index is unknown");
  found.index.kind = *kind;
  if (*kind == index_kind::list_of_clusters) {
    found.index.clusters = read_cluster_list(parts);
    validate(found.index.clusters, n);
  }
  if (*kind == index_kind::sss) {
    found.index.pivots = read_pivot_table(parts);
    validate(found.index.pivots, n);
  }
  if (has_section(parts, "source.numbers")) {
    found.numbers = section_values<std::int64_t>(parts, "source.numbers");
    if (static_cast<std::int64_t>(found.numbers.size()) != n) {
      throw std::invalid_argument("section source.numbers has the wrong length");
    }
  }
  return found;
}

}  // namespace

void require_room(const std::string& file, const object_set& objects) {
  sections parts;
  objects.write(parts);
  std::size_t bytes = 0;
  for (const section& s : parts) bytes += s.bytes.size();
  runtime::require_free_space(file, static_cast<std::int64_t>(bytes));
}

void write_index_file(const std::string& file, const indexed_objects& contents) {
  const sections parts = sections_of(contents);
  // The header holds offsets that depend on its own length. A few rounds make both consistent.
  std::string header;
  for (std::uint64_t size = 0; header.size() != size || header.empty();) {
    size = header.size();
    header = header_text(contents, parts, size);
  }
  preamble p;
  p.header_bytes = header.size();
  p.header_hash = XXH3_64bits(header.data(), header.size());
  p.file_bytes = sizeof p + header.size();
  for (const section& s : parts) p.file_bytes = aligned(p.file_bytes) + s.bytes.size();

  runtime::require_free_space(file, static_cast<std::int64_t>(p.file_bytes));
  atomic_file out(file);
  std::uint64_t at = 0;
  const auto write = [&](std::span<const std::byte> bytes) {
    out.write(bytes);
    at += bytes.size();
  };
  write(std::as_bytes(std::span(&p, 1)));
  write(std::as_bytes(std::span(header)));
  const std::byte padding[alignment] = {};
  for (const section& s : parts) {
    write(std::span(padding).first(aligned(at) - at));
    write(s.bytes);
  }
  out.commit();
}

indexed_objects read_index_file(const std::string& file) {
  const mapped_file mapping = mapped_file::open(file);
  reader from(file, mapping.bytes());
  try {
    const json header = from.header();
    indexed_objects found = assemble(header, from.read_sections(header));
    mapping.require_unchanged();
    return found;
  } catch (const std::invalid_argument& wrong) {
    from.fail(wrong.what());
  } catch (const json::exception& wrong) {
    from.fail(fmt::format("has a header that makes no sense: {}", runtime::reason_of(wrong)));
  }
}

}  // namespace kselect::search::metric_space
