#include "live/notes.hpp"

#include "core/text/text.hpp"

namespace berth::live {

namespace {

constexpr std::string_view kInHostMemory = " are in host memory";
constexpr std::string_view kHeldNothing = "it held no GPU memory";

bool is_of_wait(const std::string& note) {
  return note.starts_with(kBecause) || note.starts_with(kHeldNothing) ||
         note.contains(kInHostMemory);
}

}  // namespace

std::string suspended_note(Bytes held) {
  if (held == Bytes(0)) return std::string(kHeldNothing);
  return "its " + to_text(held) + std::string(kInHostMemory);
}

std::string Notes::with_who_ended(JobId job, std::string text) const {
  const std::string known = of(job);
  if (!says_who_ended(known) || says_who_ended(text) || text.empty()) return text;
  return known.substr(0, known.find("; ")) + "; " + text;
}

void Notes::set(JobId job, std::string text) {
  std::string whole = with_who_ended(job, std::move(text));
  if (says_who_ended(whole) && kept_.contains(job)) return set_for_good(job, std::move(whole));
  notes_[job] = std::move(whole);
  if (kept_.erase(job) > 0) changed_.insert(job);
}

void Notes::set_for_good(JobId job, std::string text) {
  notes_[job] = with_who_ended(job, std::move(text));
  kept_.insert(job);
  changed_.insert(job);
}

std::string Notes::of(JobId job) const {
  const auto found = notes_.find(job);
  return found == notes_.end() ? "" : found->second;
}

std::string Notes::at_end(JobId job, Outcome outcome) const {
  const std::string note = of(job);
  if (is_of_wait(note)) return "";
  return outcome == Outcome::Cancelled ? note : without_who_ended(note);
}

void Notes::forget(JobId job) {
  notes_.erase(job);
  if (kept_.erase(job) > 0) changed_.insert(job);
}

std::vector<std::pair<JobId, CancelWish>> Notes::wishes() const {
  std::vector<std::pair<JobId, CancelWish>> wishes;
  for (const JobId job : kept_) {
    if (auto wish = wish_in(of(job))) wishes.emplace_back(job, std::move(*wish));
  }
  return wishes;
}

Expected<void> Notes::write(journal::Store& store) const {
  for (const JobId job : changed_) {
    if (auto done = store.set_note(job, kept_.contains(job) ? of(job) : ""); !done) return done;
  }
  return {};
}

Expected<void> Notes::read(const journal::Store& store) {
  auto notes = store.job_notes();
  if (!notes) return std::unexpected(notes.error());
  for (auto& [job, text] : *notes) {
    notes_.emplace(job, std::move(text));
    kept_.insert(job);
  }
  return {};
}

void Notes::drop_ended(const ClusterView& view) {
  const std::set<JobId> kept = kept_;
  for (const JobId job : kept) {
    if (view.find(job) == nullptr) forget(job);
  }
}

}  // namespace berth::live
