#pragma once
// Levenshtein distance between words: the fewest insertions, deletions and substitutions of a
// character that turn one into the other.
//
// Computed by columns of bits: Myers, "A fast bit-vector algorithm for approximate string matching
// based on dynamic programming", J. ACM 46(3), 1999, in Hyyro's form for the distance of whole
// words ("A bit-vector algorithm for computing Levenshtein and Damerau edit distances", 2003). A
// column of the dynamic programme is two 64-bit integers for every 64 characters of the first word.
// For these, each character of the second word takes a dozen operations.
//
// A set's characters are numbered, so that a word's table of matches (bits for each character) is
// small. A character of queries alone gets the number after the last: it matches nothing.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "search/metric/metric.hpp"
#include "search/metric/words.hpp"

namespace kselect::search::metric_space {

struct levenshtein {
  static constexpr std::string_view name = "levenshtein";
  static constexpr std::string_view objects = "words";
  static constexpr int block_bits = 64, most_blocks = 4;
  static constexpr int longest_word = block_bits * most_blocks;
  using code = std::uint16_t;

  class set {
   public:
    set() = default;
    // Numbers the characters of `words`. Throws std::invalid_argument if there are more than 65,534
    // different ones.
    explicit set(const std::vector<word>& words);

    std::int64_t count() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
    // Codes of word i, below symbols().
    std::span<const code> codes(std::int64_t i) const {
      const auto at = static_cast<std::size_t>(i);
      return std::span(codes_).subspan(starts_[at], starts_[at + 1] - starts_[at]);
    }
    // The number of codes: those of the alphabet, and one for all other characters.
    int symbols() const { return static_cast<int>(alphabet_.size()) + 1; }
    std::int64_t longest() const { return static_cast<std::int64_t>(longest_); }
    word text(std::int64_t i) const;
    set gather(std::span<const std::int64_t> numbers) const;

   private:
    friend struct levenshtein;
    void encode(const std::vector<word>& words);
    void end_word() {  // of all codes since the last one
      longest_ = std::max(longest_, codes_.size() - starts_.back());
      starts_.push_back(codes_.size());
    }

    word alphabet_;  // ascending
    std::vector<code> codes_;
    std::vector<std::size_t> starts_ = {0};  // [count + 1]
    std::size_t longest_ = 0;
    std::vector<word> foreign_;  // of an adapted set: the original words, for text()
  };

  struct probe {
    int length;
    int blocks;
    std::vector<std::uint64_t> matches;  // [blocks][symbols]: bit j, character 64 block + j is it
  };

  struct view {
    // [count] what each word has of the characters numbered c modulo 32: bit c, one; bit 32 + c,
    // two
    simt::global<const std::uint64_t> characters;
    simt::global<const code> lengths;  // [count]
    simt::global<const code> codes;    // [longest][count]
    std::int64_t count;
    int symbols;
    int blocks;  // of the longest word
  };

  // A word a line, UTF-8 (search/metric/words.hpp).
  static set load(const std::string& file);
  static void save(const set&, const std::string& file);
  static std::string text(const set& s, std::int64_t i) { return encode_utf8(s.text(i)); }
  static void write(const set&, sections& out);
  static set read(const sections& from);
  static void adapt(set& queries, const set& corpus);
  static tolerance tolerance_of(const set&) { return {}; }

  static probe prepare(const set&, std::int64_t i);
  static float distance(const set& s, std::int64_t i, const probe& p) {
    const std::span<const code> text = s.codes(i);
    return compare(p.length, p.matches.data(), s.symbols(), static_cast<int>(text.size()),
                   [&](int j) { return text[static_cast<std::size_t>(j)]; });
  }

  static std::size_t image_bytes(const set&);
  static void write_image(const set&, std::byte* memory, int threads);
  static view attach(const set&, std::byte* memory);
  static std::size_t staged_bytes(const set& queries) {
    return header_bytes + static_cast<std::size_t>(blocks_of(queries.longest())) *
                              static_cast<std::size_t>(queries.symbols()) * sizeof(std::uint64_t);
  }

