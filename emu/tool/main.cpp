// berth-emu: makes, shows and disturbs emulated GPUs. See doc/emulator.md.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "emu/emulator.hpp"

namespace berth::emu {
namespace {

constexpr int kBadUsage = 2;

constexpr const char* kHelp =
    R"(usage: berth-emu create --gpus 2x24GiB [option...] PATH   make the state file and emu.env
       berth-emu show PATH                                 print GPUs and processes
       berth-emu xid PATH --gpu N --xid N                  inject an Xid event; 79 loses the GPU
       berth-emu restore PATH --gpu N                      bring a lost GPU back
       berth-emu fault PATH --call CALL [option...]        make the next checkpoint calls go wrong
       berth-emu env PATH                                  write emu.env again and print its path

options of fault (CALL is state, lock, checkpoint, restore, unlock or thread):
  --error N         the CUresult to return instead (0: none)
  --after N         the CUresult to return after the work is done
  --delay TIME      wait so long first; `forever` hangs
  --times N         so many calls (1), `always`, or 0 to end it
  --skip N          so many calls go well first (0), 255 at most

options of create:
  --models NAMES    of each GPU, with the speed of its kernels: H100+2xK80:20%
                    (Berth Emulated GPU)
  --context SIZE    memory one CUDA context takes (300MiB)
  --reserved SIZE   memory the driver keeps (a 64th of the GPU)
  --kernel TIME     length of kernels other than berth-load's (1ms)
  --driver N        release of the driver (580); cgroups have memory limits from 615 on
  --memory WHAT     shown, or hidden: NVML does not tell the GPUs' memory (shown)
  --mig SPLIT       MIG is on and every GPU is split, as in h100:3g.40gb+1g.10gb; models: a100-40,
                    a100, h100, h200, b200 (MIG is off)
  --links PAIRS     NVLinks between GPUs, as in 0-1+2-3x4, or switch: 18 of each to an NVSwitch
  --accounting YN   whether NVML's accounting mode is on (no)
  --energy YN       whether NVML tells the energy of GPUs (yes)
  --interference P  how much kernels beside others slow each other (0%)
  --seed N          varies the UUIDs (0)
  --checkpoints YN  whether processes can be checkpointed (yes)
  --libraries DIR   folder of the emulated libraries (found beside this program)
)";

/// The command line: one path and options with a value each.
struct Arguments {
  std::string path;
  std::map<std::string, std::string, std::less<>> options;
};

int fail(const std::string& message, int code = 1) {
  std::fprintf(stderr, "berth-emu: %s\n", message.c_str());
  return code;
}

Outcome<Arguments> parse(const std::vector<std::string_view>& words,
                         const std::vector<std::string_view>& known) {
  Arguments arguments;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const auto word = words[at];
    if (!word.starts_with("--")) {
      if (!arguments.path.empty())
        return std::unexpected("more than one path: " + std::string(word));
      arguments.path = word;
      continue;
    }
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      return std::unexpected("unknown option " + std::string(word) + "; see --help");
    }
    if (at + 1 == words.size()) return std::unexpected(std::string(word) + " needs a value");
    arguments.options[std::string(word)] = words[++at];
  }
  if (arguments.path.empty()) return std::unexpected("no PATH given; see --help");
  return arguments;
}

Outcome<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    return std::unexpected("'" + std::string(text) + "' is not a number");
  }
  return number;
}

/// Sets `target` from the option if it is there; the message names the option.
template <class Value, class Parse>
Outcome<void> take(const Arguments& arguments, std::string_view option, Value& target,
                   const Parse& parse_value) {
  const auto found = arguments.options.find(option);
  if (found == arguments.options.end()) return {};
  auto value = parse_value(found->second);
  if (!value) return std::unexpected(std::string(option) + ": " + value.error());
  target = static_cast<Value>(*value);
  return {};
}

Outcome<void> take_links(const Arguments& arguments, Spec& spec) {
  const auto found = arguments.options.find("--links");
  if (found == arguments.options.end()) return {};
  auto links = parse_links(found->second);
  if (!links) return std::unexpected("--links: " + links.error());
  spec.links = std::move(links->pairs);
  spec.switch_links = links->to_switch;
  return {};
}

