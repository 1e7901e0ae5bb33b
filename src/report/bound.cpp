#include "report/bound.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <string>

#include "sim/spread.hpp"

namespace berth::sim {

namespace {

constexpr double kNoEnd = std::numeric_limits<double>::max();

/// One job on one resource; seconds.
struct Piece {
  double submit = 0;
  double run = 0;   ///< At its fastest.
  double work = 0;  ///< Of a machine that has all of the resource.
};

/// Ends under shortest remaining work first on one machine, ascending. Requires: by submission.
std::vector<double> ends_on_one_machine(const std::vector<Piece>& pieces) {
  std::vector<double> ends;
  ends.reserve(pieces.size());
  std::priority_queue<double, std::vector<double>, std::greater<>> left;
  double now = 0;
  for (std::size_t next = 0; next < pieces.size() || !left.empty();) {
    if (left.empty()) now = std::max(now, pieces[next].submit);
    while (next < pieces.size() && pieces[next].submit <= now) left.push(pieces[next++].work);
    const double until = next < pieces.size() ? pieces[next].submit : kNoEnd;
    const double shortest = left.top();
    left.pop();
    if (now + shortest <= until) {
      ends.push_back(now += shortest);
    } else {
      left.push(shortest - (until - now));
      now = until;
    }
  }
  return ends;
}

/// The sum of the k-th ends at the earliest, each less the submission of some job.
double sum_by_counting(const std::vector<Piece>& pieces) {
  const std::vector<double> shared = ends_on_one_machine(pieces);
  std::vector<double> alone;
  alone.reserve(pieces.size());
  for (const Piece& piece : pieces) alone.push_back(piece.submit + piece.run);
  std::ranges::sort(alone);
  double sum = 0;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    sum += std::max(shared[k], alone[k]) - pieces[k].submit;
  }
  return sum;
}

/// Time in which the machine is busy with the least works, and what that adds to the run times.
struct Busy {
  double end = 0;
  double gain = 0;  ///< Of all its jobs together.
  double best = 0;  ///< Of those of its parts of which the bound says the most; 0 of none.
};

/// Fills the machine's idle time, the least work first: each job as early as it can.
class Filling {
 public:
  void add(const Piece& piece) {
    double begin = piece.submit;
    double at = piece.submit;
    double left = piece.work;
    double moment = 0;  // integral of time over its work
    Busy merged;
    const auto join = [&](auto busy) {
      at = busy->second.end;
      merged.gain += busy->second.gain;
      merged.best += busy->second.best;
      return busy_.erase(busy);
    };
    auto next = busy_.upper_bound(at);
    if (next != busy_.begin() && std::prev(next)->second.end > at) {
      begin = std::prev(next)->first;
      next = join(std::prev(next));
    }
    for (;;) {
      const double idle = next == busy_.end() ? left : std::min(left, next->first - at);
      moment += idle * (at + idle / 2);
      at += idle;
      left -= idle;
      if (left <= 0 || next == busy_.end()) break;
      next = join(next);
    }
    merged.end = at;
    merged.gain += moment / piece.work - piece.submit - piece.run / 2;
    merged.best = std::max(merged.best, merged.gain);
    busy_.emplace(begin, merged);
  }

  /// What the bound adds to the sum of the run times.
  double best() const {
    double sum = 0;
    for (const auto& [begin, busy] : busy_) sum += busy.best;
    return sum;
  }

 private:
  std::map<double, Busy> busy_;  ///< By begin.
};

double sum_by_averages(std::vector<Piece> pieces) {
  double sum = 0;
  for (const Piece& piece : pieces) sum += piece.run;
  std::ranges::stable_sort(pieces, {}, &Piece::work);
  Filling filling;
  for (const Piece& piece : pieces) {
    if (piece.work > 0) filling.add(piece);
  }
  return sum + filling.best();
}

using Resource = double Demand::*;

/// The resources that this admission never grants twice. Of one of which no job takes more than of
/// the slots, nothing follows that does not follow from those.
std::vector<Resource> enforced(AdmissionMode mode, const std::vector<Demand>& demands) {
  if (mode == AdmissionMode::None) return {};
  std::vector<Resource> resources = {&Demand::slots};
  const auto add = [&](Resource resource) {
    const auto takes_more = [&](const Demand& one) { return one.*resource > one.slots; };
    if (std::ranges::any_of(demands, takes_more)) resources.push_back(resource);
  };
  add(&Demand::compute);
  if (mode != AdmissionMode::FreeMemory) add(&Demand::memory);
  return resources;
}

/// The speed of a model on the type of GPU that suits it best; no other factor is above 1.
class Fastest {
 public:
  explicit Fastest(const Speeds& speeds) : speeds_(speeds) {}

  double of(const std::string& model) {
    if (!speeds_.has_types()) return 1;
    const auto [known, is_new] = rates_.try_emplace(model);
    if (is_new) known->second = speeds_.fastest_type(model);
    return static_cast<double>(known->second.ppm()) / Rate::kWhole;
  }

 private:
  const Speeds& speeds_;
  std::map<std::string, Rate> rates_;
};

}  // namespace

Bounds::Bounds(const trace::Trace& trace, const Cluster& cluster, const Options& options)
    : trace_(trace),
      options_(options),
      demands_(cluster),
      gpus_(static_cast<double>(cluster.gpu_count().raw())),
      counted_(trace.jobs.size()) {}

const std::optional<Bound>& Bounds::of(const Result& result) {
  std::vector<bool> counted(counted_.size());
  for (const JobResult& job : result.jobs) {
    const Instant submit = trace_.jobs[job.job].submit;
    counted[job.job] = job.end != kNever && (!result.measured || result.measured->has(submit));
  }
  if (counted != counted_) {
    counted_ = std::move(counted);
    last_ = bound();
  }
  return last_;
}

std::optional<Bound> Bounds::bound() const {
  std::vector<Piece> pieces;
  std::vector<Demand> demands;
  Fastest fastest(options_.rates.speeds);
  double alone = 0;
  const Instant first = trace_.jobs.empty() ? kStart : trace_.jobs.front().submit;
  for (std::size_t i = 0; i < counted_.size(); ++i) {
    if (!counted_[i]) continue;
    const trace::TraceJob& job = trace_.jobs[i];
    pieces.push_back({.submit = in_seconds(job.submit - first),
                      .run = in_seconds(job.duration) / fastest.of(job.model)});
    demands.push_back(demands_.of(job.spec));
    alone += pieces.back().run;
  }
  if (pieces.empty()) return std::nullopt;
  double sum = alone;
  for (const Resource resource : enforced(options_.settings.admission.mode, demands)) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      pieces[i].work = demands[i].*resource * pieces[i].run / gpus_;
    }
    sum = std::max({sum, sum_by_counting(pieces), sum_by_averages(pieces)});
  }
  const auto jobs = static_cast<double>(pieces.size());
  Bound bound{.jobs = pieces.size(), .jct = sum / jobs};
  if (options_.is_perfect()) bound.wait = (sum - alone) / jobs;
  return bound;
}

}  // namespace berth::sim
