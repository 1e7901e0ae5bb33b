#include "policy/order/stated_classes.hpp"

#include <algorithm>
#include <utility>

#include "core/members.hpp"
#include "policy/kit/memory.hpp"

namespace berth {

namespace {

constexpr std::int32_t kMostOutlived = 8;

bool is_record(const StatedClasses::Memory& memory) {
  const auto is_count = [](std::int32_t count) { return count >= 0 && count <= kMostOutlived; };
  return std::ranges::all_of(memory.words, [&](const auto& entry) {
    return is_count(entry.second.over_short) && is_count(entry.second.over_medium);
  });
}

}  // namespace

inline auto members(StatedClasses::Memory& v) { return std::tie(v.words, v.claimed, v.seen); }

Snapshot StatedClasses::save() const { return saved(memory_); }

Expected<void> StatedClasses::restore(const Snapshot& bytes, std::string_view whose) {
  is_restored_ = true;
  return restore_into(memory_, bytes, whose, is_record);
}

void StatedClasses::look_back(const ClusterView& view, std::span<const Event> events) {
  for (const Ended& job : view.finished_after(memory_.seen)) {
    if (job.outcome == Outcome::Done) note_kept(job);
    memory_.claimed.erase(job.job);
  }
  memory_.seen = view.finished();
  for (const Event& event : events) {
    if (event.kind == EventKind::Forgotten) memory_.claimed.erase(event.job);
  }
  if (!std::exchange(is_restored_, false)) return;
  std::erase_if(memory_.claimed, [&](const auto& entry) { return !view.knows(entry.first); });
}

DurationClass StatedClasses::believed(DurationClass said, UserId user) const {
  const auto found = memory_.words.find(user);
  if (found == memory_.words.end()) return said;
  if (said == DurationClass::Short && found->second.over_short >= liar_after_) {
    said = DurationClass::Medium;
  }
  if (said == DurationClass::Medium && found->second.over_medium >= liar_after_) {
    said = DurationClass::Long;
  }
  return said;
}

void StatedClasses::note_kept(const Ended& job) {
  const auto found = memory_.words.find(job.user);
  if (found == memory_.words.end()) return;
  const auto stated = memory_.claimed.find(job.job);
  const DurationClass claimed =
      stated == memory_.claimed.end() ? job.duration_class : stated->second;
  const auto kept = [&](DurationClass bound, std::int32_t& count) {
    if (claimed <= bound && job.ran <= bound_of(bound, bounds_)) count = std::max(count - 1, 0);
  };
  kept(DurationClass::Short, found->second.over_short);
  kept(DurationClass::Medium, found->second.over_medium);
  if (found->second.over_short + found->second.over_medium == 0) memory_.words.erase(found);
}

void StatedClasses::note_outlived(UserId user, DurationClass was, DurationClass is) {
  WordRecord& record = memory_.words[user];
  const auto over = [&](DurationClass bound, std::int32_t& count) {
    if (was <= bound && is > bound) count = std::min(count + 1, kMostOutlived);
  };
  over(DurationClass::Short, record.over_short);
  over(DurationClass::Medium, record.over_medium);
}

}  // namespace berth
