// Uses inflate(), because gzread() accepts a file without a gzip header and ignores bytes after the
// last member. Here both are damage.

#include <algorithm>
#include <memory>
#include <new>

#include <fmt/format.h>
#include <zlib.h>

#include "runtime/error.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

constexpr int gzip_window = 15 + 16;  // the largest window, gzip framing required
constexpr std::size_t piece_bytes = std::size_t{1} << 30;  // zlib counts in 32 bits
constexpr std::size_t dropped_bytes = 1 << 18;

}  // namespace

struct gzip_reader::state {
  z_stream stream = {};
  bool open = inflateInit2(&stream, gzip_window) == Z_OK;
  ~state() {
    if (open) inflateEnd(&stream);
  }
};

gzip_reader::gzip_reader(const std::filesystem::path& file, std::span<const std::byte> compressed)
    : file_(file), rest_(compressed), state_(std::make_unique<state>()) {
  if (!state_->open) throw std::bad_alloc();
}

gzip_reader::~gzip_reader() = default;

std::size_t gzip_reader::read(std::span<std::byte> out) {
  std::size_t written = 0;
  while (written < out.size() && !finished_) written += step(out.subspan(written));
  return written;
}

std::int64_t gzip_reader::skip(std::int64_t bytes) {
  std::vector<std::byte> dropped(dropped_bytes);
  std::int64_t done = 0;
  while (done < bytes && !finished_) {
    const std::int64_t now = std::min(bytes - done, std::ssize(dropped));
    done +=
        static_cast<std::int64_t>(read(std::span(dropped).first(static_cast<std::size_t>(now))));
  }
  return done;
}

// One call of inflate, which makes progress or fails.
std::size_t gzip_reader::step(std::span<std::byte> out) {
  z_stream& stream = state_->stream;
  const auto in_size = static_cast<uInt>(std::min(rest_.size(), piece_bytes));
  const auto out_size = static_cast<uInt>(std::min(out.size(), piece_bytes));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
  stream.avail_in = in_size;
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = out_size;
  const int outcome = inflate(&stream, Z_NO_FLUSH);
  rest_ = rest_.subspan(in_size - stream.avail_in);
  if (outcome == Z_STREAM_END) {
    // A gzip file is one or more members, one after the other.
    finished_ = rest_.empty();
    if (!finished_) inflateReset(&stream);
  } else if (outcome == Z_MEM_ERROR) {
    throw std::bad_alloc();
  } else if (outcome == Z_BUF_ERROR || (outcome == Z_OK && rest_.empty() && stream.avail_out)) {
    fail_input(file_, "is truncated: its gzip stream does not end; fetch it again");
  } else if (outcome != Z_OK) {
    fail_input(file_, fmt::format("is damaged gzip: {}; fetch it again",
                                  stream.msg != nullptr ? stream.msg : "invalid stream"));
  }
  return out_size - stream.avail_out;
}

std::vector<std::byte> gunzip(const std::filesystem::path& file,
                              std::span<const std::byte> compressed, std::int64_t at_most) {
  const std::int64_t room = std::ssize(compressed) * max_deflate_ratio;
  try {
    std::vector<std::byte> out(static_cast<std::size_t>(std::min(at_most, room + 1)));
    out.resize(gzip_reader(file, compressed).read(out));
    return out;
  } catch (const std::bad_alloc&) {
    throw error(failure::resources,
                fmt::format("{}: inflates to up to {} bytes, which do not fit into memory",
                            file.string(), std::min(at_most, room)));
  }
}

}  // namespace kselect::runtime
