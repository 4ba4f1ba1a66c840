#include "cli/help/catalogue.hpp"

#include <array>

namespace kselect::cli::help {
namespace {

constexpr auto all_examples = std::to_array<example>({
    {"list", "What is there, a line a family:", "kselect list"},
    {"list", "Everything about a family's entries:", "kselect list --long 'cpu/heap*'"},
    {"list", "The names of all entries that take float16 rows, by jq:",
     "kselect list --json | jq -r '.[] | select(.dtypes | index(\"float16\")) | .name'"},

    {"test", "Is this algorithm right? The battery says:", "kselect test one-pass"},
    {"test", "One case of a kernel, on fibers:",
     "kselect test bms-block --executor fiber --case BoundarySizes"},
    {"test", "A kernel from outside, by its plug-in:",
     "kselect test warp-list --plugin warp_list.so --case BoundarySizes"},
    {"new", "Begin an algorithm of your own in a source tree:", "kselect new cpu my_select"},

    {"select", "The 8 smallest of each row, as a short table:", "kselect select rows.npy --k 8"},
    {"select", "Sorted, into files:",
     "kselect select rows.npy --k 8 --sorted --values v.npy --indices i.npy"},
    {"select", "The largest, every NaN after all numbers, as NumPy sorts:",
     "kselect select rows.npy --k 8 --largest --nan last"},
    {"select", "In a pipe:", "cat rows.npy | kselect select - --k 8 --values - > v.npy"},
    {"select", "A kernel on the CPU, to prove it:",
     "kselect select rows.npy --k 8 --algorithm bms-block --executor fiber"},

    {"explain",
     "What auto would run on one row of a million:", "kselect explain --n 1000000 --q 1 --k 100"},
    {"explain", "On a GPU that is not in this machine:",
     "kselect explain --n 16384 --q 4096 --k 64 --device 'NVIDIA H200'"},

    {"explain", "What a kernel launches:",
     "kselect explain --n 16384 --q 64 --k 32 --algorithm bms-block --executor fiber"},

    {"knn", "The 10 nearest base vectors of each query, as a short table:",
     "kselect knn base.npy queries.npy --k 10"},
    {"knn", "The k-NN graph, into files:",
     "kselect knn base.npy --self --exclude-self --k 10 --indices i.npy --distances d.npy"},
    {"knn", "A corpus larger than memory, by 4096 MiB, on after an interruption:",
     "kselect knn base.fvecs queries.fvecs --k 10 --memory-limit 4096 --resume "
     "--indices i.npy --distances d.npy"},
    {"knn prepare", "Read less for each pass over a large corpus, and check what is read:",
     "kselect knn prepare base.fvecs --output base.kvec"},

    {"bench", "Which algorithm is fastest here, and by how much?",
     "kselect bench --n 16384 --q 256 --k 64"},
    {"bench", "Some algorithms, on rows of a file:",
     "kselect bench --input rows.npy --k 8 --algorithms 'auto,cpu/*@here'"},
    {"run", "A sweep, and the same again after an interruption:",
     "kselect run configs/quick.json --out out/mine --resume"},
    {"run", "The cells and an estimate of the time, without a run:",
     "kselect run quick --filter 'cpu/heap*' --dry-run"},
    {"show", "The table of a run, and the answer in a sentence:", "kselect show out/mine"},
    {"plot", "Figures, and a page that says what each shows:", "kselect plot out/mine"},
    {"report", "One HTML file: who wins where, by how much:", "kselect report out/mine"},
    {"board", "All runs as one site, without network:", "kselect board results/ --out site"},

    {"tune", "Teach auto this GPU, which takes some minutes:",
     "kselect tune --out algorithms/auto_select/my-gpu.json"},
    {"tune", "What auto lost in finished runs:", "kselect tune --regret out/mine"},

    {"merge", "One run from the shards of two machines:",
     "kselect merge out/shard-1 out/shard-2 --out out/whole"},
    {"progress", "How far two shards are:", "kselect progress out/shard-1 out/shard-2"},
    {"doctor", "What would disturb a measurement:", "kselect doctor"},
    {"doctor", "For a script:", "kselect doctor --json"},
    {"compare", "Did it get slower?", "kselect compare out/before out/mine"},
    {"compare", "For a pull request, changes of 10 % and more alone:",
     "kselect compare out/before out/mine --threshold 10% --format markdown"},
    {"noise", "The floor below which changes mean nothing here:",
     "kselect noise configs/quick.json --rounds 5"},
    {"ab", "Does this branch slow anything down?", "kselect ab main HEAD configs/quick.json"},
    {"history", "Did a year of commits slow anything down, a little each?",
     "kselect history history/"},
    {"export",
     "A table for a spreadsheet:", "kselect export out/mine --format csv --output mine.csv"},
    {"counters", "Does every kernel do the work on record?",
     "kselect counters configs/counters.json --check results/counters.json"},

    {"generate", "10000 vectors of 64 normally distributed components:",
     "kselect generate --count 10000 --dimension 64 --distribution normal --output base.npy"},
    {"generate rows", "64 rows of 100000 elements, as a sweep has them:",
     "kselect generate rows --n 100000 --q 64 --output rows.npy"},
    {"prove", "Is anybody's answer right?", "kselect prove rows.npy v.npy i.npy"},
    {"prove", "And is it sorted?", "kselect prove rows.npy v.npy i.npy --sorted"},

    {"index", "Index vectors, keep a tenth as queries, find the 8 nearest of each:",
     "kselect index build base.npy base.kidx --metric euclidean --kind list_of_clusters "
     "--hold-out 0.1 --queries held_out.npy"},
    {"index", "", "kselect index knn base.kidx held_out.npy --k 8"},
    {"index build", "An index of words under the edit distance:",
     "kselect index build words.txt words.kidx --metric levenshtein --kind sss"},
    {"index info", "What the index holds:", "kselect index info words.kidx"},
    {"index knn", "The 2 nearest words of each query, as a short table:",
     "kselect index knn words.kidx queries.txt --k 2"},
    {"index knn", "As JSON, words included:",
     "kselect index knn words.kidx queries.txt --k 2 --json found.json"},
    {"index range",
     "All words within 1 edit:", "kselect index range words.kidx queries.txt --radius 1"},
    {"index generate", "1000 vectors in place of a database that is not published:",
     "kselect index generate images --count 1000 --output images.npy"},

    {"help", "A command's options and examples:", "kselect help index knn"},
    {"help", "What exit codes mean:", "kselect help exit-codes"},
    {"version", "Version, commit and compiler:", "kselect version"},
    {"completion", "For this shell, bash, now:", "source <(kselect completion bash)"},
    {"completion", "For every bash of this user:",
     "kselect completion bash > ~/.local/share/bash-completion/completions/kselect"},
    {"man", "Read the page of a command:", "kselect man select | man -l -"},
    {"man", "Write all pages:", "kselect man --all man1"},
});

constexpr auto all_headings = std::to_array<heading>({
    {"Select and search", "select knn index prove generate"},
    {"Measure", "bench run show explain doctor tune merge progress"},
    {"Compare and draw", "compare ab noise history counters plot report board export"},
    {"Algorithms", "list test new"},
    {"About this program", "help version completion man"},
});

}  // namespace

std::span<const example> examples() { return all_examples; }
std::span<const heading> headings() { return all_headings; }

std::span<const exit_code> exit_codes() {
  // docs/reference/exit-codes.md says more; runtime/error.hpp has the numbers.
  static constexpr auto codes = std::to_array<exit_code>({
      {0, "success"},
      {1, "a sweep ran but some cell failed"},
      {2, "usage or config"},
      {3, "input file"},
      {4, "unsupported here"},
      {5, "out of memory"},
      {6, "results cannot be written"},
      {7, "an answer was wrong"},
      {70, "internal error"},
      {130, "interrupted"},
  });
  return codes;
}

std::span<const exit_code> verdict_codes() {
  static constexpr auto codes = std::to_array<exit_code>({
      {0, "no regression"},
      {1, "regression"},
      {2, "not comparable, or no verdict possible"},
      {3, "inconclusive"},
      {4, "missing cells"},
  });
  return codes;
}

bool ends_with_verdict(std::string_view command) { return command == "compare" || command == "ab"; }

}  // namespace kselect::cli::help
