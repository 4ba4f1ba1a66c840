#include "cli/knn_in_tiles.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/job_progress.hpp"
#include "runtime/backend/host_backend.hpp"
#include "runtime/backend/host_memory.hpp"
#include "runtime/error.hpp"
#include "runtime/format.hpp"
#include "runtime/io/job_files.hpp"
#include "runtime/io/vectors.hpp"
#include "runtime/streams.hpp"
#include "search/knn/cuda/product_rate.hpp"
#include "search/knn/tiled/agreement.hpp"
#include "search/knn/tiled/result_store.hpp"
#include "search/task/knn_calls.hpp"

namespace kselect::cli {
namespace {

constexpr double mebibyte = 1 << 20;

// The memory limit of this process, for all its ranks together.
std::int64_t memory_for(const tiled_options& o, const communicator& ranks) {
  if (o.memory_limit_mib != 0) return o.memory_limit_mib << 20;
  // Assumes that all ranks are on this machine: rather too little than too much.
  return static_cast<std::int64_t>(available_memory()) / 2 / ranks.size() * ranks.process_size();
}

// Threads per rank; 0 means all. The threads of a machine are divided among its ranks, unless the
// processes are bound to their own processors. Ranks that each took all would wait for each other.
int threads_for(int asked, const communicator& ranks) {
  const int mine = available_threads();
  const bool bound = ranks.process_size() == 1 && mine < sysconf(_SC_NPROCESSORS_ONLN);
  if (asked != 0 || ranks.local_size() == 1 || bound) return asked;
  return std::max(1, mine / ranks.local_size());
}

// How often the corpus is read, as text.
std::string passes_of(const tiled_report& r) {
  if (r.query_tiles <= 1 || r.corpus_tiles <= 2 || r.shard.resident) return "read once";
  return fmt::format("{} passes", r.query_tiles);
}

std::string ranks_text(const tiled_report& r, const communicator& ranks) {
  if (ranks.size() == 1) return "";
  const std::string what = r.by_pairs ? ", which divide the pairs of vectors"
                           : r.list_length < r.k
                               ? fmt::format(", whose lists have {} neighbours", r.list_length)
                               : "";
  return fmt::format(" on each of {} ranks{}", ranks.size(), what);
}

void print_plan(const tiled_report& r, const communicator& ranks) {
  say_why_not_products(r.other_because);
  if (!r.whole_because.empty()) {
    print_message("--half-product was not used: {}\n", r.whole_because);
  }
  print_message(
      "{} against {} of dimension {}{}: {} of {}, {} of {}{} ({}); at most {:.0f} MiB of memory{}, "
      "{:.0f} MiB of it held already\n",
      amount_of(r.queries, "query"), amount_of(r.n, "vector"), r.dimension,
      r.queries_before == 0 ? "" : fmt::format(", {} done before", r.queries_before),
      amount_of(r.query_tiles, "tile"), amount_of(r.plan.query_tile, "query"),
      amount_of(r.corpus_tiles, "tile"), amount_of(r.plan.corpus_tile, "vector"),
      ranks_text(r, ranks), passes_of(r),
      static_cast<double>(r.held_bytes + r.plan.bytes) / mebibyte,
      ranks.size() == 1 ? "" : " a rank", static_cast<double>(r.held_bytes) / mebibyte);
}

tiled_observer observer_for(const communicator& ranks, job_progress& shown) {
  return {.planned =
              [&](const tiled_report& r) {
                print_plan(r, ranks);
                shown.begin("searched", r.queries, r.queries_before);
              },
          .finished_tile = [&](std::int64_t done) { shown.reached(done); },
          .stopping = stop_requested};
}

// The part of the job that one rank does.
class rank_job {
 public:
  // Ranks of one machine use its GPUs in rotation.
  rank_job(const tiled_options& o, const tiled_request& request, const shared_options& shared,
           communicator& ranks, job_progress& shown)
      : request_(request), shared_(shared), ranks_(ranks), shown_(shown) {
    request_.memory_bytes = memory_for(o, ranks);
    request_.query_tile = o.query_tile;
    request_.exchange = parse<exchange_kind>(o.exchange).value();
    request_.resume = o.resume;
    request_.cuda.time_stages = !shared.record.empty();
    kind_ = require_executor(o.gpus.empty() ? shared.executor : "cuda", *request.entry.algorithm);
    number_ = ranks.local_rank() % std::max(1, count_places(kind_));
  }

