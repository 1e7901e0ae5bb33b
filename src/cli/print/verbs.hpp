// The command line: one file per verb. Exit codes: 0 done, 125 berth's own failure, 2 bad usage.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace berth::cli {

inline constexpr int kFailed = 125;
inline constexpr int kBadUsage = 2;

/// What a verb does once its arguments are read; returns the exit code.
using Action = std::function<int()>;

/// A command line before CLI11 reads it, for the verbs that run a command.
struct TypedLine {
  std::vector<std::string> from_dashes;  ///< From its first `--` on.
  /// The words before that, where the verb may do without the options that are not among them;
  /// nothing where it has all: for help and messages.
  std::optional<std::vector<std::string>> words;
};

int run(int argc, char** argv);

// Each adds its subcommand to the application and sets `chosen` when it is called.
void add_run(CLI::App& app, Action& chosen, const TypedLine& line);
void add_submit(CLI::App& app, Action& chosen, const TypedLine& line);
void add_attach(CLI::App& app, Action& chosen);
void add_adopt(CLI::App& app, Action& chosen);
void add_ls(CLI::App& app, Action& chosen);
void add_show(CLI::App& app, Action& chosen);
void add_logs(CLI::App& app, Action& chosen);
void add_why(CLI::App& app, Action& chosen);
void add_wait(CLI::App& app, Action& chosen);
void add_cancel(CLI::App& app, Action& chosen);
void add_hold(CLI::App& app, Action& chosen);
void add_release(CLI::App& app, Action& chosen);
void add_next(CLI::App& app, Action& chosen);
void add_update(CLI::App& app, Action& chosen);
void add_requeue(CLI::App& app, Action& chosen);
void add_drain(CLI::App& app, Action& chosen);
void add_undrain(CLI::App& app, Action& chosen);
void add_reserve(CLI::App& app, Action& chosen);
void add_unreserve(CLI::App& app, Action& chosen);
void add_config(CLI::App& app, Action& chosen);
void add_suspend(CLI::App& app, Action& chosen);
void add_resume(CLI::App& app, Action& chosen);
void add_gpus(CLI::App& app, Action& chosen);
void add_doctor(CLI::App& app, Action& chosen);
void add_completion(CLI::App& app, Action& chosen);
void add_history(CLI::App& app, Action& chosen);
void add_usage(CLI::App& app, Action& chosen);
void add_interference(CLI::App& app, Action& chosen);
void add_top(CLI::App& app, Action& chosen);
void add_compat(CLI::App& app, Action& chosen, const TypedLine& line);
void add_mcp(CLI::App& app, Action& chosen);
void add_sim(CLI::App& app, Action& chosen);
void add_compare(CLI::App& app, Action& chosen);
void add_policies(CLI::App& app, Action& chosen);
void add_trace(CLI::App& app, Action& chosen);
void add_version(CLI::App& app, Action& chosen);

/// Prints `berth: MESSAGE` to stderr. Returns: kFailed.
int report_failure(const std::string& message);
/// The same for what the user typed. Returns: kBadUsage.
int report_usage(const std::string& message);

}  // namespace berth::cli
