#include "search/knn/tiled/query_tiles.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/copy_by_threads.hpp"
#include "runtime/error.hpp"
#include "search/knn/tiled/agreement.hpp"
#include "search/knn/tiled/plan.hpp"
#include "search/knn/tiled/tile_stream.hpp"

namespace kselect::search {
namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t tiles_of_lists = 3;
// Queries of a tile that are searched again one by one. Of vectors in no order hardly one in 10^6
// is. If more of a tile are, so are many of the next.
constexpr std::size_t most_again = 4;

void await(std::future<void>& errand, double& seconds) {
  if (!errand.valid()) return;
  const lap waiting(seconds);
  errand.get();
}

}  // namespace

query_tiles::query_tiles(const parts& of, const query_range& range, tiled_times& times)
    : of_(of),
      cut_(range),
      times_(times),
      k_(range.k),
      list_length_(range.list_length == 0 ? range.k : range.list_length),
      sharing_(of.shares, of.ranks,
               [this](std::function<void()> errand) { return courier_.post(std::move(errand)); }),
      courier_(of.ranks.any_thread() && of.exchange.beside(), [&place = of.place] {
        place.serve_this_thread();
        runtime::start_moving_threads(place.description().threads);
      }) {
  courier_.post([] {}).get();  // it has begun
  const std::int64_t held = std::min(tiles(), tiles_of_lists);
  for (std::int64_t tile = 0; tile < held; ++tile) {
    lists_.emplace_back(cut_.longest(), range.k).pin(of.place);
  }
  of.exchange.reserve(cut_.longest(), range.k);
  if (!of.shard.takes_queries()) return;
  const std::int64_t buffers = std::min<std::int64_t>(tiles(), std::ssize(queries_));
  for (std::int64_t tile = 0; tile < buffers; ++tile) {
    queries_of(tile).data.resize(index(cut_.longest() * of.queries.dimension()));
  }
}

void query_tiles::run() {
  const std::int64_t all = tiles();
  const auto bring = [&](std::int64_t tile) {
    if (tile >= all) return;
    const lap waiting(times_.queries_wait);  // without a thread for it, an errand is done here
    brought(tile) = courier_.post([this, tile] { bring_queries(tile); });
  };
  bring(0);  // the first search waits for these
  ask_before(0);
  bring(1);
  const bool quick = of_.shard.quick() && !of_.shares;  // else searches post errands, too
  for (std::int64_t tile = 0; tile < all; ++tile) {
    if (!quick) end_if_asked(tile);
    await(brought(tile), times_.queries_wait);
    await_lists(tile - 2);
    search(tile);
    if (quick) end_if_asked(tile);
    ask_before(tile + 1);
    bring(tile + 2);
    const lap waiting(times_.lists_wait);
    through_[static_cast<std::size_t>(tile % 2)] = courier_.post([this, tile] { deliver(tile); });
  }
  await_lists(all - 2);
  await_lists(all - 1);
  await(asked_, times_.ranks_wait);
  const lap waiting(times_.write_wait);
  await_written();
}

void query_tiles::search(std::int64_t tile) {
  const lap searching(times_.nearest);
  neighbour_lists& lists = lists_of(tile);
  lists.shape(cut_.count_of(tile), list_length_);
  sharing_.begin();
  std::function<void()>& rest = rest_[static_cast<std::size_t>(tile % 2)];
  rest = of_.shard.nearest(queries_of(tile), cut_.first_of(tile), lists, sharing_);
  if (!sharing_.offers()) return;
  // This rank has one tile of the corpus, but others have several and wait for its bounds. The
  // courier copies, since it may bring queries now, and one thread alone may copy beside the work.
  if (rest) courier_.post(std::exchange(rest, {})).get();
  sharing_.offer(lists);
}

// Ranks do not hear a signal at the same time, or not all hear it, and must end together. The word
// also names a rank that does not come; an exchange between GPUs could not.
void query_tiles::ask_before(std::int64_t tile) {
  const lap waiting(times_.ranks_wait);
  asked_ = courier_.post([this, tile] { agree_before(tile); });
}

void query_tiles::agree_before(std::int64_t tile) {
  const bool last = tile == tiles();
  try {
    agree(of_.ranks, [&]() -> json {
      if (last || !of_.stopping()) return json::object();
      throw error(failure::interrupted,
                  fmt::format("interrupted: {} of {} queries are done; the same command with "
                              "--resume goes on",
                              cut_.first_of(tile), cut_.first_of(tiles())));
    });
  } catch (const agreed_error&) {
    stopped_ = std::current_exception();  // errands behind this one are done all the same
  }
}

