#include "lab/acts.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <optional>
#include <thread>

#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "lab/live.hpp"
#include "lab/report.hpp"
#include "lab/view.hpp"
#include "lab/ways.hpp"
#include "lab/workload.hpp"

namespace berth::lab {

namespace {

using namespace literals;

Expected<Efforts> run_all_ways(const Stage& stage, const DemoOptions& options) {
  trace::Trace trace = mixed_workload(options.seed);
  // A class is a quarter of an hour, or a day: of seconds it says nothing.
  for (trace::TraceJob& job : trace.jobs) job.spec.estimate = job.duration;
  std::printf(
      "%zu jobs of three users on %s: long large trainings, medium vision jobs, many short\n"
      "ones. Everyone says honestly what memory and time a job takes, and runs again what is\n"
      "lost.\n",
      trace.jobs.size(), options.gpus.c_str());
  Efforts efforts;
  for (const Way& way : kDemoWays) {
    View view(std::string(way.name) + ": " + way.words);
    const auto run = run_live(stage, trace,
                              {.name = way.name,
                               .daemon = {.gpus = options.gpus,
                                          .admission = std::string(word_for(way.admission)),
                                          .policy = way.policy},
                               .after_loss = AfterLoss::RunAgain},
                              [&](const Moment& moment) { view.show(moment); });
    if (!run) return std::unexpected(run.error());
    efforts.emplace_back(way.name, effort(trace, *run));
    efforts.back().second.called = way.called;
  }
  return efforts;
}

/// A process that berth did not start, with memory on the first GPU.
class Outsider {
 public:
  Outsider(const Stage& stage, const Berthd& daemon) {
    const std::string script = ". " + daemon.state() + "/emu.env; exec " +
                               stage.program("berth-load") +
                               " --vram 8G --steps 0 --step-ms 50 --duty 0.1 >/dev/null 2>&1";
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
    ::_exit(127);
  }
  ~Outsider() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Outsider(const Outsider&) = delete;
  Outsider& operator=(const Outsider&) = delete;

