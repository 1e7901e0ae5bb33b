#include "cli/tell/why_text.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "cli/ask/job_choice.hpp"
#include "cli/print/amounts.hpp"
#include "cli/print/option_words.hpp"
#include "cli/tell/job_text.hpp"
#include "cli/tell/own_zone.hpp"

namespace berth::cli {

namespace {

constexpr double kAtOnce = 0.5;  ///< Seconds; sooner than a user reads it.

/// `643_5` of a job of an array, as lists have it.
std::string called(const Json& job, const Json& why) {
  const std::string number = printable(job.dump());
  const std::string handle = text_of(part_of(why, "handles"), number.c_str());
  return handle.empty() ? number : printable(handle);
}

/// `jobs 4, 9`, `249 jobs, the first are 4, 9, 12`; "" for none.
std::string job_list(const Json& jobs, const Json& why) {
  std::string text;
  if (!jobs.is_array()) return text;
  constexpr std::size_t kMostHoldersListed = 8;
  constexpr std::size_t kFewListed = 3;
  const bool are_many = jobs.size() > kMostHoldersListed;
  for (const Json& job : jobs) {
    if (are_many && &job - &jobs[0] >= static_cast<std::ptrdiff_t>(kFewListed)) break;
    text += (text.empty() ? "" : ", ") + called(job, why);
  }
  if (text.empty()) return text;
  if (are_many) return std::to_string(jobs.size()) + " jobs, the first are " + text;
  return (jobs.size() == 1 ? "job " : "jobs ") + text;
}

/// Whole MiB, rounded up: with so much less on the GPU it would fit.
std::string mib_text(std::int64_t bytes) {
  constexpr std::int64_t mib = 1 << 20;
  return std::to_string(bytes / mib + (bytes % mib == 0 ? 0 : 1)) + " MiB";
}

std::string holders_text(const Json& shortage, const Json& why) {
  std::string text;
  const Json& holders = part_of(shortage, "holders");
  if (holders.is_array()) {
    for (const Json& holder : holders) {
      text += (text.empty() ? "" : ", ") + std::string("job ") +
              called(part_of(holder, "job"), why) + " holds " +
              size_text(part_of(holder, "charge_bytes"));
      if (const Json& surplus = part_of(holder, "surplus_bytes"); !surplus.is_null()) {
        text += " (" + size_text(surplus) + " more than it was granted)";
      }
    }
  }
  if (integer_of(shortage, "foreign_bytes").value_or(0) > 0) {
    const std::string whose = printable(text_of(shortage, "foreign"));
    text += (text.empty() ? "" : ", ") + (whose.empty()
                                              ? "processes that berth did not start use " +
                                                    size_text(part_of(shortage, "foreign_bytes"))
                                              : "non-berth " + whose);
  }
  return text.empty() ? text : ": " + text;
}

std::string shortage_text(const Json& shortage, const Json& why, double now) {
  if (const std::string closed = in_own_zone(printable(text_of(shortage, "text")), now);
      !closed.empty()) {
    const Json& reserved = part_of(shortage, "reserved");
    const bool comes = text_of(shortage, "why") == "reservation" &&
                       number_of(reserved, "from_at").value_or(0) > now;
    return closed + (comes ? "; before that, for jobs whose time limit ends them in time" : "");
  }
  const auto lacking = integer_of(shortage, "lacking_bytes").value_or(0);
  const auto slots = integer_of(shortage, "slots_taken").value_or(0);
  const std::string what = lacking > 0 ? "lacks " + mib_text(lacking)
                           : slots > 0 ? "has all " + std::to_string(slots) + " slots taken"
                                       : "cannot be shared with this job";
  return what + holders_text(shortage, why);
}

/// Of `needs ...; none of the 2 GPUs has room for it; GPU 0 lacks ...`: what the lines below do not
/// say.
std::string opening_of(const std::string& reason) {
  const std::size_t first = reason.find("; ");
  const std::size_t second = first == std::string::npos ? first : reason.find("; ", first + 2);
  return printable(reason.substr(0, second));
}

/// `a better place: GPUs 0, 1 are 85, 88 % busy (limit 75 %); beside jobs 1, 2`.
std::string gate_line(const Json& why) {
  const Json& gate = part_of(why, "gate");
  const std::string text = printable(text_of(gate, "text"));
  std::string line = "a better place" + (text.empty() ? "" : ": " + text);
  Json there = Json::array();
  const Json& gpus = part_of(gate, "gpus");
  if (!gpus.is_array()) return line;
  for (const Json& gpu : gpus) {
    const Json& jobs = part_of(gpu, "jobs");
    if (!jobs.is_array()) continue;
    for (const Json& job : jobs) {
      if (std::ranges::find(there, job) == there.end()) there.push_back(job);
    }
  }
  const std::string jobs = job_list(there, why);
  return jobs.empty() ? line : line + "; beside " + jobs;
}

std::string turn_line(const Json& why) {
  const std::string text = printable(text_of(part_of(why, "gate"), "text"));
  return "its turn" + (text.empty() ? "" : ": " + text);
}

/// What the policy decided, where there is room; without room the lines of the GPUs say it.
std::string waits_for(const Json& why) {
  const std::string decided = text_of(why, "why");
  if (decided == "order") return turn_line(why);
  if (decided == "patience") return gate_line(why);
  if (decided == "locality") return "GPUs closer together, as the placement wants them";
  if (decided == "reservation") return "a place that is not reserved for another job";
  return "";
}

std::string moment_text(std::optional<double> at, double now) {
  if (!at) return "";
  if (*at - now < kAtOnce) return "now";
  return instant_text(at) + ", in " + elapsed_text(*at - now);
}

std::string reservation_text(const Json& why, double now) {
  const Json& kept = part_of(why, "reservation");
  if (!kept.is_object()) return "";
  const std::string gpus = gpu_list(part_of(kept, "gpus"));
  const std::string from = moment_text(number_of(kept, "from_at"), now);
  const std::string where = gpus.empty() ? "a place here" : gpus;
  if (number_of(why, "predicted_start_at")) {  // the start says when and where: one answer
    const Json& starts_on = part_of(why, "start_gpus");
    const bool is_elsewhere =
        starts_on.is_array() && !starts_on.empty() && starts_on != part_of(kept, "gpus");
    return is_elsewhere ? "" : where;
  }
  if (from.empty() || from == "now") return where + ", as soon as it is free";
  return where + ", expected to be free at " + from;
}

/// `, by 19:40 for nine of ten such jobs (from past predictions)`.
std::string by_text(const Json& why, double now) {
  const auto by = number_of(why, "predicted_by_at");
  if (!by) return "";
  const bool is_prior = text_of(why, "predicted_from") == "prior";
  return ", by " + by_clock_text(*by, now) + " for nine of ten such jobs (" +
         (is_prior ? "assumed: few were predicted here so far" : "from past predictions") + ")";
}

/// Past predictions of like jobs were off, so the likely start is not the one that the times below
/// lead to.
bool is_foreseen_elsewhere(const Json& why) {
  const auto foreseen = number_of(why, "foreseen_start_at");
  return foreseen && std::abs(*foreseen - number_of(why, "predicted_start_at").value_or(0)) >= 1;
}

std::string start_text(const Json& why, double now) {
  const std::string rests_on = printable(text_of(why, "rests_on"));
  const std::string at = moment_text(number_of(why, "predicted_start_at"), now);
  if (at.empty()) return rests_on.empty() ? "" : "unknown: " + rests_on;
  const std::string confidence = printable(text_of(why, "confidence"));
  const std::string by_limits = moment_text(number_of(why, "start_by_limits_at"), now);
  const bool is_later = confidence != "bound" && !by_limits.empty();
  const std::string foreseen = moment_text(number_of(why, "foreseen_start_at"), now);
  const std::string gpus = gpu_list(part_of(why, "start_gpus"));
  return at + (gpus.empty() ? "" : " on " + gpus) + " (" + confidence + ": " + rests_on + ")" +
         by_text(why, now) + (is_later ? "; if each job ran to its limit: " + by_limits : "") +
         (is_foreseen_elsewhere(why) ? "; if jobs end as expected: " + foreseen : "");
}

/// `18:00, missed: it is expected to end at 19:30`; "" where there is none.
std::string deadline_text(const Json& why, double now) {
  const auto deadline = number_of(why, "deadline_at");
  if (!deadline) return "";
  const auto start = number_of(why, "predicted_start_at");
  const auto end = number_of(why, "expected_end_at");
  const std::string text = clock_text(*deadline, now);
  if (end && *end > *deadline) {
    return text + ", missed: it is expected to end at " + clock_text(*end, now);
  }
  return start && *start > *deadline ? text + ", missed: it starts later" : text;
}

std::string before_lines(const Json& why, double now) {
  const Json& before = part_of(why, "before");
  std::string text = is_foreseen_elsewhere(why) ? "  if jobs end as expected:\n" : "";
  if (!before.is_array() || before.empty()) return "";
  for (const Json& one : before) {
    const std::string by = printable(text_of(one, "by"));
    text += "  " + moment_text(number_of(one, "at"), now) + ": job " +
            called(part_of(one, "job"), why) + " " + printable(text_of(one, "event")) +
            (by.empty() ? "" : " (" + by + ")") + "\n";
  }
  const auto more =
      integer_of(why, "before_count").value_or(0) - static_cast<std::int64_t>(before.size());
  if (more > 0) text += "  and " + std::to_string(more) + " more\n";
  return text;
}

/// `with --time 38min it starts now on GPU 1: berth update 3 --time 38min`.
void add_hints(Page& page, const Json& why, double now) {
  constexpr std::size_t kMostHints = 3;
  const Json& hints = part_of(why, "hints");
  if (!hints.is_array()) return;
  const bool is_job = integer_of(why, "id").has_value();  // a dry run is none
  for (std::size_t i = 0; i < std::min(hints.size(), kMostHints); ++i) {
    const std::string options = printable(options_of(part_of(hints[i], "change")));
    const std::string gpus = gpu_list(part_of(hints[i], "gpus"));
    const std::string at = moment_text(number_of(hints[i], "starts_at"), now);
    if (options.empty() || at.empty()) continue;
    page.line(i == 0 ? "sooner" : "or",
              "with " + options + " it starts " + (at == "now" ? at : "at " + at) +
                  (gpus.empty() ? "" : " on " + gpus) +
                  (is_job ? ": berth update " + printable(handle_of(why)) + " " + options : ""));
  }
}

/// `jobs 1, 2; and job 9, which has to start before`.
std::string must_end_text(const Json& why) {
  const Json& all = part_of(why, "must_end");
  const Json& waiting = part_of(why, "must_start");
  if (!all.is_array() || !waiting.is_array() || waiting.empty()) return job_list(all, why);
  Json there = Json::array();
  std::ranges::copy_if(all, std::back_inserter(there), [&](const Json& job) {
    return std::ranges::find(waiting, job) == waiting.end();
  });
  const std::string text = job_list(there, why);
  return text + (text.empty() ? "" : "; and ") + job_list(waiting, why) + ", which " +
         (waiting.size() == 1 ? "has" : "have") + " to start before";
}

/// Under policies that preempt, a job that makes room need not end.
const char* must_end_label(const Json& why) {
  const Json& before = part_of(why, "before");
  const auto gives_way = [](const Json& one) { return text_of(one, "event") == "gives way"; };
  return std::ranges::any_of(before, gives_way) ? "must leave" : "must end";
}

void add_all(Page& page, const Json& why, double now) {
  page.line("reason", in_own_zone(opening_of(text_of(why, "reason")), now));
  page.line("waits for", waits_for(why));
  const Json& lacking = part_of(why, "lacking");
  if (lacking.is_array()) {
    for (const Json& shortage : lacking) {
      page.line(printable(text_of(shortage, "name")), shortage_text(shortage, why, now));
    }
  }
  page.line(must_end_label(why), must_end_text(why));
  page.line("reserved", reservation_text(why, now));
  page.line("not to delay", job_list(part_of(why, "must_not_delay"), why));
  page.line("others", printable(text_of(why, "passing")));
  const std::string bound = moment_text(number_of(why, "not_before_at"), now);
  const bool waits_for_gate = text_of(why, "why") == "patience";
  const std::string joins = printable(text_of(part_of(why, "gate"), "gpu"));
  if (waits_for_gate && !bound.empty()) {
    // Jobs ahead of it may take the place first, so it is no start.
    page.line("may join",
              (joins.empty() ? "" : joins + " ") + "from " + bound + ", by the rule of the policy");
  } else {
    page.line("room expected", bound);
  }
  page.line("start", start_text(why, now));
  page.line("deadline", deadline_text(why, now));
  add_hints(page, why, now);
  page.block("before that", before_lines(why, now));
}

}  // namespace

std::string why_page(const Json& why, double now, const Look& look) {
  Page page(look);
  page.line("job", printable(handle_of(why)) + ", " + printable(text_of(why, "state")));
  page.line("links", printable(text_of(why, "links_line")));
  page.line("memory limit", printable(text_of(why, "memory_limit_line")));
  add_all(page, why, now);
  if (text_of(why, "state") == "held") {
    page.line("to go on", "berth release " + printable(handle_of(why)));
  }
  return page.text();
}

std::string waiting_line(const Json& why, double now) {
  std::string text = in_own_zone(printable(text_of(why, "reason_brief")), now);
  const auto at = number_of(why, "predicted_start_at");
  const auto add = [&text](const std::string& between, const std::string& more) {
    text += (text.empty() ? "" : between) + more;
  };
  if (at) {
    const Json start = {{"predicted_start_at", *at},
                        {"predicted_start_confidence", text_of(why, "confidence")},
                        {"predicted_by_at", part_of(why, "predicted_by_at")}};
    add(", ", "starts " + cli::start_text(start, now, StartForm::Interval));
  }
  const Json& hints = part_of(why, "hints");
  if (!hints.is_array() || hints.empty()) return text;
  const std::string options = printable(options_of(part_of(hints[0], "change")));
  const auto then = number_of(hints[0], "starts_at");
  if (options.empty() || !then) return text;
  add("; ", "with " + options + (*then - now < kAtOnce ? " now" : " at " + clock_text(*then, now)));
  return text;
}

std::string dry_run_page(const Json& answer, double now, const Look& look) {
  Page page(look);
  page.line("starts now", is_set(answer, "admitted_now") ? "yes" : "no");
  page.line("on", gpu_list(part_of(answer, "gpus")));
  add_all(page, answer, now);
  return page.text();
}

}  // namespace berth::cli