  template <class Simt>
  KSELECT_HD static void stage(Simt& simt, const view& queries, std::int64_t q, void* staged) {
    const int length = simt.load(queries.lengths, q);
    if (simt.thread() == 0) {
      *static_cast<outline*>(staged) = {simt.load(queries.characters, q), length};
    }
    std::uint64_t* const matches = matches_of(staged);
    const int words = blocks_of(length) * queries.symbols;
    for (int w = simt.thread(); w < words; w += simt.threads()) {
      const int first = w / queries.symbols * block_bits;
      std::uint64_t bits = 0;
      for (int j = 0; j < block_bits && first + j < length; ++j) {
        const int own = simt.load(queries.codes, (first + j) * queries.count + q);
        if (own == w % queries.symbols) bits |= std::uint64_t{1} << j;
      }
      matches[w] = bits;
    }
  }
  template <class Simt>
  KSELECT_HD static float distance(Simt& simt, const view& v, std::int64_t i, void* staged) {
    return compare(outline_of_staged(staged).length, matches_of(staged), v.symbols,
                   simt.load(v.lengths, i),
                   [&](int j) { return simt.load(v.codes, j * v.count + i); });
  }

  // Optional, for kernels: a test that spares comparisons. A word becomes another by at least as
  // many edits as it has characters too many, or too few. Counted up to two of each character, they
  // are too few rather than too many, and so they are where characters share a number.
  static constexpr bool screens = true;
  struct alignas(16) outline {
    std::uint64_t characters;
    int length;
  };
  template <class Simt>
  KSELECT_HD static outline outline_of(Simt& simt, const view& v, std::int64_t i) {
    return {simt.load(v.characters, i), simt.load(v.lengths, i)};
  }
  KSELECT_HD static outline outline_of_staged(const void* staged) {
    return *static_cast<const outline*>(staged);
  }
  // Whether two words are certainly further than `radius` apart. The sum and the difference of the
  // characters too many and too few are known, and the greater is half of both.
  template <class Simt>
  KSELECT_HD static bool certainly_beyond(Simt&, const outline& a, const outline& b, float radius) {
    const std::uint64_t differ = a.characters ^ b.characters;
    const int apart = a.length - b.length;
    const int sum = Simt::popc(static_cast<std::uint32_t>(differ)) +
                    Simt::popc(static_cast<std::uint32_t>(differ >> 32));
    return static_cast<float>(sum + (apart < 0 ? -apart : apart)) > 2 * radius;
  }

  // Optional, for kernels: compares word i with several staged words at once. A character is loaded
  // once for all, and columns of words of up to 32 characters have 32 bits. Calls f(j, distance)
  // for those at most radii[j] away. Lengths that differ by more need no comparison, and the
  // distance is at least a column's last element less the characters that are left.
  static constexpr bool measures_several = true;
  template <int count, class Simt, class F>
  KSELECT_HD static void distances_within(Simt& simt, const view& v, std::int64_t i,
                                          void* const (&staged)[count], const float (&radii)[count],
                                          const F& f) {
    const int text_length = simt.load(v.lengths, i);
    int lengths[count], most[count];
    bool is_short = true, any = false;
    KSELECT_UNROLL
    for (int j = 0; j < count; ++j) {
      lengths[j] = outline_of_staged(staged[j]).length;
      most[j] = radii[j] < 2 * longest_word ? static_cast<int>(radii[j]) : 2 * longest_word;
      is_short = is_short && lengths[j] > 0 && lengths[j] <= narrow_bits;
      const int apart = lengths[j] - text_length;
      any = any || (apart < 0 ? -apart : apart) <= most[j];
    }
    if (!any) return;
    narrow_column columns[count];
    if (is_short && !compare_narrow(simt, v, i, text_length, staged, lengths, most, columns))
      return;
    KSELECT_UNROLL
    for (int j = 0; j < count; ++j) {
      const float d =
          is_short ? static_cast<float>(columns[j].template last<Simt>(text_length, lengths[j]))
                   : distance(simt, v, i, staged[j]);
      if (d <= radii[j]) f(j, d);
    }
  }

 private:
  static constexpr int narrow_bits = 32;

  // As in columns(), of one block of 32 bits.
  struct narrow_column {
    std::uint32_t rises = ~std::uint32_t{0}, falls = 0;

    KSELECT_HD void add(std::uint32_t equal) {
      const std::uint32_t falls_or_equal = equal | falls;
      const std::uint32_t diagonal = (((equal & rises) + rises) ^ rises) | equal;
      const std::uint32_t rise = (falls | ~(diagonal | rises)) << 1 | 1;
      const std::uint32_t fall = (rises & diagonal) << 1;
      rises = fall | ~(falls_or_equal | rise);
      falls = rise & falls_or_equal;
    }
    // The column's last element if it is of `at` characters: the first is `at`, and each row rises
    // or falls by one at most.
    template <class Simt>
    KSELECT_HD int last(int at, int length) const {
      const std::uint32_t rows = ~std::uint32_t{0} >> (narrow_bits - length);
      return at + static_cast<int>(Simt::popc(rises & rows)) -
             static_cast<int>(Simt::popc(falls & rows));
    }
  };