 private:
  pid_t pid_;
};

/// Asks until the answer is as wanted; nothing after half a minute.
std::optional<Json> await(const Berthd& daemon, const std::string& target,
                          const std::function<bool(const Json&)>& wanted) {
  for (int i = 0; i < 600; ++i) {
    auto answer = daemon.get(target);
    if (answer && wanted(*answer)) return std::move(*answer);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return std::nullopt;
}

std::string job_path(const Json& submitted) {
  return "/v1/jobs/" + std::to_string(submitted.at("id").get<std::uint64_t>());
}

void tell_attempts(const Json& job) {
  for (const Json& attempt : job.at("attempts")) {
    const Json& outcome = attempt.at("outcome");
    std::printf("  attempt %d: %s%s%s\n", attempt.at("attempt").get<int>(),
                outcome.is_string() ? outcome.get<std::string>().c_str() : "runs",
                attempt.at("note").get<std::string>().empty() ? "" : ": ",
                attempt.at("note").get<std::string>().c_str());
  }
}

/// A job of one GPU, of the first user.
trace::TraceJob act(const char* name, Duration duration, Bytes asks) {
  trace::TraceJob job{.name = name, .submit = kStart, .duration = duration, .spec = {}};
  job.spec.user = UserId(1);
  job.spec.request.gpu = {.count = GpuCount(1), .vram = asks};
  return job;
}

/// Three tenants that keep their word and fill the cards, beside one that does not. Under `fifo` it
/// starts at once, beside one of them; together they use less than the card has, so that nothing
/// fails however late the look that ends it. It holds what was granted to the other for seconds, so
/// that a look sees it however busy the machine is.
Expected<bool> ask_too_little(const Stage& stage, const DemoOptions& options) {
  std::printf(
      "\nA job that needs 14 GiB asks for 6, with --retries 3, beside three honest ones:\n");
  const auto daemon = Berthd::start(stage, {.gpus = options.gpus, .policy = "fifo"});
  if (!daemon) return std::unexpected(daemon.error());
  trace::TraceJob honest = act("honest", seconds(6), 9_GiB + 256_MiB);
  honest.duty = GpuMilli(300);
  honest.use = trace::UseCurve({{Duration(0), Bytes(0)}, {seconds(2), 8_GiB}});
  trace::TraceJob greedy = act("greedy", seconds(4), 6_GiB);
  greedy.duty = GpuMilli(300);
  greedy.use = trace::UseCurve({{Duration(0), Bytes(0)}, {seconds(1), 14_GiB}});
  greedy.spec.user = UserId(2);
  greedy.spec.retries = 3;
  std::vector<Json> jobs;
  for (const trace::TraceJob& job : {honest, honest, honest, greedy}) {
    auto answer = daemon->post("/v1/jobs", submission_of(stage, job), user_of(job));
    if (!answer) return std::unexpected(answer.error());
    jobs.push_back(std::move(*answer));
  }
  bool all_good = true;
  std::size_t attempts = 0;  // of the last one
  for (const Json& job : jobs) {
    const auto ended = await(*daemon, job_path(job), [](const Json& now) {
      return has_ended(now.at("state").get<std::string>());
    });
    attempts = ended ? ended->at("attempts").size() : 0;
    const std::string state = ended ? ended->at("state").get<std::string>() : "still runs";
    std::printf("%s: %s\n", ended ? ended->at("name").get<std::string>().c_str() : "?",
                state.c_str());
    if (ended) tell_attempts(*ended);
    all_good = all_good && state == "done";
  }
  if (attempts < 2) std::printf("The greedy job was never ended: a defect.\n");
  return all_good && attempts > 1;
}

Expected<bool> come_from_outside(const Stage& stage, const DemoOptions& options) {
  std::printf("\nA process that berth did not start takes 8 GiB of GPU 0:\n");
  const auto daemon = Berthd::start(stage, {.gpus = options.gpus});
  if (!daemon) return std::unexpected(daemon.error());
  const Outsider outsider(stage, *daemon);
  const auto gpus = await(*daemon, "/v1/gpus", [](const Json& now) {
    return now.at("gpus")[0].at("foreign_bytes").get<std::int64_t>() >= (8_GiB).raw();
  });
  if (!gpus) return false;
  const Json& gpu = gpus->at("gpus")[0];
  std::printf("  berth sees it: %s, pid %d, %s on GPU 0\n",
              gpu.at("foreign")[0].at("name").get<std::string>().c_str(),
              gpu.at("foreign")[0].at("pid").get<int>(),
              to_text(Bytes(gpu.at("foreign_bytes").get<std::int64_t>())).c_str());
  trace::TraceJob large = act("large", seconds(1), 18_GiB);
  large.duty = GpuMilli(500);
  large.use = trace::UseCurve({{Duration(0), 17_GiB}});
  std::vector<Json> jobs;
  for (int i = 0; i < 2; ++i) {
    auto answer = daemon->post("/v1/jobs", submission_of(stage, large), i);
    if (!answer) return std::unexpected(answer.error());
    jobs.push_back(std::move(*answer));
  }
  const auto waits = await(*daemon, job_path(jobs[1]), [](const Json& now) {
    return now.at("state") == "queued" && !now.at("reason").get<std::string>().empty();
  });
  if (waits) {
    std::printf("  the second of two jobs of 18 GiB waits: %s\n",
                waits->at("reason").get<std::string>().c_str());
  }
  bool all_good = true;
  for (const Json& job : jobs) {
    const auto ended = await(*daemon, job_path(job), [](const Json& now) {
      return has_ended(now.at("state").get<std::string>());
    });
    all_good = all_good && ended && ended->at("state") == "done";
  }
  std::printf("  both %s, one after the other on GPU 1\n", all_good ? "done" : "did not end well");
  return all_good;
}

}  // namespace

int run_demo(const DemoOptions& options) {
  const auto stage = Stage::open();
  if (!stage) return report(stage.error());
  const auto efforts = run_all_ways(*stage, options);
  if (!efforts) return report(efforts.error());
  std::printf("\n%s", table(*efforts).c_str());
  std::printf(
      "\nA job that dies is submitted again at once, as its user would, until it ends. Times are\n"
      "from the first submission to the result; the makespan ends with the last result.\n");
  const auto little = ask_too_little(*stage, options);
  if (!little) return report(little.error());
  const auto outside = come_from_outside(*stage, options);
  if (!outside) return report(outside.error());
  const Effort& ours = efforts->back().second;
  const bool kept = ours.first_try == ours.jobs;
  std::printf("\n%s%s", in_words(*efforts).c_str(), kept ? "" : "berth lost jobs: a defect.\n");
  return kept && *little && *outside ? 0 : kFailed;
}

}  // namespace berth::lab
