// Optimus and Tiresias against the simulator of Pollux' artifact (Qiao et al., OSDI 2021).
//
// Source: oracles/pollux, its runs of 8 workloads at two loads on 16 nodes of 4 GPUs, 1,920 jobs.
// Method: the artifact's model of progress, round by round. Numbers of GPUs under Optimus are those
// of the rule of `optimus`, places as the artifact chooses them; Tiresias is the policy
// `pollux/tiresias` in an engine, which chooses its places. Every completion time must be equal, to
// the second. Times and speeds are whole microseconds and millionths for the rule, as for users:
// no order of gains is another for that. Skipped without the files; a made-up kind of training on
// two nodes, whose times an independent restatement gave, is not.
#include <numeric>
#include <optional>
#include <variant>

#include "engine/engine.hpp"
#include "paper/pollux_oracle.hpp"
#include "policy/registry.hpp"
#include "policy/whole/sized.hpp"
#include "trace/formats.hpp"

namespace berth::test {
namespace {

// ---- Optimus -----------------------------------------------------------------------------------

/// The rule of `optimus` in the artifact's rounds.
class PolluxOptimus {
 public:
  explicit PolluxOptimus(int nodes) : nodes_(nodes) {}

  std::vector<PolluxNodes> operator()(int /*now*/, std::span<PolluxJob* const> jobs) {
    std::vector<SizedJob> sized;
    for (const PolluxJob* job : jobs) sized.push_back(for_rule(*job));
    optimus_sizes(sized, nodes_ * kPolluxNode);
    std::vector<PolluxNodes> places(jobs.size());
    std::vector<std::size_t> to_place;
    std::vector<int> free(static_cast<std::size_t>(nodes_), kPolluxNode);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (sized[i].gpus == std::ssize(jobs[i]->nodes)) {
        places[i] = jobs[i]->nodes;
        for (const int node : places[i]) --free[static_cast<std::size_t>(node)];
      } else {
        to_place.push_back(i);
      }
    }
    std::ranges::stable_sort(to_place, {}, [&](std::size_t i) { return sized[i].gpus; });
    for (const std::size_t i : to_place) places[i] = most_free(sized[i].gpus, free);
    return places;
  }

 private:
  static PolluxNodes most_free(std::int64_t gpus, std::vector<int>& free) {
    PolluxNodes nodes;
    while (std::ssize(nodes) < gpus) {
      const auto most = std::ranges::max_element(free);
      const auto taken = std::min<std::int64_t>(*most, gpus - std::ssize(nodes));
      nodes.insert(nodes.end(), static_cast<std::size_t>(taken),
                   static_cast<int>(most - free.begin()));
      *most -= static_cast<int>(taken);
    }
    std::ranges::sort(nodes);
    return nodes;
  }

  /// Of a step on one GPU, two and so on, which fill node after node.
  struct Curve {
    double first = 0;  ///< Seconds.
    std::vector<Rate> speeds;
  };
  const Curve& curve_of(const PolluxJob& job) {
    const auto [known, is_new] = curves_.try_emplace({job.app, job.batch});
    Curve& curve = known->second;
    if (!is_new) return curve;
    const int most = std::min(most_gpus(job), nodes_ * kPolluxNode);
    for (int gpus = 1; gpus <= most; ++gpus) {
      PolluxNodes nodes(static_cast<std::size_t>(gpus));
      for (int i = 0; i < gpus; ++i) nodes[static_cast<std::size_t>(i)] = i / kPolluxNode;
      const double step =
          job.app->pace(job.batch, shape_of(nodes), PolluxApp::Accumulate::AlwaysOnOneGpu).step;
      if (gpus == 1) curve.first = step;
      const Rate speed(std::llround(curve.first / step * static_cast<double>(Rate::kWhole)));
      if (gpus > 1 && speed <= curve.speeds.back()) break;  // the rule asks for no more
      curve.speeds.push_back(speed);
    }
    return curve;
  }
  static int most_gpus(const PolluxJob& job) { return std::max(1, job.app->most_gpus(job.batch)); }

  SizedJob for_rule(const PolluxJob& job) {
    const Curve& curve = curve_of(job);
    const double left = job.app->iterations_left(job.batch, job.epoch) * curve.first;
    return {.least = 1,
            .most = most_gpus(job),
            .left = Duration(std::max(1LL, std::llround(left * 1e6))),
            .speeds = curve.speeds};
  }

