#include "cli/study/replay.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "cli/print/amounts.hpp"
#include "cli/print/numbers.hpp"
#include "core/text/amounts.hpp"
#include "core/text/words.hpp"
#include "policy/registry.hpp"
#include "sim/by_type.hpp"
#include "sim/shards.hpp"
#include "sim/weights.hpp"
#include "trace/csv.hpp"

namespace berth::cli {

namespace {

constexpr double kLeastLoad = 0.001;
constexpr double kMostLoad = 1000;
constexpr std::size_t kMostPredictions = 1'000'000;
constexpr std::size_t kMostSeeds = 1000;
constexpr std::int64_t kMostFactor = 1'000'000;  ///< Thousandths.
constexpr const char* kOutput = "Results";

Expected<std::vector<std::int64_t>> service_of(const std::string& path) {
  if (path.empty()) return {};
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return trace::read_samples(*text, path);
}

Expected<Duration> half_life_of(const std::string& text) {
  if (text.empty()) return Settings{}.service_half_life;
  const auto time = parse_duration(text);
  if (time) return *time;
  return fail(ErrorCode::InvalidArgument, "--half-life: '" + text + "' " + time.error().message);
}

/// By number of user. Warns of users that the trace does not have, because that may be a mistake.
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

/// Once the speeds are known.
Expected<void> value_gpus(const std::string& argument, const Cluster& cluster,
                          sim::Options& options) {
  GpuValues& values = options.settings.gpu_values;
  if (argument.empty()) return {};
  if (argument == "speeds") {
    values = options.rates.speeds.type_values();
    if (!values.empty()) return {};
    return fail(ErrorCode::InvalidArgument,
                "--gpu-values: speeds, and no table of --speeds has types of GPU");
  }
  auto given = sim::parse_gpu_values(argument);
  if (!given) return std::unexpected(given.error());
  values = std::move(*given);
  return sim::check_types("--gpu-values", values, cluster);
}

Expected<std::vector<sim::VirtualCluster>> virtual_clusters_of(const ReplayArguments& arguments) {
  if (arguments.virtual_clusters.empty()) return {};
  if (arguments.predictions > 0 || !arguments.machine.power.empty()) {
    return fail(ErrorCode::InvalidArgument,
                "--virtual-clusters goes neither with --predictions nor with --power");
  }
  const auto text = read_text(arguments.virtual_clusters);
  if (!text) return std::unexpected(text.error());
  return sim::read_virtual_clusters(*text, arguments.virtual_clusters);
}

bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error);
}

Expected<sim::JobTimes> job_times(const std::string& path) {
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return sim::read_job_times(*text, path);
}

/// `2`, `1.5`, or a file.
Expected<Inputs::Times> limits_of(const std::string& text) {
  if (text.empty()) return {};
  if (is_file(text)) {
    auto times = job_times(text);
    if (!times) return std::unexpected(times.error());
    return Inputs::Times{.by_job = std::move(*times)};
  }
  const auto factor = parse_weight(text);
  if (factor && *factor <= kMostFactor) return Inputs::Times{.by_job = {}, .factor = *factor};
  return fail(ErrorCode::InvalidArgument,
              "--limits: '" + text +
                  "' is not a factor of the run time from 0.001 to 1000, and no file of jobs and "
                  "seconds");
}

/// `1d:8d`, `1d:`, `:8d`; not `1:30:00`, whose colons are others.
Expected<std::optional<std::pair<Duration, Duration>>> window_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto refuse = [&] {
    return fail(ErrorCode::InvalidArgument,
                "--measure: '" + text +
                    "' is not FROM:TO, times after the first submission such as 1d:8d or 12h:");
  };
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon != text.rfind(':')) return refuse();
  std::pair<Duration, Duration> window{Duration(0), kForever};
  const std::string from = text.substr(0, colon);
  const std::string to = text.substr(colon + 1);
  if (const auto time = parse_duration(from); time) {
    window.first = *time;
  } else if (!from.empty() && from != "0") {
    return refuse();
  }
  if (const auto time = parse_duration(to); time) {
    window.second = *time;
  } else if (!to.empty()) {
    return refuse();
  }
  if (window.first >= window.second) return refuse();
  return window;
}

