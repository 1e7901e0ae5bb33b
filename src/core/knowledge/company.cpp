#include "core/knowledge/company.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr std::int64_t kWhole = 1'000'000;
constexpr std::int64_t kLeastRate = kWhole / 10;  ///< Slower is an odd run, or another job.
constexpr std::int32_t kMostTimes = 1 << 20;
/// A run's figure may be off by so much, in percent, for what run times alone differ by.
constexpr std::int64_t kMostError = 15;
/// Of reports, alone and beside, that show a speed; and alone, before a GPU shows how busy it is.
constexpr Duration kLeastTime = minutes(1);
/// Figures of one pair follow its program's changes; those of all pairs that are as busy are many.
constexpr std::int64_t kPartOfPair = 4;
constexpr std::int64_t kPartAsBusy = 64;

std::int64_t moved(std::int64_t mean, std::int64_t figure, std::int32_t times) {
  return times == 0 ? figure : mean + (figure - mean) / 4;
}

/// The mean of all figures while they are few, else moved by this part towards the new one.
void note_figure(PairRate& rate, std::int64_t ppm, std::int64_t part) {
  const std::int64_t off = ppm > rate.ppm ? ppm - rate.ppm : rate.ppm - ppm;
  const auto by = [&](std::int32_t times) { return std::min<std::int64_t>(times + 1, part); };
  if (rate.times > 0) rate.spread += (off - rate.spread) / by(rate.times - 1);
  rate.ppm += (ppm - rate.ppm) / by(rate.times);
  rate.times = std::min(rate.times + 1, kMostTimes);
}

std::uint8_t duty_class(std::int16_t busy) {
  return static_cast<std::uint8_t>((std::clamp<std::int16_t>(busy, 0, 100) + kDutyStep / 2) /
                                   kDutyStep);
}

void advance(Advance& sum, std::int64_t done, Duration time) {
  if (done > std::numeric_limits<std::int64_t>::max() - sum.done) return;
  sum.done += done;
  sum.time += time;
}

/// Of its speed alone; nothing where there is too little of either.
std::optional<std::int64_t> speed_of(const Advance& beside, const Advance& alone) {
  if (alone.time < kLeastTime || beside.time < kLeastTime || alone.done == 0) return std::nullopt;
  const Wide whole = Wide{alone.done} * micros(beside.time);
  const Wide done = Wide{beside.done} * micros(alone.time);
  const Wide rate = done / std::max<Wide>(1, whole / kWhole);  // neither product may grow further
  return static_cast<std::int64_t>(std::clamp<Wide>(rate, kLeastRate, kWhole));
}

}  // namespace

Company::Company(CompanyRecord record)
    : meetings_(std::move(record.meetings)),
      lessons_(std::move(record.lessons)),
      learned_(record.learned),
      stints_(std::move(record.stints)),
      by_duty_(std::move(record.by_duty)) {
  for (const Identity& one : record.jobs) jobs_.insert(one.job, one.what);
  for (const auto& [what, lesson] : lessons_) pairs_ += lesson.beside.size();
}

CompanyRecord Company::record() const {
  CompanyRecord record{.jobs = {},
                       .meetings = meetings_,
                       .lessons = lessons_,
                       .learned = learned_,
                       .stints = stints_,
                       .by_duty = by_duty_};
  record.jobs.reserve(jobs_.size());
  jobs_.for_each([&](JobId job, Fingerprint what) { record.jobs.push_back({job, what}); });
  return record;
}

CompanyRecord Company::record_of(std::span<const JobId> jobs) const {
  CompanyRecord record{.jobs = {},
                       .meetings = {},
                       .lessons = lessons_,
                       .learned = learned_,
                       .stints = {},
                       .by_duty = by_duty_};
  for (const JobId job : jobs) {
    if (const Fingerprint what = of(job); what != Fingerprint(0))
      record.jobs.push_back({job, what});
    const auto found = meetings_.find(job);
    if (found != meetings_.end()) record.meetings.insert(*found);
    const auto stint = stints_.find(job);
    if (stint != stints_.end()) record.stints.insert(*stint);
  }
  return record;
}

