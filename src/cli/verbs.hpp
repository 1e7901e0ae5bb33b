// The command line: one file per verb. Exit codes: 0 done, 125 berth's own failure, 2 bad usage.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace berth::cli {

inline constexpr int kFailed = 125;
inline constexpr int kBadUsage = 2;

/// What a verb does once its arguments are read; returns the exit code.
using Action = std::function<int()>;

int run(int argc, char** argv);

// Each adds its subcommand to the application and sets `chosen` when it is called.
void add_sim(CLI::App& app, Action& chosen);
void add_version(CLI::App& app, Action& chosen);

/// Prints `berth: MESSAGE` to stderr. Returns: kFailed.
int report_failure(const std::string& message);

}  // namespace berth::cli
