#include "search/metric/metrics/levenshtein.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "runtime/copy_by_threads.hpp"
#include "runtime/io/readers.hpp"
#include "search/metric/section_io.hpp"
#include "search/search.hpp"

namespace kselect::search::metric_space {

levenshtein::set::set(const std::vector<word>& words) {
  for (const word& w : words) alphabet_ += w;
  std::ranges::sort(alphabet_);
  alphabet_.erase(std::unique(alphabet_.begin(), alphabet_.end()), alphabet_.end());
  if (alphabet_.size() > 65534) {
    throw std::invalid_argument("the words have more than 65,534 different characters");
  }
  encode(words);
}

void levenshtein::set::encode(const std::vector<word>& words) {
  codes_.clear();
  starts_ = {0};
  longest_ = 0;
  for (const word& w : words) {
    for (const char32_t c : w) {
      const auto at = std::ranges::lower_bound(alphabet_, c);
      const bool known = at != alphabet_.end() && *at == c;
      codes_.push_back(static_cast<code>((known ? at : alphabet_.end()) - alphabet_.begin()));
    }
    end_word();
  }
}

word levenshtein::set::text(std::int64_t i) const {
  if (!foreign_.empty()) return foreign_[static_cast<std::size_t>(i)];
  word w;
  for (const code c : codes(i)) w.push_back(alphabet_[c]);
  return w;
}

levenshtein::set levenshtein::set::gather(std::span<const std::int64_t> numbers) const {
  set taken;
  taken.alphabet_ = alphabet_;
  for (const std::int64_t i : numbers) {
    const auto own = codes(i);
    taken.codes_.insert(taken.codes_.end(), own.begin(), own.end());
    taken.end_word();
    if (!foreign_.empty()) taken.foreign_.push_back(text(i));
  }
  return taken;
}

levenshtein::set levenshtein::load(const std::string& file) {
  const std::vector<word> words = read_words(file, longest_word);
  try {
    return set(words);
  } catch (const std::invalid_argument& wrong) {
    fail_input(file, wrong.what());
  }
}

void levenshtein::save(const set& s, const std::string& file) {
  std::vector<word> words;
  for (std::int64_t i = 0; i < s.count(); ++i) words.push_back(s.text(i));
  write_words(file, words);
}

void levenshtein::write(const set& s, sections& out) {
  append_section(out, "words.alphabet", s.alphabet_);
  append_section(out, "words.starts",
                 std::vector<std::uint64_t>(s.starts_.begin(), s.starts_.end()));
  append_section(out, "words", s.codes_);
}

levenshtein::set levenshtein::read(const sections& from) {
  set s;
  const auto alphabet = section_values<char32_t>(from, "words.alphabet");
  s.alphabet_.assign(alphabet.begin(), alphabet.end());
  s.codes_ = section_values<code>(from, "words");
  const auto starts = section_values<std::uint64_t>(from, "words.starts");
  s.starts_.assign(starts.begin(), starts.end());
  const auto require = [](bool holds, const char* wrong) {
    if (!holds) throw std::invalid_argument(wrong);
  };
  require(std::ranges::is_sorted(s.alphabet_), "section words.alphabet is out of order");
  require(!s.starts_.empty() && s.starts_.front() == 0 && s.starts_.back() == s.codes_.size() &&
              std::ranges::is_sorted(s.starts_),
          "section words.starts does not divide section words");
  for (std::int64_t i = 0; i < s.count(); ++i) {
    s.longest_ = std::max(s.longest_, s.codes(i).size());
  }
  require(s.longest() <= longest_word, "section words holds a word that is too long");
  require(std::ranges::all_of(s.codes_, [&](code c) { return c < s.alphabet_.size(); }),
          "section words holds a character outside its alphabet");
  return s;
}

void levenshtein::adapt(set& queries, const set& corpus) {
  std::vector<word> words;
  for (std::int64_t i = 0; i < queries.count(); ++i) words.push_back(queries.text(i));
  queries.alphabet_ = corpus.alphabet_;
  queries.encode(words);
  queries.foreign_ = std::move(words);
}

levenshtein::probe levenshtein::prepare(const set& s, std::int64_t i) {
  const std::span<const code> own = s.codes(i);
  probe p{.length = static_cast<int>(own.size()),
          .blocks = blocks_of(static_cast<std::int64_t>(own.size())),
          .matches = {}};
  const auto symbols = static_cast<std::size_t>(s.symbols());
  p.matches.resize(static_cast<std::size_t>(p.blocks) * symbols);
  for (std::size_t j = 0; j < own.size(); ++j) {
    p.matches[j / block_bits * symbols + own[j]] |= std::uint64_t{1} << j % block_bits;
  }
  return p;
}

namespace {

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

// Where the parts of an image begin; its characters are at 0.
struct image_places {
  std::size_t lengths, codes, end;

