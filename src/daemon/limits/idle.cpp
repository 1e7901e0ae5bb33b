#include "daemon/limits/idle.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "gpu/probe.hpp"

namespace berth::daemon {

namespace {

constexpr Duration kKeepEvery = seconds(10);
constexpr Duration kWorthKeeping = seconds(5);  ///< So long idle, or told of.
constexpr Duration kLongestGap = minutes(1);    ///< Between a berthd and the next.

Instant last_busy(const std::map<GpuId, Instant>& busy) {
  return std::ranges::max_element(busy, {}, [](const auto& entry) { return entry.second; })->second;
}

/// By what is told of its processes, or else of the GPU. What is unknown accuses nobody.
bool may_run_kernels(JobId job, const Sample& sample, const OwnerOf& owner_of) {
  if (sample.utilisation_percent == 0U) return false;
  if (!sample.processes) return true;
  return std::ranges::any_of(*sample.processes, [&](const GpuProcess& process) {
    const Owner owner = owner_of(process.pid);
    const auto* const of = std::get_if<OfJob>(&owner);
    return of != nullptr && of->job == job && process.utilisation_percent.value_or(1) > 0;
  });
}

}  // namespace

std::string idle_in_past(std::string note) {
  if (!note.starts_with(kIdle)) return note;
  for (const auto& [now, then] :
       {std::pair<std::string_view, std::string_view>{"it holds GPU memory and has run",
                                                      "it held GPU memory and had run"},
        {"it has ", "it had "},
        {"it is ", "it was "}}) {
    if (const std::size_t at = note.find(now); at == kIdle.size())
      note.replace(at, now.size(), then);
  }
  return note;
}

void IdleWatch::on_look(const live::Look& look, const ClusterView& view, Instant now) {
  if (rules_ == IdleRules{}) return;
  if (look.sample && look.sample->is_glance) return;  // it does not tell who ran kernels
  std::erase_if(seen_, [&](const auto& entry) {
    const Job* const job = view.find(entry.first);
    return job == nullptr || job->state != JobState::Running ||
           job->attempt != entry.second.attempt;
  });
  const auto owner_of = [&](pid_t pid) {
    const auto found = look.owners.find(pid);
    return found == look.owners.end() ? Owner(OfNobody{}) : found->second;
  };
  for (const JobId id : view.tenants_of(look.gpu)) {
    const Job* const job = view.find(id);
    if (job == nullptr || job->state != JobState::Running) continue;
    if (!seen_.contains(id)) seen_.emplace(id, first_seen(*job, now));
    Seen& seen = seen_.at(id);
    seen.busy.try_emplace(look.gpu, seen.from);
    const bool is_busy = !look.sample || may_run_kernels(id, *look.sample, owner_of);
    if (is_busy) {
      seen.busy[look.gpu] = now;
      must_keep_ = must_keep_ || kept_.contains(id);  // it must not be idle for the next berthd
    }
    const bool holds =
        look.sample && held_by(id, *look.sample, owner_of).value_or(Bytes(0)) > Bytes(0);
    holds ? static_cast<void>(seen.holds.insert(look.gpu))
          : static_cast<void>(seen.holds.erase(look.gpu));
    judge(*job, seen, now);
  }
  if (must_keep_ || now - kept_at_ >= kKeepEvery) keep(now);
}

/// One of a berthd before goes on as it was known to that.
IdleWatch::Seen IdleWatch::first_seen(const Job& job, Instant now) const {
  Seen seen{.attempt = job.attempt, .from = now, .busy = {}, .holds = {}};
  const auto found = kept_.find(job.id);
  if (found == kept_.end()) return seen;
  const Kept& kept = found->second;
  const bool is_known = kept.attempt == job.attempt && kept.since <= kept.at && kept.at <= now &&
                        now - kept.at <= kLongestGap;
  if (!is_known) return seen;
  seen.from = kept.since;
  seen.told = kept.is_told ? Told::Warned : Told::Nothing;
  seen.is_noted = !kept.is_told;
  return seen;
}

void IdleWatch::judge(const Job& of, Seen& seen, Instant now) {
  if (seen.busy.size() < of.grant.shares.size()) return;  // a GPU of its was not looked at yet
  const Told before = seen.told;
  tell(of, seen, now);
  must_keep_ = must_keep_ || seen.told != before;
}

void IdleWatch::tell(const Job& of, Seen& seen, Instant now) {
  const JobId job = of.id;
  const Instant since = last_busy(seen.busy);
  const Duration idle = now - since;
  const Idleness found{.since = since, .holds = !seen.holds.empty()};
  if (rules_.end != kForever && idle >= rules_.end) {
    if (std::exchange(seen.told, Told::Ended) != Told::Ended) hooks_.end(job, found);
  } else if (rules_.suspend != kForever && idle >= rules_.suspend && of.stays_until <= now) {
    if (seen.told < Told::Suspended) hooks_.suspend(job, found);
    seen.told = std::max(seen.told, Told::Suspended);
  } else if (rules_.after != kForever && idle >= rules_.after) {
    if (seen.told == Told::Nothing) {
      hooks_.warn(job, found);
      seen.told = Told::Warned;
    } else if (!seen.is_noted) {
      hooks_.was_warned(job, found);
    }
    seen.is_noted = true;
  } else {
    const Told before = std::exchange(seen.told, Told::Nothing);
    if (before == Told::Warned || before == Told::Suspended) hooks_.busy_again(job);
  }
}

// ---- For the next berthd ---------------------------------------------------------------------

/// A job that was to be suspended or ended counts as warned of: should that have been lost with
/// this berthd, the next one does it.
void IdleWatch::keep(Instant now) {
  kept_at_ = now;
  must_keep_ = false;
  const bool had_any = !kept_.empty();
  std::erase_if(kept_, [&](const auto& entry) {  // the rest nobody has looked at yet
    return seen_.contains(entry.first) || now - entry.second.at > kLongestGap;
  });
  for (const auto& [job, seen] : seen_) {
    const Instant since = last_busy(seen.busy);
    const bool is_told = seen.told != Told::Nothing;
    if (!is_told && now - since < kWorthKeeping) continue;
    kept_[job] = {.attempt = seen.attempt, .since = since, .is_told = is_told, .at = now};
  }
  if (!had_any && kept_.empty()) return;
  std::ostringstream text;
  for (const auto& [job, kept] : kept_) {
    text << job.value() << ' ' << kept.attempt.value() << ' ' << micros(kept.since) << ' '
         << kept.is_told << ' ' << micros(kept.at) << '\n';
  }
  hooks_.keep(text.str());
}

void IdleWatch::restore(std::string_view text) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::uint64_t job = 0;
    std::uint32_t attempt = 0;
    std::int64_t since = 0;
    bool is_told = false;
    std::int64_t at = 0;
    if (!(words >> job >> attempt >> since >> is_told >> at)) continue;
    kept_[JobId(job)] = {.attempt = Attempt(attempt),
                         .since = instant_from_micros(since),
                         .is_told = is_told,
                         .at = instant_from_micros(at)};
  }
}

}  // namespace berth::daemon
