#include "lab/live.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

#include "core/text/text.hpp"
#include "core/text/words.hpp"
#include "live/notes.hpp"

namespace berth::lab {

namespace {

using Steady = std::chrono::steady_clock;

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);
constexpr Duration kStep(20'000);

Instant instant_of(const Json& seconds) {
  if (!seconds.is_number()) return kNever;
  return kStart + Duration(static_cast<std::int64_t>(seconds.get<double>() * 1e6));
}

/// What its latest try has come to.
void note(Fate& fate, const Json& job) {
  fate.state = job.at("state").get<std::string>();
  fate.submitted = std::min(fate.submitted, instant_of(job.at("submitted_at")));
  fate.started = instant_of(job.at("started_at"));
  fate.ended = instant_of(job.at("ended_at"));
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
  LiveRun(const Stage& stage, const trace::Trace& trace, const LiveOptions& options, Berthd& daemon)
      : stage_(stage),
        trace_(trace),
        options_(options),
        daemon_(daemon),
        fates_(trace.jobs.size()) {}

  Expected<void> run(const Watch& watch) {
    while (ended_ < trace_.jobs.size()) {
      if (auto done = submit_due(); !done) return done;
      if (auto done = look(watch); !done) return done;
      if (auto done = kill_if_due(); !done) return done;
      if (since_start() > options_.longest) {
        return fail(ErrorCode::Io, "jobs still run after " + seconds_text(options_.longest) + " s");
      }
      std::this_thread::sleep_for(kBetweenLooks);
    }
    return count_starts();
  }
  Run result() const {
    return {.name = options_.name, .fates = fates_, .use = meter_.mean(), .kills = kills_};
  }

 private:
  Duration since_start() const {
    return std::chrono::duration_cast<Duration>(Steady::now() - start_);
  }

  Expected<void> submit_due() {
    while (next_ < trace_.jobs.size() && trace_.jobs[next_].submit - kStart <= since_start()) {
      if (auto done = submit(next_); !done) return done;
      ++next_;
    }
    return {};
  }

  Expected<void> submit(std::size_t place) {
    const trace::TraceJob& job = trace_.jobs[place];
    const auto answer =
        daemon_.post("/v1/jobs", submission_of(stage_, job, begun_file(place)), user_of(job));
    if (!answer) return std::unexpected(answer.error());
    places_[answer->at("id").get<std::uint64_t>()] = place;
    return {};
  }

  /// Only where a start by berth's mistake can be told from one that was asked for.
  std::string begun_file(std::size_t place) const {
    if (options_.kill_every == kForever) return "";
    return stage_.work() + "/begun-" + std::to_string(place);
  }

  Expected<void> kill_if_due() {
    if (options_.kill_every == kForever || since_start() < options_.kill_every * (kills_ + 1)) {
      return {};
    }
    ++kills_;
    return daemon_.kill_and_start_again();
  }

  /// By what the programs themselves wrote down.
  Expected<void> count_starts() {
    if (options_.kill_every == kForever) return {};
    for (std::size_t place = 0; place < fates_.size(); ++place) {
      std::ifstream file(begun_file(place));
      const auto lines = std::count(std::istreambuf_iterator<char>(file), {}, '\n');
      if (lines == 0 && fates_[place].state == "done") {
        return fail(ErrorCode::Io, begun_file(place) + ": has no line, though its job has ended");
      }
      fates_[place].programs = static_cast<int>(lines);
    }
    return {};
  }

  Expected<int> suspensions_of(std::uint64_t id) const {
    const auto job = daemon_.get("/v1/jobs/" + std::to_string(id));
    if (!job) return std::unexpected(job.error());
    return static_cast<int>(std::ranges::count(job->at("attempts"), Json(live::kSuspended),
                                               [](const Json& each) { return each.at("note"); }));
  }

  /// Its latest try ended.
  Expected<void> end(std::size_t place) {
    Fate& fate = fates_[place];
    if (fate.state != "done" && fate.started != kNever) fate.lost += fate.ended - fate.started;
    const bool goes_on = options_.after_loss == AfterLoss::RunAgain && fate.state != "done" &&
                         fate.attempts < kMostTries;
    if (!goes_on) {
      ++ended_;
      return {};
    }
    ++fate.attempts;
    return submit(place);
  }

  Expected<void> look(const Watch& watch) {
    auto jobs = daemon_.get("/v1/jobs?all=true&limit=1000");
    auto gpus = daemon_.get("/v1/gpus");
    if (!jobs || !gpus) return fail(ErrorCode::Io, "berthd went away");
    for (const Json& job : jobs->at("jobs")) {
      const auto found = places_.find(job.at("id").get<std::uint64_t>());
      if (found == places_.end()) continue;
      const std::size_t place = found->second;
      note(fates_[place], job);
      if (!has_ended(fates_[place].state)) continue;
      const auto suspensions = suspensions_of(found->first);
      if (!suspensions) return std::unexpected(suspensions.error());
      fates_[place].suspensions += *suspensions;
      places_.erase(found);
      if (auto done = end(place); !done) return done;
    }
    if (next_ > 0 && ended_ < trace_.jobs.size()) meter_.add(*gpus);
    watch({since_start(), std::move(jobs->at("jobs")), std::move(*gpus)});
    return {};
  }

  const Stage& stage_;
  const trace::Trace& trace_;
  const LiveOptions& options_;
  Berthd& daemon_;
  Steady::time_point start_ = Steady::now();
  std::size_t next_ = 0;
  std::size_t ended_ = 0;
  int kills_ = 0;
  std::map<std::uint64_t, std::size_t> places_;  ///< In the trace, of those that have not ended.
  std::vector<Fate> fates_;
  UseMeter meter_;
};

}  // namespace

bool has_ended(const std::string& state) {
  constexpr std::array words = {"done", "failed", "oom", "cancelled", "timeout", "lost"};
  return std::ranges::find(words, state) != words.end();
}

int user_of(const trace::TraceJob& job) {
  return std::max(0, static_cast<int>(job.spec.user.value()) - 1);
}

Json submission_of(const Stage& stage, const trace::TraceJob& job, const std::string& begun) {
  const GpuRequest& gpu = job.spec.request.gpu;
  const Duration step = std::min(kStep, job.duration);
  const std::int64_t steps = step > Duration(0) ? job.duration / step : 1;
  char step_ms[16];
  std::snprintf(step_ms, sizeof step_ms, "%.3f", static_cast<double>(micros(step)) / 1000);
  char duty[16];
  std::snprintf(duty, sizeof duty, "%.3f", static_cast<double>(job.duty.raw()) / 1000);
  Json command = {stage.program("berth-load"),
                  "--steps",
                  std::to_string(steps),
                  "--step-ms",
                  step_ms,
                  "--duty",
                  duty,
                  "--gpus",
                  std::to_string(gpu.count.raw()),
                  "--report",
                  "0"};
  if (!job.use.empty()) {
    command.push_back("--curve");
    command.push_back(to_text(job.use));
  }
  if (!begun.empty()) {
    const Json shell = {"/bin/sh", "-c", "echo >>\"$0\"; exec \"$@\"", begun};
    command.insert(command.begin(), shell.begin(), shell.end());
  }
  Json json = {{"command", command},
               {"directory", stage.work()},
               {"environment", {"PATH=/usr/bin:/bin"}},
               {"name", job.name},
               {"gpus", gpu.count.raw()},
               {"class", word_for(job.spec.duration_class)},
               {"retries", job.spec.retries},
               {"priority", job.spec.priority},
               {"exclusive", gpu.sharing == Sharing::Alone}};
  if (gpu.vram != Bytes(0)) json["vram_bytes"] = gpu.vram.raw();
  if (gpu.milli != GpuMilli(0)) json["gpu_milli"] = gpu.milli.raw();
  const Duration limit = job.spec.time_limit;
  if (limit != kForever) json["time_limit_seconds"] = static_cast<double>(micros(limit)) / 1e6;
  const Duration estimate = job.spec.estimate;
  if (estimate != kForever) json["estimate_seconds"] = static_cast<double>(micros(estimate)) / 1e6;
  return json;
}

Expected<Run> run_live(const Stage& stage, const trace::Trace& trace, const LiveOptions& options,
                       const Watch& watch) {
  auto daemon = Berthd::start(stage, options.daemon);
  if (!daemon) return std::unexpected(daemon.error());
  LiveRun run(stage, trace, options, *daemon);
  if (auto done = run.run(watch); !done) return std::unexpected(done.error());
  return run.result();
}

}  // namespace berth::lab
