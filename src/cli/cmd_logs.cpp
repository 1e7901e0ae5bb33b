#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/characters.hpp"
#include "cli/daemon.hpp"
#include "cli/output.hpp"
#include "cli/patience.hpp"
#include "cli/verbs.hpp"

namespace berth::cli {

namespace {

struct LogsArguments {
  CommonOptions common;
  std::string job;
  bool follow = false;
  bool raw = false;
};

enum class Show { Raw, Safe };

/// Bytes to standard output, counted; on a terminal what may harm it is left out.
class Sink {
 public:
  explicit Sink(Show show) : show_(show) {}

  bool take(std::string_view bytes) {
    offset_ += bytes.size();
    return write_all(show_ == Show::Safe ? filter_.take(bytes) : bytes);
  }
  bool finish() { return write_all(filter_.rest()); }

  std::uint64_t offset() const { return offset_; }
  bool failed() const { return reason_ != 0; }
  std::string failure() const { return std::string("standard output: ") + std::strerror(reason_); }

 private:
  bool write_all(std::string_view bytes) {
    while (!bytes.empty() && !failed()) {
      const ssize_t wrote = write(STDOUT_FILENO, bytes.data(), bytes.size());
      if (wrote < 0 && errno != EINTR) reason_ = errno;
      if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return !failed();
  }

  Show show_;
  TerminalFilter filter_;
  std::uint64_t offset_ = 0;
  int reason_ = 0;
};

enum class Follow { No, Yes };

Expected<void> copy(Daemon& daemon, std::uint64_t job, Follow follow, Sink& sink) {
  std::string target = job_target(job, "/log?offset=" + std::to_string(sink.offset()));
  if (follow == Follow::Yes) target += "&follow=true";
  return daemon.stream(target, [&](std::string_view bytes) { return sink.take(bytes); });
}

/// What came between the end of a stream and the end of the job. Returns: true if it has ended.
Expected<bool> copy_rest(const std::string& socket, std::uint64_t job, Sink& sink) {
  auto daemon = Daemon::open(socket);
  if (!daemon) return std::unexpected(daemon.error());
  const auto state = daemon->get(job_target(job));
  if (!state) return std::unexpected(state.error());
  if (!has_ended(*state)) return false;
  if (auto rest = copy(*daemon, job, Follow::No, sink); !rest) return std::unexpected(rest.error());
  return true;
}

/// One conversation. Returns: true once the job has ended and all is copied. A daemon that goes
/// away in order ends its streams in order too, so the job's state is asked for.
Expected<bool> follow_once(const std::string& socket, std::uint64_t job, Sink& sink,
                           Patience& patience) {
  auto daemon = Daemon::open(socket);
  if (!daemon) return std::unexpected(daemon.error());
  patience.met();
  const auto copied = copy(*daemon, job, Follow::Yes, sink);
  if (!copied) return std::unexpected(copied.error());
  return copy_rest(socket, job, sink);
}

int follow(const std::string& socket, std::uint64_t job, Sink& sink) {
  Patience patience;
  for (;;) {
    const auto ended = follow_once(socket, job, sink, patience);
    if (sink.failed()) return report_failure(sink.failure());
    if (ended && *ended) return sink.finish() ? 0 : report_failure(sink.failure());
    if (auto gone = patience.wait(ended); !gone) return report_failure(gone.error().message);
  }
}

int print_log(const std::string& socket, std::uint64_t job, Sink& sink) {
  auto daemon = Daemon::open(socket);
  if (!daemon) return report_failure(daemon.error().message);
  const auto copied = copy(*daemon, job, Follow::No, sink);
  if (!sink.finish()) return report_failure(sink.failure());
  return copied ? 0 : report_failure(copied.error().message);
}

int logs(const LogsArguments& arguments) {
  const auto job = parse_job(arguments.job);
  if (!job) return report_usage(job.error().message);
  const std::string socket = choose_socket(arguments.common).path;
  const bool is_safe = isatty(STDOUT_FILENO) != 0 && !arguments.raw;
  Sink sink(is_safe ? Show::Safe : Show::Raw);
  return arguments.follow ? follow(socket, *job, sink) : print_log(socket, *job, sink);
}

}  // namespace

void add_logs(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<LogsArguments>();
  CLI::App* const verb = app.add_subcommand("logs", "Print a job's output, both streams in order.");
  add_common(*verb, arguments->common);
  verb->add_flag("-f,--follow", arguments->follow, "Continue until the job has ended.");
  verb->add_flag("--raw", arguments->raw,
                 "Print every byte unchanged, also terminal control codes.");
  verb->add_option("JOB", arguments->job, "The job's number.")->required();
  verb->callback([=, &chosen] { chosen = [=] { return logs(*arguments); }; });
}

}  // namespace berth::cli
