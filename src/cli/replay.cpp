#include "cli/replay.hpp"

#include <CLI/CLI.hpp>
#include <array>

#include "cli/files.hpp"
#include "policy/registry.hpp"
#include "sim/estimates.hpp"
#include "trace/formats.hpp"
#include "trace/gzip.hpp"

namespace berth::cli {

namespace {

constexpr double kLeastLoad = 0.001;
constexpr double kMostLoad = 1000;

/// A file's text, packed or plain.
Expected<std::string> read_text(const std::string& path) {
  auto bytes = read_file(path);
  if (!bytes) return bytes;
  return trace::unpacked(std::move(*bytes), path);
}

/// `NxG`, `SxNxG`, or else the name of a cluster file.
Expected<Cluster> cluster_of(const std::string& text) {
  if (text.find_first_not_of("0123456789x") == std::string::npos) {
    return trace::parse_cluster(text);
  }
  const auto file = read_text(text);
  if (!file) return std::unexpected(file.error());
  return trace::read_cluster(*file, text);
}

Expected<std::vector<std::int64_t>> service_of(const std::string& path) {
  if (path.empty()) return {};
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return trace::read_samples(*text, path);
}

Expected<AdmissionMode> admission_of(const std::string& word) {
  constexpr std::array<std::pair<std::string_view, AdmissionMode>, 4> kModes = {
      {{"guarantee", AdmissionMode::Guarantee},
       {"declared", AdmissionMode::Declared},
       {"free-memory", AdmissionMode::FreeMemory},
       {"none", AdmissionMode::None}}};
  for (const auto& [name, mode] : kModes) {
    if (word == name) return mode;
  }
  return fail(ErrorCode::InvalidArgument, "--admission: '" + word +
                                              "' is not known; there are: guarantee, declared, "
                                              "free-memory, none");
}

}  // namespace

ReplayOptions add_replay_options(CLI::App& verb, ReplayArguments& arguments) {
  const ReplayOptions named{
      .trace = verb.add_option("--trace", arguments.trace, "The trace file, packed or plain."),
      .cluster = verb.add_option("--cluster", arguments.cluster,
                                 "NODESxGPUS, SWITCHESxNODESxGPUS, or a cluster file.")};
  std::string known;
  for (const trace::Format& format : trace::formats()) {
    known += (known.empty() ? "" : ", ") + std::string(format.name);
  }
  verb.add_option("--format", arguments.format, "The trace's format: " + known + ".")
      ->capture_default_str();
  verb.add_option("--place", arguments.place, "The placement.")->capture_default_str();
  verb.add_option("--service", arguments.service,
                  "Service of past jobs in GPU-seconds, one to a line after a header: what the "
                  "Gittins policies learn from.");
  verb.add_option("--admission", arguments.admission,
                  "How strictly memory is looked after: guarantee, declared, free-memory, none.")
      ->capture_default_str();
  verb.add_option("--estimates", arguments.estimates,
                  "What policies are told of run times: exact, none, or +-N% of the truth.")
      ->capture_default_str();
  verb.add_option("--load", arguments.load, "Arrivals come this many times as fast.")
      ->check(CLI::Range(kLeastLoad, kMostLoad))
      ->capture_default_str();
  verb.add_option("--seed", arguments.seed, "Of whatever is drawn.")->capture_default_str();
  return named;
}

void check_replay_is_named(const ReplayArguments& arguments) {
  if (arguments.trace.empty()) throw CLI::RequiredError("--trace");
  if (arguments.cluster.empty()) throw CLI::RequiredError("--cluster");
}

Expected<Replay> read_replay(const ReplayArguments& arguments) {
  const auto estimates = sim::parse_estimates(arguments.estimates);
  if (!estimates) return std::unexpected(estimates.error());
  const auto mode = admission_of(arguments.admission);
  if (!mode) return std::unexpected(mode.error());
  const auto text = read_text(arguments.trace);
  if (!text) return std::unexpected(text.error());
  auto jobs = trace::read(arguments.format, *text, arguments.trace);
  if (!jobs) return std::unexpected(jobs.error());
  auto cluster = cluster_of(arguments.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  if (auto done = trace::accept_types(*jobs, *cluster); !done) return std::unexpected(done.error());
  auto service = service_of(arguments.service);
  if (!service) return std::unexpected(service.error());
  sim::apply_load(*jobs, arguments.load);
  sim::apply_estimates(*jobs, *estimates, arguments.seed);
  return Replay{.trace = std::move(*jobs),
                .cluster = std::move(*cluster),
                .service = std::move(*service),
                .settings = {.admission = {.mode = *mode}}};
}

Expected<sim::Result> run_replay(const Replay& replay, const ReplayArguments& arguments,
                                 const std::string& policy, const sim::Options& options) {
  if (replay.service.empty() && policy.ends_with("gittins")) {  // would quietly be another policy
    return fail(ErrorCode::InvalidArgument,
                "policy " + policy + " learns from past jobs: give it --service FILE");
  }
  auto made = make_policy(policy, arguments.place, {.service = replay.service});
  if (!made) return std::unexpected(made.error());
  sim::Options all = options;
  all.settings = replay.settings;
  all.told = sim::Told::AsStated;
  all.seed = arguments.seed;
  return sim::simulate(replay.trace, replay.cluster, std::move(*made), all);
}

}  // namespace berth::cli