void query_tiles::end_if_asked(std::int64_t tile) {
  await(asked_, times_.ranks_wait);
  if (!stopped_) return;
  await_lists(tile - 2);
  await_lists(tile - 1);
  for (std::future<void>& queries : brought_) {
    if (queries.valid()) queries.get();
  }
  await_written();
  std::rethrow_exception(stopped_);
}

void query_tiles::await_lists(std::int64_t tile) {
  if (tile < 0) return;
  await(through_[static_cast<std::size_t>(tile % 2)], times_.lists_wait);
  if (merged_of(tile).waits) complete(tile);
}

void query_tiles::complete(std::int64_t tile) {
  merged_tile& merged = merged_of(tile);
  if (merged.lacking.size() <= most_again) {
    for (const std::int64_t row : merged.lacking) search_again(tile, row, 1);
  } else {
    list_length_ = k_;
    const std::int64_t rows = cut_.count_of(tile);
    for (std::int64_t row = 0; row < rows; row += query_unit) {
      search_again(tile, row, std::min(query_unit, rows - row));
    }
  }
  const lap waiting(times_.lists_wait);
  courier_
      .post([this, tile] {
        write_waiting(tile);
        // The next one has been delivered. It waits for this one alone, unless it lacks rows, too.
        const merged_tile& next = merged_of(tile + 1);
        if (next.waits && next.lacking.empty()) write_waiting(tile + 1);
      })
      .get();
}

void query_tiles::write_waiting(std::int64_t tile) {
  merged_of(tile) = {};
  --waiting_;
  write(tile);
}

// Rows [row, row + count) of the tile, for all k. All ranks do.
void query_tiles::search_again(std::int64_t tile, std::int64_t row, std::int64_t count) {
  const std::int64_t first = cut_.first_of(tile) + row;
  vector_set queries;
  {
    const lap waiting(times_.queries_wait);
    courier_.post([&] { read_queries(first, count, queries); }).get();
  }
  neighbour_lists found(count, k_);
  {
    const lap searching(times_.nearest);
    of_.shard.nearest_again(queries, first, found);
  }
  const lap waiting(times_.lists_wait);
  courier_
      .post([&] {
        const neighbour_lists all = of_.exchange.merged(std::move(found), k_).lists;
        neighbour_lists& to = lists_of(tile);
        std::ranges::copy(all.distances(), to.distances().begin() + row * k_);
        std::ranges::copy(all.indices(), to.indices().begin() + row * k_);
      })
      .get();
}

void query_tiles::bring_queries(std::int64_t tile) {
  const lap reading(times_.queries);
  vector_set& set = queries_of(tile);
  read_queries(cut_.first_of(tile), cut_.count_of(tile), set);
  if (of_.shard.takes_queries()) of_.shard.bring(set);
}

void query_tiles::read_queries(std::int64_t first, std::int64_t count, vector_set& set) {
  set.count = count;
  set.dimension = of_.queries.dimension();
  set.source = of_.queries.name();
  if (!of_.shard.takes_queries()) return;
  set.data.resize(index(set.count * set.dimension));
  if (of_.ranks.rank() == 0) {
    read_by_threads(of_.queries, first, set.count, set.data.data(), reading_threads(of_.place));
  }
  of_.ranks.broadcast(std::as_writable_bytes(std::span(set.data)));
}

void query_tiles::deliver(std::int64_t tile) {
  std::function<void()>& rest = rest_[static_cast<std::size_t>(tile % 2)];
  if (rest) {
    const lap copying(times_.download);
    rest();
  }
  list_exchange::answer answer = of_.exchange.merged(std::move(lists_of(tile)), k_);
  lists_of(tile) = std::move(answer.lists);
  merged_tile& merged = merged_of(tile);
  merged.lacking = std::move(answer.lacking);
  merged.waits = waiting_ > 0 || !merged.lacking.empty();  // rows are written in order
  if (merged.waits) {
    ++waiting_;
  } else {
    write(tile);
  }
}

// By a thread of its own, because a disk may take long, and other ranks wait for the courier.
void query_tiles::write(std::int64_t tile) {
  if (of_.store == nullptr) return;
  await_written();
  writing_ = std::async(std::launch::async, [this, tile] {
    const lap writing(times_.write);
    const neighbour_lists& lists = lists_of(tile);
    of_.store->append(lists.queries(), lists.distances(), lists.indices());
  });
}

void query_tiles::await_written() {
  if (!writing_.valid()) return;
  writing_.get();
  of_.finished(of_.store->done());
}

}  // namespace kselect::search
