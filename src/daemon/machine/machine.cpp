#include "daemon/machine/machine.hpp"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "daemon/limits/mps.hpp"
#include "daemon/suspend/suspend_helpers.hpp"
#include "emu/emulator.hpp"
#include "gpu/checkpoint.hpp"
#include "gpu/kept_gpus.hpp"
#include "gpu/machine.hpp"
#include "gpu/mig_cut.hpp"
#include "gpu/nvml.hpp"
#include "gpu/probe.hpp"

namespace berth::daemon {

namespace {

constexpr const char* kMpsControl = "nvidia-cuda-mps-control";

Bytes round_up(Bytes bytes) {
  const std::int64_t steps = (bytes.raw() + kProbeStep.raw() - 1) / kProbeStep.raw();
  return kProbeStep * steps;
}

std::unexpected<Error> emulation_failed(const Options& options, const std::string& why) {
  return fail(ErrorCode::InvalidArgument, "--emulate " + options.emulate + ": " + why);
}

/// The folder of the library that was named has the other one beside it.
std::string beside(const std::string& library, const std::string& other) {
  const std::size_t slash = library.rfind('/');
  return slash == std::string::npos ? other : library.substr(0, slash + 1) + other;
}

/// In a process of its own: a driver can hang.
std::string why_no_suspension_here(const Machine& machine) {
  if (!machine.port) return "no GPUs: " + machine.no_driver;
  constexpr Duration kMost = seconds(10);
  const auto version = probe_checkpoints(machine.environment, machine.cuda, kMost);
  return version ? why_no_suspension(machine.devices.list, *version) : version.error().message;
}

/// Makes the emulated GPUs, and lets this process see them: its own library is opened by path.
Expected<std::string> emulate(Machine& machine, const Options& options, Bytes& context) {
  auto spec = emu::parse_machine(options.emulate);
  if (!spec) return emulation_failed(options, spec.error());
  const auto libraries = emu::find_library_directory();
  if (!libraries) return emulation_failed(options, libraries.error());
  if (::geteuid() != 0) spec->mode = 0600;
  const std::string path = options.state + "/emulated-gpus";
  const auto kept = emu::open_or_create(path, *spec);
  if (!kept) return emulation_failed(options, kept.error());
  if (!kept->empty()) {
    machine.notes.push_back("--emulate " + options.emulate + ": " + *kept +
                            "; they stay until berthd starts without such a process");
  }
  if (auto written = emu::write_environment(path, *libraries); !written) {
    return emulation_failed(options, written.error());
  }
  machine.emulated = true;
  machine.environment = emu::environment(path, *libraries);
  context = Bytes(static_cast<std::int64_t>(spec->context_bytes));
  ::setenv("BERTH_EMU_STATE", path.c_str(), 1);
  return *libraries + "/" + kNvmlLibrary;
}

/// True if an attempt of a daemon before may be running: it holds its instance before it has taken
/// any memory.
bool has_attempts(const Options& options) {
  std::error_code ignored;
  const std::filesystem::directory_iterator files(options.state + "/attempts", ignored);
  return std::ranges::any_of(files, [](const auto& file) {
    return std::isdigit(static_cast<unsigned char>(file.path().filename().string().front())) != 0;
  });
}

/// Cuts idle GPUs as configured. Returns: what is worth telling, a line each.
std::vector<std::string> cut(const Options& options, const std::string& library) {
  if (has_attempts(options)) return {"mig: jobs are there, so nothing is cut"};
  const auto cuts = cut_mig(library, options.mig_profiles);
  if (!cuts) return {"mig: " + cuts.error().message};
  std::vector<std::string> notes;
  for (const MigCut& one : *cuts) {
    const std::string gpu = "mig: GPU " + std::to_string(one.board);
    if (one.what == MigCut::What::Cut) notes.push_back(gpu + " was cut as configured");
    if (one.what == MigCut::What::InUse) notes.push_back(gpu + " is left as it is: " + one.why);
    if (one.what == MigCut::What::Failed) notes.push_back(gpu + " could not be cut: " + one.why);
    if (one.what == MigCut::What::Off) notes.push_back(gpu + " is left as it is: MIG is off");
  }
  return notes;
}

/// On all GPUs that can. Returns: why not, of the first that cannot; "" if all can.
std::string keep_accounts(GpuPort& port) {
  const auto devices = port.devices();
  std::string why;
  if (!devices) return why;
  for (const Device& device : devices->list) {
    if (device.accounts == true) continue;
    const auto done = port.keep_accounts(device.index);
    if (!done && why.empty()) why = done.error().message;
  }
  return why;
}

Bytes host_memory() {
  struct sysinfo info{};
  if (::sysinfo(&info) != 0) return NodeShape{}.host;
  return Bytes(static_cast<std::int64_t>(info.totalram) * info.mem_unit);
}

CpuMilli cores(const Options& options) {
  if (options.cores > CpuMilli(0)) return options.cores;
  return CpuMilli(::sysconf(_SC_NPROCESSORS_ONLN) * 1000);
}

}  // namespace

std::string host_name() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

Expected<Machine> open_machine(const Options& options) {
  Machine machine;
  Bytes context = options.context;
  std::string library = options.nvml.empty() ? kNvmlLibrary : options.nvml;
  if (!options.emulate.empty()) {
    const auto emulated = emulate(machine, options, context);
    if (!emulated) return std::unexpected(emulated.error());
    library = *emulated;
  }
  if (!options.mig_profiles.empty()) machine.notes = cut(options, library);
  auto port = Nvml::open(library);
  const bool was_named = !options.emulate.empty() || !options.nvml.empty();
  if (!port && was_named) return std::unexpected(port.error());
  if (port) {
    if (options.accounting) machine.no_accounts = keep_accounts(**port);
    auto devices = (*port)->devices();
    if (!devices) return std::unexpected(devices.error());
    machine.devices = std::move(*devices);
    machine.port = std::move(*port);
  } else {
    machine.no_driver = port.error().message;
  }
  machine.nvml = library;
  const char* const path = std::getenv("PATH");
  machine.mps_control = machine.emulated ? beside(library, kMpsControl)
                                         : find_program(kMpsControl, path == nullptr ? "" : path);
  machine.cuda = machine.emulated ? beside(library, kCudaLibrary) : kCudaLibrary;
  machine.no_suspension = why_no_suspension_here(machine);
  // Charges and measurements go in the same steps, or a tenant within its request would look as if
  // it held more than its charge.
  machine.cluster = describe_machine(machine.devices.list,
                                     {.name = host_name(),
                                      .context = round_up(context),
                                      .slots = options.slots,
                                      .cpu = cores(options),
                                      .host = host_memory()},
                                     machine.devices.links);
  return machine;
}

void keep_gpus(Machine& machine, const std::vector<Device>& before, const Cluster& cluster) {
  const std::string why =
      machine.port ? "the driver lists it no more" : "there is no driver: " + machine.no_driver;
  KeptGpus kept = keep_numbers(before, machine.devices.list, "gone: " + why);
  bool is_same = kept.fresh.empty();
  for (const Device& device : kept.list) {
    is_same = is_same && kept.numbers[device.index] == device.index;
  }
  if (is_same) {
    machine.devices.list = std::move(kept.list);  // one that was refused has its name again
    return;
  }
  for (const Device& device : kept.list) {
    const std::string gpu = "GPU " + std::to_string(device.index);
    const std::string is = device.name.empty() ? "" : " (" + device.name + ", " + device.uuid + ")";
    const auto& number = kept.numbers[device.index];
    if (!number) {
      machine.notes.push_back(gpu + is + " is " + device.problem +
                              "; it takes no jobs until it is back when berthd starts");
    } else if (*number != device.index) {
      machine.notes.push_back(gpu + is + " keeps its number while jobs need the numbers before; " +
                              "the driver's is " + std::to_string(*number) + " now");
    }
  }
  for (const std::uint32_t number : kept.fresh) {
    const Device& device = machine.devices.list[number];
    machine.notes.push_back("the driver's GPU " + std::to_string(number) + " (" + device.name +
                            ", " + device.uuid +
                            ") was not there before; it takes jobs once berthd starts and none "
                            "needs the numbers before");
  }
  machine.devices.list = kept.list;
  machine.devices.links.clear();
  machine.port = under_kept_numbers(std::move(machine.port), std::move(kept));
  machine.cluster = cluster;
}

Bytes available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::int64_t kibibytes = 0;
  for (std::string unit; file >> key >> kibibytes; std::getline(file, unit)) {
    if (key == "MemAvailable:") return Bytes(kibibytes * 1024);
  }
  return host_memory();
}

Bytes room_for_suspended(const Options& options, const Machine& machine) {
  constexpr Bytes kEnough{std::int64_t{1} << 40};
  if (options.suspend_memory > Bytes(0)) return options.suspend_memory;
  return machine.emulated ? kEnough : Bytes(available_memory().raw() / 2);
}

}  // namespace berth::daemon
