// The simulator of Pollux' artifact (Qiao et al., OSDI 2021): how its jobs progress from round to
// round, as oracles/pollux tells. What a policy decides at a round is left to the test.
//
// Times are whole seconds; steps, batches and progress are doubles, as there. Of the throughputs
// that profiles do not hold the artifact has a mesh; here are only samples, all that its runs of
// Tiresias and Optimus ask for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "paper/rows.hpp"

namespace berth::test {

constexpr int kPolluxRound = 60;    ///< Seconds.
constexpr int kPolluxRestart = 30;  ///< Seconds without progress on other GPUs than before.
constexpr int kPolluxNode = 4;      ///< GPUs.

/// Of one step of training, in seconds.
struct PolluxStep {
  double whole = 0;
  double sync = 0;  ///< Of that the exchange of gradients.
};

/// One epoch of a run with one batch size.
struct PolluxEpoch {
  double progress = 0;  ///< At its end.
  double iteration = 0;
  double noise = 0;   ///< `grad_var`.
  double signal = 0;  ///< `grad_sqr`.
};

/// A number as Python's ceil() of a quotient that should be whole.
inline int pollux_ceil(double x) { return static_cast<int>(std::ceil(x - 1e-8)); }

/// One kind of training, as it was measured.
class PolluxApp {
 public:
  int epochs = 0;
  int most_local = 0;  ///< The largest batch on one GPU.
  std::optional<int> most_gpus_fixed = {};

  /// A row of `placements`, or a sample of where there is none.
  void add_step(const std::string& place, int local, PolluxStep step) {
    steps_[place][local] = step;
  }
  /// The bounds of what was measured.
  void bound_local() {
    least_local_ = std::numeric_limits<int>::max();
    for (const auto& [place, by_local] : steps_) {
      least_local_ = std::min(least_local_, by_local.begin()->first);
      most_local = std::max(most_local, by_local.rbegin()->first);
    }
  }
  void add_sample(const std::string& place, int local, PolluxStep step) {
    samples_[{place, local}] = step;
  }
  /// The next epoch of a run with this batch.
  void add_epoch(int batch, const PolluxEpoch& epoch) {
    auto& run = runs_[batch];
    if (run.size() == needed_.size()) needed_.push_back(epoch.progress);
    double& least = needed_[run.size()];
    least = std::min(least, epoch.progress);
    run.push_back(epoch);
  }

  int most_gpus(int batch) const { return most_gpus_fixed.value_or(batch / least_local_); }

  /// Progress at the end of this epoch, whatever the batch.
  double needed(int epoch) const { return needed_.at(static_cast<std::size_t>(epoch)); }
  /// Of a job in this epoch, by its own run; at least 1.
  double iterations_left(int batch, int epoch) const {
    const auto& run = runs_.at(batch);
    return epoch < epochs - 1 ? at(run, epochs - 1).iteration - at(run, epoch).iteration : 1;
  }

  struct Pace {
    double step = 0;  ///< Seconds.
    double batch = 0;
  };
  enum class Accumulate : std::uint8_t { AsNeeded, AlwaysOnOneGpu };
  /// With this batch in all, at this place: GPUs per node, as shape_of() has them.
  Pace pace(int batch, const std::vector<int>& shape, Accumulate accumulate) const {
    int gpus = 0;
    for (const int there : shape) gpus += there;
    const int local = pollux_ceil(static_cast<double>(batch) / gpus);
    int extra = pollux_ceil(static_cast<double>(local) / most_local) - 1;
    const bool is_large = batch > runs_.begin()->first;
    const bool must = gpus == 1 && (is_large || accumulate == Accumulate::AlwaysOnOneGpu);
    if (must) extra = std::max(1, extra);
    const int largest = runs_.rbegin()->first / (gpus * (extra + 1));
    const int on_each = std::min(pollux_ceil(static_cast<double>(local) / (extra + 1)), largest);
    const PolluxStep step = step_at(shape, on_each);
    return {.step = step.whole + (step.whole - step.sync) * extra,
            .batch = static_cast<double>(gpus * on_each * (extra + 1))};
  }
  /// How much further an iteration with this batch brings a job than one with the least batch.
  double gain(double batch, int epoch) const {
    auto above = runs_.begin();
    while (above->first < batch && std::next(above) != runs_.end()) ++above;
    const PolluxEpoch high = at(above->second, epoch);
    PolluxEpoch here = high;
    if (above != runs_.begin()) {
      const auto below = std::prev(above);
      const PolluxEpoch low = at(below->second, epoch);
      const double part = (batch - below->first) / (above->first - below->first);
      here.noise = low.noise + part * (high.noise - low.noise);
      here.signal = low.signal + part * (high.signal - low.signal);
    }
    const double scale = batch / runs_.begin()->first;
    return (here.noise + here.signal) / (here.noise / scale + here.signal);
  }

 private:
  static const PolluxEpoch& at(const std::vector<PolluxEpoch>& run, int epoch) {
    return run.at(static_cast<std::size_t>(epoch));
  }

  PolluxStep step_at(const std::vector<int>& shape, int local) const {
    std::string place;
    for (const int gpus : shape) place += std::to_string(gpus);
    const auto sample = samples_.find({place, local});
    if (sample != samples_.end()) return sample->second;
    const auto by_local = steps_.find(place);
    const bool is_known = by_local != steps_.end() && local >= by_local->second.begin()->first &&
                          local <= by_local->second.rbegin()->first;
    EXPECT_TRUE(is_known) << "no throughput of " << local << " on each GPU of " << place;
    if (!is_known) return {.whole = 1, .sync = 0};
    const auto above = by_local->second.lower_bound(local);
    if (above->first == local) return above->second;
    const auto& [low, least] = *std::prev(above);
    const double part = static_cast<double>(local - low) / (above->first - low);
    return {.whole = least.whole + part * (above->second.whole - least.whole),
            .sync = least.sync + part * (above->second.sync - least.sync)};
  }

