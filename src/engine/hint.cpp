#include "engine/hint.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "core/admission.hpp"
#include "core/base/limits.hpp"
#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr std::int64_t kWhole = 1000;     ///< Thousandths.
constexpr std::int64_t kNeeded = 700;     ///< More than it, for what a user has stated.
constexpr std::int64_t kMostCut = 980;    ///< A fiftieth of what was asked for helps nobody,
constexpr std::int64_t kHalf = 500;       ///< and less than half is too much for a short wait.
constexpr Duration kToType = minutes(1);  ///< A limit still serves when it is typed so much later.
constexpr Duration kShortWait = minutes(2);
constexpr Bytes kStep{std::int64_t{1} << 29};
constexpr std::int64_t kSlower = 200;  ///< More than it: with fewer cores a job runs, but slower.

/// The limits that people type: `38min`, `1h30m`, `5h`, `3d`.
std::vector<Duration> typed_times() {
  struct Part {
    Duration step;
    Duration until;
  };
  constexpr std::array kParts = {Part{minutes(1), hours(2)}, Part{minutes(5), hours(6)},
                                 Part{minutes(15), hours(24)}, Part{hours(1), hours(24 * 7)},
                                 Part{hours(24), hours(24 * 30)}};
  std::vector<Duration> times;
  Duration at{0};
  for (const Part& part : kParts) {
    while (at < part.until) times.push_back(at += part.step);
  }
  return times;
}

/// `512M`, `8704M`, `9G`.
std::vector<Bytes> typed_sizes(Bytes most) {
  std::vector<Bytes> sizes;
  for (Bytes at = kStep; at <= most; at += kStep) sizes.push_back(at);
  return sizes;
}

/// `0.5`, `1`, `2`.
std::vector<CpuMilli> typed_cores(CpuMilli most) {
  constexpr std::int64_t kCore = 1000;
  std::vector<CpuMilli> cores = {CpuMilli(kCore / 2)};
  for (CpuMilli at(kCore); at <= most; at += CpuMilli(kCore)) cores.push_back(at);
  return cores;
}

template <class Value>
std::vector<Value> between(const std::vector<Value>& all, Value least, Value below) {
  std::vector<Value> some;
  std::ranges::copy_if(all, std::back_inserter(some),
                       [&](Value one) { return one >= least && one < below; });
  return some;
}

std::int64_t cut_of(std::int64_t part, std::int64_t whole) {
  if (whole <= 0 || part >= whole) return 0;
  return kWhole - static_cast<std::int64_t>(Wide{part} * kWhole / whole);
}

class HintSearch {
 public:
  enum class Looks : std::uint8_t { AtOnce, Ahead };

  HintSearch(const HintQuestion& question, const HintSource& source, Looks looks)
      : question_(question), source_(source), looks_(looks) {}

  std::vector<Hint> find() {
    if (asks_for_gpus() && may(Wanting::Share)) share();
    if (asks_for_gpus() && may(Wanting::Suspend)) suspend();
    if (may(Wanting::Priority) && question_.next_priority > 0) priority();
    if (may(Wanting::Time)) times();
    if (asks_for_gpus() && may(Wanting::Vram)) sizes();
    if (asks_for_gpus() && may(Wanting::Types) && gpu().types != 0) types();
    if (asks_for_gpus() && may(Wanting::Only) && gpu().only != 0) only();
    if (gpu().count > GpuCount(1) && !gpu().is_elastic() && may(Wanting::Gpus)) gpus();
    const Request& asked = question_.spec.request;
    if (may(Wanting::Cpus)) less_of(Wanting::Cpus, &Request::cpu, typed_cores(asked.cpu), kSlower);
    if (may(Wanting::Mem)) less_of(Wanting::Mem, &Request::host, typed_sizes(asked.host), kNeeded);
    std::ranges::stable_sort(found_, {}, &Hint::loss_milli);
    return std::move(found_);
  }

 private:
  using Made = std::function<JobSpec(std::size_t at)>;

  /// One thing that has several values, the least first.
  struct Scale {
    Wanting what;
    std::size_t values;
    Made of;     ///< What is offered.
    Made tried;  ///< What is asked about to find the largest: a little more.
    std::function<std::int64_t(std::size_t at)> cut;  ///< Of what was asked for, in thousandths.
    std::function<std::int64_t(std::int64_t cut)> loss;
    /// Of what is asked for ahead: the value to begin with, if there is one that promises more.
    std::optional<std::size_t> first = std::nullopt;
  };