Outcome<Spec> spec_of(const Arguments& arguments) {
  Spec spec;
  if (!arguments.options.contains("--gpus")) return std::unexpected("--gpus is missing");
  for (const auto& taken :
       {take(arguments, "--gpus", spec.gpu_bytes, parse_gpus),
        take(arguments, "--models", spec.models, parse_models),
        take(arguments, "--context", spec.context_bytes, parse_bytes),
        take(arguments, "--reserved", spec.reserved_bytes, parse_bytes),
        take(arguments, "--kernel", spec.default_kernel_nanoseconds, parse_nanoseconds),
        take(arguments, "--interference", spec.interference_percent, parse_percent),
        take(arguments, "--driver", spec.driver, parse_driver),
        take(arguments, "--memory", spec.hides_memory, parse_memory),
        take(arguments, "--mig", spec.mig, parse_mig_text),
        take(arguments, "--accounting", spec.keeps_accounts, parse_yes),
        take(arguments, "--energy", spec.has_energy, parse_yes),
        take(arguments, "--seed", spec.seed, parse_number), take_links(arguments, spec),
        take(arguments, "--checkpoints", spec.has_checkpoints, parse_yes)}) {
    if (!taken) return std::unexpected(taken.error());
  }
  return spec;
}

int write_env(const Arguments& arguments) {
  std::string libraries;
  if (const auto given = arguments.options.find("--libraries"); given != arguments.options.end()) {
    libraries = given->second;
  } else if (const auto found = find_library_directory()) {
    libraries = *found;
  } else {
    return fail(found.error());
  }
  const auto written = write_environment(arguments.path, libraries);
  if (!written) return fail(written.error());
  std::printf("%s\n", written->c_str());
  return 0;
}

int create_state(const Arguments& arguments) {
  const auto spec = spec_of(arguments);
  if (!spec) return fail(spec.error(), kBadUsage);
  if (const auto made = create(arguments.path, *spec); !made) return fail(made.error());
  return write_env(arguments);
}

void print(std::size_t index, const GpuReport& gpu) {
  std::printf("GPU %zu  %s  %s  %s  %s used of %s (%s reserved)  %u %%%s\n", index,
              gpu.uuid.c_str(), gpu.bus_id.c_str(), gpu.model.c_str(),
              format_bytes(gpu.used_bytes).c_str(), format_bytes(gpu.total_bytes).c_str(),
              format_bytes(gpu.reserved_bytes).c_str(), gpu.utilisation_percent,
              gpu.lost ? "  LOST" : "");
  for (const auto& [pid, bytes] : gpu.processes) {
    std::printf("  process %d  %s\n", static_cast<int>(pid), format_bytes(bytes).c_str());
  }
  for (const auto& limit : gpu.limits) {
    std::printf("  limit of cgroup %016llx  %s guaranteed, %s at most, %s used\n",
                static_cast<unsigned long long>(limit.group),
                format_bytes(limit.soft_bytes).c_str(),
                limit.hard_bytes == ~0ULL ? "all" : format_bytes(limit.hard_bytes).c_str(),
                format_bytes(limit.used_bytes).c_str());
  }
}

int show(const Arguments& arguments) {
  const auto gpus = report(arguments.path);
  if (!gpus) return fail(gpus.error());
  for (std::size_t index = 0; index < gpus->size(); ++index) print(index, (*gpus)[index]);
  return 0;
}

/// The value of an option that must be there, below 2^24: the width of an Xid in the event log.
Outcome<std::uint32_t> needed(const Arguments& arguments, std::string_view option) {
  constexpr std::uint32_t kMissing = ~0U;
  constexpr std::uint64_t kLargest = (1U << 24) - 1;
  std::uint64_t number = kMissing;
  if (auto taken = take(arguments, option, number, parse_number); !taken) {
    return std::unexpected(taken.error());
  }
  if (number == kMissing) return std::unexpected(std::string(option) + " is missing");
  if (number > kLargest) {
    return std::unexpected(std::string(option) + ": " + std::to_string(number) +
                           ", the largest is " + std::to_string(kLargest));
  }
  return static_cast<std::uint32_t>(number);
}

