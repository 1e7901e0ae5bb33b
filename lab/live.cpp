#include "lab/live.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include "core/text.hpp"

namespace berth::lab {

namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);
constexpr auto kLongestRun = std::chrono::minutes(2);

std::string bytes_text(Bytes bytes) { return std::to_string(bytes.raw()); }

std::string seconds_word(Duration duration) { return seconds_text(duration) + "s"; }

Instant instant_of(const Json& seconds) {
  if (!seconds.is_number()) return kNever;
  return kStart + Duration(static_cast<std::int64_t>(seconds.get<double>() * 1e6));
}

Fate fate_of(const Json& job) {
  return {.state = job.at("state").get<std::string>(),
          .submitted = instant_of(job.at("submitted_at")),
          .started = instant_of(job.at("started_at")),
          .ended = instant_of(job.at("ended_at"))};
}

/// Sums of what the GPUs held and did, one sample at a time.
class UseMeter {
 public:
  void add(const Json& gpus) {
    for (const Json& gpu : gpus.at("gpus")) {
      used_ += gpu.at("used_bytes").get<double>();
      capacity_ += gpu.at("capacity_bytes").get<double>();
      const Json& busy = gpu.at("utilisation_percent");
      busy_ += busy.is_number() ? busy.get<double>() / 100 : 0;
      ++samples_;
    }
  }
  Use mean() const {
    if (samples_ == 0) return {};
    return {.memory = used_ / capacity_, .busy = busy_ / samples_};
  }

 private:
  double used_ = 0;
  double capacity_ = 0;
  double busy_ = 0;
  double samples_ = 0;
};

class LiveRun {
 public:
  LiveRun(const Stage& stage, const Workload& workload, const Berthd& daemon)
      : stage_(stage), workload_(workload), daemon_(daemon) {}

  Expected<void> run(const Watch& watch) {
    while (!is_over_) {
      if (auto done = submit_due(); !done) return done;
      if (auto done = look(watch); !done) return done;
      if (since_start() > kLongestRun)
        return fail(ErrorCode::Io, "jobs still run after two minutes");
      std::this_thread::sleep_for(kBetweenLooks);
    }
    return {};
  }
  std::vector<Fate> fates() const { return fates_; }
  Use use() const { return meter_.mean(); }

 private:
  Duration since_start() const {
    return std::chrono::duration_cast<Duration>(Steady::now() - start_);
  }

  Expected<void> submit_due() {
    while (next_ < workload_.tasks.size() && workload_.tasks[next_].at <= since_start()) {
      const Task& task = workload_.tasks[next_];
      const auto answer = daemon_.post("/v1/jobs", submission_of(stage_, task), task.user);
      if (!answer) return std::unexpected(answer.error());
      tasks_[answer->at("id").get<std::uint64_t>()] = next_++;
    }
    return {};
  }

  Expected<void> look(const Watch& watch) {
    auto jobs = daemon_.get("/v1/jobs?all=true&limit=1000");
    auto gpus = daemon_.get("/v1/gpus");
    if (!jobs || !gpus) return fail(ErrorCode::Io, "berthd went away");
    fates_.resize(workload_.tasks.size());
    std::size_t ended = 0;
    for (const Json& job : jobs->at("jobs")) {
      const auto task = tasks_.find(job.at("id").get<std::uint64_t>());
      if (task == tasks_.end()) continue;
      fates_[task->second] = fate_of(job);
      if (has_ended(fates_[task->second].state)) ++ended;
    }
    meter_.add(*gpus);
    watch({since_start(), std::move(jobs->at("jobs")), std::move(*gpus)});
    is_over_ = ended == workload_.tasks.size();
    return {};
  }

  const Stage& stage_;
  const Workload& workload_;
  const Berthd& daemon_;
  Steady::time_point start_ = Steady::now();
  std::size_t next_ = 0;
  std::map<std::uint64_t, std::size_t> tasks_;
  std::vector<Fate> fates_;
  UseMeter meter_;
  bool is_over_ = false;
};

}  // namespace

bool has_ended(const std::string& state) {
  constexpr std::array words = {"done", "failed", "oom", "cancelled", "timeout", "lost"};
  return std::ranges::find(words, state) != words.end();
}

Json submission_of(const Stage& stage, const Task& task) {
  char duty[16];
  std::snprintf(duty, sizeof duty, "%.2f", task.duty);
  constexpr std::array classes = {"short", "medium", "long", "service"};
  Json json = {{"command",
                {stage.program("berth-load"), "--vram", bytes_text(task.needs), "--ramp",
                 seconds_word(task.ramp), "--steps", std::to_string(task.steps), "--step-ms",
                 std::to_string(micros(task.step) / 1000), "--duty", duty, "--gpus",
                 std::to_string(task.gpus.raw()), "--report", "0"}},
               {"directory", stage.folder() + "/work"},
               {"environment", {"PATH=/usr/bin:/bin"}},
               {"name", task.name},
               {"gpus", task.gpus.raw()},
               {"class", classes[static_cast<std::size_t>(task.duration_class)]},
               {"retries", task.retries}};
  if (task.asks != Bytes(0)) json["vram_bytes"] = task.asks.raw();
  return json;
}

Expected<Run> run_live(const Stage& stage, const Workload& workload, const LiveOptions& options,
                       const Watch& watch) {
  const auto daemon = Berthd::start(stage, options.daemon);
  if (!daemon) return std::unexpected(daemon.error());
  LiveRun run(stage, workload, *daemon);
  if (auto done = run.run(watch); !done) return std::unexpected(done.error());
  return Run{.name = options.name, .fates = run.fates(), .use = run.use()};
}

}  // namespace berth::lab
