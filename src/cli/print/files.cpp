#include "cli/print/files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

namespace berth::cli {

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::unexpected<Error> io_error(const std::string& path) {
  return fail(ErrorCode::Io, path + ": " + std::strerror(errno));
}

bool is_plain(const std::string& path) { return path != "-" && !path.starts_with("/dev/"); }

bool flushed(std::string_view text, std::FILE* file) {
  return std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0;
}

Expected<std::string> read_stream(std::FILE* file, const std::string& name, std::size_t most) {
  std::string text;
  struct stat status{};  // of a pipe it says nothing: the text grows as it comes
  if (fstat(fileno(file), &status) == 0 && status.st_size > 0) {
    text.reserve(std::min(static_cast<std::size_t>(status.st_size), most));
  }
  char buffer[1 << 16];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, file)) > 0;) {
    if (got > most - text.size()) {
      return fail(ErrorCode::BadData, name + ": more than " + std::to_string(most) + " bytes");
    }
    text.append(buffer, got);
  }
  if (std::ferror(file) != 0) return io_error(name);
  return text;
}

Expected<void> write_to(const std::string& path, std::string_view text, const char* mode) {
  File file(std::fopen(path.c_str(), mode));
  if (!file) return io_error(path);
  if (!flushed(text, file.get())) return io_error(path);
  return {};
}

/// What an output is until it is whole.
std::string name_while_written(const std::string& path) { return path + ".part"; }

/// Of a file that is there, by whatever path: a word such as `exact` names none.
bool replaces(const std::string& output, const std::string& input) {
  if (output.empty() || !is_plain(output)) return false;
  const std::string read = input == "-" ? "/dev/stdin" : input;
  std::error_code failed;
  return std::filesystem::equivalent(output, read, failed) ||
         std::filesystem::equivalent(name_while_written(output), read, failed);
}

/// Files that are there are compared by what they are, others by their paths.
bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code failed;
  if (std::filesystem::equivalent(one, other, failed)) return true;
  const auto path = std::filesystem::weakly_canonical(one, failed);
  return !failed && path == std::filesystem::weakly_canonical(other, failed) && !failed;
}

/// As outputs.
bool collide(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return false;
  if (is_standard_output(one)) return is_standard_output(other);
  return is_plain(one) &&
         (is_same_file(one, other) || is_same_file(name_while_written(one), other) ||
          is_same_file(one, name_while_written(other)));
}

}  // namespace

bool is_standard_output(std::string_view path) { return path == "-" || path == "/dev/stdout"; }

Expected<std::string> read_file(const std::string& path, std::size_t most) {
  const File file(std::fopen(path.c_str(), "rb"));
  return file ? read_stream(file.get(), path, most) : io_error(path);
}

Expected<std::string> read_input(std::size_t most) { return read_stream(stdin, "stdin", most); }

std::string beginning_of(const std::string& path, std::size_t count) {
  if (std::error_code error; !std::filesystem::is_regular_file(path, error)) return "";
  const File file(std::fopen(path.c_str(), "rb"));
  std::string text(count, '\0');
  text.resize(file ? std::fread(text.data(), 1, count, file.get()) : 0);
  return text;
}

Expected<void> write_file(const std::string& path, std::string_view text) {
  if (is_standard_output(path)) {
    if (flushed(text, stdout)) return {};
    return io_error("standard output");
  }
  // Appended: /dev/fd/3 may lead to a file, which else would be cut to nothing.
  if (!is_plain(path)) return write_to(path, text, "ab");
  const std::string beside = name_while_written(path);
  if (auto written = write_to(beside, text, "wb"); !written) {
    std::remove(beside.c_str());
    return fail(ErrorCode::Io, path + ": " + std::strerror(errno));
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) return io_error(path);
  return {};
}

namespace {

/// Hours of work may go before a file is written.
Expected<void> check_has_folder(const NamedFile& output) {
  if (output.path.empty() || output.path == "-") return {};
  const auto folder = std::filesystem::path(output.path).parent_path();
  std::error_code failed;
  if (folder.empty() || std::filesystem::is_directory(folder, failed)) return {};
  const bool is_there = std::filesystem::exists(folder, failed);
  return fail(ErrorCode::Io,
              std::string(output.by) + " " + output.path + ": " +
                  std::strerror(is_there ? ENOTDIR : ENOENT) +
                  (is_there ? "" : "; make its folder first: mkdir -p " + folder.string()));
}

}  // namespace

Expected<void> check_apart(std::span<const NamedFile> inputs, std::span<const NamedFile> outputs) {
  for (const NamedFile& output : outputs) {
    if (auto done = check_has_folder(output); !done) return done;
    for (const NamedFile& input : inputs) {
      if (!replaces(output.path, input.path)) continue;
      return fail(ErrorCode::InvalidArgument, std::string(output.by) + " " + output.path + ": is " +
                                                  std::string(input.by) +
                                                  ", which would be lost; name another file");
    }
    for (const NamedFile& other : outputs) {
      if (&other == &output) break;
      if (!collide(output.path, other.path)) continue;
      return fail(ErrorCode::InvalidArgument, std::string(output.by) + " " + output.path +
                                                  ": is written by " + std::string(other.by) +
                                                  " too; name another file");
    }
  }
  return {};
}

}  // namespace berth::cli
