#include "cli/study/machine_options.hpp"

#include <CLI/CLI.hpp>
#include <array>

#include "cli/print/numbers.hpp"
#include "cli/study/trace_input.hpp"
#include "core/text/amounts.hpp"
#include "trace/speed_files.hpp"

namespace berth::cli {

namespace {

/// `20%`, in parts per million.
Expected<std::int64_t> percent(const char* option, std::string_view text, std::int64_t most) {
  const std::string_view digits = text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0));
  const auto value = parse_count(digits, most);
  if (value && text.ends_with('%')) return *value * 10'000;
  return fail(ErrorCode::InvalidArgument, std::string(option) + ": '" + std::string(text) +
                                              "' is not N% with N from 0 to " +
                                              std::to_string(most));
}

/// No GPU is shared: every job with a GPU has it to itself.
void keep_alone(trace::Trace& trace) {
  for (trace::TraceJob& job : trace.jobs) {
    GpuRequest& gpu = job.spec.request.gpu;
    if (gpu.count > GpuCount(0)) gpu.sharing = Sharing::Alone;
  }
}

Expected<void> read_rates(const MachineArguments& arguments, trace::Trace& trace,
                          sim::RateModel& rates) {
  const bool exclusive = arguments.share == "exclusive";
  if (exclusive) keep_alone(trace);
  auto share = sim::parse_share(exclusive ? "free" : arguments.share);
  if (!share) return std::unexpected(share.error());
  rates.share = std::move(*share);
  const auto utilisation = percent("--utilisation", arguments.utilisation, 100);
  if (!utilisation) return std::unexpected(utilisation.error());
  rates.utilisation = Rate(*utilisation);
  const auto penalty = percent("--spread-penalty", arguments.spread_penalty, 99);
  if (!penalty) return std::unexpected(penalty.error());
  rates.spread = Rate(Rate::kWhole - *penalty);
  for (const std::string& path : arguments.speeds) {
    const auto text = read_text(path);
    if (!text) return std::unexpected(text.error());
    auto done = trace::read_speeds(*text, path, arguments.reference, rates.speeds);
    if (!done) return done;
  }
  if (!arguments.share.starts_with("pairs") || rates.speeds.has_pairs()) return {};
  return fail(ErrorCode::InvalidArgument,
              "--share: '" + arguments.share + "', and no table of --speeds has pairs");
}

/// Reads `text` if it was given. Errors: InvalidArgument naming the option.
Expected<void> read_time(const char* option, const std::string& text, Duration& into) {
  if (text.empty()) return {};
  const auto time = parse_duration(text);
  if (!time) {
    return fail(time.error().code, std::string(option) + " " + text + ": " + time.error().message);
  }
  into = *time;
  return {};
}

Expected<void> read_costs(const MachineArguments& arguments, sim::Costs& costs) {
  const bool never = arguments.checkpoint == "never";
  costs.can_suspend = arguments.checkpoint.empty();
  auto done = read_time("--start-latency", arguments.start_latency, costs.start);
  if (done) done = read_time("--restart-cost", arguments.restart_cost, costs.restart);
  if (done) done = read_time("--stop-latency", arguments.stop_latency, costs.stop);
  if (!done || never) return done;
  return read_time("--checkpoint-every", arguments.checkpoint, costs.checkpoint);
}

/// Returns: whether it is the second word.
Expected<bool> second_of(const char* option, std::string_view text, std::string_view first,
                         std::string_view second) {
  if (text == first || text == second) return text == second;
  return fail(ErrorCode::InvalidArgument, std::string(option) + ": '" + std::string(text) +
                                              "' is unknown; valid values: " + std::string(first) +
                                              ", " + std::string(second));
}

Expected<void> read_suspend(const MachineArguments& arguments, sim::Options& options) {
  sim::SuspendModel& suspend = options.suspend;
  const auto in_place = second_of("--suspend-back", arguments.suspend_back, "any", "own");
  if (!in_place) return std::unexpected(in_place.error());
  suspend.in_place = *in_place;
  const auto one_gpu = second_of("--suspendable", arguments.suspendable, "all", "one-gpu");
  if (!one_gpu) return std::unexpected(one_gpu.error());
  suspend.one_gpu_only = *one_gpu;
  const auto fails = percent("--suspend-fails", arguments.suspend_fails, 100);
  if (!fails) return std::unexpected(fails.error());
  suspend.fails = *fails / 10'000;
  if (!arguments.host_memory.empty()) {
    const auto size = parse_size(arguments.host_memory);
    if (!size) {
      return fail(size.error().code,
                  "--host-memory: '" + arguments.host_memory + "' " + size.error().message);
    }
    suspend.host_memory = *size;
  }
  if (!arguments.suspend_rate.empty()) {
    const auto rate = sim::parse_suspend_rate(arguments.suspend_rate);
    if (!rate) return std::unexpected(rate.error());
    suspend.rate = *rate;
  }
  if (suspend.is_usual() || options.costs.can_suspend) return {};
  return fail(ErrorCode::InvalidArgument,
              "--checkpoint-every: no job is suspended then, which --suspend-back, --suspendable, "
              "--suspend-fails, --host-memory and --suspend-rate are about");
}

