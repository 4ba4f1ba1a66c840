#include "runtime/io/gzip_index.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <unistd.h>

#include <fmt/format.h>
#include <zlib.h>

#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

constexpr std::int64_t window_bytes = 32 << 10;
constexpr int with_header = 15 + 16, without_header = -15;
constexpr std::int64_t trailer_bytes = 8;         // check sum and length of a member
constexpr std::int64_t least_distance = 1 << 20;  // between two places, inflated
constexpr std::int64_t most_places = 256;
constexpr std::size_t piece_bytes = 64 << 10;

// The bytes of a file one after the other, from any place on.
class input {
 public:
  input(const std::filesystem::path& file, int descriptor, std::int64_t at)
      : file_(file), descriptor_(descriptor), next_(at) {}

  // Of the file: the first byte that has not been taken.
  std::int64_t position(const z_stream& stream) const { return next_ - stream.avail_in; }
  // More for `stream`, which has taken all; false at the end of the file.
  bool fill(z_stream& stream) {
    ssize_t got = 0;
    do {
      got = ::pread(descriptor_, bytes_.data(), bytes_.size(), next_);
    } while (got < 0 && errno == EINTR);
    if (got < 0) fail_input(file_, fmt::format("cannot be read: {}", std::strerror(errno)));
    next_ += got;
    stream.next_in = reinterpret_cast<Bytef*>(bytes_.data());
    stream.avail_in = static_cast<uInt>(got);
    return got > 0;
  }
  // Drops bytes; false if the file ends before.
  bool skip(z_stream& stream, std::int64_t count) {
    while (count > 0) {
      if (stream.avail_in == 0 && !fill(stream)) return false;
      const auto now = static_cast<uInt>(std::min<std::int64_t>(count, stream.avail_in));
      stream.next_in += now;
      stream.avail_in -= now;
      count -= now;
    }
    return true;
  }

 private:
  const std::filesystem::path& file_;
  int descriptor_;
  std::int64_t next_;
  std::array<std::byte, piece_bytes> bytes_;
};

// A z_stream that inflates.
class inflating {
 public:
  explicit inflating(int framing) {
    if (inflateInit2(&stream, framing) != Z_OK) throw std::bad_alloc();
  }
  inflating(const inflating&) = delete;
  inflating& operator=(const inflating&) = delete;
  ~inflating() { inflateEnd(&stream); }

  z_stream stream = {};
};

[[noreturn]] void fail_damaged(const std::filesystem::path& file, const z_stream& stream) {
  fail_input(file, fmt::format("is damaged gzip: {}; fetch it again",
                               stream.msg != nullptr ? stream.msg : "invalid stream"));
}

[[noreturn]] void fail_truncated(const std::filesystem::path& file) {
  fail_input(file, "is truncated: its gzip stream does not end; fetch it again");
}

}  // namespace

// The pass that notes the places.
class gzip_scan {
 public:
  gzip_scan(gzip_index& to, std::int64_t expected)
      : to_(to),
        expected_(expected),
        distance_(std::max(least_distance, expected / most_places)),
        from_(to.file_, to.descriptor_, 0) {}

  void run() {
    note({});
    while (true) {
      z_stream& stream = state_.stream;
      if (stream.avail_in == 0 && !from_.fill(stream)) fail_truncated(to_.file_);
      if (at_ == window_.size()) at_ = 0;
      stream.next_out = reinterpret_cast<Bytef*>(window_.data() + at_);
      stream.avail_out = static_cast<uInt>(window_.size() - at_);
      const uInt room = stream.avail_out;
      const int outcome = inflate(&stream, Z_BLOCK);
      at_ += room - stream.avail_out;
      out_ += room - stream.avail_out;
      if (outcome == Z_STREAM_END) {
        if (stream.avail_in == 0 && !from_.fill(stream)) break;
        inflateReset(&stream);
        member_ = out_;
        note({});
        continue;
      }
      if (outcome == Z_MEM_ERROR) throw std::bad_alloc();
      if (outcome != Z_OK && outcome != Z_BUF_ERROR) fail_damaged(to_.file_, stream);
      constexpr int after_block = 128, last_block = 64;
      if ((stream.data_type & after_block) != 0 && (stream.data_type & last_block) == 0 &&
          out_ - to_.places_.back().out >= distance_) {
        note(window());
      }
    }
    if (out_ != expected_) {
      fail_input(to_.file_,
                 fmt::format("inflates to {} bytes, but its header tells of {}", out_, expected_));
    }
  }

