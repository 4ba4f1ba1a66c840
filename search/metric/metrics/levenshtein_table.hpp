#pragma once
// Levenshtein distance by the dynamic programme: Wagner & Fischer, "The string-to-string correction
// problem", J. ACM 21(1), 1974. Equal to `levenshtein`, and slower: a cell of the table takes a few
// operations, where bits have 64 cells in a dozen. Barrientos 2011 names the distance and not how
// it was computed; the textbook's way is taken for it.
//
// A thread has one column of the table in its local memory. The query's characters are in shared
// memory.

#include <array>
#include <vector>

#include "search/metric/metrics/levenshtein.hpp"

namespace kselect::search::metric_space {

struct levenshtein_table : levenshtein {
  static constexpr std::string_view name = "levenshtein_table";
  static constexpr bool measures_several = false, screens = false;

  struct probe {
    std::vector<code> codes;
  };

  static probe prepare(const set& s, std::int64_t i) {
    const std::span<const code> own = s.codes(i);
    return {{own.begin(), own.end()}};
  }
  static float distance(const set& s, std::int64_t i, const probe& p) {
    const std::span<const code> text = s.codes(i);
    return last_of_table(p.codes.data(), static_cast<int>(p.codes.size()),
                         static_cast<int>(text.size()),
                         [&](int j) { return text[static_cast<std::size_t>(j)]; });
  }

  // The word's length; then its codes.
  static std::size_t staged_bytes(const set& queries) {
    return header_bytes + static_cast<std::size_t>(queries.longest()) * sizeof(code);
  }
  template <class Simt>
  KSELECT_HD static void stage(Simt& simt, const view& queries, std::int64_t q, void* staged) {
    const int length = simt.load(queries.lengths, q);
    if (simt.thread() == 0) *static_cast<int*>(staged) = length;
    code* const codes = codes_of(staged);
    for (int j = simt.thread(); j < length; j += simt.threads()) {
      codes[j] = simt.load(queries.codes, j * queries.count + q);
    }
  }
  template <class Simt>
  KSELECT_HD static float distance(Simt& simt, const view& v, std::int64_t i, void* staged) {
    return last_of_table(codes_of(staged), *static_cast<const int*>(staged),
                         simt.load(v.lengths, i),
                         [&](int j) { return simt.load(v.codes, j * v.count + i); });
  }

 private:
  static constexpr std::size_t header_bytes = 16;

  KSELECT_HD static code* codes_of(void* staged) {
    return reinterpret_cast<code*>(static_cast<unsigned char*>(staged) + header_bytes);
  }

  // The table's last element. Row j is the first j characters of a word of `length`; the columns
  // are those of a word of `text_length`, of which only one is kept.
  template <class Text>
  KSELECT_HD static float last_of_table(const code* codes, int length, int text_length,
                                        const Text& text) {
    code column[longest_word + 1];
    for (int j = 0; j <= length; ++j) column[j] = static_cast<code>(j);
    for (int at = 0; at < text_length; ++at) {
      const code symbol = text(at);
      int diagonal = at, above = at + 1;  // of the column before; of this one
      column[0] = static_cast<code>(above);
      for (int j = 1; j <= length; ++j) {
        const int left = column[j];
        const int changed = diagonal + (codes[j - 1] == symbol ? 0 : 1);
        const int moved = (left < above ? left : above) + 1;
        above = changed < moved ? changed : moved;
        column[j] = static_cast<code>(above);
        diagonal = left;
      }
    }
    return static_cast<float>(column[length]);
  }
};

}  // namespace kselect::search::metric_space