int post(const Arguments& arguments) {
  const auto gpu = needed(arguments, "--gpu");
  if (!gpu) return fail(gpu.error(), kBadUsage);
  const auto xid = needed(arguments, "--xid");
  if (!xid) return fail(xid.error(), kBadUsage);
  const auto done = inject_xid(arguments.path, *gpu, *xid);
  return done ? 0 : fail(done.error());
}

int restore(const Arguments& arguments) {
  const auto gpu = needed(arguments, "--gpu");
  if (!gpu) return fail(gpu.error(), kBadUsage);
  const auto done = restore_gpu(arguments.path, *gpu);
  return done ? 0 : fail(done.error());
}

Outcome<CheckpointFault> fault_of(const Arguments& arguments) {
  CheckpointFault fault;
  if (!arguments.options.contains("--call")) return std::unexpected("--call is missing");
  std::uint64_t late = 0;
  const auto millis = [](std::string_view text) -> Outcome<std::uint64_t> {
    if (text == "forever") return CheckpointFault::kHangs;
    const auto nanoseconds = parse_nanoseconds(text);
    if (!nanoseconds) return nanoseconds;
    return std::min<std::uint64_t>(*nanoseconds / 1000000, CheckpointFault::kHangs - 1);
  };
  const auto count = [](std::string_view text) -> Outcome<std::uint64_t> {
    return text == "always" ? Outcome<std::uint64_t>(CheckpointFault::kAlways) : parse_number(text);
  };
  const auto calls = [](std::string_view text) -> Outcome<std::uint64_t> {
    auto number = parse_number(text);
    if (number && *number > 255) return std::unexpected("the most is 255");
    return number;
  };
  for (const auto& taken : {take(arguments, "--call", fault.call, parse_checkpoint_call),
                            take(arguments, "--error", fault.error, parse_number),
                            take(arguments, "--after", late, parse_number),
                            take(arguments, "--delay", fault.delay_millis, millis),
                            take(arguments, "--times", fault.times, count),
                            take(arguments, "--skip", fault.skip, calls)}) {
    if (!taken) return std::unexpected(taken.error());
  }
  fault.is_late = late != 0;
  if (fault.is_late) fault.error = static_cast<std::uint16_t>(late);
  return fault;
}

int disturb(const Arguments& arguments) {
  const auto fault = fault_of(arguments);
  if (!fault) return fail(fault.error(), kBadUsage);
  const auto done = inject_checkpoint_fault(arguments.path, *fault);
  return done ? 0 : fail(done.error());
}

struct Verb {
  std::string_view name;
  std::vector<std::string_view> options;
  int (*run)(const Arguments&);
};

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all{
      {"create",
       {"--gpus", "--models", "--context", "--reserved", "--kernel", "--interference", "--driver",
        "--memory", "--mig", "--links", "--accounting", "--energy", "--seed", "--checkpoints",
        "--libraries"},
       create_state},
      {"show", {}, show},
      {"xid", {"--gpu", "--xid"}, post},
      {"restore", {"--gpu"}, restore},
      {"fault", {"--call", "--error", "--after", "--delay", "--times", "--skip"}, disturb},
      {"env", {"--libraries"}, write_env}};
  return all;
}

int run(const std::vector<std::string_view>& words) {
  if (words.empty()) return fail("no command given; see --help", kBadUsage);
  if (words.front() == "--help" || words.front() == "-h") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  for (const auto& verb : verbs()) {
    if (verb.name != words.front()) continue;
    const auto arguments = parse({words.begin() + 1, words.end()}, verb.options);
    return arguments ? verb.run(*arguments) : fail(arguments.error(), kBadUsage);
  }
  return fail("unknown command " + std::string(words.front()) + "; see --help", kBadUsage);
}

}  // namespace
}  // namespace berth::emu

int main(int count, char** words) { return berth::emu::run({words + 1, words + count}); }
