#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <csignal>

#include "cli/attend/raw_terminal.hpp"
#include "cli/attend/screen.hpp"
#include "cli/attend/signal_queue.hpp"
#include "cli/attend/top_screen.hpp"
#include "cli/print/output.hpp"
#include "cli/print/verbs.hpp"
#include "cli/tell/gpu_text.hpp"
#include "cli/tell/job_pages.hpp"
#include "cli/tell/job_text.hpp"

namespace berth::cli {

namespace {

struct TopArguments {
  CommonOptions common;
  double seconds = 2.0;
};

/// Jobs beyond these are counted by `ls`; nobody scrolls so far.
constexpr std::size_t kMostShown = 2000;

class Top {
 public:
  explicit Top(const TopArguments& arguments) : arguments_(arguments) {}

  int run() {
    const SignalQueue signals;
    // As other full screens, it stops in the background until it is brought to the front.
    if (!is_foreground(STDIN_FILENO)) ::raise(SIGTTOU);
    TerminalMode raw(STDIN_FILENO, TerminalMode::Keys::Raw);
    const SecondScreen second;
    using Clock = std::chrono::steady_clock;
    auto due = Clock::now();
    for (;;) {
      if (Clock::now() >= due) {
        fetch();
        due = Clock::now() + std::chrono::milliseconds(static_cast<int>(arguments_.seconds * 1000));
      }
      if (const int code = draw(); code != 0) return code;
      const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - Clock::now());
      std::array polled = {pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                           pollfd{.fd = signals.descriptor(), .events = POLLIN, .revents = 0}};
      poll(polled.data(), polled.size(), static_cast<int>(std::max<long>(0, wait.count())));
      while (const auto signal = signals.next()) {
        const int number = signal->number;
        if (number == SIGINT) return 0;
        if (number == SIGCONT) raw.enter();
        if (number != SIGWINCH && number != SIGCONT) return 128 + number;
      }
      if (polled[0].revents != 0 && !read_keys()) return 0;
      if (refreshes_) due = Clock::now();
      refreshes_ = false;
    }
  }

 private:
  void fetch() {
    auto daemon = Daemon::open(arguments_.common);
    if (!daemon) return screen_.set_trouble(daemon.error().message);
    auto gpus = daemon->get("/v1/gpus");
    if (!gpus) return screen_.set_trouble(gpus.error().message);
    const Starts starts = Starts::ask(*daemon);
    std::vector<Json> jobs;
    const JobFilter all;
    JobPages pages(*daemon, all,
                   [&](std::vector<Json> some) {
                     for (Json& job : some) {
                       starts.add_to(job);
                       jobs.push_back(std::move(job));
                     }
                     return jobs.size() < kMostShown;
                   },
                   {.arrays = Arrays::Whole});
    if (const auto done = pages.live(); !done) return screen_.set_trouble(done.error().message);
    screen_.update(std::move(*gpus), std::move(jobs), wall_now());
  }

  int draw() {
    const TerminalSize size = size_of(STDOUT_FILENO);
    return print(redrawn(screen_.page(size, look_of(STDOUT_FILENO)), size.rows));
  }

  /// Returns: false to end: a key says so, or the terminal is gone.
  bool read_keys() {
    std::array<char, 256> bytes{};
    const ssize_t got = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (got <= 0) return false;
    for (const Key& key : keys_.take({bytes.data(), static_cast<std::size_t>(got)})) {
      const TopWish wish = screen_.on_key(key);
      if (wish.quits) return false;
      if (wish.cancels) cancel(*wish.cancels);
      refreshes_ = refreshes_ || wish.refreshes || wish.cancels;
    }
    return true;
  }

  void cancel(std::int64_t job) {
    auto daemon = Daemon::open(arguments_.common);
    if (!daemon) return screen_.say(daemon.error().message);
    const auto answer = daemon->post(job_target(static_cast<std::uint64_t>(job), "/cancel"));
    if (!answer) return screen_.say(answer.error().message);
    const bool is_array = part_of(*answer, "jobs").is_array();
    screen_.say((is_array ? "array " : "job ") + std::to_string(job) + " is cancelled");
  }

  TopArguments arguments_;
  TopScreen screen_;
  KeyReader keys_;
  bool refreshes_ = false;
};

int top(const TopArguments& arguments) {
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return report_usage("top needs a terminal; use berth ls in a pipe");
  }
  if (!(arguments.seconds >= 0.1 && arguments.seconds <= 3600.0)) {
    return report_usage("--every: must be 0.1 to 3600 seconds");
  }
  // Said before the screen is taken: a daemon that is away later is said on it.
  if (const auto daemon = Daemon::open(arguments.common); !daemon) {
    return report_failure(daemon.error().message);
  }
  return Top(arguments).run();
}

}  // namespace

void add_top(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<TopArguments>();
  CLI::App* const verb = app.add_subcommand(
      "top", "Show GPUs and jobs, live: arrows, s sort, u user, c cancel, q quit.");
  verb->add_option("--socket", arguments->common.socket,
                   "Socket of berthd; by default $BERTH_SOCKET.");
  verb->add_option("--every", arguments->seconds, "Seconds between two looks. [2]");
  verb->callback([=, &chosen] { chosen = [=] { return top(*arguments); }; });
}

}  // namespace berth::cli
