#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <ranges>
#include <thread>
#include <utility>

#include "cli/ask/each_job.hpp"
#include "cli/ask/patience.hpp"
#include "cli/print/characters.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/job_pages.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/written_files.hpp"
#include "posix/descriptor.hpp"
#include "posix/error.hpp"

namespace berth::cli {

namespace {

constexpr auto kLookAtFileAgain = std::chrono::milliseconds(500);  ///< At a file that may grow.

struct LogsArguments {
  EachJob each;
  bool follow = false;
  bool raw = false;
  std::optional<std::size_t> lines;  ///< Only the last ones.
};

constexpr const char* kLogDeleted =
    ": its output is not there any more: deleted by the rules of the machine (keep_logs), or by "
    "hand";

enum class Show { Raw, Safe };

/// The last lines of what it takes; its memory is about twice theirs.
class LastLines {
 public:
  explicit LastLines(std::size_t most) : most_(most) {}

  void take(std::string_view bytes) {
    kept_ += bytes;
    if (kept_.size() < full_) return;
    cut();
    full_ = std::max(kFull, 2 * kept_.size());
  }
  std::string take_out() {
    cut();
    return std::exchange(kept_, "");
  }

 private:
  static constexpr std::size_t kFull = std::size_t{1} << 20;

  void cut() {
    if (most_ == 0) return kept_.clear();
    std::size_t lines = 0;
    for (std::size_t at = kept_.size(); at-- > 0;) {
      const bool ends_another = kept_[at] == '\n' && at + 1 < kept_.size();
      if (!ends_another || ++lines < most_) continue;
      kept_.erase(0, at + 1);
      return;
    }
  }

  std::size_t most_;
  std::string kept_;
  std::size_t full_ = kFull;
};

/// Bytes to standard output, counted; on a terminal what may harm it is left out.
class Sink {
 public:
  Sink(Show show, std::optional<std::size_t> lines) : show_(show) {
    if (lines) last_.emplace(*lines);
  }

  bool take(std::string_view bytes) {
    offset_ += bytes.size();
    if (!last_) return show(bytes);
    last_->take(bytes);
    return true;
  }
  /// What it held back for being perhaps not of the last lines.
  bool show_last() {
    const std::string lines = last_ ? last_->take_out() : "";
    last_.reset();
    return show(lines);
  }
  bool finish() { return show_last() && write_all(filter_.rest()); }

  std::uint64_t offset() const { return offset_; }
  bool failed() const { return reason_ != 0; }
  std::string failure() const { return std::string("standard output: ") + std::strerror(reason_); }