  int nodes_;
  std::map<std::pair<const PolluxApp*, int>, Curve> curves_;
};

// ---- Tiresias ----------------------------------------------------------------------------------

/// An engine under a policy, whose effects are carried out at once.
class PolluxEngine {
 public:
  PolluxEngine(int nodes, const std::string& policy)
      : engine_(*trace::parse_cluster(std::to_string(nodes) + "x" + std::to_string(kPolluxNode)),
                {}, *make_policy(policy, "")) {}

  std::vector<PolluxNodes> operator()(int now, std::span<PolluxJob* const> jobs) {
    std::vector<Input> inputs = ends(jobs);
    for (const PolluxJob* job : jobs) {
      const auto [known, is_new] = ids_.try_emplace(job, ids_.size() + 1);
      if (!is_new) continue;
      JobSpec spec;
      spec.request.gpu = {.count = GpuCount(job->gpus), .sharing = Sharing::Alone};
      inputs.emplace_back(Submitted{.job = known->second, .spec = std::move(spec)});
    }
    do {
      const Effects& effects = engine_.step(kStart + seconds(now), inputs);
      inputs.clear();
      for (const Effect& effect : effects.list) answer(effect, inputs);
    } while (!inputs.empty());
    EXPECT_EQ(engine_.dropped(), 0U);
    EXPECT_EQ(engine_.effects().wake_at, kStart + seconds(now + kPolluxRound));
    std::vector<PolluxNodes> places;
    for (const PolluxJob* job : jobs) places.push_back(nodes_of_job(ids_.at(job)));
    return places;
  }

 private:
  /// Those that the engine knows and the artifact does not list any more.
  std::vector<Input> ends(std::span<PolluxJob* const> jobs) {
    std::vector<Input> inputs;
    for (const auto& [job, id] : ids_) {
      if (std::ranges::find(jobs, job) != jobs.end() || !engine_.view().knows(id)) continue;
      const Attempt attempt = engine_.view().find(id)->attempt;
      inputs.emplace_back(Exited{.job = id, .attempt = attempt});
      inputs.emplace_back(Released{id, attempt});
    }
    return inputs;
  }
  static void answer(const Effect& effect, std::vector<Input>& inputs) {
    if (const auto* launch = std::get_if<Launch>(&effect)) {
      inputs.emplace_back(Started{launch->job, launch->attempt});
    } else if (const auto* resumed = std::get_if<Continue>(&effect)) {
      inputs.emplace_back(Started{resumed->job, resumed->attempt});
    } else if (const auto* stop = std::get_if<Stop>(&effect)) {
      inputs.emplace_back(Released{stop->job, stop->attempt});
    } else {
      EXPECT_TRUE(std::holds_alternative<Finished>(effect));
    }
  }
  PolluxNodes nodes_of_job(JobId id) const {
    PolluxNodes nodes;
    for (const Share& share : engine_.view().find(id)->grant.shares) {
      nodes.push_back(static_cast<int>(engine_.view().cluster().node_of(share.gpu).value()));
    }
    return nodes;
  }

