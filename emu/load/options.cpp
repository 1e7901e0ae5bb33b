#include "emu/load/options.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace berth::emu {
namespace {

constexpr std::uint64_t kSecond = 1000000000;
constexpr std::uint64_t kMostBytes = 1ULL << 50;
constexpr std::uint64_t kLongest = 365ULL * 86400 * kSecond;

std::unexpected<std::string> refuse(std::string_view flag, std::string_view value,
                                    const std::string& limit) {
  return std::unexpected(std::string(flag) + " " + std::string(value) + ": " + limit);
}

using Parsed = Outcome<std::uint64_t>;

Parsed bytes(std::string_view flag, std::string_view value) {
  const auto parsed = parse_bytes(value);
  if (!parsed) return refuse(flag, value, parsed.error() + "; a size is like 6G or 512MiB");
  if (*parsed > kMostBytes) return refuse(flag, value, "the largest is 1024T");
  return parsed;
}

Parsed nanoseconds(std::string_view flag, std::string_view value) {
  const auto parsed = parse_nanoseconds(value);
  if (!parsed) return refuse(flag, value, parsed.error() + "; a duration is like 2s or 500ms");
  if (*parsed > kLongest) return refuse(flag, value, "the longest is a year");
  return parsed;
}

Parsed number(std::string_view flag, std::string_view value, std::uint64_t least,
              std::uint64_t most) {
  std::uint64_t parsed = 0;
  const auto end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, parsed);
  if (result.ec != std::errc{} || result.ptr != end || parsed < least || parsed > most) {
    return refuse(
        flag, value,
        "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return parsed;
}

Outcome<double> real(std::string_view flag, std::string_view value, double most,
                     const std::string& limit) {
  double parsed = 0;
  const auto end = value.data() + value.size();
  const auto result = std::from_chars(value.data(), end, parsed);
  if (result.ec != std::errc{} || result.ptr != end || !(parsed >= 0 && parsed <= most)) {
    return refuse(flag, value, limit);
  }
  return parsed;
}

/// Puts the value where it belongs, or hands on what was wrong with it.
template <class Value>
Outcome<void> store(auto& target, const Outcome<Value>& value) {
  if (!value) return std::unexpected(value.error());
  target = static_cast<std::remove_reference_t<decltype(target)>>(*value);
  return {};
}

Outcome<void> take_spike(LoadOptions& options, std::string_view flag, std::string_view value) {
  const auto slash = value.find('/');
  if (slash == std::string_view::npos) {
    return refuse(flag, value, "must be a size, a slash and a period, as in 1G/5s");
  }
  if (auto size = store(options.spike_bytes, bytes(flag, value.substr(0, slash))); !size) {
    return size;
  }
  const auto period = nanoseconds(flag, value.substr(slash + 1));
  if (period && *period == 0) return refuse(flag, value, "the period must be above 0");
  return store(options.spike_nanoseconds, period);
}

Outcome<void> take_growth(LoadOptions& options, std::string_view flag, std::string_view value) {
  if (!value.ends_with("/s")) return refuse(flag, value, "must be a size per second, as in 100M/s");
  return store(options.grow_bytes_per_second, bytes(flag, value.substr(0, value.size() - 2)));
}

Outcome<void> take_curve(LoadOptions& options, std::string_view flag, std::string_view value) {
  for (std::string_view rest = value; !rest.empty();) {
    const auto end = std::min(rest.find('|'), rest.size());
    const auto point = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto colon = point.find(':');
    if (colon == std::string_view::npos) {
      return refuse(flag, point, "must be points SECONDS:MIB with | between, as in 0:0|2.5:4000");
    }
    const auto at = nanoseconds(flag, point.substr(0, colon));
    if (!at) return std::unexpected(at.error());
    const auto mebibytes = number(flag, point.substr(colon + 1), 0, kMostBytes / kMebibyte);
    if (!mebibytes) return std::unexpected(mebibytes.error());
    if (!options.curve.empty() && *at <= options.curve.back().nanoseconds) {
      return refuse(flag, point, "must be later than the point before");
    }
    options.curve.push_back({*at, *mebibytes * kMebibyte});
  }
  return {};
}

Outcome<void> take_step(LoadOptions& options, std::string_view flag, std::string_view value) {
  constexpr double kMost = 3600000;
  const auto milliseconds = real(flag, value, kMost, "must be from 0 to 3600000");
  if (!milliseconds) return std::unexpected(milliseconds.error());
  options.step_nanoseconds = static_cast<std::uint64_t>(*milliseconds * 1e6);
  return {};
}

Outcome<void> take_on_oom(LoadOptions& options, std::string_view flag, std::string_view value) {
  if (value != "end" && value != "keep") return refuse(flag, value, "must be end or keep");
  options.keeps = value == "keep";
  return {};
}

Outcome<void> take_yes(bool& target, std::string_view flag, std::string_view value) {
  if (value != "yes" && value != "no") return refuse(flag, value, "must be yes or no");
  target = value == "yes";
  return {};
}

Outcome<void> take(LoadOptions& options, std::string_view flag, std::string_view value) {
  constexpr std::uint64_t kMostSteps = 1000000000000;
  if (flag == "--vram") return store(options.vram_bytes, bytes(flag, value));
  if (flag == "--ramp") return store(options.ramp_nanoseconds, nanoseconds(flag, value));
  if (flag == "--spike") return take_spike(options, flag, value);
  if (flag == "--grow") return take_growth(options, flag, value);
  if (flag == "--curve") return take_curve(options, flag, value);
  if (flag == "--steps") return store(options.steps, number(flag, value, 0, kMostSteps));
  if (flag == "--step-ms") return take_step(options, flag, value);
  if (flag == "--duty") return store(options.duty, real(flag, value, 1, "must be from 0 to 1"));
  if (flag == "--exit") return store(options.exit_code, number(flag, value, 0, 255));
  if (flag == "--on-oom") return take_on_oom(options, flag, value);
  if (flag == "--fault-at") return store(options.fault_at, number(flag, value, 1, kMostSteps));
  if (flag == "--check") return take_yes(options.checks, flag, value);
  if (flag == "--times") return take_yes(options.tells_times, flag, value);
  if (flag == "--gpus") return store(options.gpus, number(flag, value, 1, 64));
  if (flag == "--first") return store(options.first, number(flag, value, 0, 63));
  if (flag == "--report") return store(options.report_every, number(flag, value, 0, kMostSteps));
  return std::unexpected("unknown flag " + std::string(flag) + "; see --help");
}

}  // namespace

const char* const kLoadHelp =
    R"(usage: berth-load [flag value | flag=value]...
A GPU job for tests and demonstrations: it holds device memory and runs kernels in steps, through
the CUDA driver API, on real cards and emulated ones.

