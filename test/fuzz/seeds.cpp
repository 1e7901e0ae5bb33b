// Writes the seeds of the journal and snapshot fuzzers: `fuzz_seeds test/fuzz/corpus`.
//
// Run it after a change of format, and commit what it wrote. The same build writes the same bytes.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/history.hpp"
#include "engine/journal.hpp"
#include "engine/sample.hpp"

namespace {

using namespace berth;

void write(const std::filesystem::path& path, char first, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << first << bytes;
  std::printf("%s: %zu bytes\n", path.c_str(), bytes.size() + 1);
}

void write_journal(const std::filesystem::path& folder) {
  const auto inputs = test::one_of_each<Input>();
  const auto decisions = test::one_of_each<Decision>();
  write(folder / "entry", 0, encode({kStart + seconds(1), inputs, decisions}));
  write(folder / "empty", 0, encode(JournalEntry{}));
  write(folder / "inputs", 1, encode_inputs(inputs));
  write(folder / "decisions", 2, encode_decisions(decisions));
}

/// `choice` is the fuzzer's number of the policy.
void write_snapshot(const std::filesystem::path& path, std::string_view policy, char choice,
                    int steps) {
  test::History history(policy, 1);
  history.go_on(steps);
  write(path, choice, history.engine().save());
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path corpus(arguments[1]);
  write_journal(corpus / "journal");
  const std::filesystem::path folder = corpus / "snapshot";
  write_snapshot(folder / "empty", "fifo-skip", 0, 0);
  write_snapshot(folder / "fifo", "fifo-skip", 0, 30);
  write_snapshot(folder / "reserve", "fifo-reserve", 1, 42);
  write_snapshot(folder / "srsf", "srsf", 2, 45);
  write_snapshot(folder / "fair", "fair-share", 4, 20);
  write_snapshot(folder / "sorted", "tiresias/shortest", 5, 20);
  write_snapshot(folder / "dlas", "tiresias/dlas-gpu-2", 6, 30);
  return 0;
}
