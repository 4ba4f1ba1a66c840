#pragma once
// The readers behind load_vectors, one per format, and what they share. Each checks the file
// against itself and returns its first `limit` vectors (0: all), without source and hash.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/io/element.hpp"
#include "harness/io/vectors.hpp"

namespace kselect {

enum class compression : std::uint8_t { none, gzip };

vector_set read_npy_vectors(const std::filesystem::path& file, std::int64_t limit);
// Components of `type`: float32 for .fvecs, uint8 for .bvecs, int32 for .ivecs.
vector_set read_xvecs(const std::filesystem::path& file, element_type type, std::int64_t limit);
vector_set read_idx(const std::filesystem::path& file, compression packed, std::int64_t limit);
vector_set read_hdf5(const std::filesystem::path& file, const std::string& dataset,
                     std::int64_t limit);

// Throws failure::input: "<file>: <problem>".
[[noreturn]] void fail_input(const std::filesystem::path& file, std::string_view problem);

// A zeroed set of `available` vectors or, if that is fewer and not 0, `limit`. Throws
// failure::input for vectors without components and failure::resources when memory runs out.
// `available` x `dimension` must have been found to be in the file.
vector_set allocate_vectors(const std::filesystem::path& file, std::int64_t available,
                            std::int64_t dimension, std::int64_t limit);

// No byte of deflate expands to more than this many (zlib's technical notes).
inline constexpr std::int64_t max_deflate_ratio = 1032;

// The first `at_most` bytes of a gzip file, fewer if it ends before. Asking for more than it holds
// checks its check sums as well. Throws failure::input when it is damaged or truncated before.
std::vector<std::byte> gunzip(const std::filesystem::path& file,
                              std::span<const std::byte> compressed, std::int64_t at_most);

}  // namespace kselect