  void run() {
    const auto started = std::chrono::system_clock::now();
    std::optional<job_files> held;
    std::optional<call_record> record;
    if (ranks_.rank() == 0) hold_files(held);
    if (!shared_.record.empty() && ranks_.rank() == 0) record.emplace(shared_.record);
    const auto place = open_backend(kind_, threads_for(shared_.threads, ranks_), number_);
    const tiled_report r = knn_in_tiles(request_, *place, ranks_, observer_for(ranks_, shown_));
    const std::chrono::duration<double> elapsed = std::chrono::system_clock::now() - started;
    if (!shared_.record.empty()) {
      const bool products = is_filtered(r.product) && r.product != knn_product::int8;
      const double rate = products ? measure_product_rate(*place) : 0;
      const auto all = ranks_.gather(rank_facts(ranks_, *place, r, rate));
      if (record) {
        keep(*record, {request_, r, all, place->description(), started, elapsed.count()});
      }
    }
    if (ranks_.rank() == 0) print_outcome(r, *place);
  }

  // If one of several ranks fails, prints its name and the error, and ends all ranks.
  [[noreturn]] void end_all(int code, const std::string& what) {
    std::fflush(stdout);
    print_message("kselect: {}{}: {}\n", ranks_.name(ranks_.rank()),
                  kind_ == executor_kind::cuda ? fmt::format(", GPU {}", number_) : "",
                  one_line(what));
    ranks_.abort(code);
    std::_Exit(code);  // for compilers that ignore noreturn on a virtual call
  }

 private:
  // Only rank 0 writes. The .partial files are outputs, too.
  void hold_files(std::optional<job_files>& held) const {
    std::vector<named_file> inputs;
    for (const auto& file : request_.base) inputs.push_back({"--base", container_of(file)});
    for (const auto& file : request_.query) inputs.push_back({"--query", container_of(file)});
    const std::array<named_file, 4> outputs = {
        {{"--indices", request_.indices},
         {"--distances", request_.distances},
         {"the unfinished --indices", partial_file(request_.indices)},
         {"the unfinished --distances", partial_file(request_.distances)}}};
    held.emplace(inputs, outputs);
  }
  // The time of a job that went on is of its last part.
  static void keep(call_record& record, const tiled_run& run) {
    if (run.report.queries_before == 0) return record.add(call_of(run));
    print_message("not recorded: {} had been done before\n",
                  amount_of(run.report.queries_before, "query"));
  }

  static std::string proof_of(const tiled_report& r, const backend& place) {
    if (is_filtered(r.product)) {
      return fmt::format("all proven by products in {}", to_string(r.product));
    }
    return place.shares_host_memory() ? "proven" : "proven as --prove says";
  }
  void print_outcome(const tiled_report& r, const backend& place) const {
    fmt::print(
        "{}: {} nearest of {} ({}, dimension {}) for each of {}, {}; on {}; {:.1f} MiB of the "
        "corpus read by the first\n",
        request_.entry.algorithm->name, request_.k,
        amount_of(r.n - (request_.exclude_self ? 1 : 0), "vector"), to_string(request_.metric),
        r.dimension, amount_of(r.queries, "query"), proof_of(r, place),
        amount_of(ranks_.size(), "rank"), static_cast<double>(r.shard.bytes_read) / mebibyte);
  }

  tiled_request request_;
  const shared_options& shared_;
  communicator& ranks_;
  job_progress& shown_;  // of this process; rank 0 alone has steps
  executor_kind kind_{};
  int number_ = 0;
};

// Returns the exit code of this rank. If one of several ranks fails, does not return.
int run_rank(rank_job& job, const communicator& ranks) {
  try {
    job.run();
    return 0;
  } catch (const agreed_error& known_to_all) {
    if (ranks.rank() == 0) print_message("kselect: {}\n", one_line(known_to_all.what()));
    return known_to_all.exit_code();
  } catch (const error& failed) {
    job.end_all(failed.exit_code(), failed.what());
  } catch (const std::bad_alloc&) {
    job.end_all(static_cast<int>(failure::resources), "out of memory; lower --memory-limit");
  } catch (const std::exception& unexpected) {
    job.end_all(70, fmt::format("internal error: {}", unexpected.what()));
  }
}

// How many threads of this process are ranks. 0: the process is one rank.
int thread_ranks(const tiled_options& o, const std::string& executor) {
  if (o.gpus.empty()) return o.ranks;
  if (executor != "auto" && executor != "cuda") {
    throw error(failure::usage,
                fmt::format("--gpus is for executor cuda; --ranks N divides the corpus among "
                            "threads of executor {}",
                            executor));
  }
  if (const std::string why = why_unavailable(executor_kind::cuda); !why.empty()) {
    throw error(failure::unsupported,
                fmt::format("--gpus: executor cuda cannot run here: {}; --ranks N divides the "
                            "corpus among threads",
                            why));
  }
  const int here = count_places(executor_kind::cuda);
  const int wanted = o.gpus == "all" ? here : std::stoi(o.gpus);
  if (wanted > here) {
    throw error(failure::unsupported, fmt::format("--gpus {}: this process sees {} GPU{}", wanted,
                                                  here, here == 1 ? "" : "s"));
  }
  return wanted;
}

std::string check_gpus(const std::string& text) {
  const bool number = !text.empty() && text.size() <= 4 &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
                      std::stoi(text) > 0;
  return number || text == "all" ? "" : text + ": give a number of GPUs, from 1, or all";
}

constexpr const char* options_group = "Beyond memory, beyond one process";

void add_memory_options(CLI::App& command, tiled_options& o) {
  command
      .add_option(
          "--memory-limit", o.memory_limit_mib,
          "MiB of host memory for the whole process: reads corpus and queries in tiles, and "
          "writes results tile by tile")
      ->check(CLI::Range(1, 1 << 24))
      ->group(options_group);
  command
      .add_option("--query-tile", o.query_tile,
                  "queries of a tile, after which a killed job can go on; 0: as many as fit")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31))
      ->capture_default_str()
      ->group(options_group);
  command.add_flag("--resume", o.resume, "go on with a job that was killed, if there is one")
      ->group(options_group);
}

