#include "cli/answer_files.hpp"

namespace kselect::cli {

void answer_files::add(const std::string& file, element_type type,
                       std::span<const std::int64_t> shape, std::span<const std::byte> data) {
  if (!file.empty()) arrays_.emplace_back(file, type, shape).append(data);
}

void answer_files::add_text(const std::string& file, std::string_view text) {
  text_.emplace(file, stream_targets::allowed).write(std::as_bytes(std::span(text)));
}

void answer_files::commit() {
  // What can fail for want of space comes before the first name appears.
  for (npy_writer& array : arrays_) array.finish();
  if (text_) text_->finish();
  for (npy_writer& array : arrays_) array.commit();
  if (text_) text_->commit();
}

}  // namespace kselect::cli
