// Memory of answers, and range searches whose hits are few, some and more than a kernel sorts.

#include "search/metric/answer_memory.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "search/metric/prove.hpp"
#include "tests/on_fibers.hpp"
#include "tests/search/metric/world.hpp"

namespace kselect::search::metric_space {
namespace {

class counting_pins final : public on_fibers {
 public:
  counting_pins() : on_fibers(1) {}
  std::shared_ptr<void> pin(std::span<std::byte> memory) override {
    ++pinned;
    return {memory.data(), [this](void*) { ++ended; }};
  }
  int pinned = 0, ended = 0;
};

constexpr std::size_t many = 1 << 20;

answer_vector<float> taken(const std::shared_ptr<answer_pages>& from, std::size_t count) {
  answer_vector<float> numbers{answer_allocator<float>(from)};
  numbers.resize(count);
  return numbers;
}

TEST(AnswerMemory, ServesTheNextAnswerAndIsPinnedThen) {
  counting_pins place;
  auto pages = std::make_shared<answer_pages>(place);
  const float* first = nullptr;
  {
    const auto answer = taken(pages, many);
    first = answer.data();
    EXPECT_EQ(place.pinned, 0);
  }
  for (int turn = 0; turn < 2; ++turn) {
    const auto answer = taken(pages, many - 5);
    EXPECT_EQ(answer.data(), first);
    EXPECT_EQ(place.pinned, 1);
  }
  EXPECT_EQ(place.ended, 0);
  pages.reset();
  EXPECT_EQ(place.ended, 1);
}

TEST(AnswerMemory, LivesAsLongAsAnAnswer) {
  counting_pins place;
  auto pages = std::make_shared<answer_pages>(place);
  auto answer = taken(pages, many);
  std::iota(answer.begin(), answer.end(), 0.0F);
  const std::weak_ptr<answer_pages> seen = pages;
  pages.reset();
  EXPECT_FALSE(seen.expired());
  const answer_vector<float> copy = answer;
  const auto moved = std::move(answer);
  EXPECT_EQ(copy, moved);
  EXPECT_EQ(copy.get_allocator().pages, nullptr);
  EXPECT_EQ(moved.back(), static_cast<float>(many - 1));
}

TEST(AnswerMemory, IsNotHeldForMuchSmallerAnswersOrFewNumbers) {
  counting_pins place;
  const auto pages = std::make_shared<answer_pages>(place);
  const float* large = nullptr;
  {
    const auto answer = taken(pages, many);
    large = answer.data();
  }
  EXPECT_NE(taken(pages, many / 4).data(), large);
  taken(pages, 10);
  EXPECT_EQ(taken(pages, many).data(), large);
}

// The pages that are not kept any more are freed after they are unpinned, whichever end first.
TEST(AnswerMemory, EndsInAnyOrder) {
  class watched_pins final : public on_fibers {
   public:
    watched_pins() : on_fibers(1) {}
    std::shared_ptr<void> pin(std::span<std::byte> memory) override {
      memory[0] = std::byte{1};
      return {memory.data(), [](void* at) { *static_cast<std::byte*>(at) = std::byte{2}; }};
    }
  } place;
  auto pages = std::make_shared<answer_pages>(place);
  std::vector<std::byte*> memory;
  const auto take = [&](int count) {
    for (int i = 0; i < count; ++i) memory.push_back(pages->take(many));
  };
  const auto give = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) pages->give(memory[i]);
  };
  take(4);
  give(0, 4);
  memory.clear();
  take(8);  // the first four are pinned
  give(4, 4);
  give(0, 3);
  pages->retire();
  give(3, 1);
  EXPECT_NO_THROW(pages->take(many));  // without a place
}

TEST(AnswerMemory, IsNotKeptOnceTheSearcherEnded) {
  counting_pins place;
  const auto pages = std::make_shared<answer_pages>(place);
  auto answer = taken(pages, many);
  pages->retire();
  answer = {};
  taken(pages, many);
  taken(pages, many);
  EXPECT_EQ(place.pinned, 0);
}

// Objects on a line. A query at its end, or one further on, has so many hits within a radius.
TEST(RangeHits, OfEveryNumberAreInOrder) {
  constexpr std::int64_t objects = 9000;
  std::vector<float> line(objects);
  std::iota(line.begin(), line.end(), 0.0F);
  std::vector<float> queries;
  for (const int beyond : {0, 1, 8000, 8300, 8700, 8968, 8969, 8999, 9000}) {
    queries.push_back(-static_cast<float>(beyond));
  }
  const auto count = std::ssize(queries);
  const world w{find_space("euclidean"),
                std::make_unique<set_holder<euclidean>>(euclidean::set(line, objects, 1)),
                std::make_unique<set_holder<euclidean>>(euclidean::set(queries, count, 1))};
  for (const executor_kind kind : {executor_kind::fiber, executor_kind::cuda}) {
    if (!why_unavailable(kind).empty()) continue;
    const auto place = open_backend(kind);
    const index_data index = w.build(index_kind::list_of_clusters, *place, 512);
    for (const walk_rule walk : {walk_rule::members, walk_rule::groups}) {
      const auto search = w.in.open(*w.objects, index, *place, {.walk = walk});
      for (int turn = 0; turn < 3; ++turn) {  // the memory of an answer serves the next
        search_report report;
        const range_answer answer = search->range(*w.queries, objects - 1, report);
        EXPECT_EQ(answer.starts[1], objects);
        EXPECT_EQ(answer.starts[5] - answer.starts[4], objects - 8700);
        EXPECT_EQ(answer.starts.back(), answer.starts[static_cast<std::size_t>(count) - 1]);
        EXPECT_EQ(disprove(w.in, *w.objects, *w.queries, objects - 1, answer, 2), "");
      }
    }
  }
}

}  // namespace
}  // namespace kselect::search::metric_space