  // The columns of word i's last character. False if all distances are more than `most`. Loads the
  // next characters while a few are compared.
  template <int count, class Simt>
  KSELECT_HD static bool compare_narrow(Simt& simt, const view& v, std::int64_t i, int text_length,
                                        void* const (&staged)[count], const int (&lengths)[count],
                                        const int (&most)[count], narrow_column (&columns)[count]) {
    constexpr int at_once = 4;
    int next[at_once] = {};
    std::int64_t place = i;
    const auto load = [&](int at) {
      KSELECT_UNROLL
      for (int c = 0; c < at_once; ++c, place += v.count) {
        if (at + c < text_length) next[c] = simt.load(v.codes, place);
      }
    };
    load(0);
    for (int at = 0; at < text_length; at += at_once) {
      int symbols[at_once];
      KSELECT_UNROLL
      for (int c = 0; c < at_once; ++c) symbols[c] = next[c];
      load(at + at_once);
      KSELECT_UNROLL
      for (int c = 0; c < at_once; ++c) {
        if (at + c >= text_length) return true;
        KSELECT_UNROLL
        for (int j = 0; j < count; ++j) {
          columns[j].add(static_cast<std::uint32_t>(matches_of(staged[j])[symbols[c]]));
        }
      }
      // A distance is at least the last element so far less the characters that are left.
      const int done = at + at_once;
      bool all_beyond = true;
      KSELECT_UNROLL
      for (int j = 0; j < count; ++j) {
        const int least = columns[j].template last<Simt>(done, lengths[j]) - (text_length - done);
        all_beyond = all_beyond && least > most[j];
      }
      if (all_beyond) return false;
    }
    return true;
  }

  static constexpr std::size_t header_bytes = sizeof(outline);  // then the word's matches

  KSELECT_HD static std::uint64_t* matches_of(void* staged) {
    return reinterpret_cast<std::uint64_t*>(static_cast<unsigned char*>(staged) + header_bytes);
  }
  KSELECT_HD static constexpr int blocks_of(std::int64_t length) {
    return length == 0 ? 1 : static_cast<int>((length + block_bits - 1) / block_bits);
  }

  // The distance between a word of `length` characters, given by its matches, and a word of
  // `text_length` characters, given by its codes.
  template <class Text>
  KSELECT_HD static float compare(int length, const std::uint64_t* matches, int symbols,
                                  int text_length, const Text& text) {
    if (length == 0) return static_cast<float>(text_length);
    if (length <= block_bits) return columns<1>(length, matches, symbols, text_length, text);
    if (length <= 2 * block_bits) return columns<2>(length, matches, symbols, text_length, text);
    return columns<most_blocks>(length, matches, symbols, text_length, text);
  }

  template <int room, class Text>
  KSELECT_HD static float columns(int length, const std::uint64_t* matches, int symbols,
                                  int text_length, const Text& text) {
    const int last = (length - 1) / block_bits;
    std::uint64_t rises[room], falls[room];  // vertical differences of +1, of -1
    KSELECT_UNROLL
    for (int b = 0; b < room; ++b) {
      rises[b] = ~std::uint64_t{0};
      falls[b] = 0;
    }
    int score = length;
    for (int j = 0; j < text_length; ++j) {
      const int symbol = text(j);
      std::uint64_t rise_in = 1, fall_in = 0;  // horizontal differences, from the block above
      KSELECT_UNROLL
      for (int b = 0; b < room; ++b) {
        if (b > last) break;
        std::uint64_t equal = matches[b * symbols + symbol];
        const std::uint64_t falls_or_equal = equal | falls[b];
        equal |= fall_in;
        const std::uint64_t diagonal = (((equal & rises[b]) + rises[b]) ^ rises[b]) | equal;
        std::uint64_t rise = falls[b] | ~(diagonal | rises[b]);
        std::uint64_t fall = rises[b] & diagonal;
        if (b == last) {
          const int bottom = (length - 1) % block_bits;
          score += static_cast<int>(rise >> bottom & 1) - static_cast<int>(fall >> bottom & 1);
        }
        const std::uint64_t rise_out = rise >> (block_bits - 1),
                            fall_out = fall >> (block_bits - 1);
        rise = rise << 1 | rise_in;
        fall = fall << 1 | fall_in;
        rises[b] = fall | ~(falls_or_equal | rise);
        falls[b] = rise & falls_or_equal;
        rise_in = rise_out;
        fall_in = fall_out;
      }
    }
    return static_cast<float>(score);
  }
};

}  // namespace kselect::search::metric_space