void Company::identify(JobId job, Fingerprint what) {
  if (what == Fingerprint(0)) return;
  if (Fingerprint* const known = jobs_.find(job)) {
    *known = what;
  } else {
    jobs_.insert(job, what);
  }
}

Fingerprint Company::of(JobId job) const {
  const Fingerprint* const known = jobs_.find(job);
  return known == nullptr ? Fingerprint(0) : *known;
}

void Company::forget(JobId job) {
  if (jobs_.find(job) != nullptr) jobs_.erase(job);
  part(job);
}

void Company::part(JobId job) {
  meetings_.erase(job);
  stints_.erase(job);
}

Meeting* Company::meeting(JobId job, JobId beside) {
  std::vector<Meeting>& meetings = meetings_[job];
  const Fingerprint with = of(beside);  // job 0 has none
  const auto known = std::ranges::find(meetings, with, &Meeting::with);
  if (known != meetings.end()) {
    known->last = beside;
    return &*known;
  }
  if (meetings.size() >= kMostMeetings) return nullptr;
  meetings.push_back({.with = with, .last = beside});
  return &meetings.back();
}

void Company::pass(JobId job, std::optional<JobId> beside, Instant began, Instant at) {
  if (of(job) == Fingerprint(0)) return;
  Stint& stint = stints_[job];
  const Instant from = std::max(began, stint.since);
  stint.reported = kNever;
  if (at <= from) return;
  stint.since = at;
  if (!beside) return;
  if (Meeting* const met = meeting(job, *beside)) met->together += at - from;
}

void Company::saw_alone(JobId job, std::int16_t busy, Instant began, Instant at) {
  if (of(job) == Fingerprint(0) || busy == kUnknownBusy) return;
  Stint& stint = stints_[job];
  if (at - std::max(began, stint.since) >= kLeastTime) stint.busy = busy;
}

void Company::report(JobId job, std::optional<JobId> beside, std::int64_t done, Instant at) {
  if (of(job) == Fingerprint(0) || done < 0) return;
  Stint& stint = stints_[job];
  if (stint.reported < at && done >= stint.done) {
    const Duration time = at - stint.reported;
    if (!beside) {
      advance(stint.alone, done - stint.done, time);
    } else if (Meeting* const met = meeting(job, *beside)) {
      advance(met->advance, done - stint.done, time);
    }
  }
  stint.reported = at;
  stint.done = done;
}

void Company::leave(JobId job) {
  const auto stint = stints_.find(job);
  const Fingerprint what = of(job);
  if (stint == stints_.end() || what == Fingerprint(0)) return;
  if (const std::int16_t busy = stint->second.busy; busy != kUnknownBusy) {
    Lesson& lesson = lesson_of(what, job);
    const std::int32_t times = lesson.busy == kUnknownBusy ? 0 : 1;
    lesson.busy = static_cast<std::int16_t>(moved(lesson.busy, busy, times));
  }
  if (const auto meetings = meetings_.find(job); meetings != meetings_.end()) {
    for (Meeting& met : meetings->second) {
      const auto rate = speed_of(met.advance, stint->second.alone);
      met.advance = {};
      if (!rate || met.with == Fingerprint(0)) continue;
      met.is_told = true;
      lesson_of(what, job);
      add_figure(what, met, *rate);
    }
  }
  stints_.erase(stint);
}

void Company::learn(JobId job, Duration ran) {
  const Fingerprint what = of(job);
  if (what == Fingerprint(0) || ran <= Duration::zero()) return;
  const auto meetings = meetings_.find(job);
  Duration all{0};
  const Meeting* main = nullptr;
  if (meetings != meetings_.end()) {
    for (const Meeting& met : meetings->second) {
      all += met.together;
      if (main == nullptr || met.together > main->together) main = &met;
    }
  }
  if (all * 10 <= ran) return note_alone(what, ran, job);
  const auto known = lessons_.find(what);
  if (all > ran || known == lessons_.end() || known->second.times == 0) return;
  const Lesson& lesson = known->second;
  const bool is_clear = main->together * 10 >= all * 9 && main->with != Fingerprint(0);
  const bool is_sure = lesson.spread * 100 <= all * kMostError;
  if (!is_clear || !is_sure || main->is_told) return;
  const Duration done = std::clamp(lesson.alone - (ran - all), Duration::zero(), all);
  const auto rate = static_cast<std::int64_t>(Wide{done.count()} * kWhole / all.count());
  lesson_of(what, job);
  add_figure(what, *main, std::max(kLeastRate, rate));
}

