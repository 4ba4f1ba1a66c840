#pragma once
// Masks over n things a row from an .npy file, as bits.
//
// An array may hold a mask as
//     bool or uint8, n a row            1 or True admits
//     uint8, (n + 7) / 8 a row          bits, as numpy.packbits(mask, axis=-1, bitorder="little")
// Bits beyond n have no meaning.

#include <cstdint>
#include <filesystem>
#include <vector>

namespace kselect::runtime {

// What the masks of a file are over.
struct masked_rows {
  std::int64_t n = 0;  // things a row
  std::int64_t rows = 0;
  bool shared = true;  // one mask for all rows is taken, of one dimension or of one row
  bool each = false;   // a mask for each row is taken; if both are, the file says which it has
  // For messages.
  const char* thing = "vector";
  const char* things = "these vectors";
};

struct bit_masks {
  std::int64_t rows = 0;
  bool each = false;                 // one for each row
  std::int64_t pitch = 0;            // words from row to row
  std::vector<std::uint32_t> words;  // thing i of a row: bit i % 32 of its word i / 32
};

// Loads masks. "-" is standard input. Throws failure::input, which names the file, for another
// dtype or shape, for a byte that is neither 0 nor 1, and as npy_file; failure::resources if the
// masks do not fit into memory.
bit_masks load_bit_masks(const std::filesystem::path& file, const masked_rows& over);

}  // namespace kselect::runtime