  --vram SIZE      device memory to hold on each GPU, beside the context (0)
  --ramp TIME      reach it evenly over this time (0: at once)
  --spike SIZE/T   hold this much more for the last fifth of every period T
  --grow SIZE/s    hold more and more, as a key-value cache does
  --curve POINTS   hold more or less by the steps done: 0:0|2.5:4000|9:1000 is 4000 MiB when 2.5 s
                   of steps are done, straight lines between; beside what the others say (none)
  --steps N        steps to run, 0: for ever (100)
  --step-ms MS     length of a step on a GPU of its own (10)
  --duty F         share of a step on the GPU, 0 to 1; the rest is host time (0.5)
  --on-oom WHAT    out of device memory: end, or keep what there is and go on (end)
  --fault-at N     step whose kernel traps, a fatal fault (none)
  --check yes|no   write a pattern to what --vram holds, and compare it at the end (no)
  --gpus N         how many of the visible GPUs to use (1)
  --first N        number of the first of them, as CUDA counts (0)
  --exit N         exit status at the end (0)
  --report N       print a line every N steps, 0: none (50)
  --times yes|no   in these lines: median, 99th percentile and longest of what the kernels of the
                   steps since the line before took, from the launch to the end (no)
  --help           print this

SIZE is like 6G, 512M or 1GiB (powers of two), TIME like 2s or 500ms.
Exit status: --exit's; 77 out of device memory; 2 bad flag; 1 any other failure.
)";

Outcome<LoadOptions> parse_load_options(const std::vector<std::string_view>& words) {
  LoadOptions options;
  for (std::size_t at = 0; at < words.size(); ++at) {
    auto flag = words[at];
    if (flag == "--help" || flag == "-h") {
      options.help = true;
      return options;
    }
    if (!flag.starts_with("--")) {
      return std::unexpected("unexpected argument " + std::string(flag) + "; see --help");
    }
    std::string_view value;
    if (const auto equals = flag.find('='); equals != std::string_view::npos) {
      value = flag.substr(equals + 1);
      flag = flag.substr(0, equals);
    } else if (at + 1 < words.size()) {
      value = words[++at];
    } else {
      return std::unexpected(std::string(flag) + " needs a value; see --help");
    }
    if (auto taken = take(options, flag, value); !taken) return std::unexpected(taken.error());
  }
  return options;
}

}  // namespace berth::emu
