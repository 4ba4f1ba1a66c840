#include "runtime/io/block_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <numeric>
#include <unistd.h>

#include <fmt/format.h>
#include <xxhash.h>

#include "runtime/available_memory.hpp"
#include "runtime/error.hpp"
#include "runtime/io/readers.hpp"
#include "runtime/page_memory.hpp"

namespace kselect::runtime {
namespace {

constexpr std::int64_t wanted_block_bytes = 1 << 20;
constexpr std::array<char, 8> begin_mark = {'k', 'v', 'e', 'c', '\0', '\r', '\n', '\x1a'};
constexpr std::array<char, 8> end_mark = {'k', 'v', 'e', 'c', ' ', 'e', 'n', 'd'};
constexpr std::uint32_t version = 1;
constexpr std::array<element_type, 4> stored_types = {element_type::uint8, element_type::int8,
                                                      element_type::float16, element_type::float32};

struct file_header {
  std::array<char, 8> mark = begin_mark;
  std::uint32_t version = runtime::version;
  std::uint32_t type = 0;  // of stored_types
  std::int64_t count = 0, dimension = 0, block_vectors = 0;
  std::uint64_t hash = 0;  // of all before
};
static_assert(sizeof(file_header) == 48);

struct file_footer {
  std::uint64_t table_hash = 0;
  std::array<char, 8> mark = end_mark;
};
static_assert(sizeof(file_footer) == 16);

std::uint64_t hash_of(const file_header& header) {
  return XXH3_64bits(&header, offsetof(file_header, hash));
}

std::int64_t whole_pages(std::int64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

template <class T>
T read_as(const input_file& file, std::int64_t offset) {
  T value;
  file.read(offset, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

block_shape checked_shape(const input_file& file, const file_header& header) {
  const auto damaged = [&](std::string_view what) {
    fail_input(file.path(), fmt::format("{}; prepare it again with `kselect knn prepare`", what));
  };
  if (header.mark != begin_mark) damaged("is no file of prepared vectors");
  if (header.version != version) {
    damaged(fmt::format("has version {} of the format, this program reads {}", header.version,
                        version));
  }
  if (header.hash != hash_of(header)) damaged("its header is damaged");
  const bool sound = header.type < stored_types.size() && header.count >= 0 &&
                     header.dimension >= 1 && header.block_vectors >= 1;
  if (!sound) damaged("its header has numbers that cannot be");
  const block_shape shape{.type = stored_types[header.type],
                          .count = header.count,
                          .dimension = header.dimension,
                          .block_vectors = header.block_vectors};
  // A block's bytes first: the rest is computed from them.
  const std::array<std::int64_t, 2> block = {shape.block_vectors, shape.dimension};
  const std::array<std::int64_t, 2> all = {shape.count, shape.dimension};
  const auto block_size = dense_bytes(shape.type, block), size = dense_bytes(shape.type, all);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 4;
  if (!block_size || !size || *block_size > most || *size > most) {
    damaged("its header has numbers that cannot be");
  }
  if (shape.block_bytes() % page_bytes != 0) damaged("its blocks are not of whole pages");
  if (file.identity().bytes != shape.file_bytes()) {
    damaged(fmt::format("has {} bytes, but its header tells of {}", file.identity().bytes,
                        shape.file_bytes()));
  }
  return shape;
}

// The same file past the page cache; -1 where its file system cannot do that.
int open_direct(const input_file& file) {
  const std::string same = fmt::format("/proc/self/fd/{}", file.descriptor());
  return ::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
}

// Whether the whole buffer was read.
bool read_direct(int descriptor, std::int64_t offset, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor, into.data(), into.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(got));
    offset += got;
    if (!into.empty() && got % page_bytes != 0) return false;
  }
  return true;
}

}  // namespace

std::int64_t block_shape::table_offset() const {
  return page_bytes + whole_pages(count * stride());
}

std::int64_t block_shape::file_bytes() const {
  return table_offset() + blocks() * std::int64_t{sizeof(std::uint64_t)} +
         std::int64_t{sizeof(file_footer)};
}

block_shape shape_of_blocks(element_type type, std::int64_t count, std::int64_t dimension) {
  block_shape shape{.type = type, .count = count, .dimension = dimension, .block_vectors = 1};
  const std::array<std::int64_t, 2> all = {count, dimension};
  if (!dense_bytes(type, all)) {
    throw error(failure::output, fmt::format("{} vectors of dimension {} are more bytes than a "
                                             "file can have",
                                             count, dimension));
  }
  const std::int64_t unit = page_bytes / std::gcd(page_bytes, shape.stride());
  shape.block_vectors =
      unit * std::max<std::int64_t>(1, wanted_block_bytes / (unit * shape.stride()));
  return shape;
}

void require_block_file_name(const std::filesystem::path& target) {
  if (target.native().ends_with(block_file_extension)) return;
  throw error(failure::output, fmt::format("{}: prepared vectors are in a {} file: name it so",
                                           target.string(), block_file_extension));
}

block_reader::block_reader(const input_file& file)
    : block_reader(file,
                   file.identity().bytes / 2 > static_cast<std::int64_t>(available_memory())) {}

block_reader::block_reader(const input_file& file, bool past_cache) {
  if (file.identity().bytes < page_bytes) {
    fail_input(file.path(),
               "is shorter than the header of prepared vectors; prepare it again with `kselect knn "
               "prepare`");
  }
  const auto header = read_as<file_header>(file, 0);
  shape_ = checked_shape(file, header);
  read_table(file, header.hash);
  if (past_cache) direct_ = open_direct(file);
}

block_reader::~block_reader() {
  if (direct_ >= 0) ::close(direct_);
}

void block_reader::read_table(const input_file& file, std::uint64_t header_hash) {
  hashes_.resize(static_cast<std::size_t>(shape_.blocks()));
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(hashes_));
  file.read(shape_.table_offset(), bytes);
  const auto footer =
      read_as<file_footer>(file, shape_.table_offset() + static_cast<std::int64_t>(bytes.size()));
  const std::uint64_t table_hash = XXH3_64bits(bytes.data(), bytes.size());
  if (footer.mark != end_mark || footer.table_hash != table_hash) {
    fail_input(file.path(),
               "the table of its blocks is damaged; prepare it again with `kselect knn prepare`");
  }
  identity_ = fmt::format("kvec-{:016x}-{:016x}", header_hash, table_hash);
}

std::int64_t block_reader::buffer_bytes() const {
  return std::min(shape_.block_bytes(), whole_pages(shape_.count * shape_.stride()));
}

void block_reader::read_block(const input_file& file, std::int64_t block,
                              std::span<std::byte> buffer) const {
  const std::int64_t begin = block * shape_.block_bytes();
  const std::int64_t bytes = std::min(shape_.block_bytes(), shape_.count * shape_.stride() - begin);
  const std::int64_t offset = page_bytes + begin;
  const std::span<std::byte> rows = buffer.first(static_cast<std::size_t>(bytes));
  const bool there =
      direct_ >= 0 &&
      read_direct(direct_, offset, buffer.first(static_cast<std::size_t>(whole_pages(bytes))));
  if (!there) file.read(offset, rows);
  if (XXH3_64bits(rows.data(), rows.size()) == hashes_[static_cast<std::size_t>(block)]) return;
  fail_input(file.path(),
             fmt::format("the vectors from {} to {} (at byte {}) are not those that were written; "
                         "the storage is at fault, or another program wrote there: prepare the "
                         "file again with `kselect knn prepare`",
                         block * shape_.block_vectors,
                         std::min(shape_.count, (block + 1) * shape_.block_vectors) - 1, offset));
}

void block_reader::visit(
    const input_file& file, std::int64_t first, std::int64_t count,
    const std::function<void(std::int64_t, std::span<const std::byte>)>& rows) const {
  if (count == 0) return;
  const std::int64_t stride = shape_.stride(), end = first + count;
  const auto memory = make_pages<std::byte>(static_cast<std::size_t>(buffer_bytes()));
  const std::span buffer(memory.get(), static_cast<std::size_t>(buffer_bytes()));
  for (std::int64_t at = first; at < end;) {
    const std::int64_t block = at / shape_.block_vectors, begin = block * shape_.block_vectors;
    const std::int64_t here = std::min(end, begin + shape_.block_vectors) - at;
    read_block(file, block, buffer);
    rows(at, buffer.subspan(static_cast<std::size_t>((at - begin) * stride),
                            static_cast<std::size_t>(here * stride)));
    at += here;
  }
}

struct block_writer::hashing {
  hashing() { XXH3_64bits_reset(state); }
  hashing(const hashing&) = delete;
  hashing& operator=(const hashing&) = delete;
  ~hashing() { XXH3_freeState(state); }
  XXH3_state_t* const state = XXH3_createState();
};

block_writer::block_writer(const std::filesystem::path& target, const block_shape& shape)
    : shape_(shape), file_(target), block_(std::make_unique<hashing>()) {
  require_block_file_name(target);
  require_free_space(target, shape.file_bytes());
  file_header header;
  header.type = static_cast<std::uint32_t>(std::ranges::find(stored_types, shape.type) -
                                           stored_types.begin());
  header.count = shape.count;
  header.dimension = shape.dimension;
  header.block_vectors = shape.block_vectors;
  header.hash = hash_of(header);
  std::array<std::byte, page_bytes> page{};
  std::memcpy(page.data(), &header, sizeof header);
  file_.write(page);
}

block_writer::~block_writer() = default;

void block_writer::append(std::span<const std::byte> rows) {
  file_.write(rows);
  written_ += std::ssize(rows);
  while (!rows.empty()) {
    const auto here = static_cast<std::size_t>(
        std::min<std::int64_t>(std::ssize(rows), shape_.block_bytes() - in_block_));
    XXH3_64bits_update(block_->state, rows.data(), here);
    in_block_ += static_cast<std::int64_t>(here);
    rows = rows.subspan(here);
    if (in_block_ == shape_.block_bytes()) end_block();
  }
}

void block_writer::end_block() {
  hashes_.push_back(XXH3_64bits_digest(block_->state));
  XXH3_64bits_reset(block_->state);
  in_block_ = 0;
}

void block_writer::commit() {
  if (written_ != shape_.count * shape_.stride()) {
    throw error(failure::output,
                fmt::format("{}: {} bytes of its vectors were never written",
                            file_.target().string(), shape_.count * shape_.stride() - written_));
  }
  if (in_block_ != 0) end_block();
  const std::vector<std::byte> zeros(static_cast<std::size_t>(whole_pages(written_) - written_));
  file_.write(zeros);
  const std::span<const std::byte> table = std::as_bytes(std::span(hashes_));
  const file_footer footer{.table_hash = XXH3_64bits(table.data(), table.size())};
  file_.write(table);
  file_.write(std::as_bytes(std::span(&footer, 1)));
  file_.commit();
}

}  // namespace kselect::runtime