Lesson& Company::lesson_of(Fingerprint what, JobId job) {
  if (lessons_.size() >= kMostLessons && !lessons_.contains(what)) {
    const auto oldest = std::ranges::min_element(
        lessons_, {}, [](const auto& entry) { return entry.second.latest; });
    pairs_ -= oldest->second.beside.size();
    lessons_.erase(oldest);
  }
  Lesson& lesson = lessons_[what];
  lesson.latest = ++learned_;
  lesson.last = job;
  return lesson;
}

void Company::note_alone(Fingerprint what, Duration ran, JobId job) {
  Lesson& lesson = lesson_of(what, job);
  const Duration off = ran > lesson.alone ? ran - lesson.alone : lesson.alone - ran;
  lesson.spread =
      lesson.times == 0 ? ran / 10 : Duration(moved(lesson.spread.count(), off.count(), 1));
  lesson.alone = Duration(moved(lesson.alone.count(), ran.count(), lesson.times));
  lesson.times = std::min(lesson.times + 1, kMostTimes);
}

/// Requires: there is a lesson of it.
void Company::add_figure(Fingerprint what, const Meeting& meeting, std::int64_t ppm) {
  Lesson& lesson = lessons_.at(what);
  if (const auto pair = duties(what, meeting.with)) note_figure(by_duty_[*pair], ppm, kPartAsBusy);
  if (lesson.beside.size() >= kMostBeside && !lesson.beside.contains(meeting.with)) return;
  const auto [pair, is_new] = lesson.beside.try_emplace(meeting.with);
  pairs_ += is_new ? 1 : 0;
  note_figure(pair->second, ppm, kPartOfPair);
  pair->second.last = meeting.last;
}

std::optional<DutyPair> Company::duties(Fingerprint what, Fingerprint beside) const {
  const auto own = lessons_.find(what);
  const auto other = lessons_.find(beside);
  if (own == lessons_.end() || other == lessons_.end()) return std::nullopt;
  if (own->second.busy == kUnknownBusy || other->second.busy == kUnknownBusy) return std::nullopt;
  return DutyPair(duty_class(own->second.busy), duty_class(other->second.busy));
}

KnownRate Company::rate(Fingerprint what, Fingerprint beside) const {
  const auto lesson = lessons_.find(what);
  if (lesson == lessons_.end()) return {};
  const auto pair = lesson->second.beside.find(beside);
  if (pair != lesson->second.beside.end() && pair->second.times >= kEnough) {
    return {.ppm = pair->second.ppm, .from = RateSource::Pair, .times = pair->second.times};
  }
  const auto both = duties(what, beside);
  const auto as_busy = both ? by_duty_.find(*both) : by_duty_.end();
  if (as_busy == by_duty_.end() || as_busy->second.times < kEnoughAsBusy) return {};
  return {.ppm = as_busy->second.ppm, .from = RateSource::Duty, .times = as_busy->second.times};
}

std::optional<std::int64_t> Company::mean_ppm(Fingerprint what) const {
  const auto lesson = lessons_.find(what);
  if (lesson == lessons_.end()) return std::nullopt;
  std::int64_t sum = 0;
  std::int64_t count = 0;
  const auto add = [&](const PairRate& rate, std::int32_t enough) {
    if (rate.times < enough) return;
    sum += rate.ppm;
    ++count;
  };
  for (const auto& [with, rate] : lesson->second.beside) add(rate, kEnough);
  if (count == 0 && lesson->second.busy != kUnknownBusy) {
    const std::uint8_t own = duty_class(lesson->second.busy);
    for (const auto& [duty, rate] : by_duty_) {
      if (duty.first == own) add(rate, kEnoughAsBusy);
    }
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

}  // namespace berth
