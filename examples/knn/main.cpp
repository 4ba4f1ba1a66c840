// The two nearest of five points to each of two queries, and each point's nearest other one.

#include <cstdio>
#include <kselect/knn.hpp>
#include <vector>

int main() {
  const std::vector<float> points{0, 0, 1, 0, 0, 2, 5, 5, 6, 5}, asked{0.9F, 0.2F, 5.6F, 5.0F};
  const kselect::vector_rows corpus{.data = points.data(), .count = 5, .dimension = 2};
  const kselect::vector_rows queries{.data = asked.data(), .count = 2, .dimension = 2};

  std::vector<float> distances(2 * 2);  // Q * k
  std::vector<std::int64_t> indices(2 * 2);
  kselect::knn_corpus prepared;
  kselect::status done = prepared.prepare(corpus, kselect::metric::euclidean);
  if (done.ok()) done = prepared.search(queries, 2, distances, indices);
  for (int i = 0; done.ok() && i < 4; ++i) {
    std::printf("query %d: point %d at %.3f\n", i / 2, static_cast<int>(indices[i]), distances[i]);
  }

  std::vector<std::int64_t> nearest(5);
  if (done.ok()) done = prepared.search(corpus, 1, {}, nearest, {.first_own = 0});
  for (int i = 0; done.ok() && i < 5; ++i) {
    std::printf("point %d: point %d\n", i, static_cast<int>(nearest[i]));
  }
  if (!done.ok()) std::fprintf(stderr, "%s\n", done.message.c_str());
  return done.ok() ? 0 : 1;
}
