#include "emu/state/region.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "emu/state/clock.hpp"
#include "emu/state/identity.hpp"
#include "emu/state/mig.hpp"

namespace berth::emu {
namespace {

/// Closes a file descriptor at the end of a scope.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::unexpected<OpenError> refuse(OpenFailure failure, const std::string& path,
                                  const std::string& what) {
  return std::unexpected(OpenError{failure, path + ": " + what});
}

OpenFailure failure_of(int error) {
  return error == EACCES || error == EPERM ? OpenFailure::Denied : OpenFailure::Missing;
}

/// Magic and version come first in every version of the layout, so they can be read from any.
std::expected<void, OpenError> check_version(int file, const std::string& path) {
  Header head{};
  const auto prefix = offsetof(Header, gpu_count);
  if (::pread(file, &head, prefix, 0) != static_cast<ssize_t>(prefix) || head.magic != kMagic) {
    return refuse(OpenFailure::NotAState, path, "not a state file of the GPU emulator");
  }
  if (head.version != kLayoutVersion) {
    return refuse(OpenFailure::OtherVersion, path,
                  "layout version " + std::to_string(head.version) + ", this driver reads " +
                      std::to_string(kLayoutVersion));
  }
  return {};
}

bool is_plausible(const Header& header) {
  return header.file_bytes == sizeof(Layout) && header.gpu_count >= 1 &&
         header.gpu_count <= kMaxGpus;
}

bool is_from_this_boot(const Header& header) {
  const auto boot = boot_id();
  const auto& kept = header.boot_id;
  return std::string_view(kept.data(), ::strnlen(kept.data(), kept.size())) == boot;
}

}  // namespace

std::expected<Region, OpenError> Region::open(const std::string& path) {
  const File file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (file.descriptor() < 0) return refuse(failure_of(errno), path, std::strerror(errno));
  if (auto version = check_version(file.descriptor(), path); !version) {
    return std::unexpected(version.error());
  }
  struct stat status{};
  ::fstat(file.descriptor(), &status);
  if (status.st_size != static_cast<off_t>(sizeof(Layout))) {
    return refuse(OpenFailure::NotAState, path, "cut short or longer than its layout");
  }
  void* memory =
      ::mmap(nullptr, sizeof(Layout), PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
  if (memory == MAP_FAILED) return refuse(OpenFailure::Denied, path, std::strerror(errno));
  Region region(static_cast<Layout*>(memory));
  const auto& header = region.layout().header;
  if (!is_plausible(header)) return refuse(OpenFailure::NotAState, path, "header is damaged");
  if (!is_from_this_boot(header)) {
    return refuse(OpenFailure::EarlierBoot, path, "made before the last reboot; create it again");
  }
  return region;
}

Region::Region(Region&& other) noexcept
    : layout_(std::exchange(other.layout_, nullptr)), gpu_count_(other.gpu_count_) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(layout_, other.layout_);
  std::swap(gpu_count_, other.gpu_count_);
  return *this;
}

Region::~Region() {
  if (layout_ != nullptr) ::munmap(layout_, sizeof(Layout));
}

std::string boot_id() {
  const File file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[36];
  if (file.descriptor() < 0 || ::read(file.descriptor(), text, sizeof text) != sizeof text)
    return {};
  return {text, sizeof text};
}

namespace {

/// Requires: fault_of() found nothing wrong with it.
void split(Layout& layout, const std::string& mig) {
  layout.header.mig_model = mig_model_number(mig);
  std::ranges::copy(mig, layout.header.mig.begin());
  const auto wanted = parse_mig(mig);
  const auto starts = places_for(wanted->profiles);
  for (std::uint32_t gpu = 0; gpu < layout.header.gpu_count; ++gpu) {
    for (std::size_t i = 0; i < wanted->profiles.size(); ++i) {
      std::uint32_t entry = 0;
      make_instance(layout, gpu, *wanted->profiles[i], (*starts)[i], &entry);
      set_compute(layout, entry, true);
    }
  }
}

}  // namespace

void fill(Layout& layout, const Spec& spec) {
  auto& header = layout.header;
  header.gpu_count = static_cast<std::uint32_t>(spec.gpu_bytes.size());
  header.file_bytes = sizeof(Layout);
  header.default_kernel_nanoseconds = spec.default_kernel_nanoseconds;
  header.seed = spec.seed;
  header.has_checkpoints = spec.has_checkpoints ? 1 : 0;
  header.driver = spec.driver;
  header.has_energy = spec.has_energy ? 1 : 0;
  header.made_nanoseconds = monotonic_nanoseconds();
  header.keeps_accounts.store(spec.keeps_accounts ? 1 : 0);
  header.switch_links = spec.switch_links;
  header.links = link_counts_of(spec);
  std::ranges::copy(boot_id(), header.boot_id.begin());
  for (std::uint32_t index = 0; index < header.gpu_count; ++index) {
    auto& gpu = layout.gpus[index];
    gpu.config.total_bytes = spec.gpu_bytes[index];
    gpu.config.reserved_bytes = reserved_bytes_of(spec, index);
    gpu.config.context_bytes = spec.context_bytes;
    const GpuModel model = spec.models.empty() ? GpuModel() : spec.models[index];
    std::ranges::copy(model.name, gpu.config.name.begin());
    gpu.config.speed_percent = model.speed_percent;
    gpu.config.uuid = uuid_of(spec.seed, index);
    gpu.config.pci_bus = pci_bus_of(index);
    gpu.config.interference_percent = spec.interference_percent;
    gpu.config.hides_memory = spec.hides_memory ? 1 : 0;
    gpu.records[0][0].real_nanoseconds.store(monotonic_nanoseconds());
  }
  if (!spec.mig.empty()) split(layout, spec.mig);
  header.version = kLayoutVersion;
  header.magic = kMagic;
}

}  // namespace berth::emu
