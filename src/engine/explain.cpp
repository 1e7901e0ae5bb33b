#include "engine/explain.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <tuple>

#include "core/text/handle.hpp"
#include "core/text/text.hpp"

namespace berth {

namespace {

constexpr std::size_t kMostListed = 8;  ///< More jobs than that are counted,
constexpr std::size_t kFewListed = 3;   ///< and so many of them named.

/// What the inequality lacks on this GPU; zero if memory is not what is in the way.
Bytes lacking(const Admission& admission, const GpuSpec& gpu, const GpuUse& use, const Ask& ask) {
  if (use.alone > 0) return Bytes(0);
  const Bytes guard = use.tenants == 0 ? Bytes(0) : guard_band(admission, gpu);
  const Bytes charge = takes_whole(ask) ? gpu.capacity : charge_on(ask, gpu);
  return std::max(Bytes(0), use.foreign + use.charged + charge + guard - gpu.capacity);
}

std::vector<JobId> holders_of(const ClusterView& view, GpuId gpu) {
  const auto tenants = view.tenants_of(gpu);
  return {tenants.begin(), tenants.end()};
}

/// The reservation of this GPU that the ask keeps off.
std::optional<ReservationId> barring(const ClusterView& view, const GpuUse& use, const Ask& ask) {
  std::optional<ReservationId> first;
  for (const auto& [id, reservation] : view.calendar()) {
    if ((use.reserved & ask.barred & bit_of(id)) == 0) continue;
    if (!first || reservation.from < view.calendar().at(*first).from) first = id;
  }
  return first;
}

Why why_not(const ClusterView& view, GpuId gpu, bool is_reserved) {
  if (view.drains().contains(gpu)) return Why::Drain;
  if (!is_usable(view.use().gpu(gpu))) return Why::Health;
  return is_reserved ? Why::Reservation : Why::Capacity;
}

/// It takes no job until a person does something, or until a time of theirs.
bool is_out(const Shortage& shortage) {
  return shortage.why == Why::Health || shortage.why == Why::Drain;
}

/// Without those that are out there are too few, however many jobs end.
bool decide(const std::vector<Shortage>& shortages, std::int64_t missing) {
  const auto out = std::ranges::count_if(shortages, is_out);
  return out > 0 && std::ssize(shortages) - out < missing;
}

std::string drained_text(const Drain& drain) {
  const std::string reason = drain.reason.empty() ? "" : " (" + drain.reason + ")";
  if (!drain.by) return "was not given to berthd" + reason;
  return "is drained" + (drain.shown.empty() ? "" : " by " + drain.shown) + reason;
}

std::string text_of(const Shortage& shortage, const ClusterView& view) {
  const std::string name = gpu_name(view.cluster(), shortage.gpu);
  if (const std::string closed = closed_text(shortage, view); !closed.empty()) {
    return name + " " + closed;
  }
  if (const std::string alone = held_alone_text(shortage, view); !alone.empty()) {
    return name + " " + alone;
  }
  const std::string held =
      shortage.holders.empty() ? "" : " (held by " + list_of(shortage.holders, view) + ")";
  if (shortage.lacking > Bytes(0)) return name + " lacks " + to_text(shortage.lacking) + held;
  if (const auto slots = slots_taken(shortage, view); slots > 0) {
    return name + " has all " + std::to_string(slots) + " slots taken" + held;
  }
  return name + " cannot be shared with this job" + held;
}

std::string text_of(const KeptPlace& kept, const Cluster& cluster) {
  std::string names;
  for (const GpuId gpu : kept.placement.gpus) {
    names += (names.empty() ? "" : ", ") + gpu_name(cluster, gpu);
  }
  if (names.empty()) names = "a place on " + cluster.node(kept.placement.host).name;
  return names + (kept.placement.gpus.size() > 1 ? " are" : " is") + " reserved for it";
}

/// `GPUs 0, 2`.
std::string accepted_text(GpuSet set) {
  std::string list;
  for (const GpuId gpu : gpus_in(set)) {
    list += (list.empty() ? "" : ", ") + std::to_string(gpu.value());
  }
  return (std::has_single_bit(set) ? "GPU " : "GPUs ") + list;
}

/// `none of the 2 GPUs has room for it`, `the only GPU that it accepts has no room for it`.
std::string room_text(const Explanation& found, const Cluster& cluster) {
  const std::string room = " room for it";
  const std::int64_t fitting = found.fitting;
  const std::int64_t gpus = found.accepted;
  const std::string that = gpus == cluster.gpu_count().raw() ? " " : " that it accepts ";
  if (gpus == 1) return "the only GPU" + that + (fitting == 0 ? "has no" : "has") + room;
  const std::string all = std::to_string(gpus) + " GPUs" + that;
  if (fitting == gpus) return "all " + all + "have" + room;
  if (fitting == 0) return "none of the " + all + "has" + room;
  return std::to_string(fitting) + " of the " + all + (fitting == 1 ? "has" : "have") + room;
}

/// `85, 88 %`.
std::string percents_text(const std::vector<const Crowd*>& crowds) {
  std::string text;
  for (const Crowd* const crowd : crowds) {
    text += (text.empty() ? "" : ", ") + std::to_string(crowd->utilisation);
  }
  return text + " %";
}

/// `GPUs 0, 1 are`.
std::string gpus_text(const std::vector<const Crowd*>& crowds, const Cluster& cluster) {
  std::string text;
  for (const Crowd* const crowd : crowds) {
    std::string name = gpu_name(cluster, crowd->gpu);
    if (!text.empty() && name.starts_with("GPU ")) name = name.substr(4);
    text += (text.empty() ? "" : ", ") + name;
  }
  if (crowds.size() == 1) return text + " is ";
  return (text.starts_with("GPU ") ? "GPUs " + text.substr(4) : text) + " are ";
}

/// As 0.70.
std::string hundredths_text(std::int64_t ppm) {
  const std::int64_t hundredths = (ppm + 5'000) / 10'000;
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (rest.size() < 2 ? ".0" : ".") + rest;
}

std::string busy_text(const Explanation& found, const Cluster& cluster) {
  constexpr std::size_t kMostBusy = 3;
  std::vector<const Crowd*> busy;
  for (const Crowd& crowd : found.crowds) {
    if (crowd.utilisation >= found.gate.percent) busy.push_back(&crowd);
  }
  const std::string limit = std::to_string(found.gate.percent) + " %";
  if (busy.empty()) return "the GPUs with room are over " + limit + " busy";
  if (busy.size() > kMostBusy) {
    return std::to_string(busy.size()) + " GPUs with room are over " + limit + " busy";
  }
  return gpus_text(busy, cluster) + percents_text(busy) + " busy (limit " + limit + ")";
}

/// Of the tenant beside which it, or which beside it, is known to run slowest: `beside job 5 on GPU
/// 0 it would run at 0.70 of its speed alone (limit 0.75)`.
std::string slow_text(const Explanation& found, const ClusterView& view) {
  const Company& company = view.company();
  const Fingerprint what = company.of(found.job);
  const std::string name = gpu_name(view.cluster(), found.gate.gpu);
  std::int64_t least = found.gate.percent * 10'000LL;
  std::string text = "on " + name + " it, or a job there, would run at less than " +
                     std::to_string(found.gate.percent) + " % of full speed";
  const auto note = [&](std::int64_t ppm, const std::string& who) {
    if (ppm >= least) return;
    least = ppm;
    text = who + " would run at " + hundredths_text(ppm) + " of its speed alone (limit " +
           hundredths_text(found.gate.percent * 10'000LL) + ")";
  };
  for (const JobId id : view.tenants_of(found.gate.gpu)) {
    const std::string other = list_of({id}, view);
    note(company.rate_ppm(what, company.of(id)), "beside " + other + " on " + name + " it");
    note(company.rate_ppm(company.of(id), what), other + " on " + name + " beside it");
  }
  return text;
}

/// `; it goes on on A100 alone, where it was suspended`; "" for one that may go on anywhere.
std::string bound_text(const JobView& job, const Cluster& cluster) {
  std::string names;
  for (std::size_t type = 0; type < cluster.type_names().size(); ++type) {
    if ((job.bound() >> type & 1) == 0) continue;
    names += (names.empty() ? "" : ", ") + cluster.type_names()[type];
  }
  return names.empty() ? "" : "; it goes on on " + names + " alone, where it was suspended";
}

/// `; it has 31 % of the time, on V100, beside job 4`; "" for one whom the plan gives none.
std::string share_text(const GateWord& gate, const Cluster& cluster) {
  if (gate.percent == 0) return "";
  std::string text = "; it has " + std::to_string(gate.percent) + " % of the time";
  const auto& types = cluster.type_names();
  if (types.size() > 1) text += ", on " + types[cluster.gpu(gate.gpu).type];
  if (gate.beside != JobId(0)) text += ", beside job " + std::to_string(gate.beside.value());
  return text;
}

std::string text_of(const Explanation& found, const JobView& job, const ClusterView& view) {
  std::string text =
      "job " + std::to_string(job.id().value()) + ": " + needs_text(ask_of(job).request);
  if (found.why == Why::Limit) return text + "; limit of its user: " + limit_text(job, view);
  text += bound_text(job, view.cluster());
  if (job.gpus() > GpuCount(0)) {
    text += "; " + room_text(found, view.cluster());
  }
  if (!found.host.empty()) text += "; " + found.host;
  const bool is_for_host =
      found.why == Why::Capacity && found.gate.what == GateWord::What::HostMemory;
  if (found.why == Why::Order || is_for_host) text += "; " + gate_text(found, view);
  if (found.why == Why::Patience)
    text += "; it waits for a better place: " + gate_text(found, view);
  if (found.why == Why::Locality) text += "; the placement wants them closer together";
  for (const Shortage& shortage : found.nearest) text += "; " + text_of(shortage, view);
  if (found.kept) text += "; " + text_of(*found.kept, view.cluster());
  if (!found.behind.empty()) text += "; must not delay " + list_of(found.behind, view);
  return text;
}

}  // namespace

std::string limit_text(const JobView& job, const ClusterView& view) {
  const UserLimits& limits = view.settings().limits_of(job.user());
  const Account account = view.account(job.user());
  if (limits.jobs > 0 && account.jobs >= limits.jobs) {
    return std::to_string(account.jobs) + " of " + std::to_string(limits.jobs) + " running jobs";
  }
  if (limits.gpus == GpuCount(0)) return "one of the policy's";
  if (job.gpus() > limits.gpus) {
    return std::to_string(job.gpus().raw()) + " GPUs are asked for, the limit is " +
           std::to_string(limits.gpus.raw());
  }
  if (account.gpus + job.gpus() <= limits.gpus) {
    return "jobs of its user that are to start before it take up the " +
           std::to_string(limits.gpus.raw()) + " GPUs of the limit";
  }
  return std::to_string(account.gpus.raw()) + " of " + std::to_string(limits.gpus.raw()) + " GPUs";
}

std::string needs_text(const Request& request) {
  const GpuRequest& gpu = request.gpu;
  if (gpu.count == GpuCount(0)) return "needs no GPU";
  const bool is_one = gpu.count == GpuCount(1);
  const std::string count = std::to_string(gpu.count.raw());
  const bool is_whole = gpu.vram == Bytes(0) || gpu.sharing == Sharing::Alone;
  std::string text = "needs ";
  if (is_whole) {
    text += is_one ? "a whole GPU" : count + " whole GPUs";
    if (gpu.vram > Bytes(0)) text += " of " + to_text(gpu.vram) + " at least";
  } else {
    text += to_text(gpu.vram) + (is_one ? " on one GPU" : " on each of " + count + " GPUs");
  }
  if (gpu.only == 0) return text;
  const std::string named = accepted_text(gpu.only);
  return text + (GpuCount(std::popcount(gpu.only)) == gpu.count ? ", " : " among ") + named;
}

std::string gate_text(const Explanation& found, const ClusterView& view) {
  const std::string name = gpu_name(view.cluster(), found.gate.gpu);
  switch (found.gate.what) {
    case GateWord::What::Busy:
      return busy_text(found, view.cluster());
    case GateWord::What::Settling:
      return "a job began on " + name + " less than a minute ago";
    case GateWord::What::Slow:
      return slow_text(found, view);
    case GateWord::What::Spread:
      return "the GPUs with room are far apart";
    case GateWord::What::Service:
      return "the service on " + name + " is busy";
    case GateWord::What::Turn:
      return "other jobs have their turns";
    case GateWord::What::Round:
      return "other jobs have this round" + share_text(found.gate, view.cluster());
    case GateWord::What::Plan:
      return "it came after the plan of who gets which GPUs";
    case GateWord::What::Left:
      return "no deadline is promised to it, and jobs with a promise come first";
    case GateWord::What::Freed:
      return "its place is not free yet";
    case GateWord::What::HostMemory:
      return "too little of suspend_host_memory is left to suspend jobs for it";
    case GateWord::What::Ahead:
    case GateWord::What::None:
      break;
  }
  return found.why == Why::Order
             ? "jobs ahead of it come first"
             : "by the rule of the policy it does not join the GPUs with room yet";
}

std::string closed_text(const Shortage& shortage, const ClusterView& view) {
  if (shortage.why == Why::Drain) return drained_text(view.drains().at(shortage.gpu));
  if (shortage.reserved) {
    const Reservation& reservation = view.calendar().at(*shortage.reserved);
    return "is reserved for " + (reservation.shown.empty() ? "others" : reservation.shown);
  }
  return shortage.why == Why::Health ? "is out of service" : "";
}

std::string held_alone_text(const Shortage& shortage, const ClusterView& view) {
  if (view.use().gpu(shortage.gpu).alone == 0) return "";
  return "is used by " + list_of(shortage.holders, view) + " alone";
}

std::uint16_t slots_taken(const Shortage& shortage, const ClusterView& view) {
  const GpuUse& use = view.use().gpu(shortage.gpu);
  const GpuSpec& gpu = view.cluster().gpu(shortage.gpu);
  const bool are_what_lacks = shortage.lacking <= Bytes(0) && use.alone == 0;
  return are_what_lacks && use.tenants >= gpu.slots ? gpu.slots : std::uint16_t{0};
}

std::string gpu_name(const Cluster& cluster, GpuId gpu) {
  const NodeSpec& node = cluster.node(cluster.node_of(gpu));
  const std::string index = std::to_string(gpu.value() - node.first_gpu.value());
  return cluster.nodes().size() == 1 ? "GPU " + index : node.name + ":" + index;
}

std::string list_of(const std::vector<JobId>& jobs, const ClusterView& view) {
  std::vector<std::string> names;
  for (const JobId id : jobs) {
    const Job* const job = view.find(id);
    names.push_back(job == nullptr ? std::to_string(id.value())
                                   : handle_of(id, job->spec.conditions->array));
  }
  return list_of(names);
}

std::string list_of(const std::vector<std::string>& names) {
  const bool are_many = names.size() > kMostListed;
  std::string text = are_many            ? std::to_string(names.size()) + " jobs, the first are "
                     : names.size() == 1 ? "job "
                                         : "jobs ";
  for (std::size_t i = 0; i < (are_many ? kFewListed : names.size()); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return text;
}

void put_first(std::vector<Shortage>& nearest, const Placement& place) {
  std::ranges::stable_partition(nearest, [&](const Shortage& shortage) {
    return std::ranges::find(place.gpus, shortage.gpu) != place.gpus.end();
  });
}

std::string passing_text(Passing::Who who, const Explanation& found) {
  if (who == Passing::Who::Nobody) return "no job behind it starts before it";
  if (who == Passing::Who::Anybody) {
    return "any job that fits may start before it: this policy reserves no place";
  }
  if (found.kept) return "other jobs may start before it where that does not delay it";
  return "other jobs may start before it: no place is reserved for it yet";
}

Explanation explain(const ClusterView& view, JobId id, const std::optional<Refused>& decided,
                    std::size_t most) {
  const JobView job = view.job(id);
  const Ask ask = decided ? decided->ask : ask_of(job);
  Explanation found{.job = id};
  const std::size_t nodes = view.cluster().nodes().size();
  std::vector<std::int64_t> usable_on(nodes);
  std::vector<std::int64_t> fitting_on(nodes);
  for (std::uint32_t g = 0; g < view.cluster().gpus().size() && job.gpus() > GpuCount(0); ++g) {
    const GpuSpec& spec = view.cluster().gpu(GpuId(g));
    const GpuUse& use = view.use().gpu(GpuId(g));
    if (!accepts(ask.request.gpu, spec)) continue;
    ++found.accepted;
    const std::uint32_t node = view.cluster().node_of(GpuId(g)).value();
    if (is_usable(use)) ++usable_on[node];
    if (admits(view.settings().admission, spec, use, ask)) {
      ++found.fitting;
      ++fitting_on[node];
      if (use.tenants > 0) {
        found.crowds.push_back(
            {.gpu = GpuId(g), .utilisation = use.utilisation, .jobs = holders_of(view, GpuId(g))});
      }
      continue;
    }
    const auto reserved = barring(view, use, ask);
    found.nearest.push_back({.gpu = GpuId(g),
                             .why = why_not(view, GpuId(g), reserved.has_value()),
                             .lacking = lacking(view.settings().admission, spec, use, ask),
                             .holders = {},
                             .reserved = reserved});
  }
  const bool out_first = decide(found.nearest, job.gpus().raw() - found.fitting);
  std::ranges::sort(found.nearest, {}, [&](const Shortage& shortage) {
    const bool is_alone = view.use().gpu(shortage.gpu).alone > 0;  // what it lacks is not memory
    return std::tuple(is_out(shortage) != out_first, shortage.why, is_alone, shortage.lacking,
                      shortage.gpu);
  });
  const auto is_any = [&](Why why) {
    return std::ranges::find(found.nearest, why, &Shortage::why) != found.nearest.end();
  };
  const Why out = is_any(Why::Drain) && !is_any(Why::Health) ? Why::Drain : Why::Health;
  for (const Hold& hold : view.holds()) {
    if (hold.job != id) {
      found.behind.push_back(hold.job);
    } else {
      found.kept = KeptPlace{hold.placement, hold.from};
    }
  }
  if (found.kept) put_first(found.nearest, found.kept->placement);
  if (found.nearest.size() > most) found.nearest.resize(most);
  for (Shortage& shortage : found.nearest) shortage.holders = holders_of(view, shortage.gpu);
  const bool have_gpus_room = found.fitting >= job.gpus().raw();
  found.host = host_shortage(view, ask.request, have_gpus_room ? fitting_on : usable_on);
  const bool has_room = have_gpus_room && found.host.empty();
  found.why = reason_for(decided ? std::optional(decided->refusal) : std::nullopt, has_room);
  const bool is_for_out = found.why == Why::Health || (found.why == Why::Capacity && out_first);
  if (is_for_out) found.why = out;
  if (decided) found.until = decided->refusal.until;
  if (decided) found.gate = decided->refusal.gate;
  if (found.why != Why::Patience) found.crowds.clear();
  found.text = text_of(found, job, view);
  return found;
}

}  // namespace berth