  const GpuRequest& gpu() const { return question_.spec.request.gpu; }
  bool asks_for_gpus() const { return gpu().count > GpuCount(0); }
  bool may(Wanting what) const { return !question_.fixed.contains(what); }
  bool waits_shortly() const {
    return question_.start && *question_.start - question_.now < kShortWait;
  }

  std::optional<Answered> at_once(const JobSpec& spec) {
    if (++asked_ > kMostAsked) return std::nullopt;
    return source_.at_once(spec);
  }

  /// With this wish it starts at once, or waits half as long.
  std::optional<Answered> much_sooner(const JobSpec& spec) {
    if (++asked_ > kMostAsked) return std::nullopt;
    const auto answered = source_.ahead(spec);
    if (!answered || !question_.start) return answered;
    const Duration wait = *question_.start - question_.now;
    const bool helps = !waits_shortly() && answered->start - question_.now <= wait / 2;
    return helps ? answered : std::nullopt;
  }

  void note(Wanting what, JobSpec spec, Answered answered, std::int64_t loss) {
    found_.push_back({.what = what,
                      .spec = std::move(spec),
                      .start = answered.start,
                      .placement = std::move(answered.placement),
                      .loss_milli = loss});
  }

  /// One wish without values of its own.
  bool single(Wanting what, const JobSpec& spec, std::int64_t loss) {
    auto answered = ask(spec);
    if (answered) note(what, spec, std::move(*answered), loss);
    return answered.has_value();
  }

  void scale(const Scale& scale) {
    if (scale.values == 0) return;
    return looks_ == Looks::Ahead ? a_part_of(scale) : the_most_of(scale);
  }

  /// Bisection: the first value serves, and the one at `beyond` does not.
  void the_most_of(const Scale& scale) {
    if (!at_once(scale.tried(0))) return;
    std::size_t best = 0;
    for (std::size_t beyond = scale.values; beyond - best > 1;) {
      const std::size_t middle = best + (beyond - best) / 2;
      (at_once(scale.tried(middle)) ? best : beyond) = middle;
    }
    const std::int64_t cut = scale.cut(best);
    if (cut <= (waits_shortly() ? kHalf : kMostCut))
      single(scale.what, scale.of(best), scale.loss(cut));
  }

  /// A run into the future costs more than a step: only a few values, the largest first, and then
  /// some between the one that serves and the one above it that does not.
  void a_part_of(const Scale& scale) {
    std::size_t beyond = scale.values;
    for (const std::size_t at : values_ahead(scale)) {
      if (auto answered = much_sooner(scale.of(at))) {
        return the_most_between(scale, {at, std::move(*answered)}, beyond);
      }
      // One that is tried before the others says nothing of those above it.
      if (at != scale.first) beyond = at;
    }
  }

  /// What has room now, and then ever less of what was asked for.
  static std::vector<std::size_t> values_ahead(const Scale& scale) {
    constexpr std::array<std::int64_t, 4> kCuts = {250, 500, 750, 875};
    std::vector<std::size_t> values;
    if (scale.first) values.push_back(*scale.first);
    for (const std::int64_t least : kCuts) {
      std::size_t at = scale.values;
      while (at > 0 && scale.cut(at - 1) < least) --at;
      if (at > 0 && std::ranges::find(values, at - 1) == values.end()) values.push_back(at - 1);
    }
    return values;
  }

  struct Served {
    std::size_t at;
    Answered answered;
  };

  /// Bisection, for a few questions: a larger value must not start the job later.
  void the_most_between(const Scale& scale, Served best, std::size_t beyond) {
    constexpr int kMostBetween = 4;
    for (int asked = 0; asked < kMostBetween && beyond - best.at > 1; ++asked) {
      const std::size_t middle = best.at + (beyond - best.at) / 2;
      auto answered = much_sooner(scale.of(middle));
      if (answered && answered->start <= best.answered.start) {
        best = {middle, std::move(*answered)};
      } else {
        beyond = middle;
      }
    }
    note(scale.what, scale.of(best.at), std::move(best.answered), scale.loss(scale.cut(best.at)));
  }