 private:
  // The last output of this member, oldest first.
  std::vector<std::byte> window() const {
    std::vector<std::byte> last(window_.begin() + static_cast<std::ptrdiff_t>(at_), window_.end());
    last.insert(last.end(), window_.begin(), window_.begin() + static_cast<std::ptrdiff_t>(at_));
    const auto held = std::min<std::int64_t>(window_bytes, out_ - member_);
    last.erase(last.begin(), last.end() - static_cast<std::ptrdiff_t>(held));
    return last;
  }
  // The first place, and starts of members, which may be many, are noted without a window.
  void note(std::vector<std::byte> window) {
    if (!to_.places_.empty() && out_ - to_.places_.back().out < distance_) return;
    const z_stream& stream = state_.stream;
    const int bits = window.empty() ? 0 : stream.data_type & 7;
    to_.places_.push_back({out_, from_.position(stream), bits, std::move(window)});
  }

  gzip_index& to_;
  std::int64_t expected_, distance_;
  input from_;
  inflating state_{with_header};
  std::array<std::byte, window_bytes> window_{};
  std::size_t at_ = 0;
  std::int64_t out_ = 0, member_ = 0;
};

gzip_index::gzip_index(std::filesystem::path file, int descriptor, std::int64_t expected)
    : file_(std::move(file)), descriptor_(descriptor) {
  gzip_scan(*this, expected).run();
}

std::int64_t gzip_index::memory_bytes() const {
  std::int64_t bytes = 0;
  for (const place& p : places_) bytes += std::ssize(p.window);
  return bytes;
}

void gzip_index::read(std::int64_t offset, std::span<std::byte> out) const {
  const auto after = std::ranges::upper_bound(places_, offset, {}, &place::out);
  const place& start = *(after - 1);
  const bool raw = !start.window.empty();
  inflating state(raw ? without_header : with_header);
  z_stream& stream = state.stream;
  input from(file_, descriptor_, start.in - (start.bits != 0 ? 1 : 0));
  if (start.bits != 0) {
    if (!from.fill(stream)) fail_truncated(file_);
    inflatePrime(&stream, start.bits, *stream.next_in >> (8 - start.bits));
    ++stream.next_in;
    --stream.avail_in;
  }
  if (raw) {
    inflateSetDictionary(&stream, reinterpret_cast<const Bytef*>(start.window.data()),
                         static_cast<uInt>(start.window.size()));
  }
  std::array<std::byte, window_bytes> dropped;
  std::int64_t drop = offset - start.out;
  bool framed = !raw;
  while (!out.empty()) {
    if (stream.avail_in == 0 && !from.fill(stream)) fail_truncated(file_);
    const auto to = drop > 0 ? std::span<std::byte>(dropped).first(static_cast<std::size_t>(
                                   std::min<std::int64_t>(drop, window_bytes)))
                             : out.first(std::min(out.size(), std::size_t{1} << 30));
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = static_cast<uInt>(to.size());
    const int outcome = inflate(&stream, Z_NO_FLUSH);
    const std::size_t made = to.size() - stream.avail_out;
    if (drop > 0) {
      drop -= static_cast<std::int64_t>(made);
    } else {
      out = out.subspan(made);
    }
    if (outcome == Z_STREAM_END && !(out.empty() && drop == 0)) {
      // The next member; a raw stream leaves the trailer of this one.
      if (!framed && !from.skip(stream, trailer_bytes)) fail_truncated(file_);
      inflateReset2(&stream, with_header);
      framed = true;
    } else if (outcome == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (outcome != Z_OK && outcome != Z_STREAM_END && outcome != Z_BUF_ERROR) {
      fail_damaged(file_, stream);
    }
  }
}

}  // namespace kselect::runtime