/// Of a file of times: what does not fit the trace may be a slip, and one without any of its jobs
/// is the wrong file. Errors: InvalidArgument.
Expected<void> check_matched(const std::string& option, const sim::Unmatched& unmatched,
                             const trace::Trace& trace) {
  if (unmatched.jobs == trace.jobs.size()) {
    return fail(ErrorCode::InvalidArgument,
                option + ": the file names no job of the trace, whose first is '" +
                    trace::shown(trace.jobs.front().name) + "'");
  }
  if (unmatched.names > 0) {
    std::fprintf(stderr, "berth: %s: %zu of the jobs it names are not in the trace\n",
                 option.c_str(), unmatched.names);
  }
  if (unmatched.jobs > 0) {
    std::fprintf(stderr, "berth: %s: %zu jobs of the trace are not in it\n", option.c_str(),
                 unmatched.jobs);
  }
  return {};
}

/// What jobs are told to the engine with, before anything is drawn.
Expected<void> give_times(Inputs& inputs) {
  trace::Trace& trace = inputs.trace;
  if (inputs.limits.by_job) {
    const sim::Unmatched unmatched = sim::give_limits(trace, *inputs.limits.by_job);
    if (auto done = check_matched("--limits", unmatched, trace); !done) return done;
  } else if (inputs.limits.factor > 0) {
    sim::limit_by_run_time(trace, inputs.limits.factor);
  }
  if (!inputs.told.by_job) return {};
  const sim::Unmatched unmatched = sim::give_estimates(trace, *inputs.told.by_job);
  return check_matched("--estimates", unmatched, trace);
}

/// Errors: InvalidArgument if no job arrives in it.
Expected<std::optional<sim::Window>> measured_of(const Inputs& inputs,
                                                 const ReplayArguments& arguments) {
  if (!inputs.measured || inputs.trace.jobs.empty()) return std::nullopt;
  const Instant first = inputs.trace.jobs.front().submit;
  const sim::Window window{later(first, inputs.measured->first),
                           later(first, inputs.measured->second)};
  const auto counts = [&](const trace::TraceJob& job) { return window.has(job.submit); };
  if (std::ranges::any_of(inputs.trace.jobs, counts)) return window;
  return fail(ErrorCode::InvalidArgument, "--measure: no job arrives in " + arguments.measure);
}

/// GPUs of a shape have no type, and a job that names some could never start.
void forget_types(Inputs& inputs, const std::string& cluster) {
  if (!trace::is_shape(cluster)) return;
  std::size_t count = 0;
  for (trace::TraceJob& job : inputs.trace.jobs) {
    count += job.types.empty() ? 0 : 1;
    job.types.clear();
  }
  if (count == 0) return;
  std::fprintf(stderr,
               "berth: --cluster %s says no types of GPU: %zu jobs that name types run on any; a "
               "cluster file has types\n",
               cluster.c_str(), count);
}

}  // namespace