/// `3,1h` or `none`.
Expected<void> read_bounds(std::string_view text, PreemptionBounds& bounds) {
  if (text == "none") {
    bounds = kUnbounded;
    return {};
  }
  const std::size_t comma = text.find(',');
  const auto most = parse_count(text.substr(0, comma), 1 << 20);
  const auto lost =
      comma == text.npos ? parse_duration("") : parse_duration(text.substr(comma + 1));
  if (!most || !lost) {
    return fail(ErrorCode::InvalidArgument,
                "--preemption-bounds: '" + std::string(text) +
                    "' is neither a number of times and a time, such as 3,1h, nor none");
  }
  bounds = {.most = static_cast<std::int32_t>(*most), .lost = *lost};
  return {};
}

Expected<void> read_memory(const MachineArguments& arguments, sim::Options& options) {
  sim::MemoryModel& memory = options.memory;
  memory.is_on = !arguments.memory_error.empty() || !arguments.memory_ramp.empty() ||
                 !arguments.foreign.empty();
  memory.retries = arguments.retries;
  if (!arguments.foreign.empty()) {
    const auto foreign = sim::parse_foreign(arguments.foreign);
    if (!foreign) return std::unexpected(foreign.error());
    options.foreign = *foreign;
  }
  if (!arguments.memory_error.empty()) {
    std::string_view text = arguments.memory_error;
    if (text.starts_with("+-")) text.remove_prefix(2);
    const auto error = percent("--memory-error", text, 99);
    if (!error) return std::unexpected(error.error());
    memory.error = *error / 10'000;
  }
  if (auto done = read_time("--memory-ramp", arguments.memory_ramp, memory.ramp); !done)
    return done;
  if (arguments.vram_shrink.empty()) return {};
  options.shrink.emplace();
  return read_time("--vram-shrink", arguments.vram_shrink, options.shrink->warm_up);
}

Expected<void> read_programs(const MachineArguments& arguments, sim::Options& options) {
  using sim::Programs;
  const std::string& word = arguments.programs;
  if (word.empty()) {
    options.programs = options.rates.is_plain() ? Programs::None : Programs::Model;
  } else if (word == "model") {
    options.programs = Programs::Model;
  } else if (word == "name") {
    options.programs = Programs::Name;
  } else if (word != "none") {
    return fail(ErrorCode::InvalidArgument,
                "--programs: '" + word + "' is unknown; valid values: model, name, none");
  }
  return {};
}

Expected<void> read_progress(const MachineArguments& arguments, Duration& every) {
  const auto done = read_time("--progress-every", arguments.progress, every);
  if (!done || every >= seconds(1)) return done;
  return fail(ErrorCode::InvalidArgument,
              "--progress-every: '" + arguments.progress + "' is less than 1s");
}

Expected<void> read_probe(const MachineArguments& arguments, Duration& every) {
  const auto done = read_time("--probe-every", arguments.probe, every);
  if (!done || every >= Duration(1000)) return done;
  return fail(ErrorCode::InvalidArgument,
              "--probe-every: '" + arguments.probe + "' is less than 1ms");
}

/// An option with a text; what it is by default is shown unless it is nothing.
struct TextOption {
  const char* name;
  std::string MachineArguments::* text;
  const char* help;
};