// What shares the corpus.
void add_rank_options(CLI::App& command, tiled_options& o) {
  CLI::Option* const mpi =
      command
          .add_flag(
              "--mpi", o.mpi,
              "one of several processes started by mpirun or srun: the corpus is divided among "
              "them, on executor cuda a GPU each")
          ->group(options_group);
  CLI::Option* const gpus =
      command
          .add_option(
              "--gpus", o.gpus,
              "number of this machine's GPUs that share the corpus, or `all`; each has a thread of "
              "this process")
          ->type_name("N|all")
          ->check(check_gpus)
          ->excludes(mpi)
          ->group(options_group);
  command
      .add_option("--ranks", o.ranks,
                  "threads of this process that share the corpus, with --threads each; for "
                  "executors of the host, where it has several memories, and for trials")
      ->check(CLI::Range(1, 1024))
      ->excludes(mpi)
      ->excludes(gpus)
      ->group(options_group);
}

void add_exchange_options(CLI::App& command, tiled_options& o) {
  command
      .add_option("--wait-limit", o.wait_limit_s,
                  "with several ranks: seconds to wait for another rank before the job is ended")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str()
      ->group(options_group);
  std::vector<std::string> kinds;
  for (const auto& entry : names<exchange_kind>) kinds.emplace_back(entry.name);
  command
      .add_option(
          "--exchange", o.exchange,
          "how ranks exchange neighbours: between hosts, or between GPUs by nccl; auto: nccl if it "
          "is installed and no two ranks share a GPU")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str()
      ->group(options_group);
}

}  // namespace

void say_why_not_products(const std::string& because) {
  if (because.empty()) return;
  print_message("products in float16 were not used, but float32: {}\n", because);
}

void refuse_what_needs_tiles(const tiled_options& o, std::size_t base_files) {
  if (started_among_ranks()) {
    throw error(failure::usage,
                "started as one of several processes, each of which would do all the work; add "
                "--mpi to share it");
  }
  if (base_files > 1) {
    throw error(failure::usage, "several --base files are read in tiles: give --memory-limit");
  }
  if (o.query_tile != 0) {
    throw error(failure::usage, "--query-tile is for a search in tiles: give --memory-limit");
  }
}

int search_in_tiles(const tiled_options& o, const tiled_request& request,
                    const shared_options& shared) {
  if (!o.mpi && started_among_ranks()) refuse_what_needs_tiles(o, 1);
  const int threads = thread_ranks(o, shared.executor);
  job_progress shown("queries", "the same command with --resume goes on");
  if (threads > 1) {
    int code = 0;
    run_ranks(threads, o.wait_limit_s, [&](communicator& ranks) {
      rank_job job(o, request, shared, ranks, shown);
      const int mine = run_rank(job, ranks);
      if (ranks.rank() == 0) code = mine;
    });
    return code;
  }
  const auto ranks = o.mpi ? open_mpi(o.wait_limit_s) : alone();
  rank_job job(o, request, shared, *ranks, shown);
  if (ranks->size() > 1) return run_rank(job, *ranks);
  job.run();
  return 0;
}

void add_tiled_options(CLI::App& command, tiled_options& o) {
  add_memory_options(command, o);
  add_rank_options(command, o);
  add_exchange_options(command, o);
}

}  // namespace kselect::cli
