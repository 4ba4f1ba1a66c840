#pragma once
// Inputs and outputs that are no regular files: "-" for standard input and output, pipes and FIFOs.
//
// An input is read once, to its end, into a file in memory that has no name; then it is an input
// like others. An output is written into such a file and goes into the stream when it is complete,
// so that a reader gets all of it or nothing.

#include <cstddef>
#include <filesystem>
#include <string>

namespace kselect::runtime {

// What a stream holds, which tells where it ends. An array says its size, and more than that is not
// read; text ends with the stream.
enum class stream_content { npy, text };

// Whether the name is "-", a FIFO, or one of this process' descriptors (/dev/stdin, /dev/fd/63).
bool is_stream(const std::filesystem::path& name);
// For messages: "standard input" for "-", other names as they are.
std::string input_name(const std::filesystem::path& name);
std::string output_name(const std::filesystem::path& name);

// Reads the stream to its end. Returns the descriptor of a file in memory, which the caller closes.
// Memory is taken for what arrives, not for what a header claims. Throws failure::usage if the
// stream is a terminal, failure::input if it cannot be read or is no .npy, failure::resources if it
// holds more than the available memory.
int collect_stream(const std::filesystem::path& name, stream_content content);

// A file in memory without a name. Throws failure::resources.
int nameless_file();
// Writes everything in the file `descriptor` into the stream. Throws failure::output.
void pour_into_stream(int descriptor, const std::filesystem::path& name);
// Throws failure::usage if standard output is a terminal, which shows no arrays.
void require_stream_output(const std::filesystem::path& name);

}  // namespace kselect::runtime