ReplayOptions add_replay_options(CLI::App& verb, ReplayArguments& arguments) {
  const ReplayOptions named{
      .trace = verb.add_option("--trace", arguments.trace, "The trace, or a journal of berthd."),
      .cluster = verb.add_option("--cluster", arguments.cluster,
                                 "NODESxGPUS, SWITCHESxNODESxGPUS, either with xSIZE for "
                                 "their memory, or a cluster file.")};
  add_trace_options(verb, arguments.how);
  verb.add_option("--place", arguments.place, "The placement, instead of each policy's default.");
  verb.add_option(
      "--service", arguments.service,
      "Service of past jobs in GPU-seconds, one per line after a header, from which the "
      "Gittins policies learn.");
  verb.add_option("--weights", arguments.weights,
                  "Weights of users (queues, virtual clusters): alice=2,bob=0.5, or a CSV of names "
                  "and weights; every other user has weight 1.");
  verb.add_option("--gpu-values", arguments.gpu_values,
                  "What an hour on a GPU of a type counts in users' shares: v100=1,k80=0.3; or "
                  "speeds: the mean speed on it in --speeds. A type that is not named counts 1.");
  verb.add_option("--virtual-clusters", arguments.virtual_clusters,
                  "Users with nodes and a scheduler of their own, such as virtual clusters: a "
                  "CSV of names and numbers of nodes.");
  verb.add_option(
      "--half-life", arguments.half_life,
      "Time after which past service of a user counts half, for policies that share by it; "
      "7d by default.");
  verb.add_option("--admission", arguments.admission,
                  "How jobs are admitted by memory: guarantee, declared, free-memory, none.")
      ->capture_default_str();
  verb.add_option("--estimates", arguments.estimates,
                  "What policies know of run times: exact, none, +-N% of the truth, learned "
                  "(from jobs that ended before), helios (as wrong as its model was), "
                  "adversarial (the longest job's is the shortest run time, and so on), or a CSV "
                  "of jobs and seconds.")
      ->capture_default_str();
  verb.add_option("--limits", arguments.limits,
                  "Time limits instead of the trace's: a factor of the run time, such as "
                  "1.5, or a CSV of jobs and seconds.");
  verb.add_option("--shards", arguments.shards,
                  "Jobs take GPUs by fixed fractions, such as quarters (4): as many as hold the "
                  "memory they state. Admission is as --admission says.")
      ->check(whole_number(1, sim::kMostShards));
  verb.add_option("--load", arguments.load, "Make arrivals this many times as fast.")
      ->check(decimal_number(kLeastLoad, kMostLoad))
      ->capture_default_str();
  verb.add_option(
      "--measure", arguments.measure,
      "FROM:TO after the first submission, such as 1d:8d: only jobs that arrive in that time "
      "count in the figures.");
  verb.add_option("--seed", arguments.seed, "Seed of all random draws.")
      ->check(whole_number(0, kMostSeed))
      ->capture_default_str();
  verb.add_option(
      "--seeds", arguments.seeds,
      "Run each policy with this many seeds from --seed on, or with the seeds of a list such "
      "as 1,2,5, and print confidence intervals.");
  verb.add_option("--by", arguments.by, "Print figures by user, by size in GPUs, or both.")
      ->delimiter(',')
      ->transform(tight_list)
      ->check(CLI::IsMember({"user", "size"}))
      ->group(kOutput);
  verb.add_flag("--json", arguments.json, "Print the summary as JSON.")->group(kOutput);
  verb.add_flag("--waits", arguments.waits, "Print why jobs waited: time by reason.");
  verb.add_option("--predictions", arguments.predictions,
                  "Predict the start of this many jobs when they are submitted, and print how "
                  "far off the predictions were and how many started by the times of their "
                  "intervals; each one runs a copy of the engine forward.")
      ->check(whole_number(0, kMostPredictions))
      ->capture_default_str();
  add_machine_options(verb, arguments.machine);
  return named;
}

CLI::Option* add_output(CLI::App& verb, const std::string& name, std::string& path,
                        const std::string& help) {
  return verb.add_option(name, path, help)->group(kOutput);
}

void note_given(const CLI::App& verb, ReplayArguments& arguments) {
  static constexpr std::array<std::string_view, 7> kApart = {
      "--trace", "--cluster", "--policy", "--policies", "--load", "--seed", "--seeds"};
  for (const CLI::Option* const option : verb.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0) continue;
    for (const std::string& value : option->results()) {
      if (value.empty()) throw CLI::ValidationError(name, "needs a value");
    }
    if (option->get_group() == kOutput) continue;
    if (std::ranges::find(kApart, name) != kApart.end()) continue;
    std::string values;
    for (const std::string& value : option->results()) {
      values += (values.empty() ? "" : ",") + value;
    }
    arguments.given.emplace_back(name, std::move(values));
  }
}

