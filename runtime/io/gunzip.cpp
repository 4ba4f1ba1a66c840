// Uses inflate(), because gzread() accepts a file without a gzip header and ignores bytes after the
// last member. Here both are damage.

#include <algorithm>
#include <new>

#include <fmt/format.h>
#include <zlib.h>

#include "runtime/error.hpp"
#include "runtime/io/readers.hpp"

namespace kselect::runtime {
namespace {

constexpr int gzip_window = 15 + 16;  // the largest window, gzip framing required
constexpr std::size_t piece_bytes = std::size_t{1} << 30;  // zlib counts in 32 bits

class inflater {
 public:
  inflater(const std::filesystem::path& file, std::span<const std::byte> compressed)
      : file_(file), rest_(compressed) {
    if (inflateInit2(&stream_, gzip_window) != Z_OK) throw std::bad_alloc();
  }
  inflater(const inflater&) = delete;
  inflater& operator=(const inflater&) = delete;
  ~inflater() { inflateEnd(&stream_); }

  // Fills `out` as far as the file reaches; returns the number of bytes written.
  std::size_t read(std::span<std::byte> out) {
    std::size_t written = 0;
    while (written < out.size() && !finished_) written += step(out.subspan(written));
    return written;
  }

 private:
  // Calls inflate once. The call makes progress or fails.
  std::size_t step(std::span<std::byte> out) {
    const auto in_size = static_cast<uInt>(std::min(rest_.size(), piece_bytes));
    const auto out_size = static_cast<uInt>(std::min(out.size(), piece_bytes));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
    stream_.avail_in = in_size;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = out_size;
    const int outcome = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(in_size - stream_.avail_in);
    if (outcome == Z_STREAM_END) {
      // A gzip file has one or more members in sequence.
      finished_ = rest_.empty();
      if (!finished_) inflateReset(&stream_);
    } else if (outcome == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (outcome == Z_BUF_ERROR || (outcome == Z_OK && rest_.empty() && stream_.avail_out)) {
      fail_input(file_, "is truncated: its gzip stream does not end; fetch it again");
    } else if (outcome != Z_OK) {
      fail_input(file_, fmt::format("is damaged gzip: {}; fetch it again",
                                    stream_.msg != nullptr ? stream_.msg : "invalid stream"));
    }
    return out_size - stream_.avail_out;
  }

  const std::filesystem::path& file_;
  std::span<const std::byte> rest_;
  z_stream stream_ = {};
  bool finished_ = false;
};

}  // namespace

std::vector<std::byte> gunzip(const std::filesystem::path& file,
                              std::span<const std::byte> compressed, std::int64_t at_most) {
  const std::int64_t room = std::ssize(compressed) * max_deflate_ratio;
  try {
    std::vector<std::byte> out(static_cast<std::size_t>(std::min(at_most, room + 1)));
    out.resize(inflater(file, compressed).read(out));
    return out;
  } catch (const std::bad_alloc&) {
    throw error(failure::resources,
                fmt::format("{}: inflates to up to {} bytes, which do not fit into memory",
                            file.string(), std::min(at_most, room)));
  }
}

}  // namespace kselect::runtime
