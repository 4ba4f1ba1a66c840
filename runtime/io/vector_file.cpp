#include "runtime/io/vector_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "runtime/error.hpp"

namespace kselect::runtime {
namespace {

constexpr std::int64_t piece_bytes = 1 << 20;

}  // namespace

vector_file::vector_file(input_file input) : input_(std::move(input)) {}

vector_file vector_file::open(const std::filesystem::path& file, std::int64_t limit) {
  const auto before = file_identity::of(container_of(file));
  const vector_layout layout = layout_of(file);
  vector_file opened(input_file::open(layout.file));
  opened.layout_ = layout;
  // The layout must be of the file that is open now.
  if (!before || !before->same_content(opened.input_.identity())) {
    fail_input(file, "was replaced while it was opened; run again when nothing writes to it");
  }
  if (layout.in_blocks) opened.blocks_ = std::make_shared<const block_reader>(opened.input_);
  if (layout.count > 0 && layout.dimension == 0) fail_input(file, "its vectors have no components");
  if (limit > 0) opened.layout_.count = std::min(layout.count, limit);
  return opened;
}

bool vector_file::dense() const {
  return layout_.prefix == 0 && layout_.type == element_type::float32 &&
         layout_.order == std::endian::little;
}

std::int64_t vector_file::reading_bytes() const {
  if (blocks_) return blocks_->buffer_bytes();
  return dense() ? 0 : std::max(piece_bytes, layout_.stride);
}

void vector_file::read_bytes(std::int64_t offset, std::span<std::byte> out) const {
  input_.read(offset, out);
}

void vector_file::require_dimension(std::int64_t vector, const std::byte* prefix) const {
  std::int32_t dimension = 0;
  std::memcpy(&dimension, prefix, sizeof dimension);
  if (dimension == layout_.dimension) return;
  fail_input(path(), fmt::format("record {} at byte {} has dimension {}, record 0 has {}", vector,
                                 vector * layout_.stride, dimension, layout_.dimension));
}

void vector_file::require_finite(std::int64_t first, std::span<const float> components) const {
  const auto bad = std::ranges::find_if_not(components, [](float x) { return std::isfinite(x); });
  if (bad == components.end()) return;
  const std::int64_t at = bad - components.begin();
  fail_input(path(), fmt::format("vector {}, component {} is {} as float32; clean the data first",
                                 first + at / layout_.dimension, at % layout_.dimension, *bad));
}

void vector_file::read(std::int64_t first, std::int64_t count, float* out) const {
  const vector_layout& l = layout_;
  const std::int64_t dimension = l.dimension;
  const auto components = static_cast<std::size_t>(count * dimension);
  if (blocks_) {
    read_blocks(first, count, out);
    return require_finite(first, {out, components});
  }
  if (dense()) {
    read_bytes(l.offset + first * l.stride, std::as_writable_bytes(std::span(out, components)));
    return require_finite(first, {out, components});
  }
  const std::int64_t at_once = std::max<std::int64_t>(1, piece_bytes / l.stride);
  std::vector<std::byte> raw(static_cast<std::size_t>(std::min(at_once, count) * l.stride));
  for (std::int64_t done = 0; done < count; done += at_once) {
    const std::int64_t now = std::min(at_once, count - done);
    read_bytes(l.offset + (first + done) * l.stride,
               std::span(raw).first(static_cast<std::size_t>(now * l.stride)));
    for (std::int64_t i = 0; i < now; ++i) {
      const std::byte* const record = raw.data() + i * l.stride;
      if (l.prefix != 0) require_dimension(first + done + i, record);
      convert_elements(l.type, l.order, record + l.prefix,
                       {out + (done + i) * dimension, static_cast<std::size_t>(dimension)});
    }
  }
  require_finite(first, {out, components});
}

void vector_file::read_blocks(std::int64_t first, std::int64_t count, float* out) const {
  const std::int64_t dimension = layout_.dimension;
  blocks_->visit(input_, first, count, [&](std::int64_t at, std::span<const std::byte> rows) {
    const std::int64_t here = std::ssize(rows) / layout_.stride;
    convert_elements(layout_.type, layout_.order, rows.data(),
                     {out + (at - first) * dimension, static_cast<std::size_t>(here * dimension)});
  });
}

std::string vector_file::fingerprint() const {
  if (blocks_) return blocks_->identity();
  // The file's hash, and where in it the vectors are, which `file.hdf5:dataset` chooses.
  return fmt::format("{}-{:x}-{:x}-{:x}", input_.hash(), layout_.offset, layout_.dimension,
                     static_cast<int>(layout_.type));
}

vector_files vector_files::open(const std::vector<std::filesystem::path>& files,
                                std::int64_t limit) {
  if (limit < 0) {
    throw error(failure::usage, fmt::format("limit {} is negative; 0 means all vectors", limit));
  }
  vector_files all;
  for (const auto& path : files) {
    all.files_.push_back(vector_file::open(path));
    const vector_file& now = all.files_.back();
    const vector_file& first = all.files_.front();
    if (now.dimension() != first.dimension()) {
      fail_input(path, fmt::format("has dimension {}, but {} has {}: they are of different sets",
                                   now.dimension(), first.path().string(), first.dimension()));
    }
    all.begins_.push_back(all.count_);
    all.count_ += now.count();
    all.dimension_ = now.dimension();
  }
  if (files.empty()) throw error(failure::usage, "no file of vectors is named");
  if (limit > 0) all.count_ = std::min(all.count_, limit);
  all.name_ = files.front().string();
  if (files.size() > 1) all.name_ += fmt::format(" and {} more", files.size() - 1);
  return all;
}

template <class Visit>
void vector_files::each_part(std::int64_t first, std::int64_t count, const Visit& visit) const {
  std::int64_t done = 0;
  for (std::size_t f = 0; f < files_.size() && done < count; ++f) {
    const std::int64_t within = first + done - begins_[f];
    const std::int64_t here = std::min(count - done, files_[f].count() - within);
    if (here <= 0) continue;
    visit(files_[f], within, here, done);
    done += here;
  }
}

std::optional<element_type> vector_files::byte_type() const {
  const element_type type = files_.front().type();
  const bool bytes = type == element_type::int8 || type == element_type::uint8;
  const bool same =
      std::ranges::all_of(files_, [&](const vector_file& f) { return f.type() == type; });
  return bytes && same ? std::optional(type) : std::nullopt;
}

std::string vector_files::fingerprint() const {
  std::string all;
  for (const vector_file& file : files_) {
    if (!all.empty()) all += ' ';
    all += file.fingerprint();
  }
  return all;
}

void vector_files::require_unchanged() const {
  for (const vector_file& file : files_) file.require_unchanged();
}

std::int64_t vector_files::reading_bytes() const {
  std::int64_t most = 0;
  for (const vector_file& file : files_) most = std::max(most, file.reading_bytes());
  return most;
}

std::int64_t vector_files::bytes(std::int64_t first, std::int64_t count) const {
  std::int64_t sum = 0;
  each_part(first, count,
            [&](const vector_file& file, std::int64_t, std::int64_t here, std::int64_t) {
              sum += here * file.stride();
            });
  return sum;
}

void vector_files::read(std::int64_t first, std::int64_t count, float* out) const {
  each_part(first, count,
            [&](const vector_file& file, std::int64_t within, std::int64_t here,
                std::int64_t before) { file.read(within, here, out + before * dimension_); });
}

}  // namespace kselect::runtime
