#include "lab/scenario.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/text/words.hpp"
#include "lab/live.hpp"
#include "lab/report.hpp"
#include "lab/simulated.hpp"
#include "lab/ways.hpp"
#include "lab/workload.hpp"
#include "trace/formats.hpp"

namespace berth::lab {

namespace {

constexpr Duration kLongest = hours(1);

Expected<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file.is_open() || file.bad()) return fail(ErrorCode::Io, path + ": cannot be read");
  return text;
}

Expected<trace::Trace> read_jobs(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  auto trace = trace::read_native({.text = *text, .file = path});
  if (!trace) return trace;
  if (trace->jobs.empty()) return fail(ErrorCode::BadData, path + ": no jobs");
  if (auto done = prepare_for_live(*trace); !done) return std::unexpected(done.error());
  return trace;
}

Expected<Cluster> read_machine(const std::string& cluster) {
  if (cluster.find_first_not_of("0123456789x") == std::string::npos) {
    return trace::parse_cluster(cluster);
  }
  const auto text = read_text(cluster);
  if (!text) return std::unexpected(text.error());
  return trace::read_cluster(*text, cluster);
}

Expected<Scores> run_both(const ScenarioOptions& options) {
  auto trace = read_jobs(options.trace);
  if (!trace) return std::unexpected(trace.error());
  make_faster(*trace, options.faster);
  const auto cluster = read_machine(options.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  const auto gpus = as_emulated(*cluster);
  if (!gpus) return std::unexpected(gpus.error());
  const auto mode = parse_word<AdmissionMode>("--admission: ", options.admission);
  if (!mode) return std::unexpected(mode.error());
  const Way way{
      .name = "scenario", .words = "", .admission = *mode, .policy = options.policy.c_str()};
  const auto simulated = run_simulated(*trace, *gpus, way, options.interference_percent);
  if (!simulated) return std::unexpected(simulated.error());
  const auto stage = Stage::open();
  if (!stage) return std::unexpected(stage.error());
  const auto live = run_live(
      *stage, *trace,
      {.name = "live",
       .daemon = {.gpus = emulated_gpus(*cluster) +
                          ",interference=" + std::to_string(options.interference_percent) + "%",
                  .admission = options.admission,
                  .policy = options.policy},
       .longest = kLongest,
       .kill_every = options.kill_every > 0
                         ? Duration(static_cast<std::int64_t>(options.kill_every * 1e6))
                         : kForever},
      [](const Moment&) {});
  if (!live) return std::unexpected(live.error());
  return Scores{{"live", score(*trace, *live)}, {"simulated", score(*trace, *simulated)}};
}

}  // namespace

int run_scenario(const ScenarioOptions& options) {
  const auto scores = run_both(options);
  if (!scores) return report(scores.error());
  if (options.json) {
    Json all;
    for (const auto& [name, score] : *scores) all[name] = to_json(score);
    std::printf("%s\n", all.dump(2).c_str());
    return 0;
  }
  std::printf("%s\n%s", table(*scores).c_str(), agreement(*scores).c_str());
  return 0;
}

int write_workload(const WorkloadOptions& options) {
  std::ofstream file(options.out);
  file << trace::write_native(mixed_workload(options.seed));
  if (file.flush().good()) return 0;
  return report({ErrorCode::Io, options.out + ": cannot be written"});
}

}  // namespace berth::lab
