#include "daemon/machine/order.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/file_pattern.hpp"
#include "core/text/points.hpp"
#include "daemon/attempts/hints.hpp"
#include "daemon/attempts/launcher.hpp"
#include "daemon/machine/queue_variables.hpp"
#include "daemon/machine/slurm_variables.hpp"
#include "live/keeper.hpp"
#include "shim/inherited.hpp"

namespace berth::daemon {

namespace {

/// `0,2`, as CUDA_VISIBLE_DEVICES takes them, by the driver's numbers; UUIDs where a GPU is split
/// by MIG, because instances have no number and leave their GPU none.
std::string visible_list(const std::vector<GpuId>& gpus, const Machine& machine) {
  const auto& devices = machine.devices.list;
  const bool has_mig =
      std::ranges::any_of(devices, [](const Device& device) { return device.mig.value_or(false); });
  std::string list;
  for (const GpuId gpu : gpus) {
    const Device& device = devices[gpu.value()];
    list += list.empty() ? "" : ",";
    list += has_mig && !device.uuid.empty() ? device.uuid : std::to_string(device.board);
  }
  return list;
}

/// A group of its own for an attempt; "" where there is none, and the job is ended process by
/// process.
std::string make_cgroup(const std::string& parent, JobId job, Attempt attempt) {
  if (parent.empty()) return "";
  const std::string path = cgroup_path(parent, job, attempt);
  return ::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST ? path : "";
}

/// Of a name that is given twice the first counts, as for most programs; no other may be left, or
/// it would stand beside what berth sets.
std::vector<std::string> without_repeats(std::vector<std::string> variables) {
  std::set<std::string_view> names;
  std::vector<bool> is_first;
  for (const std::string& variable : variables) {
    const auto name = std::string_view(variable).substr(0, variable.find('='));
    is_first.push_back(names.insert(name).second);
  }
  names.clear();
  std::size_t at = 0;
  std::erase_if(variables, [&](const std::string&) { return !is_first[at++]; });
  return variables;
}

/// Environment variables as NAME=value. Those that are set here are berth's, and BERTH_SET says so.
class Environment {
 public:
  /// Requires: names are unique.
  explicit Environment(std::vector<std::string> variables) : variables_(std::move(variables)) {}

  void set(const std::string& name, const std::string& value) {
    put(name, value);
    claim(name);
  }
  void set_unless_there(const std::string& name, const std::string& value) {
    if (find(name) == nullptr) set(name, value);
  }
  void prepend(const std::string& name, const std::string& value) {
    const std::string before = value_of(name);
    if ((before + ":").starts_with(value + ":")) return;       // of the job that submitted this one
    put(name, before.empty() ? value : value + ":" + before);  // which is its user's too
  }
  void drop(std::string_view variable) { std::erase(variables_, variable); }
  /// A variable that a door set in the name of berth, if it is there.
  void claim(std::string_view name) {
    const std::string* const found = find(name);
    if (found != nullptr) marks_ += (marks_.empty() ? "" : ",") + shim::mark_of(*found);
  }
  std::vector<std::string> take() {
    const std::string before = value_of(shim::kBerthSet);
    if (!before.empty() && !marks_.empty()) marks_.insert(0, before + ",");
    if (!marks_.empty()) put(shim::kBerthSet, marks_);
    return std::move(variables_);
  }

 private:
  void put(std::string_view name, std::string_view value) {
    std::string* const found = find(name);
    std::string& variable = found != nullptr ? *found : variables_.emplace_back();
    variable.assign(name).append("=").append(value);
  }
  std::string value_of(std::string_view name) {
    const std::string* const found = find(name);
    return found == nullptr ? "" : found->substr(name.size() + 1);
  }
  std::string* find(std::string_view name) {
    for (std::string& variable : variables_) {
      if (variable.size() > name.size() && variable[name.size()] == '=' &&
          variable.starts_with(name)) {
        return &variable;
      }
    }
    return nullptr;
  }

