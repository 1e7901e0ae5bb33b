// Creates the state file and the environment of processes that join.
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "emu/emulator.hpp"
#include "emu/state/identity.hpp"
#include "emu/state/process.hpp"
#include "emu/state/region.hpp"

namespace berth::emu {
namespace {

enum class IfPresent { Refuse, Replace };

std::unexpected<std::string> system_error(const std::string& what) {
  return std::unexpected(what + ": " + std::strerror(errno));
}

/// A file that appears under its final name complete or not at all.
class Draft {
 public:
  explicit Draft(const std::string& path) : name_(path + ".new.XXXXXX") {
    descriptor_ = ::mkostemp(name_.data(), O_CLOEXEC);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(name_.c_str());  // fails after a rename, as it should
  }

  int descriptor() const { return descriptor_; }

  Outcome<void> publish(const std::string& path, IfPresent present) {
    const int result = present == IfPresent::Replace ? ::rename(name_.c_str(), path.c_str())
                                                     : ::link(name_.c_str(), path.c_str());
    if (result != 0) return system_error(path);
    return {};
  }

 private:
  std::string name_;
  int descriptor_ = -1;
};

Outcome<void> fill_file(int file, const Spec& spec) {
  // Every block now: one that is not there when a process touches its page would kill that process.
  errno = ::posix_fallocate(file, 0, sizeof(Layout));
  if (errno != 0) return system_error("state file");
  void* memory = ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return system_error("state file");
  fill(*static_cast<Layout*>(memory), spec);
  ::munmap(memory, sizeof(Layout));
  if (::fchmod(file, spec.mode) != 0) return system_error("state file");
  return {};
}

Outcome<void> make(const std::string& path, const Spec& spec, IfPresent present) {
  if (auto fault = fault_of(spec); !fault.empty()) return std::unexpected(fault);
  Draft draft(path);
  if (draft.descriptor() < 0) return system_error(path);
  if (auto filled = fill_file(draft.descriptor(), spec); !filled) return filled;
  return draft.publish(path, present);
}

bool matches(const Region& region, const Spec& spec) {
  const auto& header = region.layout().header;
  if (region.gpu_count() != spec.gpu_bytes.size() || header.seed != spec.seed ||
      header.driver != spec.driver || spec.mig != header.mig.data() ||
      (header.has_energy != 0) != spec.has_energy || header.switch_links != spec.switch_links ||
      header.links != link_counts_of(spec) ||
      header.default_kernel_nanoseconds != spec.default_kernel_nanoseconds) {
    return false;
  }
  for (std::uint32_t index = 0; index < region.gpu_count(); ++index) {
    const auto& config = region.layout().gpus[index].config;
    const GpuModel model{.name = config.name.data(), .speed_percent = config.speed_percent};
    const GpuModel wanted = spec.models.empty() ? GpuModel() : spec.models[index];
    if (config.total_bytes != spec.gpu_bytes[index] || model != wanted ||
        config.reserved_bytes != reserved_bytes_of(spec, index) ||
        config.context_bytes != spec.context_bytes ||
        config.interference_percent != spec.interference_percent ||
        (config.hides_memory != 0) != spec.hides_memory ||
        (header.has_checkpoints != 0) != spec.has_checkpoints) {
      return false;
    }
  }
  return true;
}

/// A live process that is using the region, or 0.
pid_t tenant_of(const Region& region) {
  reap_dead(region.layout());
  for (const auto& owner : region.layout().owners) {
    if (const auto key = owner.load(); key != 0) return pid_of(key);
  }
  return 0;
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      result += "'\\''";
    } else {
      result += letter;
    }
  }
  return result + "'";
}

}  // namespace

Outcome<void> create(const std::string& path, const Spec& spec) {
  return make(path, spec, IfPresent::Refuse);
}

Outcome<std::string> open_or_create(const std::string& path, const Spec& spec) {
  const auto replace = [&]() -> Outcome<std::string> {
    if (auto made = make(path, spec, IfPresent::Replace); !made) {
      return std::unexpected(made.error());
    }
    return "";
  };
  const auto region = Region::open(path);
  if (!region) {
    const auto& error = region.error();
    // Denied, or another user's file: not ours to replace.
    if (error.failure == OpenFailure::Denied || error.failure == OpenFailure::NotAState) {
      return std::unexpected(error.message);
    }
    return replace();
  }
  if (auto fault = fault_of(spec); !fault.empty()) return std::unexpected(fault);
  if (matches(*region, spec)) {
    if (spec.keeps_accounts) region->layout().header.keeps_accounts.store(1);
    return "";
  }
  if (const auto tenant = tenant_of(*region); tenant != 0) {
    return "process " + std::to_string(tenant) + " uses those that are there";
  }
  return replace();
}

Outcome<std::string> find_library_directory() {
  std::array<char, PATH_MAX> link{};
  const auto length = ::readlink("/proc/self/exe", link.data(), link.size());
  if (length <= 0) return system_error("/proc/self/exe");
  const auto folder =
      std::filesystem::path(std::string(link.data(), static_cast<std::size_t>(length)))
          .parent_path();
  for (const char* candidate : {"../emu", "../lib/berth/emu", "../lib64/berth/emu"}) {
    const auto directory = (folder / candidate).lexically_normal();
    std::error_code ignored;
    if (std::filesystem::exists(directory / "libcuda.so.1", ignored)) return directory.string();
  }
  return std::unexpected("no emu/libcuda.so.1 near " + folder.string());
}

std::vector<std::pair<std::string, std::string>> environment(const std::string& path,
                                                             const std::string& library_directory) {
  return {{"BERTH_EMU_STATE", path}, {"LD_LIBRARY_PATH", library_directory}};
}

namespace {

bool holds(const std::string& path, std::string_view text) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {}) == text;
}

}  // namespace

Outcome<std::string> write_environment(const std::string& path,
                                       const std::string& library_directory) {
  const auto absolute = std::filesystem::absolute(path).lexically_normal();
  const auto target = (absolute.parent_path() / "emu.env").string();
  const auto text =
      "# Joins the emulated GPUs: source this in a shell.\n"
      "export BERTH_EMU_STATE=" +
      quoted(absolute.string()) + "\n" + "export LD_LIBRARY_PATH=" + quoted(library_directory) +
      "${LD_LIBRARY_PATH:+\":$LD_LIBRARY_PATH\"}\n";
  if (holds(target, text)) return target;  // a full disk has no room for another
  Draft draft(target);
  if (draft.descriptor() < 0) return system_error(target);
  if (::write(draft.descriptor(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fchmod(draft.descriptor(), 0644) != 0) {
    return system_error(target);
  }
  if (auto published = draft.publish(target, IfPresent::Replace); !published) {
    return std::unexpected(published.error());
  }
  return target;
}

}  // namespace berth::emu
