// The library's search on a GPU against its search on the CPU. Components are bytes, so both have
// the same answer.

#include <cuda_runtime_api.h>
#include <functional>
#include <random>

#include <gtest/gtest.h>

#include "kselect/knn.hpp"

namespace kselect {
namespace {

template <class T>
class gpu_array {
 public:
  explicit gpu_array(std::size_t size) : size_(size) {
    EXPECT_EQ(cudaMalloc(&data_, std::max<std::size_t>(size, 1) * sizeof(T)), cudaSuccess);
  }
  explicit gpu_array(const std::vector<T>& from) : gpu_array(from.size()) {
    EXPECT_EQ(cudaMemcpy(data_, from.data(), size_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~gpu_array() { cudaFree(data_); }
  gpu_array(const gpu_array&) = delete;
  gpu_array& operator=(const gpu_array&) = delete;
  std::span<T> span() const { return {static_cast<T*>(data_), size_}; }
  std::vector<T> host() const {
    std::vector<T> to(size_);
    EXPECT_EQ(cudaMemcpy(to.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return to;
  }

 private:
  void* data_ = nullptr;
  std::size_t size_;
};

class gpu_stream {
 public:
  // The default stream where there is no GPU: the test is skipped then.
  gpu_stream() {
    if (cudaStreamCreate(&stream_) != cudaSuccess) stream_ = nullptr;
  }
  ~gpu_stream() {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  gpu_stream(const gpu_stream&) = delete;
  gpu_stream& operator=(const gpu_stream&) = delete;
  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

std::vector<float> bytes_for(unsigned seed, std::int64_t components) {
  std::mt19937 bits(seed);
  std::vector<float> data(static_cast<std::size_t>(components));
  for (float& c : data) c = static_cast<float>(bits() % 256);
  return data;
}

struct sizes {
  std::int64_t n, queries, dimension, k;
};

// Random bytes; half of the corpus' vectors, and every 5000th query, are all equal.
class KnnOnGpu : public testing::TestWithParam<sizes> {
 protected:
  void SetUp() override {
    if (!gpu.obstacle().empty()) GTEST_SKIP() << gpu.obstacle();
    if (gpu.device().compute_capability < 80) GTEST_SKIP() << "needs compute capability 8.0";
    for (std::int64_t i = 0; i < s.n / 2 * s.dimension; ++i) at(base, i) = 200;
    for (std::int64_t i = 0; i < s.queries; i += 5000) {
      for (std::int64_t c = 0; c < s.dimension; ++c) at(query, i * s.dimension + c) = 200;
    }
  }
  static float& at(std::vector<float>& of, std::int64_t i) {
    return of[static_cast<std::size_t>(i)];
  }

  struct found {
    std::vector<std::int64_t> indices;
    std::vector<float> distances;
  };

  // By the library on both places.
  void expect_same(const knn_options& on_gpu, const knn_options& on_cpu) {
    found there;
    search_on_gpu(on_gpu, there);
    if (HasFatalFailure()) return;
    const found here = found_on_cpu(on_cpu);
    EXPECT_EQ(there.indices, here.indices);
    EXPECT_EQ(there.distances, here.distances);
  }

  void search_on_gpu(const knn_options& options, found& answer) {
    const gpu_array<float> of_base(base), of_query(query);
    const gpu_array<std::int64_t> indices(size());
    const gpu_array<float> distances(size());
    const vector_rows there{of_base.span().data(), s.n, s.dimension};
    const gpu_array<std::byte> memory(knn_corpus::memory(there, metric::sqeuclidean, gpu));
    knn_corpus corpus;
    ASSERT_TRUE(corpus.prepare(there, metric::sqeuclidean, gpu, memory.span()).ok());
    const gpu_array<std::byte> workspace(
        knn_search::workspace(corpus, s.queries, s.k, gpu, options));
    knn_search search;
    ASSERT_TRUE(search.plan(corpus, s.queries, s.k, workspace.span(), gpu, options).ok());
    run_as_graph(
        [&] { return search.enqueue(of_query.span().data(), distances.span(), indices.span()); });
    if (HasFatalFailure()) return;
    std::int64_t unproven = -1;
    ASSERT_TRUE(search.unproven(unproven).ok());
    EXPECT_LE(unproven, s.queries);
    const status finished = search.finish();
    ASSERT_TRUE(finished.ok()) << finished.message;
    answer = {indices.host(), distances.host()};
  }

  // Twice. A graph that can be captured neither allocates nor waits.
  void run_as_graph(const std::function<status()>& enqueue) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t ready = nullptr;
    ASSERT_NE(static_cast<cudaStream_t>(stream), nullptr);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    const status enqueued = enqueue();
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_TRUE(enqueued.ok()) << enqueued.message;
    ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    for (int call = 0; call < 2; ++call) ASSERT_EQ(cudaGraphLaunch(ready, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
  }

  found found_on_cpu(const knn_options& options) const {
    found right{std::vector<std::int64_t>(size()), std::vector<float>(size())};
    const status done = knn({base.data(), s.n, s.dimension}, {query.data(), s.queries, s.dimension},
                            s.k, right.distances, right.indices, metric::sqeuclidean, options);
    EXPECT_TRUE(done.ok()) << done.message;
    return right;
  }
  std::size_t size() const { return static_cast<std::size_t>(s.queries * s.k); }

  sizes s = GetParam();
  gpu_stream stream;
  place gpu = place::cuda(stream);
  std::vector<float> base = bytes_for(1, s.n* s.dimension);
  std::vector<float> query = bytes_for(2, s.queries* s.dimension);
};

TEST_P(KnnOnGpu, FindsWhatTheCpuFinds) { expect_same({}, {}); }

TEST_P(KnnOnGpu, LeavesOutWhatTheCpuLeavesOut) {
  std::mt19937 bits(3);
  const std::int64_t pitch = knn_filter::words_for(s.n);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(pitch * s.queries));
  for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(bits() & bits());
  std::fill_n(words.begin(), pitch, 0U);  // the first query may return nothing
  const gpu_array<std::uint32_t> there(words);
  expect_same({.filter = {there.span().data(), pitch}}, {.filter = {words.data(), pitch}});
  const std::uint32_t* const second = words.data() + pitch;
  expect_same({.filter = {there.span().data() + pitch}}, {.filter = {second}});
}

// Dimensions of both bodies, a first pass, and more queries than a search takes at once.
INSTANTIATE_TEST_SUITE_P(Of, KnnOnGpu,
                         testing::Values(sizes{700, 40, 8, 5}, sizes{5000, 300, 128, 10},
                                         sizes{5000, 300, 200, 10}, sizes{60'000, 500, 96, 20},
                                         sizes{5000, 17'000, 16, 10}));

}  // namespace
}  // namespace kselect