void check_replay_is_named(const ReplayArguments& arguments) {
  if (arguments.trace.empty()) throw CLI::RequiredError("--trace");
  if (arguments.cluster.empty()) throw CLI::RequiredError("--cluster");
}

Expected<std::vector<std::uint64_t>> seeds_of(const ReplayArguments& arguments) {
  const std::string& text = arguments.seeds;
  if (text.empty()) return std::vector{arguments.seed};
  const auto refuse = [&] {
    return fail(ErrorCode::InvalidArgument,
                "--seeds: '" + text + "' is neither a number from 1 to " +
                    std::to_string(kMostSeeds) + " nor a list of as many different seeds");
  };
  std::vector<std::uint64_t> numbers;
  const std::string list = tight_list(text);
  for (std::string_view rest = list;;) {
    const std::string_view part = rest.substr(0, rest.find(','));
    std::uint64_t number = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), number);
    if (read.ec != std::errc() || read.ptr != part.data() + part.size()) return refuse();
    numbers.push_back(number);
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  if (numbers.size() == 1) {  // how many
    const std::uint64_t count = numbers.front();
    if (count < 1 || count > kMostSeeds || arguments.seed > kMostSeed - count) return refuse();
    numbers.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) numbers[i] = arguments.seed + i;
  }
  const bool is_set = std::set(numbers.begin(), numbers.end()).size() == numbers.size();
  if (!is_set || numbers.size() > kMostSeeds) return refuse();
  return numbers;
}

Expected<Inputs> read_inputs(const ReplayArguments& arguments) {
  Inputs inputs;
  if (is_file(arguments.estimates)) {
    auto times = job_times(arguments.estimates);
    if (!times) return std::unexpected(times.error());
    inputs.told.by_job = std::move(*times);
  } else {
    const auto estimates = sim::parse_estimates(arguments.estimates);
    if (!estimates) return std::unexpected(estimates.error());
    inputs.estimates = *estimates;
  }
  const auto mode = parse_word<AdmissionMode>("--admission: ", arguments.admission);
  if (!mode) return std::unexpected(mode.error());
  inputs.admission = *mode;
  const auto half_life = half_life_of(arguments.half_life);
  if (!half_life) return std::unexpected(half_life.error());
  inputs.half_life = *half_life;
  auto limits = limits_of(arguments.limits);
  if (!limits) return std::unexpected(limits.error());
  inputs.limits = std::move(*limits);
  const auto window = window_of(arguments.measure);
  if (!window) return std::unexpected(window.error());
  inputs.measured = *window;
  auto input = read_trace_file(arguments.trace, arguments.how);
  if (!input) return std::unexpected(input.error());
  inputs.trace = std::move(input->trace);
  auto cluster = read_cluster(arguments.cluster);
  if (!cluster) return std::unexpected(cluster.error());
  inputs.cluster = std::move(*cluster);
  forget_types(inputs, arguments.cluster);
  if (auto done = trace::accept_types(inputs.trace, inputs.cluster); !done) {
    return std::unexpected(done.error());
  }
  auto parts = virtual_clusters_of(arguments);
  if (!parts) return std::unexpected(parts.error());
  inputs.virtual_clusters = std::move(*parts);
  auto service = service_of(arguments.service);
  if (!service) return std::unexpected(service.error());
  inputs.service = std::move(*service);
  auto weights = weights_of(arguments.weights, inputs.trace);
  if (!weights) return std::unexpected(weights.error());
  inputs.weights = std::move(*weights);
  if (auto done = give_times(inputs); !done) return std::unexpected(done.error());
  return inputs;
}