  int least_local_ = 1;
  std::map<std::string, std::map<int, PolluxStep>> steps_;  ///< By place and batch on a GPU.
  std::map<std::pair<std::string, int>, PolluxStep> samples_;
  std::map<int, std::vector<PolluxEpoch>> runs_;  ///< By batch.
  std::vector<double> needed_;                    ///< The least progress at the end of each epoch.
};

/// The node of each GPU of a job, ascending.
using PolluxNodes = std::vector<int>;

/// GPUs per node, in the rotation that comes first. A job gets the node with the most free GPUs
/// first, so it is in descending order that they were given.
inline std::vector<int> shape_of(const PolluxNodes& nodes) {
  std::map<int, int> on;
  for (const int node : nodes) ++on[node];
  std::vector<int> shape;
  for (const auto& [node, gpus] : on) shape.push_back(gpus);
  std::ranges::sort(shape, std::greater());
  std::vector<int> first = shape;
  for (std::size_t i = 1; i < shape.size(); ++i) {
    std::ranges::rotate(shape, shape.begin() + 1);
    first = std::min(first, shape);
  }
  return first;
}

struct PolluxJob {
  std::string name;
  int submitted = 0;
  const PolluxApp* app = nullptr;
  int gpus = 0;   ///< For Tiresias.
  int batch = 0;  ///< In all.

  int epoch = 0;
  double progress = 0;
  PolluxNodes nodes = {};
  PolluxApp::Pace pace = {};  ///< There.
  int restart_left = 0;
  std::optional<int> ended = {};

  void advance(int from) {
    if (nodes.empty()) return;
    int clock = from + std::min(restart_left, kPolluxRound);
    restart_left -= clock - from;
    for (int left = from + kPolluxRound - clock; left > 0;) {
      const double rate = app->gain(pace.batch, epoch) / pace.step;
      const double needed = app->needed(epoch);
      if (progress + rate * left < needed) {
        progress += rate * left;
        return;
      }
      const int took = static_cast<int>(std::nearbyint((needed - progress) / rate));
      progress = needed;
      clock += took;
      left -= took;
      if (++epoch < app->epochs) continue;
      ended = clock;
      nodes.clear();
      return;
    }
  }
  void move_to(PolluxNodes there) {
    if (there == nodes) return;
    nodes = std::move(there);
    if (nodes.empty()) return;
    pace = app->pace(batch, shape_of(nodes), PolluxApp::Accumulate::AsNeeded);
    restart_left = kPolluxRestart;
  }
};

/// Runs the jobs, which are in order of submission, until all have ended. `decide(now, jobs)`
/// returns the nodes of each of the jobs that are there.
template <class Decide>
void run_pollux(std::span<PolluxJob> jobs, Decide& decide) {
  for (int now = 0; std::ranges::any_of(jobs, [](auto& job) { return !job.ended; });) {
    for (PolluxJob& job : jobs) job.advance(now);
    now += kPolluxRound;
    std::vector<PolluxJob*> there;
    for (PolluxJob& job : jobs) {
      if (job.submitted <= now && !job.ended) there.push_back(&job);
    }
    if (there.empty()) continue;
    std::vector<PolluxNodes> nodes = decide(now, std::span<PolluxJob* const>(there));
    for (std::size_t i = 0; i < there.size(); ++i) there[i]->move_to(std::move(nodes[i]));
  }
}

// ---- The files of the artifact -----------------------------------------------------------------

/// Requires: they are there.
inline std::map<std::string, PolluxApp> pollux_apps() {
  const std::filesystem::path profiles = "traces/sia-pollux/profiles";
  std::map<std::string, PolluxApp> apps;
  for (const auto& [name, epochs] :
       {std::pair("bert", 2), std::pair("cifar10", 100), std::pair("ncf", 10),
        std::pair("imagenet", 90), std::pair("deepspeech2", 80), std::pair("yolov3", 50)}) {
    PolluxApp& app = apps[name];
    app.epochs = epochs;
    for (Rows rows(profiles / name / "placements.csv"); rows.next();) {
      app.add_step(rows.text("placement"), rows.whole("local_bsz"),
                   {.whole = rows.number("step_time"), .sync = rows.number("sync_time")});
    }
    app.bound_local();
    for (const auto& file : std::filesystem::directory_iterator(shared_dir() / profiles / name)) {
      const std::string stem = file.path().stem();
      if (!stem.starts_with("validation-")) continue;
      const int batch = std::stoi(stem.substr(stem.find('-') + 1));
      for (Rows rows(file.path()); rows.next();) {
        app.add_epoch(batch, {.progress = rows.number("progress"),
                              .iteration = rows.number("iteration"),
                              .noise = rows.number("grad_var"),
                              .signal = rows.number("grad_sqr")});
      }
    }
  }
  apps.at("yolov3").most_local = 8;
  apps.at("ncf").most_gpus_fixed = 1;
  for (Rows rows("oracles/pollux/throughput_samples.csv.gz"); rows.next();) {
    apps.at(rows.text("application"))
        .add_sample(rows.text("placement"), rows.whole("local_bsz"),
                    {.whole = rows.number("step_time"), .sync = rows.number("sync_time")});
  }
  return apps;
}

}  // namespace berth::test
