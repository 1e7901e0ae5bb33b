#include "cli/job_choice.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "cli/job_filter.hpp"
#include "cli/job_pages.hpp"

namespace berth::cli {

namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

Expected<std::set<std::uint32_t>> numbers_of(const std::vector<std::string>& users) {
  std::set<std::uint32_t> numbers;
  for (const std::string& name : users) {
    const auto number = user_number(name);
    if (!number) return std::unexpected(number.error());
    numbers.insert(*number);
  }
  return numbers;
}

class Chooser {
 public:
  Chooser(Daemon& daemon, Among among, std::set<std::uint32_t> users)
      : daemon_(daemon), among_(among), users_(std::move(users)) {}

  Expected<void> add(const std::string& typed) {
    const auto range = parse_range(typed);
    if (!range) return std::unexpected(range.error());
    if (*range) return add_range(typed, **range);
    if (!is_digits(typed)) return add_name(typed);
    const auto job = parse_job(typed);
    if (!job) return std::unexpected(job.error());
    take(*job);
    return {};
  }

  Expected<void> add_all_of_users() {
    const auto found = find({.users = users_}, Among::Live, [](std::uint64_t) { return true; });
    if (!found) return std::unexpected(found.error());
    for (const std::uint64_t job : *found) take(job);
    if (!chosen_.empty()) return {};
    return fail(ErrorCode::NotFound, "no job of that user is queued or runs");
  }

  std::vector<std::uint64_t> chosen() && { return std::move(chosen_); }

 private:
  void take(std::uint64_t job) {
    if (seen_.insert(job).second) chosen_.push_back(job);
  }

  template <class Fits>
  Expected<std::vector<std::uint64_t>> find(const JobFilter& filter, Among among, Fits fits) {
    std::vector<std::uint64_t> found;
    JobPages pages(daemon_, filter, [&](const std::vector<Json>& jobs) {
      for (const Json& job : jobs) {
        const auto id = static_cast<std::uint64_t>(integer_of(job, "id").value_or(0));
        if (id > 0 && fits(id)) found.push_back(id);
      }
      return true;
    });
    auto done = pages.live();
    if (done && among == Among::All) done = pages.ended();
    if (!done) return std::unexpected(done.error());
    std::ranges::sort(found);
    return found;
  }

  Expected<void> add_range(const std::string& typed, JobRange range) {
    const auto fits = [&](std::uint64_t id) { return id >= range.first && id <= range.last; };
    const auto found = find({.users = users_}, among_, fits);
    if (!found) return std::unexpected(found.error());
    for (const std::uint64_t job : *found) take(job);
    if (!found->empty()) return {};
    return fail(ErrorCode::NotFound,
                typed + (among_ == Among::Live ? ": no job of these has not ended yet"
                                               : ": no job has one of these numbers"));
  }

  Expected<void> add_name(const std::string& typed) {
    const std::set<std::uint32_t> own = {static_cast<std::uint32_t>(geteuid())};
    const JobFilter filter{.users = users_.empty() ? own : users_, .states = {}, .names = {typed}};
    const auto live = find(filter, Among::Live, [](std::uint64_t) { return true; });
    if (!live) return std::unexpected(live.error());
    for (const std::uint64_t job : *live) take(job);
    if (!live->empty()) return {};
    if (among_ == Among::All) {
      std::optional<std::uint64_t> latest;
      JobPages pages(daemon_, filter, [&](const std::vector<Json>& jobs) {
        for (const Json& job : jobs) latest = integer_of(job, "id");
        return true;
      });
      if (auto done = pages.latest_ended(1); !done) return done;
      if (latest) return take(*latest), Expected<void>();
    }
    const std::string whose = users_.empty() ? "job of yours" : "job of that user";
    return fail(ErrorCode::InvalidArgument,
                typed + ": is not a job number, and no " + whose +
                    (among_ == Among::Live ? " that has not ended" : "") + " has this name");
  }

  Daemon& daemon_;
  Among among_;
  std::set<std::uint32_t> users_;
  std::vector<std::uint64_t> chosen_;
  std::set<std::uint64_t> seen_;
};

}  // namespace

void add_job_choice(CLI::App& verb, JobChoice& choice) {
  verb.add_option("JOB", choice.typed, "Job numbers, ranges such as 5-10, or names: train-*.");
  verb.add_option("-u,--user", choice.users,
                  "Jobs of this user, by name or number; without JOB all that have not ended.")
      ->type_size(1)
      ->allow_extra_args(false);
}

Expected<std::optional<JobRange>> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = text.substr(dash + 1);
  if (!is_digits(first) || !is_digits(last)) return std::nullopt;
  const auto from = parse_job(first);
  const auto to = parse_job(last);
  if (!from) return std::unexpected(from.error());
  if (!to) return std::unexpected(to.error());
  if (*from > *to) {
    return fail(ErrorCode::InvalidArgument,
                std::string(text) + ": the first number of a range is larger than the last");
  }
  return JobRange{*from, *to};
}

Expected<void> check_choice(const JobChoice& choice) {
  if (choice.typed.empty() && choice.users.empty()) {
    return fail(ErrorCode::InvalidArgument, "no job is named");
  }
  for (const std::string& typed : choice.typed) {
    const auto range = parse_range(typed);
    if (!range) return std::unexpected(range.error());
    if (!typed.empty() && !is_digits(typed)) continue;
    if (const auto job = parse_job(typed); !job) return std::unexpected(job.error());
  }
  const auto users = numbers_of(choice.users);
  return users ? Expected<void>() : std::unexpected(users.error());
}

Expected<std::vector<std::uint64_t>> choose_jobs(Daemon& daemon, const JobChoice& choice,
                                                 Among among) {
  if (auto done = check_choice(choice); !done) return std::unexpected(done.error());
  auto users = numbers_of(choice.users);
  if (!users) return std::unexpected(users.error());
  Chooser chooser(daemon, among, std::move(*users));
  for (const std::string& typed : choice.typed) {
    if (auto done = chooser.add(typed); !done) return std::unexpected(done.error());
  }
  if (choice.typed.empty()) {
    if (auto done = chooser.add_all_of_users(); !done) return std::unexpected(done.error());
  }
  return std::move(chooser).chosen();
}

}  // namespace berth::cli
