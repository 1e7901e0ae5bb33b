// berth-gpu-list: what berth sees of this machine's GPUs, for tools/gpu-check and for people.
#include <signal.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/checkpoint.hpp"
#include "gpu/list/suspend.hpp"
#include "gpu/nvml.hpp"
#include "gpu/probe.hpp"

namespace berth {

namespace {

constexpr int kFailed = 1;
constexpr int kBadFlag = 2;

constexpr const char* kHelp = R"(usage: berth-gpu-list [option...]
One line per fact: driver, gpu, process, measured, limits, link, event. Sizes are bytes; ? is
unknown.
  --library FILE      the driver's library (libnvidia-ml.so.1)
  --tenant PID=JOB    take this process for that job's; may be given often
  --repeat N          sample N times and print the last (1)
  --limits FOLDER     what the driver lets this cgroup v2 hold
  --set-limits S:H    first guarantee it S MiB and let it hold H MiB, or take both away: none
  --wait-event MS     then wait that long for an Xid
  --suspend PID       instead: take that process's memory off its GPUs, by the driver's checkpoints
  --resume PID        instead: put it back
  --cuda FILE         the driver's library for these two (libcuda.so.1)
exit: 0, 1 without a driver or when a GPU cannot be sampled or limited or a process cannot be moved,
2 for a bad flag
)";

struct Options {
  std::string library = kNvmlLibrary;
  std::map<pid_t, JobId> tenants;
  std::int64_t repeat = 1;
  std::int64_t wait_milliseconds = 0;
  std::string cgroup;
  std::optional<MemoryLimits> limits;  ///< To be set on it.
  std::string cuda = kCudaLibrary;
  std::optional<pid_t> moved;  ///< The process to suspend or resume.
  Direction direction = Direction::Suspend;
  bool help = false;
};

Expected<std::int64_t> number(std::string_view flag, std::string_view text) {
  constexpr std::int64_t kMost = 1'000'000'000;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= 0 && value <= kMost) {
    return value;
  }
  return fail(ErrorCode::InvalidArgument, std::string(flag) + " " + std::string(text) +
                                              ": must be a number from 0 to " +
                                              std::to_string(kMost));
}

Expected<void> set_tenant(Options& options, std::string_view value) {
  const std::size_t equals = value.find('=');
  if (equals == std::string_view::npos) {
    return fail(ErrorCode::InvalidArgument,
                "--tenant " + std::string(value) + ": must be like 4711=1");
  }
  const auto pid = number("--tenant", value.substr(0, equals));
  if (!pid) return std::unexpected(pid.error());
  const auto job = number("--tenant", value.substr(equals + 1));
  if (!job) return std::unexpected(job.error());
  options.tenants[static_cast<pid_t>(*pid)] = JobId(static_cast<std::uint64_t>(*job));
  return {};
}

Expected<void> take_limits(Options& options, std::string_view value) {
  options.limits = MemoryLimits{};
  if (value == "none") return {};
  const std::size_t colon = value.find(':');
  if (colon == std::string_view::npos) {
    return fail(ErrorCode::InvalidArgument,
                "--set-limits " + std::string(value) + ": must be none or like 1024:2048");
  }
  const auto soft = number("--set-limits", value.substr(0, colon));
  if (!soft) return std::unexpected(soft.error());
  const auto hard = number("--set-limits", value.substr(colon + 1));
  if (!hard) return std::unexpected(hard.error());
  constexpr Bytes kMebibyte{1 << 20};
  *options.limits = {.guaranteed = kMebibyte * *soft, .most = kMebibyte * *hard};
  return {};
}

Expected<void> take_moved(Options& options, std::string_view flag, std::string_view value) {
  const auto pid = number(flag, value);
  if (!pid) return std::unexpected(pid.error());
  options.moved = static_cast<pid_t>(*pid);
  options.direction = flag == "--suspend" ? Direction::Suspend : Direction::Resume;
  return {};
}

