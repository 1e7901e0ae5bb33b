#include "cli/ask/job_choice.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <set>

#include "cli/ask/job_filter.hpp"
#include "cli/print/verbs.hpp"
#include "core/text/handle.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostInTarget = 4000;  ///< Bytes of handles in one request.

Expected<std::set<std::uint32_t>> numbers_of(const std::vector<std::string>& users) {
  std::set<std::uint32_t> numbers;
  for (const std::string& name : users) {
    const auto number = user_number(name);
    if (!number) return std::unexpected(number.error());
    numbers.insert(*number);
  }
  return numbers;
}

bool is_one_number(std::string_view typed) {
  return typed.find_first_not_of("0123456789") == std::string_view::npos;
}

/// `&jobs=7&jobs=8`, in parts that a request can hold.
std::vector<std::string> targets_of(const std::vector<std::string>& typed) {
  std::vector<std::string> parts(1);
  for (const std::string& one : typed) {
    if (parts.back().size() > kMostInTarget) parts.emplace_back();
    parts.back() += "&jobs=" + http::escape(one);
  }
  return parts;
}

/// Who waits for a name would take a try that failed before for none.
std::string earlier_text(const Json& earlier) {
  constexpr std::size_t kFew = 5;
  if (!earlier.is_array() || earlier.empty()) return "";
  std::string list;
  for (std::size_t i = 0; i < std::min(kFew, earlier.size()); ++i) {
    list += (list.empty() ? " " : ", ") + earlier[i].dump();
  }
  const bool is_one = earlier.size() == 1;
  return "job" + std::string(is_one ? "" : "s") + list +
         (earlier.size() > kFew ? " and more" : "") + " of the same name ended before " +
         "the next was submitted: left out as " + (is_one ? "an earlier try" : "earlier tries") +
         "; name " + (is_one ? "it" : "them") + " by number";
}

class Rows {
 public:
  void add(const Json& job) {
    if (seen_.insert(handle_of(job)).second) rows_.push_back(job);
  }
  std::vector<Json> take() && { return std::move(rows_); }

 private:
  std::set<std::string> seen_;
  std::vector<Json> rows_;
};

}  // namespace

void add_job_choice(CLI::App& verb, JobChoice& choice) {
  verb.add_option("JOB", choice.typed,
                  "Job numbers, ranges such as 5-10, or names: train-*. 643 is the whole of array "
                  "643, 643_5 and 643_5-9 are tasks of it.");
  verb.add_option("-u,--user", choice.users,
                  "Jobs of this user, by name or number; without JOB all that have not ended.")
      ->type_size(1)
      ->allow_extra_args(false);
}

Expected<void> check_choice(const JobChoice& choice) {
  if (choice.typed.empty() && choice.users.empty()) {
    return fail(ErrorCode::InvalidArgument,
                "no job is named; give a number, a range, a name such as 'train-*', or "
                "-u USER for all of theirs");
  }
  for (const std::string& typed : choice.typed) {
    if (const auto handles = parse_handles(typed); !handles) {
      return std::unexpected(handles.error());
    }
  }
  const auto users = numbers_of(choice.users);
  return users ? Expected<void>() : std::unexpected(users.error());
}

Json body_of(const JobChoice& choice) {
  Json body = Json::object();
  if (!choice.typed.empty()) body["jobs"] = choice.typed;
  const auto users = numbers_of(choice.users);
  if (users && !users->empty()) body["users"] = *users;
  return body;
}

Expected<std::vector<Json>> chosen_rows(Daemon& daemon, const JobChoice& choice, Arrays arrays) {
  if (auto done = check_choice(choice); !done) return std::unexpected(done.error());
  Rows rows;
  const bool is_whole = arrays == Arrays::Whole;
  if (is_whole && choice.users.empty() && std::ranges::all_of(choice.typed, is_one_number)) {
    for (const std::string& typed : choice.typed) rows.add({{"id", std::stoull(typed)}});
    return std::move(rows).take();
  }
  std::string common = is_whole ? "&whole_arrays=true" : "";
  if (!choice.typed.empty()) common += "&all=true";  // a user alone: those that have not ended
  const auto users = numbers_of(choice.users);
  if (!users) return std::unexpected(users.error());
  for (const std::uint32_t user : *users) {
    common += "&user=" + std::to_string(user);
  }
  for (const std::string& target : targets_of(choice.typed)) {
    const auto answer =
        daemon.get(std::string("/v1/jobs?chosen=true").append(common).append(target));
    if (!answer) return std::unexpected(answer.error());
    const Json& list = part_of(*answer, "jobs");
    if (!list.is_array()) return fail(ErrorCode::BadData, "berthd answers without a list of jobs");
    for (const Json& job : list) rows.add(job);
    if (const std::string text = earlier_text(part_of(*answer, "earlier")); !text.empty()) {
      report_failure(text);
    }
  }
  return std::move(rows).take();
}

std::string handle_of(const Json& job) {
  const std::string handle = text_of(job, "handle");
  return handle.empty() ? std::to_string(integer_of(job, "id").value_or(0)) : handle;
}

}  // namespace berth::cli
