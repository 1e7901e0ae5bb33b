#include "report/bound.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <string>
#include <tuple>

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

/// Time in which the machine works on one job.
struct Segment {
  std::size_t piece = 0;
  double from = 0;
  double to = 0;
  bool is_last = false;  ///< It ends then.
};

/// One machine that always works on the piece of the least `key(piece, work left)`; ties by
/// submission. Calls `note(segment)` in order of time. Requires: pieces by submission; a key does
/// not grow as work is done. O(pieces log pieces).
template <class Key, class Note>
void on_one_machine(const std::vector<Piece>& pieces, Key key, Note note) {
  struct Ready {
    double key;
    std::size_t piece;
    double left;
    bool operator>(const Ready& other) const {
      return std::tie(key, piece) > std::tie(other.key, other.piece);
    }
  };
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  double now = 0;
  for (std::size_t next = 0; next < pieces.size() || !ready.empty();) {
    if (ready.empty()) now = std::max(now, pieces[next].submit);
    for (; next < pieces.size() && pieces[next].submit <= now; ++next) {
      ready.push({key(pieces[next], pieces[next].work), next, pieces[next].work});
    }
    const double until = next < pieces.size() ? pieces[next].submit : kNoEnd;
    Ready one = ready.top();
    ready.pop();
    const bool is_last = now + one.left <= until;
    const double to = is_last ? now + one.left : until;
    note(Segment{one.piece, now, to, is_last});
    if (!is_last) {
      one.left -= to - now;
      one.key = key(pieces[one.piece], one.left);
      ready.push(one);
    }
    now = to;
  }
}

/// The sum of the k-th ends at the earliest, each less the submission of some job.
double sum_by_counting(const std::vector<Piece>& pieces) {
  std::vector<double> shared;
  std::vector<double> alone;
  shared.reserve(pieces.size());
  alone.reserve(pieces.size());
  on_one_machine(
      pieces, [](const Piece&, double left) { return left; },
      [&](const Segment& segment) {
        if (segment.is_last) shared.push_back(segment.to);
      });
  for (const Piece& piece : pieces) alone.push_back(piece.submit + piece.run);
  std::ranges::sort(alone);
  double sum = 0;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    sum += std::max(shared[k], alone[k]) - pieces[k].submit;
  }
  return sum;
}

/// Sums over the busy times of the jobs up to each amount of work: stretches of segments, none of
/// more work than that, without idle time. One of more work contains some of less, so they are a
/// tree, and of each the larger is taken of all its jobs' gains together and of what was taken of
/// those that it contains; at least 0, for none of its jobs.
class BusyTimes {
 public:
  /// The next segment in time.
  void add(double work, double gain) {
    const Sums before = close_up_to(work);
    if (open_.empty() || open_.back().work > work) open_.push_back({.work = work, .sums = {}});
    Sums& sums = open_.back().sums;
    sums.gain += before.gain + gain;
    sums.best += before.best;
  }
  /// The machine has nothing to do.
  void idle() { best_ += close_up_to(kNoEnd).best; }
  /// After the last.
  double best() {
    idle();
    return best_;
  }

 private:
  struct Sums {
    double gain = 0;  ///< Of all jobs.
    double best = 0;  ///< Of what is contained; when closed, with the whole considered.
  };
  /// That may go on.
  struct Open {
    double work = 0;
    Sums sums;
  };

  /// Those that end where a segment of so much work begins; what they come to.
  Sums close_up_to(double work) {
    Sums closed;
    for (; !open_.empty() && open_.back().work < work; open_.pop_back()) {
      const Sums& sums = open_.back().sums;
      closed.gain += sums.gain;
      closed.best = std::max({0.0, closed.gain, closed.best + sums.best});
    }
    return closed;
  }

  std::vector<Open> open_;  ///< Each contains the next; by work, descending.
  double best_ = 0;         ///< Of all before the last idle time.
};

double sum_by_middles(const std::vector<Piece>& pieces) {
  std::vector<double> moments(pieces.size());  // integrals of time over work
  BusyTimes busy;
  double sum = 0;
  double end = 0;
  for (const Piece& piece : pieces) sum += piece.run;
  on_one_machine(
      pieces, [](const Piece& piece, double) { return piece.work; },
      [&](const Segment& segment) {
        const Piece& piece = pieces[segment.piece];
        if (piece.work <= 0) return;
        if (segment.from > end) busy.idle();
        end = segment.to;
        double& moment = moments[segment.piece];
        moment += (segment.to - segment.from) * (segment.from + segment.to) / 2;
        const double gain = moment / piece.work - piece.submit - piece.run / 2;
        busy.add(piece.work, segment.is_last ? gain : 0);
      });
  return sum + busy.best();
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
    last_ = bound(options_.is_perfect() && result.is_perfect);
  }
  return last_;
}

std::optional<Bound> Bounds::bound(bool is_perfect) const {
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
    sum = std::max({sum, sum_by_counting(pieces), sum_by_middles(pieces)});
  }
  const auto jobs = static_cast<double>(pieces.size());
  Bound bound{.jobs = pieces.size(), .jct = sum / jobs};
  if (is_perfect) bound.wait = (sum - alone) / jobs;
  return bound;
}

}  // namespace berth::sim
