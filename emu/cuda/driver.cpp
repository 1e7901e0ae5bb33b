#include "emu/cuda/driver.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "emu/cuda/visible.hpp"
#include "emu/state/identity.hpp"
#include "emu/state/limits.hpp"
#include "emu/state/mig.hpp"
#include "emu/state/mps.hpp"

namespace berth::emu {
namespace {

std::optional<std::string_view> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string_view>(value);
}

CudaResult result_of(OpenFailure failure) {
  switch (failure) {
    case OpenFailure::Denied:
      return CudaResult::NotPermitted;
    case OpenFailure::OtherVersion:
      return CudaResult::SystemDriverMismatch;
    case OpenFailure::Missing:
    case OpenFailure::NotAState:
    case OpenFailure::EarlierBoot:
      return CudaResult::NoDevice;
  }
  std::abort();
}

/// Programs cannot use a GPU that is split, only its instances.
std::vector<Candidate> candidates_in(const Region& region) {
  const auto& layout = region.layout();
  const bool is_split = !mig_profiles(layout).empty();
  std::vector<Candidate> candidates;
  for (std::uint32_t gpu = 0; gpu < region.gpu_count(); ++gpu) {
    const auto& config = layout.gpus[gpu].config;
    if (!is_split) candidates.push_back({format_uuid(config.uuid), config.total_bytes, gpu});
    for (const auto& instance : instances_of(layout, gpu)) {
      if (!instance.has_compute) continue;
      candidates.push_back({uuid_of_instance(layout, instance.entry),
                            layout.gpus[instance.entry].config.total_bytes, instance.entry});
    }
  }
  return candidates;
}

/// Those of them that this list names, in its order.
std::vector<Candidate> named(const std::vector<Candidate>& candidates,
                             std::optional<std::string_view> list) {
  std::vector<Candidate> visible;
  const auto order = parse_order(variable("CUDA_DEVICE_ORDER"));
  for (const auto index : visible_gpus(candidates, list, order)) {
    visible.push_back(candidates[index]);
  }
  return visible;
}

/// A client of an MPS server has what that has to choose from.
std::vector<Candidate> visible_in(const Region& region) {
  auto candidates = candidates_in(region);
  const auto folder = mps_folder();
  if (control_of(folder)) candidates = named(candidates, visible_to_server(folder));
  return named(candidates, variable("CUDA_VISIBLE_DEVICES"));
}

}  // namespace

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

Driver& Driver::instance() {
  // Never destroyed: threads may still be in a call while the process exits.
  static Driver* const only = new Driver;
  return *only;
}

bool Driver::is_own_process() const {
  const auto process = process_.load();
  return process == 0 || process == ::getpid();
}

CudaResult Driver::initialise() {
  if (state_ == State::New) {
    failure_ = open_state();
    process_ = ::getpid();
    state_ = failure_ == CudaResult::Success ? State::Ready : State::Failed;
  }
  return failure_;
}

CudaResult Driver::open_state() {
  const auto path = variable("BERTH_EMU_STATE");
  auto region = Region::open(std::string(path.value_or("BERTH_EMU_STATE (not set)")));
  if (!region) {
    std::fprintf(stderr, "berth emulated CUDA driver: %s\n", region.error().message.c_str());
    return result_of(region.error().failure);
  }
  region_.emplace(std::move(*region));
  const auto visible = visible_in(*region_);
  for (const auto& gpu : visible) {
    auto& device = devices_.emplace_back(region_->layout(), gpu.entry, device_count());
    pools_.push_back({.device = &device});
  }
  primaries_.resize(devices_.size());
  return devices_.empty() ? CudaResult::NoDevice : CudaResult::Success;
}

/// Enters this process into the state file, with its first context.
CudaResult Driver::attach() {
  if (is_attached_) return CudaResult::Success;
  const auto key = key_of(::getpid());
  if (key) release_slots_of(region_->layout(), *key);
  const auto slot = key ? claim_slot(region_->layout(), *key) : std::nullopt;
  if (!slot) {
    std::fprintf(
        stderr, "berth emulated CUDA driver: %s\n",
        key ? "1024 processes use these GPUs already, the limit" : "/proc is not readable");
    return CudaResult::DeviceUnavailable;
  }
  enter(region_->layout(), *slot, own_cgroup());
  for (auto& device : devices_) device.attach(*slot);
  slot_ = *slot;
  join_mps();
  is_attached_ = true;
  gate_.guard(region_->layout().checkpoints[*slot]);
  return CudaResult::Success;
}

/// If the folder of pipes has a control daemon; else this process runs without MPS.
void Driver::join_mps() {
  const std::string folder = mps_folder();
  if (!control_of(folder)) return;
  MpsTerms terms{.server = server_of(folder), .limits = {}};
  const auto limits = parse_pinned_limits(variable("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT").value_or(""),
                                          devices_.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (limits[i] > 0) terms.limits.emplace_back(devices_[i].gpu(), limits[i]);
  }
  const std::string percentage(variable("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE").value_or("100"));
  terms.thread_percentage =
      static_cast<std::uint32_t>(std::clamp(std::atoi(percentage.c_str()), 1, 100));
  enter_mps(region_->layout(), slot_, terms);
}