  /// It asks for nothing less, so it is the cheapest. It opens the places there are now, and makes
  /// none: nothing is asked of it ahead.
  void share() {
    if (looks_ == Looks::Ahead || gpu().sharing != Sharing::Shared) return;
    JobSpec spec = question_.spec;
    spec.request.gpu.sharing = Sharing::AtOnce;
    single(Wanting::Share, spec, 10);
  }

  /// Of one GPU, as most drivers suspend no other.
  void suspend() {
    const JobSpec& asked = question_.spec;
    const bool may_change = asked.suspending == Suspending::No &&
                            asked.duration_class != DurationClass::Service &&
                            gpu().count == GpuCount(1) && gpu().processes <= 1;
    if (!may_change || !question_.view.settings().can_suspend) return;
    JobSpec spec = asked;
    spec.suspending = Suspending::Yes;
    single(Wanting::Suspend, spec, 20);
  }

  void priority() {
    JobSpec spec = question_.spec;
    spec.priority = question_.next_priority;
    single(Wanting::Priority, spec, 50);
  }

  void times() {
    const JobSpec& spec = question_.spec;
    const bool is_known = spec.estimate != kForever;
    Duration least = minutes(1);
    if (is_known) least = std::max(least, spec.estimate);
    auto values = between(typed_times(), least, spec.time_limit);
    std::erase_if(values, [this](Duration limit) { return limit > question_.longest_time; });
    const Duration usual = question_.usual_run == kForever ? hours(24) : question_.usual_run;
    const Duration whole = spec.time_limit != kForever ? spec.time_limit
                           : is_known                  ? spec.estimate
                                                       : usual;
    const auto with = [&spec](Duration limit) {
      JobSpec made = spec;
      made.time_limit = limit;
      return made;
    };
    scale(
        {.what = Wanting::Time,
         .values = values.size(),
         .of = [&](std::size_t at) { return with(values[at]); },
         .tried =
             [&](std::size_t at) { return with(values[at] + std::min(kToType, values[at] / 10)); },
         .cut = [&](std::size_t at) { return cut_of(micros(values[at]), micros(whole)); },
         .loss = [](std::int64_t cut) { return cut; }});
  }

  void sizes() {
    const JobSpec& spec = question_.spec;
    const bool is_whole = gpu().vram == Bytes(0);
    if (is_whole && spec.vram_estimate > Bytes(0)) return;  // what it needs was measured
    Bytes most(0);
    for (const GpuSpec& one : question_.view.cluster().gpus()) {
      if (accepts(gpu(), one)) most = std::max(most, one.capacity);
    }
    const bool is_alone = gpu().sharing == Sharing::Alone;
    if (is_alone && !is_whole) return;  // its user has stated both
    const Bytes whole = is_whole ? most : gpu().vram;
    const Bytes least(whole.raw() / (is_whole ? 8 : 2));
    const auto values = between(typed_sizes(whole), least, whole);
    const auto with_size = [&spec, is_alone](Bytes size) {
      JobSpec made = spec;
      made.request.gpu.vram = size;
      if (is_alone) made.request.gpu.sharing = Sharing::Shared;
      return made;
    };
    const auto with = [&](std::size_t at) { return with_size(values[at]); };
    const auto too_large = std::ranges::partition_point(
        values, [&](Bytes size) { return fits_now(with_size(size).request); });
    const auto fitting = static_cast<std::size_t>(too_large - values.begin());
    // A user who has said no amount gives up less than one who has, and who needs that much.
    const std::int64_t base = is_alone ? kWhole : is_whole ? 0 : kNeeded;
    scale({.what = Wanting::Vram,
           .values = values.size(),
           .of = with,
           .tried = with,
           .cut = [&](std::size_t at) { return cut_of(values[at].raw(), whole.raw()); },
           .loss = [base](std::int64_t cut) { return base + cut / 2; },
           .first = fitting > 0 ? std::optional(fitting - 1) : std::nullopt});
  }

  /// Down to half of the cores, or of the host memory; `base` is the loss of any of it.
  template <class Amount>
  void less_of(Wanting what, Amount Request::* amount, const std::vector<Amount>& typed,
               std::int64_t base) {
    const JobSpec& spec = question_.spec;
    const Amount whole = spec.request.*amount;
    const auto values = between(typed, Amount((whole.raw() + 1) / 2), whole);
    const auto with = [&](std::size_t at) {
      JobSpec made = spec;
      made.request.*amount = values[at];
      return made;
    };
    scale({.what = what,
           .values = values.size(),
           .of = with,
           .tried = with,
           .cut = [&](std::size_t at) { return cut_of(values[at].raw(), whole.raw()); },
           .loss = [base](std::int64_t cut) { return base + cut / 2; }});
  }