constexpr auto kTextOptions = std::to_array<TextOption>({
    {"--share", &MachineArguments::share,
     "Speed on a shared GPU for pairs that were not measured: free, timeslice, timeslice:5% (lost "
     "by switching), mps, duty, duty:5% (lost by each further kernel), pairs (of --speeds, which "
     "must have some); exclusive: jobs share no GPU. Further keys are in doc/simulator.md."},
    {"--utilisation", &MachineArguments::utilisation,
     "With mps and duty: how busy a job alone keeps a GPU, for jobs without a figure or a share."},
    {"--told-speeds", &MachineArguments::told_speeds,
     "What policies know of --speeds: exact; +-20%: each figure with an error of 20 % at most, "
     "drawn by the seed; learned: only what run times show."},
    {"--reference-type", &MachineArguments::reference,
     "The GPU type that run times are for, in Gavel's throughputs."},
    {"--spread-penalty", &MachineArguments::spread_penalty,
     "Speed lost on more nodes than a job needs, for jobs without a figure in a table."},
    {"--start-latency", &MachineArguments::start_latency,
     "Time from a launch to the job's first step: 20s, 1.5m; 0 by default."},
    {"--restart-cost", &MachineArguments::restart_cost,
     "Extra time of every start but the first, such as 62s."},
    {"--stop-latency", &MachineArguments::stop_latency,
     "Time from the order to stop until the GPUs are free."},
    {"--checkpoint-every", &MachineArguments::checkpoint,
     "A preempted job is ended and continues from its last checkpoint, one for every so much "
     "work, or never; by default it is suspended and keeps its work."},
    {"--suspend-back", &MachineArguments::suspend_back,
     "Where a suspended job goes on: any; own: only on the nodes where it was, with as many GPUs "
     "on "
     "each."},
    {"--suspendable", &MachineArguments::suspendable,
     "Which jobs can be suspended: all; one-gpu: none of several GPUs. Others are left alone."},
    {"--suspend-fails", &MachineArguments::suspend_fails,
     "The part of the jobs, drawn by the seed, that cannot be suspended and are left alone."},
    {"--host-memory", &MachineArguments::host_memory,
     "Host memory of each node for suspended jobs, such as 256G. A job for which there is too "
     "little runs on, and is left alone for ten minutes."},
    {"--suspend-rate", &MachineArguments::suspend_rate,
     "Bytes a second at which a suspended job's memory leaves the GPUs of a node and comes back: "
     "2G:6G, beside --stop-latency and --restart-cost; at once by default."},
    {"--preemption-bounds", &MachineArguments::bounds,
     "With --checkpoint-every never: how often a job is preempted at most, and the run time after "
     "which it is not preempted, as 3,1h; or none."},
    {"--memory-error", &MachineArguments::memory_error,
     "Jobs need the memory they state times 1 +-N%, drawn by the seed, and die when none is "
     "left."},
    {"--memory-ramp", &MachineArguments::memory_ramp,
     "Time from a launch until a job holds the memory it needs; 30s with a memory error."},
    {"--vram-shrink", &MachineArguments::vram_shrink,
     "So long after its start a job is charged what it held most so far and a tenth of that, at "
     "least 512 MiB, more, if that is less than before: 10m. Needs a memory that jobs truly use."},
    {"--foreign", &MachineArguments::foreign,
     "Processes outside berth take GPU memory and leave: every=6h,for=30m,size=2G-20G; mean "
     "times, drawn by the seed for each GPU."},
    {"--probe-every", &MachineArguments::probe,
     "GPUs are measured so often, 1ms at least: policies learn of memory then, and how busy GPUs "
     "are; by default they learn of memory at once."},
    {"--faults", &MachineArguments::faults,
     "Nodes, or single GPUs, fail and are repaired: node-mtbf=30d,gpu-mtbf=90d,repair=2h, means, "
     "drawn by the seed; their jobs are submitted again."},
    {"--price", &MachineArguments::price,
     "Price of an hour of a GPU with a tenant: 2.5, or by type v100=2.48,k80=0.45."},
    {"--power", &MachineArguments::power,
     "Watts of a GPU without and with a tenant: 60:300, or by type v100=60:300,k80=30:150; prints "
     "the energy of the run."},
    {"--programs", &MachineArguments::programs,
     "Which jobs run the same program, for policies that learn from run times: model; name, "
     "without digits; none. By default model if --speeds or --share change speeds, else "
     "none."},
    {"--progress-every", &MachineArguments::progress,
     "Jobs report their progress after every so much work, 1s at least; by default never."},
});

}  // namespace

void add_machine_options(CLI::App& verb, MachineArguments& arguments) {
  const char* const group = "The machine (doc/simulator.md)";
  for (const TextOption& option : kTextOptions) {
    std::string& text = arguments.*option.text;
    auto* const added = verb.add_option(option.name, text, option.help)->group(group);
    if (!text.empty()) added->capture_default_str();
  }
  verb.add_option("--speeds", arguments.speeds,
                  "Measured speeds by nodes, GPU type or neighbour: Gavel's throughputs, Chronus' "
                  "model_info, Lucid's pairs, or berth's own CSV; may be given several times.")
      ->group(group);
  verb.add_option(
          "--retries", arguments.retries,
          "How often a job that ran out of memory is submitted again with a larger request.")
      ->check(whole_number(0, 100))
      ->group(group)
      ->capture_default_str();
  verb.add_flag("--dependencies", arguments.dependencies,
                "Jobs wait for the jobs that they come after in the trace.")
      ->group(group);
}

Expected<void> read_machine(const MachineArguments& arguments, trace::Trace& trace,
                            sim::Options& options) {
  if (auto done = read_costs(arguments, options.costs); !done) return done;
  if (auto done = read_suspend(arguments, options); !done) return done;
  if (auto done = read_bounds(arguments.bounds, options.bounds); !done) return done;
  auto prices = sim::parse_prices(arguments.price);
  if (!prices) return std::unexpected(prices.error());
  options.prices = std::move(*prices);
  auto power = sim::parse_power(arguments.power);
  if (!power) return std::unexpected(power.error());
  options.power = std::move(*power);
  options.dependencies = arguments.dependencies;
  if (!arguments.faults.empty()) {
    const auto faults = sim::parse_faults(arguments.faults);
    if (!faults) return std::unexpected(faults.error());
    options.faults = *faults;
  }
  if (auto done = read_memory(arguments, options); !done) return done;
  if (auto done = read_probe(arguments, options.probe_every); !done) return done;
  if (auto done = read_progress(arguments, options.report_every); !done) return done;
  if (auto done = read_rates(arguments, trace, options.rates); !done) return done;
  const auto told = sim::parse_told_speeds(arguments.told_speeds);
  if (!told) return std::unexpected(told.error());
  options.told_speeds = *told;
  return read_programs(arguments, options);
}

}  // namespace berth::cli