Expected<void> set(Options& options, std::string_view flag, std::string_view value) {
  if (flag == "--library") {
    options.library = value;
    return {};
  }
  if (flag == "--limits") {
    options.cgroup = value;
    return {};
  }
  if (flag == "--cuda") {
    options.cuda = value;
    return {};
  }
  if (flag == "--suspend" || flag == "--resume") return take_moved(options, flag, value);
  if (flag == "--set-limits") return take_limits(options, value);
  if (flag == "--tenant") return set_tenant(options, value);
  const bool repeats = flag == "--repeat";
  if (!repeats && flag != "--wait-event") {
    return fail(ErrorCode::InvalidArgument, "unknown flag " + std::string(flag) + "; see --help");
  }
  const auto count = number(flag, value);
  if (!count) return std::unexpected(count.error());
  (repeats ? options.repeat : options.wait_milliseconds) = *count;
  return {};
}

Expected<Options> parse(const std::vector<std::string_view>& words) {
  Options options;
  for (std::size_t at = 0; at < words.size(); at += 2) {
    if (words[at] == "--help" || words[at] == "-h") {
      options.help = true;
      return options;
    }
    const bool has_value = at + 1 < words.size();
    if (!has_value) return fail(ErrorCode::InvalidArgument, std::string(words[at]) + ": no value");
    if (auto done = set(options, words[at], words[at + 1]); !done) {
      return std::unexpected(done.error());
    }
  }
  return options;
}

std::string text_of(const auto& figure) {
  return figure ? std::to_string(*figure) : std::string("?");
}

std::string bytes_of(const std::optional<Bytes>& figure) {
  return figure ? std::to_string(figure->raw()) : std::string("?");
}

const char* text_of(const std::optional<Nearness>& nearness) {
  if (!nearness) return "?";
  switch (*nearness) {
    case Nearness::SameBoard:
      return "same-board";
    case Nearness::OneSwitch:
      return "one-switch";
    case Nearness::SeveralSwitches:
      return "several-switches";
    case Nearness::HostBridge:
      return "host-bridge";
    case Nearness::MemoryNode:
      return "memory-node";
    case Nearness::System:
      return "system";
  }
  return "?";
}

Owner owner_of(const Options& options, pid_t pid) {
  if (const auto found = options.tenants.find(pid); found != options.tenants.end()) {
    return OfJob{found->second};
  }
  if (kill(pid, 0) != 0 && errno == ESRCH) return OfNobody{};
  return OfStranger{};
}

void print_measured(const Options& options, std::uint32_t index, const Sample& sample) {
  const auto measured = measure({.gpu = GpuId(index),
                                 .sample = sample,
                                 .began = kStart,
                                 .tenants = static_cast<std::uint32_t>(options.tenants.size())},
                                [&](pid_t pid) { return owner_of(options, pid); });
  if (!measured) return;
  std::printf("measured %u foreign %lld used %lld", index,
              static_cast<long long>(measured->foreign.raw()),
              static_cast<long long>(measured->used.raw()));
  for (const TenantUse& tenant : measured->tenants) {
    std::printf(" job %llu %lld", static_cast<unsigned long long>(tenant.job.value()),
                static_cast<long long>(tenant.bytes.raw()));
  }
  std::printf("\n");
}

void print(const Device& device) {
  std::printf("gpu %u total %lld reserved %lld mig %s bus %s uuid %s name %s\n", device.index,
              static_cast<long long>(device.total.raw()),
              static_cast<long long>(device.reserved.raw()),
              device.mig ? (*device.mig ? "on" : "off") : "?",
              device.bus_id.empty() ? "?" : device.bus_id.c_str(),
              device.uuid.empty() ? "?" : device.uuid.c_str(),
              device.name.empty() ? "?" : device.name.c_str());
  if (!device.problem.empty()) {
    std::printf("problem %u %s\n", device.index, device.problem.c_str());
  }
}

