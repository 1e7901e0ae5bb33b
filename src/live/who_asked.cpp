#include "live/who_asked.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "engine/possible.hpp"

namespace berth::live {

namespace {

constexpr std::string_view kAsked = " asked for that";
constexpr std::string_view kBeginsWish = "because ";
constexpr std::string_view kWish = " asked to cancel it, and jobs ";
/// Begins the notes of jobs that end as cancelled without a user's wish.
constexpr auto kOfBerth = std::to_array<std::string_view>(
    {kEnded, kNeverStarted, "it ended in Slurm before berth started it"});

/// The number at the front of the text, which is taken off.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

/// Of `alice (uid 1000)` and of `uid 1000`.
std::optional<UserId> user_of(std::string_view who) {
  constexpr std::string_view kUid = "uid ";
  const std::size_t at = who.rfind(kUid);
  if (at == who.npos) return std::nullopt;
  std::string_view rest = who.substr(at + kUid.size());
  const auto number = take_number(rest);
  const bool is_user =
      number && std::in_range<UserId::rep>(*number) && (rest.empty() || rest == ")");
  return is_user ? std::optional(UserId(static_cast<UserId::rep>(*number))) : std::nullopt;
}

std::string_view first_part(std::string_view note) { return note.substr(0, note.find("; ")); }

}  // namespace

std::string cancel_note(const std::string& who) {
  return std::string(kCancelled) + who + std::string(kAsked);
}

bool says_who_ended(std::string_view note) {
  return note.starts_with(kCancelled) || note.starts_with(kEnded);
}

std::string without_who_ended(const std::string& note) {
  if (!says_who_ended(note)) return note;
  const std::size_t end = note.find("; ");
  return end == note.npos ? "" : note.substr(end + 2);
}

std::optional<UserId> cancelled_by(const journal::End& end, UserId owner) {
  if (end.outcome != Outcome::Cancelled) return std::nullopt;
  for (const std::string_view beginning : kOfBerth) {
    if (end.note.starts_with(beginning)) return std::nullopt;
  }
  if (!end.note.starts_with(kCancelled)) return owner;
  std::string_view who = first_part(end.note).substr(kCancelled.size());
  if (!who.ends_with(kAsked)) return std::nullopt;
  who.remove_suffix(kAsked.size());
  return user_of(who);
}

std::string wish_note(const std::string& who, const std::vector<JobId>& jobs) {
  std::string list;
  for (std::size_t at = 0; at < jobs.size();) {
    const std::size_t first = at;
    ++at;
    while (at < jobs.size() && jobs[at].value() == jobs[at - 1].value() + 1) ++at;
    list += (list.empty() ? "" : ",") + std::to_string(jobs[first].value());
    if (at - first > 1) list += "-" + std::to_string(jobs[at - 1].value());
  }
  return std::string(kBeginsWish) + who + std::string(kWish) + list;
}

std::optional<CancelWish> wish_in(std::string_view note) {
  const std::size_t at = note.find(kWish);
  if (!note.starts_with(kBeginsWish) || at == note.npos || at < kBeginsWish.size()) {
    return std::nullopt;
  }
  CancelWish wish{.who = std::string(note.substr(kBeginsWish.size(), at - kBeginsWish.size()))};
  const auto user = user_of(wish.who);
  if (!user) return std::nullopt;
  wish.user = *user;
  std::string_view list = note.substr(at + kWish.size());
  while (!list.empty()) {
    const auto first = take_number(list);
    if (!first) return std::nullopt;
    std::uint64_t last = *first;
    if (list.starts_with("-")) {
      list.remove_prefix(1);
      const auto end = take_number(list);
      if (!end || *end < *first) return std::nullopt;
      last = *end;
    }
    wish.jobs.emplace_back(JobId(*first), JobId(last));
    if (list.empty()) return wish;
    if (!list.starts_with(",")) return std::nullopt;
    list.remove_prefix(1);
  }
  return std::nullopt;
}

}  // namespace berth::live
