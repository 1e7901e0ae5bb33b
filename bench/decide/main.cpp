// What bench/growth runs under callgrind: some decisions of one policy, on a bed (bed.hpp).
//
//   bench_growth POLICY PLACEMENT GPUS USERS WAITING STEPS
//
// Callgrind counts while a step is under way and not while the queue fills. By itself the program
// prints the seconds of processor time that the steps took.
#include <valgrind/callgrind.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "decide/bed.hpp"

namespace {

constexpr std::size_t kArguments = 7;

std::int64_t number(std::string_view text) {
  std::int64_t read = 0;
  std::from_chars(text.data(), text.data() + text.size(), read);
  return read;
}

int refuse() {
  std::fputs("usage: bench_growth POLICY PLACEMENT GPUS USERS WAITING STEPS, of these:\n", stderr);
  for (const berth::PolicyEntry& entry : berth::policies()) {
    std::fprintf(stderr, "  %s@%s\n", std::string(entry.name).c_str(),
                 std::string(entry.place).c_str());
  }
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  const std::span<char*> given(arguments, static_cast<std::size_t>(count));
  if (given.size() != kArguments || !berth::make_policy(given[1], given[2])) return refuse();
  bool counts = false;
  const auto solve = [&counts](const berth::Question& question) {  // not the decision's
    if (counts) CALLGRIND_TOGGLE_COLLECT;
    berth::Answer answer = berth::solve::answer(question);
    if (counts) CALLGRIND_TOGGLE_COLLECT;
    return answer;
  };
  berth::Bed bed(given[1], given[2],
                 {.waiting = number(given[5]), .gpus = number(given[3]), .users = number(given[4])},
                 solve);
  constexpr int kUnmeasured = 3;  // the first follow a step of a thousand arrivals
  for (int i = 0; i < kUnmeasured; ++i) bed.turn();
  const double before = bed.spent();
  CALLGRIND_START_INSTRUMENTATION;
  counts = true;
  for (std::int64_t i = number(given[6]); i > 0; --i) {
    CALLGRIND_TOGGLE_COLLECT;
    bed.turn();
    CALLGRIND_TOGGLE_COLLECT;
  }
  std::printf("%.6f\n", bed.spent() - before);
  return 0;
}
