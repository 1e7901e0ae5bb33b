#include "daemon/answers/reservations.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <nlohmann/json.hpp>
#include <tuple>

#include "daemon/loop/json_text.hpp"

namespace berth::daemon {

namespace {

Json at_json(Instant at) {
  return at == kNever ? Json() : Json(static_cast<double>(micros(at)) / 1e6);
}

std::optional<std::uint32_t> decimal(std::string_view text) {
  std::uint32_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole && !text.empty() ? std::optional(number) : std::nullopt;
}

Expected<std::vector<uid_t>> users_of(const std::string& typed) {
  if (typed.starts_with('@')) {
    auto members = members_of_group(typed.substr(1));
    if (members && !members->empty()) return std::move(*members);
    return fail(ErrorCode::InvalidArgument,
                "users: '" + typed.substr(0, 60) +
                    (members ? "': that group has no members on this machine"
                             : "': no such group on this machine"));
  }
  auto user = number_of_user(typed);
  if (!user) user = decimal(typed);
  if (user) return std::vector<uid_t>{*user};
  return fail(ErrorCode::InvalidArgument,
              "users: '" + typed.substr(0, 60) + "': no such user on this machine");
}

/// With the zone, by which who reads it in another can tell it in theirs.
std::string zoned_text(Instant at) {
  const std::time_t then = micros(at) / 1'000'000;
  std::tm parts{};
  ::localtime_r(&then, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M %z", &parts);
  return text.data();
}

std::string comma_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Json indices_json(const std::vector<GpuId>& gpus) {
  Json list = Json::array();
  for (const GpuId gpu : gpus) list.push_back(gpu.value());
  return list;
}

}  // namespace

Expected<std::vector<UserId>> users_named(const std::vector<std::string>& typed) {
  std::vector<UserId> all;
  for (const std::string& one : typed) {
    const auto users = users_of(one);
    if (!users) return std::unexpected(users.error());
    for (const uid_t user : *users) all.emplace_back(user);
  }
  std::ranges::sort(all);
  const auto again = std::ranges::unique(all);
  all.erase(again.begin(), again.end());
  return all;
}

std::string shown_as(const std::vector<std::string>& typed, const Reservation& made, Instant now) {
  std::string text = comma_list(typed);
  if (made.from > now) text += " from " + zoned_text(made.from);
  return text + " until " + zoned_text(made.until);
}

std::string drained_as(const std::string& by, Instant until) {
  return until == kNever ? by : by + " until " + zoned_text(until);
}

std::string conflict_of(const Reservation& made, const ClusterView& view) {
  for (const auto& [id, other] : view.calendar()) {
    const bool overlap = made.from < other.until && other.from < made.until;
    if (!overlap || made.users == other.users) continue;
    for (const GpuId gpu : made.gpus) {
      if (!std::ranges::binary_search(other.gpus, gpu)) continue;
      return "GPU " + std::to_string(gpu.value()) + ": is reserved for " + other.shown +
             " (reservation " + std::to_string(id.value()) + ")";
    }
  }
  return "";
}

Json reservation_json(ReservationId id, const ClusterView& view, UserNames& names) {
  const Reservation& made = view.calendar().at(id);
  Json users = Json::array();
  for (const UserId user : made.users) users.push_back(names.of(user.value()));
  return {{"id", id.value()},
          {"gpus", indices_json(made.gpus)},
          {"users", std::move(users)},
          {"text", made.shown},
          {"from_at", at_json(made.from)},
          {"until_at", at_json(made.until)},
          {"by", names.of(made.by.value())},
          {"reason", made.reason},
          {"in_force", made.from <= view.now()}};
}

Json reservations_json(const ClusterView& view, UserNames& names) {
  std::vector<std::tuple<Instant, ReservationId>> order;
  for (const auto& [id, made] : view.calendar()) order.emplace_back(made.from, id);
  std::ranges::sort(order);
  Json list = Json::array();
  for (const auto& [from, id] : order) list.push_back(reservation_json(id, view, names));
  return list;
}

Json in_the_way(const Reservation& made, const ClusterView& view, UserNames& names) {
  Json list = Json::array();
  for (const JobId id : view.running()) {
    const JobView job = view.job(id);
    if (std::ranges::binary_search(made.users, job.user())) continue;
    const Instant ends = later(view.now(), job.enforced());
    if (ends <= made.from) continue;
    std::vector<GpuId> there;
    for (const Share& share : job.grant().shares) {
      if (std::ranges::binary_search(made.gpus, share.gpu)) there.push_back(share.gpu);
    }
    if (there.empty()) continue;
    list.push_back({{"job", id.value()},
                    {"user", names.of(job.user().value())},
                    {"gpus", indices_json(there)},
                    {"ends_by_at", at_json(ends)}});
  }
  return list;
}

}  // namespace berth::daemon