  std::vector<std::string> variables_;
  std::string marks_;  ///< Of those that were set here.
};

/// By the smallest of its cards; a job that has them alone may take all of them.
Variables hints_for(const live::Assignment& assigned, const Machine& machine) {
  const GpuRequest& gpu = assigned.job.spec.request.gpu;
  const std::vector<Share>& shares = assigned.grant.shares;
  if (shares.empty() || gpu.sharing == Sharing::Alone) return {};
  const auto size_of = [&](const Share& share) {
    return machine.devices.list[share.gpu.value()].total;
  };
  Bytes smallest = size_of(shares.front());
  for (const Share& share : shares) smallest = std::min(smallest, size_of(share));
  return memory_hints(gpu.vram, smallest);
}

/// The parameters of a task of a sweep, which its environment had among those of all tasks.
Point take_point(const live::Assignment& assigned) {
  const auto is_of_sweep = [](const std::string& variable) {
    return variable.starts_with(live::kPoint);
  };
  const ArrayPlace& array = assigned.job.spec.conditions->array;
  const std::string own = std::string(live::kPoint) + std::to_string(array.task) + "=";
  const auto found = std::ranges::find_if(
      assigned.environment, [&](const std::string& one) { return one.starts_with(own); });
  const bool is_there = array.tasks > 0 && found != assigned.environment.end();
  const std::string text = is_there ? found->substr(own.size()) : "";
  std::erase_if(assigned.environment, is_of_sweep);
  return parse_point(text).value_or(Point());
}

std::vector<std::string> environment_of(const live::Assignment& assigned, const Options& options,
                                        const Machine& machine, const Point& point) {
  const Variables of_queues = variables_of_queues(assigned);
  Environment environment(without_repeats(std::move(assigned.environment)));
  for (const auto& [name, value] : machine.environment) {
    if (name == "LD_LIBRARY_PATH") {
      environment.prepend(name, value);
    } else {
      environment.set(name, value);
    }
  }
  environment.drop(kTellsSlurm);  // the submission's, and not that of jobs which this one submits
  if (!assigned.command.snapshot.empty()) {
    environment.claim("BERTH_SNAPSHOT");
    environment.claim("BERTH_SUBMIT_DIR");
  }
  environment.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  environment.set("CUDA_VISIBLE_DEVICES", visible_list(live::gpus_of(assigned.grant), machine));
  environment.set("BERTH_JOB_ID", std::to_string(assigned.job.id.value()));
  environment.set("BERTH_ATTEMPT", std::to_string(assigned.attempt.value()));
  environment.set("BERTH_REPORT", report_path(options));
  if (const ArrayPlace& array = assigned.job.spec.conditions->array; array.tasks > 0) {
    const std::string first = std::to_string(array.first.value());
    const std::string task = std::to_string(array.task);
    environment.set("BERTH_ARRAY_JOB_ID", first);
    environment.set("BERTH_ARRAY_TASK_ID", task);
    environment.set("BERTH_ARRAY_TASK_COUNT", std::to_string(array.tasks));
    environment.set("SLURM_ARRAY_JOB_ID", first);  // scripts that are moved here read these
    environment.set("SLURM_ARRAY_TASK_ID", task);
    environment.set("SLURM_ARRAY_TASK_COUNT", std::to_string(array.tasks));
  }
  for (const auto& [name, value] : of_queues) environment.set(name, value);
  for (const Parameter& one : point) environment.set("BERTH_PARAM_" + one.name, one.value);
  const Bytes vram = assigned.job.spec.request.gpu.vram;
  if (vram != Bytes(0)) environment.set("BERTH_VRAM_BYTES", std::to_string(vram.raw()));
  // What a server of MPS holds its clients to; nothing reads them where there is none.
  if (const std::int64_t milli = assigned.grant.milli.raw(); milli > 0) {
    environment.set("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::to_string((milli + 9) / 10));
  }
  if (assigned.grant.role == Role::Guest) environment.set("CUDA_MPS_CLIENT_PRIORITY", "1");
  environment.set_unless_there("PYTHONUNBUFFERED", "1");
  if (!assigned.grant.shares.empty()) {  // what runs of PyTorch would all meet at 29500
    const std::string port = own_port(assigned.job.id);
    environment.set_unless_there("MASTER_PORT", port);
    environment.set_unless_there("PET_MASTER_PORT", port);  // torchrun's own
  }
  for (const auto& [name, value] : hints_for(assigned, machine)) {
    environment.set_unless_there(name, value);
  }
  return environment.take();
}

/// With the job's numbers in it: %j, %A (of the array; the job's own without one), %a (the task; of
/// no array what Slurm writes), %u (the user) and %%. `%4j` is padded with zeros.
std::string output_path(const live::Assignment& assigned) {
  const ArrayPlace& array = assigned.job.spec.conditions->array;
  const auto number_of = [](JobId id) { return static_cast<std::int64_t>(id.value()); };
  const std::int64_t job = number_of(assigned.job.id);
  const PatternMeaning meaning_of = [&](char letter,
                                        std::string_view width) -> std::optional<std::string> {
    switch (letter) {
      case 'j':
        return zero_padded(job, width);
      case 'A':
        return zero_padded(array.tasks > 0 ? number_of(array.first) : job, width);
      case 'a':
        return zero_padded(array.tasks > 0 ? array.task : kNoTask, width);
      case 'u':
        return zero_padded(assigned.command.owner.user, "");
      case '%':
        return "%";
      default:
        return std::nullopt;
    }
  };
  return fill_pattern(assigned.command.output, meaning_of);
}

/// The user's, and those of jobs on GPUs: a user who has no such group reaches no GPU but by a job.
std::vector<gid_t> groups_of(const live::Assignment& assigned, const Options& options) {
  std::vector<gid_t> groups = assigned.command.owner.groups;
  if (::geteuid() != 0 || assigned.grant.shares.empty()) return groups;
  for (const gid_t group : options.job_groups) {
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

}  // namespace

shim::Order order_to_adopt(const live::Assignment& assigned, const Options& options) {
  const live::Command& command = assigned.command;
  shim::Order order;
  order.job = assigned.job.id;
  order.attempt = assigned.attempt;
  order.arguments = command.arguments;
  order.directory = command.directory;
  order.user = command.owner.user;
  order.group = command.owner.group;
  order.groups = command.owner.groups;
  order.log_cap = static_cast<std::uint64_t>(options.log_cap.raw());
  order.grace_millis = micros(options.grace) / 1000;
  order.adopted = command.adopted;
  return order;
}

void set_variables(shim::Order& order, const Variables& variables) {
  Environment environment(std::move(order.environment));
  for (const auto& [name, value] : variables) environment.set(name, value);
  order.environment = environment.take();
}

std::string report_path(const Options& options) { return options.socket + ".report"; }

shim::Order order_of(const live::Assignment& assigned, const Options& options,
                     const Machine& machine) {
  const live::Command& command = assigned.command;
  shim::Order order;
  order.job = assigned.job.id;
  order.attempt = assigned.attempt;
  order.arguments = std::move(assigned.command.arguments);
  const Point point = take_point(assigned);
  fill(order.arguments, point);
  order.environment = environment_of(assigned, options, machine, point);
  order.directory = command.directory;
  order.user = command.owner.user;
  order.group = command.owner.group;
  order.groups = groups_of(assigned, options);
  order.umask = command.umask;
  order.log_cap = static_cast<std::uint64_t>(options.log_cap.raw());
  order.grace_millis = micros(options.grace) / 1000;
  const Saving& saving = assigned.job.spec.conditions->on_preempt;
  order.save_signal = saving.signal;
  order.save_grace_millis = micros(saving.grace) / 1000;
  order.attach = command.attach;
  order.errors_apart = command.attach && command.attach->errors_apart;
  // Who attended the first attempt may have left the job to itself since.
  if (order.attach && assigned.attempt > Attempt(1)) order.attach->optional = true;
  order.output = output_path(assigned);
  order.cgroup = make_cgroup(options.cgroup, order.job, order.attempt);
  return order;
}

}  // namespace berth::daemon