Expected<Replay> replay_of(Inputs inputs, const ReplayArguments& arguments, std::uint64_t seed) {
  if (auto done = draw_vram(inputs.trace, arguments.how, seed); !done) {
    return std::unexpected(done.error());
  }
  if (arguments.shards > 0) {
    auto done = sim::give_shards(inputs.trace, inputs.cluster, arguments.shards);
    if (!done) return std::unexpected(done.error());
  }
  sim::apply_load(inputs.trace, arguments.load);
  const auto measured = measured_of(inputs, arguments);
  if (!measured) return std::unexpected(measured.error());
  if (!inputs.told.by_job) sim::apply_estimates(inputs.trace, inputs.estimates, seed);
  Settings settings;
  settings.admission.mode = inputs.admission;
  settings.service_half_life = inputs.half_life;
  sim::Options options{.settings = settings,
                       .weights = std::move(inputs.weights),
                       .told = inputs.estimates.kind == sim::Estimates::Kind::Learned
                                   ? sim::Told::Learned
                                   : sim::Told::AsStated,
                       .seed = seed,
                       .measured = *measured};
  if (auto done = read_machine(arguments.machine, inputs.trace, options); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = value_gpus(arguments.gpu_values, inputs.cluster, options); !done) {
    return std::unexpected(done.error());
  }
  const std::size_t kept_off =
      trace::keep_off_types(inputs.trace, inputs.cluster, options.rates.speeds);
  if (kept_off > 0 && seed == seeds_of(arguments)->front()) {
    std::fprintf(stderr, "berth: %zu jobs keep off types of GPU on which their throughput is 0\n",
                 kept_off);
  }
  if (auto done = sim::check_types("--price", options.prices, inputs.cluster); !done) {
    return std::unexpected(done.error());
  }
  if (auto done = sim::check_types("--power", options.power, inputs.cluster); !done) {
    return std::unexpected(done.error());
  }
  return Replay{.trace = std::move(inputs.trace),
                .cluster = std::move(inputs.cluster),
                .virtual_clusters = std::move(inputs.virtual_clusters),
                .service = std::move(inputs.service),
                .options = std::move(options)};
}

Expected<Way> way_named(const std::string& word, const ReplayArguments& arguments) {
  if (const auto done = check_place(word, arguments.place); !done) {
    return std::unexpected(done.error());
  }
  auto chosen = choose(word, arguments.place);
  if (!chosen) return std::unexpected(chosen.error());
  if (arguments.service.empty() && chosen->policy->about->needs.samples) {
    return fail(ErrorCode::InvalidArgument, "policy " + std::string(chosen->policy->name) +
                                                " learns from past jobs: give it --service FILE");
  }
  return Way{.word = word, .chosen = std::move(*chosen)};
}

Expected<sim::Result> run_replay(const Replay& replay, const ReplayArguments& arguments,
                                 const Way& way, const sim::Options& options) {
  const auto make = [&] { return way.chosen.make({.service = replay.service}); };
  sim::Options all = replay.options;
  all.record = options.record;
  all.explain_waits = options.record || arguments.waits;
  all.progress = options.progress;
  all.predictions = arguments.predictions;
  all.again = make;
  const auto run = [&](const trace::Trace& trace, const Cluster& cluster,
                       const sim::Options& its_own) -> Expected<sim::Result> {
    return sim::simulate(trace, cluster, make(), its_own);
  };
  if (replay.virtual_clusters.empty()) return run(replay.trace, replay.cluster, std::move(all));
  return sim::simulate_apart({replay.trace, replay.cluster}, replay.virtual_clusters, all, run);
}

sim::RunNames names_of(const ReplayArguments& arguments, const Way& way, std::uint64_t seed) {
  return {.trace = arguments.trace,
          .cluster = arguments.cluster,
          .policy = way.chosen.name,
          .place = way.chosen.place,
          .label = way.word,
          .how = {.version = BERTH_VERSION,
                  .trace_sha256 = "",
                  .load = arguments.load,
                  .seed = seed,
                  .options = arguments.given}};
}

}  // namespace berth::cli
