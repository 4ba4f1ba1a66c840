#pragma once
// A gzip file that can be read from any place: one pass over it notes where inflating can start
// again.
//
// After zran.c of zlib's examples (M. Adler): a place to start again is the end of a deflate block
// with the 32 KiB of output before it. There are at most some hundred of them, a few MiB. What lies
// between such a place and what is asked for is inflated and dropped, so reading forwards in large
// pieces costs little more than inflating once.

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace kselect::runtime {

class gzip_index {
 public:
  // Inflates all of `descriptor`, a gzip file of `expected` bytes, without keeping them, and checks
  // its sums. Throws failure::input where it is damaged, truncated, or of another length.
  gzip_index(std::filesystem::path file, int descriptor, std::int64_t expected);

  // The bytes from `offset` on, which must lie within it; thread-safe. Throws failure::input where
  // the file can no longer be read.
  void read(std::int64_t offset, std::span<std::byte> out) const;

  // Of the places to start again.
  std::int64_t memory_bytes() const;

 private:
  struct place {
    std::int64_t out, in;  // bytes before it, inflated and in the file
    int bits;              // of the byte before `in` that belong to what follows
    std::vector<std::byte>
        window;  // the output before it, at most 32 KiB; empty at a member's start
  };
  friend class gzip_scan;

  std::filesystem::path file_;
  int descriptor_;
  std::vector<place> places_;
};

}  // namespace kselect::runtime