  /// Whether as many GPUs as are asked for have room now, whatever else keeps the job off them.
  bool fits_now(const Request& request) const {
    const ClusterView& view = question_.view;
    std::int64_t fitting = 0;
    for (std::uint32_t g = 0; g < view.cluster().gpus().size(); ++g) {
      const GpuSpec& spec = view.cluster().gpu(GpuId(g));
      const GpuUse& use = view.use().gpu(GpuId(g));
      if (admits(view.settings().admission, spec, use, {.request = request})) ++fitting;
    }
    return fitting >= request.gpu.count.raw();
  }

  void gpus() {
    const JobSpec& spec = question_.spec;
    const std::int64_t count = gpu().count.raw();
    const auto with = [&](std::size_t at) {
      JobSpec made = spec;
      made.request.gpu.count = GpuCount(static_cast<std::int64_t>(at) + 1);
      return made;
    };
    scale({.what = Wanting::Gpus,
           .values = static_cast<std::size_t>(count - 1),
           .of = with,
           .tried = with,
           .cut = [&](std::size_t at) { return cut_of(static_cast<std::int64_t>(at) + 1, count); },
           .loss = [](std::int64_t cut) { return kNeeded + cut / 2; }});
  }

  /// Of all types: those of the place that it would get are added to what it accepts.
  void types() {
    JobSpec spec = question_.spec;
    spec.request.gpu.types = 0;
    const auto any = ask(spec);
    if (!any || any->placement.gpus.empty() || !is_served_alike(any->placement)) return;
    spec.request.gpu.types = gpu().types;
    for (const GpuId one : any->placement.gpus) {
      spec.request.gpu.types |= question_.view.cluster().type_bit(one);
    }
    single(Wanting::Types, spec, 300);
  }

  /// A type may stand for how GPUs are shared: an instance of MIG is not offered for a whole GPU.
  bool is_served_alike(const Placement& place) const {
    const Cluster& cluster = question_.view.cluster();
    const auto accepted = std::ranges::find_if(
        cluster.gpus(), [&](const GpuSpec& one) { return accepts(gpu(), one); });
    return accepted != cluster.gpus().end() && std::ranges::all_of(place.gpus, [&](GpuId one) {
             return cluster.gpu(one).share_mode == accepted->share_mode;
           });
  }

  void only() {
    JobSpec spec = question_.spec;
    spec.request.gpu.only = 0;
    const auto any = ask(spec);
    if (!any) return;
    spec.request.gpu.only = gpu().only;
    for (const GpuId one : any->placement.gpus) spec.request.gpu.only |= set_of(one);
    single(Wanting::Only, spec, 200);
  }

  std::optional<Answered> ask(const JobSpec& spec) {
    return looks_ == Looks::Ahead ? much_sooner(spec) : at_once(spec);
  }

  const HintQuestion& question_;
  const HintSource& source_;
  Looks looks_;
  int asked_ = 0;
  std::vector<Hint> found_;
};

}  // namespace

std::vector<Hint> hints_for(const HintQuestion& question, const HintSource& source) {
  auto found = HintSearch(question, source, HintSearch::Looks::AtOnce).find();
  if (!found.empty() || !source.ahead) return found;
  return HintSearch(question, source, HintSearch::Looks::Ahead).find();
}

std::optional<Placement> placed_at_once(Engine copy, const Input& wish, JobId job, Instant now) {
  copy.step(std::max(now, copy.now()), std::span(&wish, 1));
  const Job* const known = copy.view().find(job);
  if (known == nullptr || !is_running(known->state)) return std::nullopt;
  return placement_of(known->grant);
}

std::int32_t priority_above_own(const ClusterView& view, const JobSpec& spec, JobId job) {
  std::optional<std::int32_t> highest;
  view.for_each_pending([&](const JobView& other) {
    if (other.user() != spec.user || other.id() == job) return;
    highest = std::max(highest.value_or(other.spec().priority), other.spec().priority);
  });
  if (!highest || *highest < spec.priority || *highest >= limits::kMostPriority) return 0;
  return *highest + 1;
}

}  // namespace berth
