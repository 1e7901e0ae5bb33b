#include "cli/replay.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "policy/registry.hpp"
#include "sim/estimates.hpp"
#include "sim/weights.hpp"

namespace berth::cli {

namespace {

constexpr double kLeastLoad = 0.001;
constexpr double kMostLoad = 1000;
constexpr std::size_t kMostPredictions = 1'000'000;

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

/// By number of user. Says on standard error who is not in the trace: it may be a slip.
Expected<std::map<UserId, std::int64_t>> weights_of(const std::string& argument,
                                                    const trace::Trace& trace) {
  if (argument.empty()) return {};
  Expected<sim::NamedWeights> named;
  if (argument.find('=') != std::string::npos) {
    named = sim::parse_weights(argument);
  } else {
    const auto text = read_text(argument);
    if (!text) return std::unexpected(text.error());
    named = sim::read_weights(*text, argument);
  }
  if (!named) return std::unexpected(named.error());
  auto weights = sim::weights_of(trace, *named);
  for (const std::string& stranger : weights.strangers) {
    std::fprintf(stderr, "berth: --weights: no job of the trace is of user '%s'\n",
                 stranger.c_str());
  }
  return std::move(weights.by_user);
}

}  // namespace

ReplayOptions add_replay_options(CLI::App& verb, ReplayArguments& arguments) {
  const ReplayOptions named{
      .trace = verb.add_option("--trace", arguments.trace, "The trace, or a journal of berthd."),
      .cluster = verb.add_option("--cluster", arguments.cluster,
                                 "NODESxGPUS, SWITCHESxNODESxGPUS, or a cluster file.")};
  add_trace_options(verb, arguments.how);
  verb.add_option("--place", arguments.place,
                  "The placement, instead of the one each policy is meant to go with.");
  verb.add_option("--service", arguments.service,
                  "Service of past jobs in GPU-seconds, one to a line after a header: what the "
                  "Gittins policies learn from.");
  verb.add_option("--weights", arguments.weights,
                  "What users (queues, virtual clusters) weigh: alice=2,bob=0.5, or a CSV of names "
                  "and weights; everybody else weighs 1.");
  verb.add_option("--admission", arguments.admission,
                  "How strictly memory is looked after: guarantee, declared, free-memory, none.")
      ->capture_default_str();
  verb.add_option("--estimates", arguments.estimates,
                  "What policies are told of run times: exact, none, +-N% of the truth, learned "
                  "from the jobs that ended before, or as wrong as the model of helios was.")
      ->capture_default_str();
  verb.add_option("--load", arguments.load, "Arrivals come this many times as fast.")
      ->check(CLI::Range(kLeastLoad, kMostLoad))
      ->capture_default_str();
  verb.add_option("--seed", arguments.seed, "Of whatever is drawn.")->capture_default_str();
  verb.add_flag("--waits", arguments.waits, "Say why jobs waited: time by reason.");
  verb.add_option(
          "--predictions", arguments.predictions,
          "Ask for so many jobs, when they are submitted, when they will start, and say how "
          "far off that was; each costs a run of a copy forward.")
      ->check(CLI::Range(std::size_t{0}, kMostPredictions))
      ->capture_default_str();
  add_machine_options(verb, arguments.machine);
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
  auto input = read_trace(arguments.trace, arguments.how, arguments.seed);
  if (!input) return std::unexpected(input.error());
  auto cluster = read_cluster(arguments.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  if (auto done = trace::accept_types(input->trace, *cluster); !done) {
    return std::unexpected(done.error());
  }
  auto service = service_of(arguments.service);
  if (!service) return std::unexpected(service.error());
  auto weights = weights_of(arguments.weights, input->trace);
  if (!weights) return std::unexpected(weights.error());
  sim::apply_load(input->trace, arguments.load);
  sim::apply_estimates(input->trace, *estimates, arguments.seed);
  sim::Options options{.settings = {.admission = {.mode = *mode}},
                       .weights = std::move(*weights),
                       .told = estimates->kind == sim::Estimates::Kind::Learned
                                   ? sim::Told::Learned
                                   : sim::Told::AsStated,
                       .seed = arguments.seed};
  if (auto done = read_machine(arguments.machine, input->trace, options); !done) {
    return std::unexpected(done.error());
  }
  const std::size_t kept_off = trace::keep_off_types(input->trace, *cluster, options.rates.speeds);
  if (kept_off > 0) {
    std::fprintf(stderr, "berth: %zu jobs keep off types of GPU on which their throughput is 0\n",
                 kept_off);
  }
  if (auto done = sim::check_types(options.power, *cluster); !done) {
    return std::unexpected(done.error());
  }
  return Replay{.trace = std::move(input->trace),
                .cluster = std::move(*cluster),
                .service = std::move(*service),
                .options = std::move(options)};
}

Expected<Way> way_named(const std::string& word, const ReplayArguments& arguments) {
  const std::size_t at = word.find('@');
  Way way{.word = word, .policy = word.substr(0, at), .place = arguments.place};
  if (at != std::string::npos) way.place = word.substr(at + 1);
  const auto made = make_policy(way.policy, way.place);
  if (!made) return std::unexpected(made.error());
  if (arguments.service.empty() && way.policy.ends_with("gittins")) {  // would be another policy
    return fail(ErrorCode::InvalidArgument,
                "policy " + way.policy + " learns from past jobs: give it --service FILE");
  }
  return way;
}

Expected<sim::Result> run_replay(const Replay& replay, const ReplayArguments& arguments,
                                 const Way& way, const sim::Options& options) {
  const auto make = [&] { return make_policy(way.policy, way.place, {.service = replay.service}); };
  auto made = make();
  if (!made) return std::unexpected(made.error());
  const auto placer = (*placer_for(way.policy, way.place))->make();  // to explain waits with
  sim::Options all = replay.options;
  all.record = options.record;
  all.explain_waits = options.record || arguments.waits;
  all.placer = placer.get();
  all.alone = std::ranges::find(policies(), way.policy, &PolicyEntry::name)->options.exclusive;
  all.progress = options.progress;
  all.predictions = arguments.predictions;
  all.again = [&] { return *make(); };
  return sim::simulate(replay.trace, replay.cluster, std::move(*made), all);
}

sim::RunNames names_of(const ReplayArguments& arguments, const Way& way) {
  return {arguments.trace, arguments.cluster, way.policy,
          std::string((*placer_for(way.policy, way.place))->name), way.word};
}

}  // namespace berth::cli