void print(const Options& options, std::uint32_t index, const Sample& sample) {
  std::printf("sample %u used %lld utilisation %s processes %s\n", index,
              static_cast<long long>(sample.used.raw()),
              text_of(sample.utilisation_percent).c_str(),
              sample.processes ? std::to_string(sample.processes->size()).c_str() : "?");
  if (sample.processes) {
    for (const GpuProcess& process : *sample.processes) {
      std::printf("process %u %d %s\n", index, static_cast<int>(process.pid),
                  bytes_of(process.bytes).c_str());
    }
  }
  print_measured(options, index, sample);
}

/// Returns: whether the GPU could be sampled.
bool show(GpuPort& gpus, const Options& options, const Device& device) {
  print(device);
  auto sample = gpus.sample(device.index);
  for (std::int64_t turn = 1; sample && turn < options.repeat; ++turn) {
    sample = gpus.sample(device.index);
  }
  if (sample) {
    print(options, device.index, *sample);
  } else {
    std::printf("unsampled %u %s\n", device.index, sample.error().message.c_str());
  }
  return sample.has_value();
}

/// Returns: whether they could be set and read.
bool limit(GpuPort& gpus, const Options& options, std::uint32_t index) {
  if (options.cgroup.empty()) return true;
  auto done =
      options.limits ? gpus.set_limits(index, options.cgroup, *options.limits) : Expected<void>();
  const auto now = done ? gpus.limits(index, options.cgroup) : std::unexpected(done.error());
  if (!now) {
    std::printf("limits %u unknown: %s\n", index, now.error().message.c_str());
    return false;
  }
  const auto& most = now->limits.most;
  std::printf("limits %u guaranteed %lld most %s used %lld\n", index,
              static_cast<long long>(now->limits.guaranteed.raw()),
              most ? bytes_of(most).c_str() : "all", static_cast<long long>(now->used.raw()));
  return true;
}

void wait(GpuPort& gpus, std::int64_t milliseconds) {
  const auto event = gpus.wait_event(std::chrono::milliseconds(milliseconds));
  if (!event) {
    std::printf("event unknown: %s\n", event.error().message.c_str());
  } else if (!*event) {
    std::printf("event none\n");
  } else {
    std::printf("event %u xid %llu %s\n", (*event)->device,
                static_cast<unsigned long long>((*event)->xid),
                is_application_xid((*event)->xid) ? "of-a-program" : "of-the-gpu");
  }
}

int fail_with(const Error& error, int code) {
  std::fprintf(stderr, "berth-gpu-list: %s\n", error.message.c_str());
  return code;
}

int run(const Options& options) {
  if (options.moved) {
    const auto done = move_process(options.cuda, *options.moved, options.direction);
    return done ? 0 : fail_with(done.error(), kFailed);
  }
  const auto gpus = Nvml::open(options.library);
  if (!gpus) return fail_with(gpus.error(), kFailed);
  const auto devices = (*gpus)->devices();
  if (!devices) return fail_with(devices.error(), kFailed);
  std::printf("driver %s gpus %zu\n",
              devices->driver_version.empty() ? "?" : devices->driver_version.c_str(),
              devices->list.size());
  bool all_sampled = true;
  for (const Device& device : devices->list) {
    all_sampled = show(**gpus, options, device) && all_sampled;
    all_sampled = limit(**gpus, options, device.index) && all_sampled;
  }
  for (const Link& link : devices->links) {
    std::printf("link %u %u %s nvlinks %u\n", link.one, link.other, text_of(link.nearness),
                link.nvlinks);
  }
  std::fflush(stdout);
  if (options.wait_milliseconds > 0) wait(**gpus, options.wait_milliseconds);
  return all_sampled ? 0 : kFailed;
}

}  // namespace

}  // namespace berth

int main(int count, char** words) {
  using namespace berth;
  const auto options = parse({words + 1, words + count});
  if (!options) return fail_with(options.error(), kBadFlag);
  if (options->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  return run(*options);
}
