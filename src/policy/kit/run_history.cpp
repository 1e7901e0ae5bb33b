#include "policy/kit/run_history.hpp"

#include <algorithm>
#include <array>

namespace berth {

namespace {

constexpr std::int64_t kWindow = 32;
constexpr std::size_t kMostMeans = 16'384;
constexpr std::int64_t kMostLessons = std::int64_t{1} << 60;

/// The kinds a job is of, the most telling first. One that names no program is of fewer.
std::array<RunTraits, 6> kinds_of(const RunTraits& job) {
  return {{{job.user, job.program, job.gpus},
           {job.user, job.program, -1},
           {job.user, 0, job.gpus},
           {job.user, 0, -1},
           {-1, 0, job.gpus},
           {-1, 0, -1}}};
}

}  // namespace

void RunHistory::learn(const RunTraits& job, Duration ran) {
  ++lessons_;
  const std::array<Kind, 6> kinds = kinds_of(job);
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (std::find(kinds.begin(), kinds.begin() + i, kinds[i]) != kinds.begin() + i) continue;
    Mean& mean = means_[kinds[i]];
    mean.times = std::min(mean.times + 1, kWindow);
    mean.run += (std::min(ran, kLongestRun) - mean.run) / mean.times;
    by_age_.erase({mean.latest, kinds[i]});
    mean.latest = lessons_;
    by_age_.insert({mean.latest, kinds[i]});
  }
  forget_the_oldest();
}

void RunHistory::forget_the_oldest() {
  while (means_.size() > kMostMeans) {
    means_.erase(by_age_.begin()->second);
    by_age_.erase(by_age_.begin());
  }
}

Duration RunHistory::expected(const RunTraits& job) const {
  for (const Kind& kind : kinds_of(job)) {
    const auto found = means_.find(kind);
    if (found != means_.end()) return found->second.run;
  }
  return kForever;
}

void RunHistory::save(ByteWriter& out) const {
  out.integer(lessons_);
  out.integer(std::ssize(means_));
  for (const auto& [kind, mean] : means_) {
    for (const std::int64_t field :
         {kind.user, kind.program, kind.gpus, micros(mean.run), mean.times, mean.latest}) {
      out.integer(field);
    }
  }
}

bool RunHistory::restore(ByteReader& in) {
  *this = {};
  lessons_ = in.integer();
  bool sane = lessons_ >= 0 && lessons_ <= kMostLessons;
  for (std::int64_t left = in.integer(); left > 0 && sane && !in.failed(); --left) {
    const Kind kind{.user = in.integer(), .program = in.integer(), .gpus = in.integer()};
    const Mean mean{.run = Duration(in.integer()), .times = in.integer(), .latest = in.integer()};
    sane = mean.run >= Duration::zero() && mean.run <= kLongestRun && mean.times >= 1 &&
           mean.times <= kWindow && mean.latest <= lessons_ && means_.size() < kMostMeans;
    if (means_.emplace(kind, mean).second) by_age_.emplace(mean.latest, kind);
  }
  return sane && !in.failed();
}

}  // namespace berth
