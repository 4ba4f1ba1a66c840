#include "harness/cli/knn_in_tiles.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

#include <fmt/format.h>

#include "harness/backend/host_backend.hpp"
#include "harness/backend/host_memory.hpp"
#include "harness/cli/commands.hpp"
#include "harness/error.hpp"
#include "harness/knn/tiled/agreement.hpp"

namespace kselect::cli {
namespace {

constexpr double mebibyte = 1 << 20;

std::int64_t memory_for(const tiled_options& o, int ranks) {
  if (o.memory_limit_mib != 0) return o.memory_limit_mib << 20;
  // As if all ranks were on this machine: too little rather than too much.
  return static_cast<std::int64_t>(available_memory()) / 2 / ranks;
}

// The ranks of one machine share its GPUs in turn, unless somebody has dealt them out already.
void choose_gpu() {
  for (const char* const name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "MPI_LOCALRANKID"}) {
    if (const char* const rank = std::getenv(name)) {
      setenv("CUDA_VISIBLE_DEVICES", rank, 0);
      return;
    }
  }
}

// Ranks that are bound to processors of their own have only these. Others of one machine would each
// take all of it, and wait for each other's threads.
int threads_for(int asked) {
  if (asked != 0) return asked;
  for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}) {
    const char* const ranks = std::getenv(name);
    if (ranks == nullptr || available_threads() < sysconf(_SC_NPROCESSORS_ONLN)) continue;
    return std::max(1, available_threads() / std::max(1, std::atoi(ranks)));
  }
  return 0;
}

void print_plan(const tiled_report& r, const communicator& ranks) {
  fmt::print(stderr,
             "{} queries against {} vectors of dimension {}{}: {} tiles of {} queries, {} tiles of "
             "{} vectors{}; at most {:.0f} MiB of memory{}, {:.0f} MiB of it held already\n",
             r.queries, r.n, r.dimension,
             r.queries_before == 0 ? "" : fmt::format(", {} done before", r.queries_before),
             r.query_tiles, r.plan.query_tile, r.corpus_tiles, r.plan.corpus_tile,
             ranks.size() == 1 ? "" : fmt::format(" on each of {} ranks", ranks.size()),
             static_cast<double>(r.held_bytes + r.plan.bytes) / mebibyte,
             ranks.size() == 1 ? "" : " a rank", static_cast<double>(r.held_bytes) / mebibyte);
}

tiled_observer observer_for(const communicator& ranks, std::int64_t& queries) {
  return {.planned =
              [&](const tiled_report& r) {
                queries = r.queries;
                print_plan(r, ranks);
              },
          .finished_tile =
              [&](std::int64_t done) {
                if (isatty(STDERR_FILENO) == 0) return;
                fmt::print(stderr, "\r{} of {} queries{}", done, queries,
                           done == queries ? "\r\033[K" : "");
              }};
}

void search(const tiled_options& o, tiled_request& request, backend& place, communicator& ranks) {
  request.memory_bytes = memory_for(o, ranks.size());
  request.query_tile = o.query_tile;
  request.exchange = parse<exchange_kind>(o.exchange).value();
  request.resume = o.resume;
  std::int64_t queries = 0;
  const tiled_report r = knn_in_tiles(request, place, ranks, observer_for(ranks, queries));
  if (ranks.rank() != 0) return;
  fmt::print(
      "{}: {} nearest of {} vectors ({}, dimension {}) for each of {} queries, {}; on {} "
      "rank{}; {:.1f} MiB of the corpus read by the first\n",
      request.entry.algorithm->name, request.k, r.n - (request.exclude_self ? 1 : 0),
      to_string(request.metric), r.dimension, r.queries,
      place.shares_host_memory() ? "proven" : "proven as --prove says", ranks.size(),
      ranks.size() == 1 ? "" : "s", static_cast<double>(r.bytes_read) / mebibyte);
}

// What went wrong on one rank of several ends all of them, with its name.
[[noreturn]] void end_all(communicator& ranks, int code, const char* what) {
  std::fflush(stdout);
  fmt::print(stderr, "kselect: {}: {}\n", ranks.name(ranks.rank()), what);
  ranks.abort(code);
  std::_Exit(code);  // for compilers that see no noreturn in a virtual call
}

}  // namespace

void refuse_what_needs_tiles(const tiled_options& o, std::size_t base_files) {
  if (started_among_ranks()) {
    throw error(failure::usage,
                "started as one of several processes, each of which would do all the work: give "
                "--mpi, so that they share it");
  }
  if (base_files > 1) {
    throw error(failure::usage, "several --base files are read in tiles: give --memory-limit");
  }
  if (o.query_tile != 0) {
    throw error(failure::usage, "--query-tile is for a search in tiles: give --memory-limit");
  }
}

int search_in_tiles(const tiled_options& o, tiled_request request, const std::string& executor,
                    int threads) {
  if (!o.mpi && started_among_ranks()) refuse_what_needs_tiles(o, 1);
  if (o.mpi) {
    choose_gpu();
    threads = threads_for(threads);
  }
  const auto ranks = o.mpi ? open_mpi(o.wait_limit_s) : alone();
  if (ranks->size() == 1) {
    const auto place = open_backend(require_executor(executor, *request.entry.algorithm), threads);
    search(o, request, *place, *ranks);
    return 0;
  }
  try {
    const auto place = open_backend(require_executor(executor, *request.entry.algorithm), threads);
    search(o, request, *place, *ranks);
    return 0;
  } catch (const agreed_error& known_to_all) {
    if (ranks->rank() == 0) fmt::print(stderr, "kselect: {}\n", known_to_all.what());
    return known_to_all.exit_code();
  } catch (const error& failed) {
    end_all(*ranks, failed.exit_code(), failed.what());
  } catch (const std::bad_alloc&) {
    end_all(*ranks, static_cast<int>(failure::resources), "out of memory; lower --memory-limit");
  } catch (const std::exception& unexpected) {
    end_all(*ranks, 70, fmt::format("internal error: {}", unexpected.what()).c_str());
  }
}

void add_tiled_options(CLI::App& command, tiled_options& o) {
  constexpr const char* group = "Beyond memory, beyond one process";
  command
      .add_option(
          "--memory-limit", o.memory_limit_mib,
          "MiB of host memory that this process may use, all in all: corpus and queries are "
          "then read in tiles, and results written tile by tile")
      ->check(CLI::Range(1, 1 << 24))
      ->group(group);
  command
      .add_option("--query-tile", o.query_tile,
                  "queries of a tile, after which a killed job can go on; 0: as many as fit")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 31))
      ->capture_default_str()
      ->group(group);
  command.add_flag("--resume", o.resume, "go on with a job that was killed, if there is one")
      ->group(group);
  command
      .add_flag("--mpi", o.mpi,
                "one of several processes started by mpirun or srun: the corpus is divided among "
                "them, on executor cuda a GPU each")
      ->group(group);
  command
      .add_option("--wait-limit", o.wait_limit_s,
                  "with --mpi: seconds to wait for another rank before the job is ended")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str()
      ->group(group);
  std::vector<std::string> kinds;
  for (const auto& entry : names<exchange_kind>) kinds.emplace_back(entry.name);
  command
      .add_option("--exchange", o.exchange,
                  "with --mpi on executor cuda: how neighbours go between ranks; auto = nccl where "
                  "it is there, else mpi")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str()
      ->group(group);
}

}  // namespace kselect::cli
