#include "search/task/tasks.hpp"

namespace kselect::search {

void add_search_tasks() {
  add_task(knn_task());
  add_task(index_task());
}

}  // namespace kselect::search