 private:
  bool show(std::string_view bytes) {
    return write_all(show_ == Show::Safe ? filter_.take(bytes) : bytes);
  }
  bool write_all(std::string_view bytes) {
    while (!bytes.empty() && !failed()) {
      const ssize_t wrote = write(STDOUT_FILENO, bytes.data(), bytes.size());
      if (wrote < 0 && errno != EINTR) reason_ = errno;
      if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return !failed();
  }

  Show show_;
  std::optional<LastLines> last_;
  TerminalFilter filter_;
  std::uint64_t offset_ = 0;
  int reason_ = 0;
};

enum class Follow { No, Yes };

/// A job of another resource manager writes to a file of its user's, which only they may read.
Expected<void> copy_file(const std::string& path, Sink& sink) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return io_error(path);
  std::string piece(64 * 1024, '\0');
  for (;;) {
    const ssize_t got =
        pread(file.number(), piece.data(), piece.size(), static_cast<off_t>(sink.offset()));
    if (got < 0) return io_error(path);
    if (got == 0) return {};
    if (!sink.take(std::string_view(piece).substr(0, static_cast<std::size_t>(got)))) return {};
  }
}

/// The same until the job has ended.
Expected<void> copy_file_of(Daemon& daemon, const std::string& job, Follow follow, Sink& sink) {
  for (;;) {
    const auto state = daemon.get(job_target(job));
    if (!state) return std::unexpected(state.error());
    const std::string path = text_of(*state, "output_file");
    if (path.empty()) {
      return fail(ErrorCode::NotFound,
                  "job " + job + ": where its output is is not known any more");
    }
    const bool has_begun = number_of(*state, "started_at").has_value();
    if (has_begun) {
      if (auto done = copy_file(path, sink); !done) return done;
    }
    if (follow == Follow::No || has_ended(*state) || sink.failed()) return {};
    std::this_thread::sleep_for(kLookAtFileAgain);
  }
}

Expected<void> copy(Daemon& daemon, const std::string& job, Follow follow, Sink& sink) {
  std::string target = job_target(job, "/log?offset=" + std::to_string(sink.offset()));
  if (follow == Follow::Yes) target += "&follow=true";
  auto copied = daemon.stream(target, [&](std::string_view bytes) { return sink.take(bytes); });
  const bool is_elsewhere = !copied && copied.error().code == ErrorCode::Conflict;
  return is_elsewhere ? copy_file_of(daemon, job, follow, sink) : copied;
}

/// What came between the end of a stream and the end of the job. Returns: true if it has ended.
Expected<bool> copy_rest(const std::string& socket, const std::string& job, Sink& sink) {
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
Expected<bool> follow_once(const std::string& socket, const std::string& job, Sink& sink,
                           Patience& patience) {
  auto daemon = Daemon::open(socket);
  if (!daemon) return std::unexpected(daemon.error());
  patience.met();
  const auto copied = copy(*daemon, job, Follow::Yes, sink);
  if (!copied) return std::unexpected(copied.error());
  return copy_rest(socket, job, sink);
}

int follow(const std::string& socket, const std::string& job, Sink& sink) {
  Patience patience;
  for (;;) {
    const auto ended = follow_once(socket, job, sink, patience);
    if (sink.failed()) return report_failure(sink.failure());
    if (ended && *ended) return sink.finish() ? 0 : report_failure(sink.failure());
    if (auto gone = patience.wait(ended); !gone) return report_failure(gone.error().message);
  }
}

/// `; python3 writes to FILE`, where that can be seen from here.
std::string where_it_writes(const std::string& job) {
  constexpr std::size_t kMost = 4;
  const std::vector<WrittenFile> files = files_written_by(job);
  std::string text;
  for (const WrittenFile& file : files | std::views::take(kMost)) {
    text += "; " + printable(file.program) + " writes to " + printable(file.path);
  }
  if (files.size() > kMost) text += "; and to " + std::to_string(files.size() - kMost) + " more";
  return text;
}

/// Says on standard error why there is no output: the job waits, never began, or writes elsewhere.
void explain_nothing(Daemon& daemon, const std::string& job) {
  const auto state = daemon.get(job_target(job));
  if (!state || integer_of(*state, "log_bytes").value_or(1) > 0) return;
  const std::string name = "job " + job;
  if (has_ended(*state)) {
    const bool began = number_of(*state, "started_at").has_value();
    if (!began) report_failure(name + " never started: " + outcome_text(*state));
    if (is_set(*state, "log_deleted")) report_failure(name + kLogDeleted);
    return;
  }
  if (text_of(*state, "state") == "running") {
    const auto number = integer_of(*state, "id");
    report_failure(name + " has written nothing here so far" +
                   (number ? where_it_writes(std::to_string(*number)) : ""));
    return;
  }
  if (!waits(*state)) return;
  Json one = *state;
  Starts::ask(daemon).add_to(one);
  const std::string start = start_text(one, wall_now(), StartForm::Interval);
  const std::string reason = printable(text_of(one, "reason_brief"));
  report_failure(name + " is " + printable(text_of(one, "state")) + ", it has no output yet" +
                 (reason.empty() ? "" : ": " + reason) + (start.empty() ? "" : ", " + start));
}

Sink sink_for(const LogsArguments& arguments) {
  const bool is_safe = isatty(STDOUT_FILENO) != 0 && !arguments.raw;
  return {is_safe ? Show::Safe : Show::Raw, arguments.lines};
}

int print_log(const LogsArguments& arguments, Daemon& daemon, const std::string& job) {
  Sink sink = sink_for(arguments);
  const auto copied = copy(daemon, job, Follow::No, sink);
  if (!sink.finish()) return report_failure(sink.failure());
  if (!copied) return report_failure(copied.error().message);
  if (sink.offset() == 0) explain_nothing(daemon, job);
  return 0;
}

/// Of several jobs, each below its number.
int print_logs(const LogsArguments& arguments, Daemon& daemon,
               const std::vector<std::string>& jobs) {
  int code = 0;
  for (const std::string& job : jobs) {
    const std::string title =
        std::string(job == jobs.front() ? "" : "\n") + "==> job " + job + " <==\n";
    if (jobs.size() > 1 && print(title) != 0) return kFailed;
    if (const int done = print_log(arguments, daemon, job); done != 0) code = done;
  }
  return code;
}

int logs(const LogsArguments& arguments) {
  const EachJob& each = arguments.each;
  if (const auto fine = check_choice(each.choice); !fine) {
    return report_usage(fine.error().message);
  }
  const std::string socket = choose_socket(each.common).path;
  auto daemon = Daemon::open(socket);
  if (!daemon) return report_failure(daemon.error().message);
  const auto rows = chosen_jobs(*daemon, each.choice, Arrays::InTasks);
  if (!rows) return rows.error();
  std::vector<std::string> jobs;
  for (const Json& row : *rows) jobs.push_back(handle_of(row));
  if (!arguments.follow) return print_logs(arguments, *daemon, jobs);
  if (jobs.size() != 1) {
    return report_usage("--follow takes one job, these are " + std::to_string(jobs.size()));
  }
  explain_nothing(*daemon, jobs.front());
  leave_with_reader();
  Sink sink = sink_for(arguments);
  if (arguments.lines) {
    const auto so_far = copy(*daemon, jobs.front(), Follow::No, sink);
    if (!so_far) return report_failure(so_far.error().message);
    sink.show_last();
  }
  return follow(socket, jobs.front(), sink);
}

}  // namespace

void add_logs(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<LogsArguments>();
  CLI::App* const verb =
      app.add_subcommand("logs", "Print the output of jobs, both streams in order.");
  add_each_job(*verb, arguments->each);
  verb->add_flag("-f,--follow", arguments->follow, "Continue until the job has ended.");
  verb->add_option("-n,--lines,--tail", arguments->lines, "Only the last N lines.")->type_name("N");
  verb->add_flag("--raw", arguments->raw,
                 "Print every byte unchanged, also terminal control codes.");
  verb->callback([=, &chosen] { chosen = [=] { return logs(*arguments); }; });
}

}  // namespace berth::cli