  Engine engine_;
  std::map<const PolluxJob*, JobId> ids_;
};

// ---- The artifact's jobs -----------------------------------------------------------------------

struct PolluxWorkload {
  std::vector<PolluxJob> jobs;
  std::vector<int> tiresias;  ///< Completion times.
  std::vector<int> optimus;
};

std::map<std::string, PolluxWorkload> pollux_workloads(
    const std::map<std::string, PolluxApp>& apps) {
  std::map<std::string, PolluxWorkload> workloads;
  for (Rows rows("oracles/pollux/jobs.csv.gz"); rows.next();) {
    PolluxWorkload& one = workloads[rows.text("load") + ", workload " + rows.text("workload")];
    one.jobs.push_back({.name = rows.text("name"),
                        .submitted = rows.whole("submission"),
                        .app = &apps.at(rows.text("application")),
                        .gpus = rows.whole("num_replicas"),
                        .batch = rows.whole("batch_size")});
    one.tiresias.push_back(rows.whole("jct_tiresias"));
    one.optimus.push_back(rows.whole("jct_optimus"));
  }
  return workloads;
}

std::vector<int> completion_times(std::vector<PolluxJob> jobs, auto&& decide) {
  run_pollux(jobs, decide);
  std::vector<int> times;
  for (const PolluxJob& job : jobs) times.push_back(*job.ended - job.submitted);
  return times;
}

/// By what `decide_on(nodes)` makes for each workload.
template <class Decides>
void expect_every_time(std::vector<int> PolluxWorkload::* theirs, Decides decide_on) {
  constexpr int kNodes = 16;
  const auto apps = pollux_apps();
  std::size_t jobs = 0;
  for (const auto& [load, workload] : pollux_workloads(apps)) {
    auto decide = decide_on(kNodes);
    EXPECT_EQ(completion_times(workload.jobs, decide), workload.*theirs) << "load " << load;
    jobs += workload.jobs.size();
  }
  EXPECT_EQ(jobs, 1'920U);
}

std::optional<std::string> absent_pollux() {
  const auto absent = absent_shared("oracles/pollux");
  return absent ? absent : absent_shared("traces/sia-pollux");
}

TEST(Pollux, EveryJobTakesAsLongAsUnderTheArtifactsOptimus) {
  if (const auto absent = absent_pollux()) GTEST_SKIP() << *absent;
  expect_every_time(&PolluxWorkload::optimus, [](int nodes) { return PolluxOptimus(nodes); });
}

TEST(Pollux, EveryJobTakesAsLongAsUnderTheArtifactsTiresias) {
  if (const auto absent = absent_pollux()) GTEST_SKIP() << *absent;
  expect_every_time(&PolluxWorkload::tiresias,
                    [](int nodes) { return PolluxEngine(nodes, "pollux/tiresias"); });
}

// ---- A small input of our own ------------------------------------------------------------------

/// A kind of training that nobody measured, on up to two nodes.
PolluxApp made_up_app() {
  PolluxApp app;
  app.epochs = 4;
  for (int fewer = 0; fewer <= kPolluxNode; ++fewer) {
    for (int more = std::max(1, fewer); more <= kPolluxNode; ++more) {
      const int gpus = fewer + more;
      const double sync = (gpus > 1 ? 0.01 + 0.002 * gpus : 0) + (fewer > 0 ? 0.03 : 0);
      const std::string place = (fewer > 0 ? std::to_string(fewer) : "") + std::to_string(more);
      for (const int local : {4, 16, 32}) {
        app.add_step(place, local, {.whole = 0.02 + 0.005 * local + sync, .sync = sync});
      }
    }
  }
  app.bound_local();
  for (const int batch : {32, 64, 128}) {
    for (int epoch = 1; epoch <= app.epochs; ++epoch) {
      app.add_epoch(batch, {.progress = 1000.0 * epoch + batch,
                            .iteration = 32'000.0 * epoch / batch,
                            .noise = 4.0 * epoch,
                            .signal = 0.5 + 0.5 * epoch});
    }
  }
  return app;
}

TEST(Pollux, JobsOfAMadeUpKindTakeAsLongAsByAnotherProgram) {
  const PolluxApp app = made_up_app();
  std::vector<PolluxJob> jobs;
  for (const auto& [submitted, gpus, batch] :
       {std::tuple(5, 4, 64), std::tuple(20, 2, 32), std::tuple(61, 8, 128), std::tuple(130, 1, 32),
        std::tuple(150, 3, 64), std::tuple(200, 4, 128), std::tuple(400, 2, 64),
        std::tuple(410, 6, 128), std::tuple(700, 1, 32), std::tuple(705, 4, 64)}) {
    jobs.push_back(
        {.name = "made up", .submitted = submitted, .app = &app, .gpus = gpus, .batch = batch});
  }
  EXPECT_EQ(completion_times(jobs, PolluxOptimus(2)),
            (std::vector{879, 765, 1041, 871, 901, 1055, 891, 1038, 786, 834}));
  EXPECT_EQ(completion_times(jobs, PolluxEngine(2, "pollux/tiresias:thresholds=1200")),
            (std::vector{1650, 530, 1971, 1016, 785, 1570, 914, 1477, 1166, 1418}));
}

}  // namespace
}  // namespace berth::test