bool Driver::has_faulted() const {
  return is_attached_ && emu::has_faulted(region_->layout(), slot_);
}

void Driver::trap() {
  if (is_attached_) fault(region_->layout(), slot_);
}

void Driver::follow_moves() {
  if (!is_attached_) return;
  const auto& own = region_->layout().checkpoints[slot_];
  const auto moves = own.moves.load();
  if (moves == moves_seen_) return;
  moves_seen_ = moves;
  for (auto& device : devices_) {
    const auto home = own.home[device.first_gpu()].load();
    const auto gpu = home == 0 ? device.first_gpu() : static_cast<std::uint32_t>(home - 1);
    if (gpu == device.gpu() || gpu >= region_->gpu_count()) continue;
    // All its work had ended when it was checkpointed, by the clock of the GPU that it leaves.
    device.observe();
    device.move_to(gpu);
    streams_.for_each([&](Stream& stream) {
      if (stream.context->device == &device) stream.target = 0;
    });
    events_.for_each([&](Event& event) {
      if (event.context->device == &device) event.target = 0;
    });
  }
}

Device* Driver::device(CudaDevice ordinal) {
  return ordinal >= 0 && ordinal < device_count() ? &devices_[static_cast<std::size_t>(ordinal)]
                                                  : nullptr;
}

std::uint64_t Driver::default_kernel_nanoseconds() const {
  return region_->layout().header.default_kernel_nanoseconds;
}

std::expected<Context*, CudaResult> Driver::create_context(Device& device, unsigned flags) {
  if (device.is_lost()) return std::unexpected(CudaResult::Unknown);
  if (const auto attached = attach(); attached != CudaResult::Success) {
    return std::unexpected(attached);
  }
  if (const auto added = device.add_context(); added != CudaResult::Success) {
    return std::unexpected(added);
  }
  return contexts_.add({.device = &device, .flags = flags});
}

void Driver::destroy_context(Context* context) {
  const auto nothing = [](const auto&) {};
  const auto belongs = [&](const auto& object) { return object.context == context; };
  auto& device = *context->device;
  modules_.remove_if(belongs, nothing);
  streams_.remove_if(belongs, nothing);
  events_.remove_if(belongs, [&](const Event& event) { device.unwatch(&event); });
  device.remove_context(context);
  contexts_.remove(context);
}

std::expected<Context*, CudaResult> Driver::retain_primary(Device& device) {
  auto& primary = primaries_[static_cast<std::size_t>(device.ordinal())];
  if (primary.context == nullptr) {
    const auto created = create_context(device, primary.flags);
    if (!created) return created;
    primary.context = *created;
    primary.context->is_primary = true;
  }
  ++primary.users;
  return primary.context;
}

CudaResult Driver::release_primary(Device& device) {
  auto& primary = primaries_[static_cast<std::size_t>(device.ordinal())];
  if (primary.users == 0) return CudaResult::InvalidContext;
  return --primary.users == 0 ? reset_primary(device) : CudaResult::Success;
}

CudaResult Driver::reset_primary(Device& device) {
  auto& primary = primaries_[static_cast<std::size_t>(device.ordinal())];
  if (primary.context != nullptr) destroy_context(primary.context);
  primary.context = nullptr;
  primary.users = 0;
  return CudaResult::Success;
}

CudaResult Driver::set_primary_flags(Device& device, unsigned flags) {
  auto& primary = primaries_[static_cast<std::size_t>(device.ordinal())];
  primary.flags = flags;
  if (primary.context != nullptr) primary.context->flags = flags;
  return CudaResult::Success;
}

unsigned Driver::primary_flags(const Device& device) const {
  return primaries_[static_cast<std::size_t>(device.ordinal())].flags;
}

bool Driver::is_primary_active(const Device& device) const {
  return primaries_[static_cast<std::size_t>(device.ordinal())].context != nullptr;
}

Device* Driver::device_at(CudaAddress address) {
  for (auto& device : devices_) {
    if (device.addresses().find(address)) return &device;
  }
  return nullptr;
}

MemoryPool* Driver::pool_of(const Device& device) {
  return &pools_[static_cast<std::size_t>(device.ordinal())];
}

bool Driver::is_pool(const MemoryPool* pool) const {
  return std::ranges::any_of(pools_, [&](const MemoryPool& own) { return &own == pool; });
}

bool Driver::is_function(const Function* function) const {
  return modules_.any([&](const Module& module) {
    return std::ranges::any_of(module.functions,
                               [&](const auto& entry) { return &entry.second == function; });
  });
}

}  // namespace berth::emu
