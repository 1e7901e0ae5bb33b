#include "core/knowledge/company.hpp"

#include <algorithm>
#include <utility>

#include "core/base/wide.hpp"

namespace berth {

namespace {

constexpr std::int64_t kWhole = 1'000'000;
constexpr std::int64_t kLeastRate = kWhole / 10;  ///< Slower is an odd run, or another job.
constexpr std::int32_t kEnough = 2;
constexpr std::int32_t kMostTimes = 1 << 20;

std::int64_t moved(std::int64_t mean, std::int64_t figure, std::int32_t times) {
  return times == 0 ? figure : mean + (figure - mean) / 4;
}

}  // namespace

Company::Company(CompanyRecord record)
    : meetings_(std::move(record.meetings)),
      lessons_(std::move(record.lessons)),
      learned_(record.learned) {
  for (const Identity& one : record.jobs) jobs_.insert(one.job, one.what);
  for (const auto& [what, lesson] : lessons_) pairs_ += lesson.beside.size();
}

CompanyRecord Company::record() const {
  CompanyRecord record{.jobs = {}, .meetings = meetings_, .lessons = lessons_, .learned = learned_};
  record.jobs.reserve(jobs_.size());
  jobs_.for_each([&](JobId job, Fingerprint what) { record.jobs.push_back({job, what}); });
  return record;
}

CompanyRecord Company::record_of(std::span<const JobId> jobs) const {
  CompanyRecord record{.jobs = {}, .meetings = {}, .lessons = lessons_, .learned = learned_};
  for (const JobId job : jobs) {
    if (const Fingerprint what = of(job); what != Fingerprint(0))
      record.jobs.push_back({job, what});
    const auto found = meetings_.find(job);
    if (found != meetings_.end()) record.meetings.insert(*found);
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

void Company::met(JobId one, JobId other, Duration together) {
  const auto note = [&](JobId job, JobId with) {
    if (of(job) == Fingerprint(0)) return;
    std::vector<Meeting>& meetings = meetings_[job];
    const auto known = std::ranges::find(meetings, of(with), &Meeting::with);
    if (known == meetings.end()) {
      if (meetings.size() < kMostMeetings) meetings.push_back({of(with), together});
    } else {
      known->together += together;
    }
  };
  note(one, other);
  note(other, one);
}

void Company::learn(JobId job, Duration ran) {
  const Fingerprint what = of(job);
  if (what == Fingerprint(0) || ran <= Duration::zero()) return;
  const auto meetings = meetings_.find(job);
  Duration all{0};
  if (meetings != meetings_.end()) {
    for (const Meeting& meeting : meetings->second) all += meeting.together;
  }
  const Duration together = std::min(all, ran);
  if (together * 10 <= ran) return note_alone(what, ran);
  const auto known = lessons_.find(what);
  if (known == lessons_.end() || known->second.times == 0) return;
  Lesson& lesson = known->second;
  lesson.latest = ++learned_;
  const Duration done = std::clamp(lesson.alone - (ran - together), Duration::zero(), together);
  const auto rate = static_cast<std::int64_t>(Wide{done.count()} * kWhole / together.count());
  const std::int64_t ppm = std::max(kLeastRate, rate);
  for (const Meeting& meeting : meetings->second) {
    if (meeting.together * 2 < all || meeting.with == Fingerprint(0)) continue;
    if (lesson.beside.size() >= kMostBeside && !lesson.beside.contains(meeting.with)) continue;
    const auto [pair, is_new] = lesson.beside.try_emplace(meeting.with);
    pairs_ += is_new ? 1 : 0;
    pair->second.ppm = moved(pair->second.ppm, ppm, pair->second.times);
    pair->second.times = std::min(pair->second.times + 1, kMostTimes);
  }
}

void Company::note_alone(Fingerprint what, Duration ran) {
  if (lessons_.size() >= kMostLessons && !lessons_.contains(what)) {
    const auto oldest = std::ranges::min_element(
        lessons_, {}, [](const auto& entry) { return entry.second.latest; });
    pairs_ -= oldest->second.beside.size();
    lessons_.erase(oldest);
  }
  Lesson& lesson = lessons_[what];
  lesson.alone = Duration(moved(lesson.alone.count(), ran.count(), lesson.times));
  lesson.times = std::min(lesson.times + 1, kMostTimes);
  lesson.latest = ++learned_;
}

std::int64_t Company::rate_ppm(Fingerprint what, Fingerprint beside) const {
  const auto lesson = lessons_.find(what);
  if (lesson == lessons_.end()) return kWhole;
  const auto pair = lesson->second.beside.find(beside);
  const bool is_known = pair != lesson->second.beside.end() && pair->second.times >= kEnough;
  return is_known ? pair->second.ppm : kWhole;
}

}  // namespace berth
