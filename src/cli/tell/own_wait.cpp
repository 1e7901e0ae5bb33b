#include "cli/tell/own_wait.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cli/print/json.hpp"
#include "cli/tell/job_text.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kMostAsked = 100;  ///< Jobs on the way to this one.

std::optional<std::uint64_t> own_job() {
  const char* const variable = std::getenv("BERTH_JOB_ID");
  const std::string_view text = variable == nullptr ? "" : variable;
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

/// Directly, or by others that it runs after.
bool runs_after(Daemon& daemon, std::uint64_t job, std::uint64_t own) {
  std::set<std::uint64_t> seen = {job};
  std::vector<std::uint64_t> next = {job};
  while (!next.empty() && seen.size() <= kMostAsked) {
    const auto known = daemon.get(job_target(next.back()));
    next.pop_back();
    if (!known || has_ended(*known)) continue;
    const Json after = part_of(*known, "after");
    if (!after.is_array()) continue;
    for (const Json& one : after) {
      const auto on = integer_of(one, "job");
      if (!on || *on <= 0) continue;
      const auto number = static_cast<std::uint64_t>(*on);
      if (number == own) return true;
      if (seen.insert(number).second) next.push_back(number);
    }
  }
  return false;
}

/// That ours must end for it to start, as the daemon has it now.
bool needs_our_place(Daemon& daemon, std::uint64_t job, std::uint64_t own) {
  const auto why = daemon.get(job_target(job, "/why"));
  if (!why) return false;
  const Json jobs = part_of(*why, "must_end");
  if (!jobs.is_array()) return false;
  for (const Json& one : jobs) {
    if (one.is_number_unsigned() && one.get<std::uint64_t>() == own) return true;
  }
  return false;
}

}  // namespace

void tell_if_it_waits_for_us(Daemon& daemon, std::uint64_t job) {
  const auto own = own_job();
  if (!own) return;
  std::string why;
  if (job == *own) {
    why = "is the job in which this waits";
  } else if (runs_after(daemon, job, *own)) {
    why = "runs after job " + std::to_string(*own) + ", in which this waits";
  } else if (needs_our_place(daemon, job, *own)) {
    why = "needs memory of job " + std::to_string(*own) + ", in which this waits";
  }
  if (why.empty()) return;
  std::fprintf(stderr, "berth: job %llu %s: neither may end\n",
               static_cast<unsigned long long>(job), why.c_str());
}

}  // namespace berth::cli