  image_places(std::int64_t words, std::int64_t longest)
      : lengths(aligned(static_cast<std::size_t>(words) * sizeof(std::uint64_t))),
        codes(lengths + aligned(static_cast<std::size_t>(words) * sizeof(levenshtein::code))),
        end(codes + static_cast<std::size_t>(words * longest) * sizeof(levenshtein::code)) {}
};

// As in a view.
std::uint64_t counted(std::span<const levenshtein::code> word) {
  std::uint64_t once = 0, twice = 0;
  for (const levenshtein::code c : word) {
    const std::uint64_t bit = std::uint64_t{1} << c % 32;
    twice |= once & bit;
    once |= bit;
  }
  return once | twice << 32;
}

}  // namespace

std::size_t levenshtein::image_bytes(const set& s) {
  return image_places(s.count(), s.longest()).end;
}

void levenshtein::write_image(const set& s, std::byte* memory, int threads) {
  const auto count = static_cast<std::size_t>(s.count());
  const auto longest = static_cast<std::size_t>(s.longest());
  const image_places at(s.count(), s.longest());
  const auto put = [&](std::size_t place, auto value) {
    std::memcpy(memory + place, &value, sizeof value);
  };
  // A line of memory holds as many codes: it is written at once, with zeros after the words' ends.
  constexpr std::size_t line = 32, worthwhile = 1 << 12;
  // The team of all copies (runtime/copy_by_threads.hpp).
  const int team = count < worthwhile ? 1 : moving_threads(threads);
#pragma omp parallel for num_threads(team) schedule(static) if (team > 1)
  for (std::size_t first = 0; first < count; first += line) {
    const std::size_t size = std::min(line, count - first);
    std::array<code, longest_word * line> columns;
    std::fill_n(columns.begin(), longest * line, code{0});
    for (std::size_t w = 0; w < size; ++w) {
      const auto own = s.codes(static_cast<std::int64_t>(first + w));
      put((first + w) * sizeof(std::uint64_t), counted(own));
      put(at.lengths + (first + w) * sizeof(code), static_cast<code>(own.size()));
      for (std::size_t j = 0; j < own.size(); ++j) columns[j * line + w] = own[j];
    }
    for (std::size_t j = 0; j < longest; ++j) {
      std::memcpy(memory + at.codes + (j * count + first) * sizeof(code), &columns[j * line],
                  size * sizeof(code));
    }
  }
}

levenshtein::view levenshtein::attach(const set& s, std::byte* memory) {
  const std::int64_t longest = s.longest();
  const image_places at(s.count(), longest);
  return {{reinterpret_cast<const std::uint64_t*>(memory), s.count()},
          {reinterpret_cast<const code*>(memory + at.lengths), s.count()},
          {reinterpret_cast<const code*>(memory + at.codes), s.count() * longest},
          s.count(),
          s.symbols(),
          blocks_of(longest)};
}

}  // namespace kselect::search::metric_space
