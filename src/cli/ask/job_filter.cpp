#include "cli/ask/job_filter.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

#include "cli/print/amounts.hpp"
#include "core/text/handle.hpp"

namespace berth::cli {

namespace {

constexpr std::array kWaiting = {"queued", "held", "deferred", "suspended"};
constexpr std::array kOnGpus = {"starting", "running", "stopping"};
constexpr std::array kEnded = {"done", "failed", "oom", "cancelled", "timeout", "lost"};

bool holds(const auto& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

bool has_any(const std::set<std::string>& states, const auto& words) {
  return std::ranges::any_of(words, [&](const char* word) { return states.contains(word); });
}

std::string all_states() {
  std::string all;
  const auto add = [&](const auto& words) {
    for (const char* const word : words) all += (all.empty() ? "" : ", ") + std::string(word);
  };
  add(kWaiting), add(kOnGpus), add(kEnded);
  return all + ", waiting, ended";
}

}  // namespace

/// The C library's own lookup asks directory services, which a program without libraries cannot.
Expected<std::uint32_t> user_number(const std::string& name) {
  std::ifstream accounts("/etc/passwd");
  for (std::string line; std::getline(accounts, line);) {
    if (!line.starts_with(name + ":") || name.empty()) continue;
    const std::size_t at = line.find(':', name.size() + 1);  // behind the password
    std::uint32_t found = 0;
    const char* const begin = line.data() + std::min(at, line.size() - 1) + 1;
    if (std::from_chars(begin, line.data() + line.size(), found).ec == std::errc()) return found;
  }
  std::uint32_t number = 0;
  const auto [at, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && at == name.data() + name.size() && !name.empty();
  if (is_number) return number;
  return fail(ErrorCode::InvalidArgument, "user '" + name + "': no such user on this machine");
}

bool JobFilter::takes(const Json& job) const {
  if (!users.empty()) {
    const auto user = integer_of(job, "user");
    if (!user || !users.contains(static_cast<std::uint32_t>(*user))) return false;
  }
  if (!states.empty() && !states.contains(text_of(job, "state"))) return false;
  const std::string own = text_of(job, "name");
  const std::string name = own.empty() ? text_of(job, "command_line") : own;  // as lists show it
  const auto task = integer_of(job, "array_task");
  const std::string_view array =
      array_name(name, {.task = task.value_or(0), .tasks = task ? 1 : 0});
  return names.empty() || std::ranges::any_of(names, [&](const auto& one) {
           return is_like(name, one) || is_like(array, one);
         });
}

std::optional<std::uint32_t> JobFilter::only_user() const {
  return users.size() == 1 ? std::optional(*users.begin()) : std::nullopt;
}

bool JobFilter::wants_ended() const { return states.empty() || has_any(states, kEnded); }

bool JobFilter::wants_live() const {
  return states.empty() || has_any(states, kWaiting) || has_any(states, kOnGpus);
}

Expected<void> add_states(JobFilter& filter, const std::vector<std::string>& typed) {
  for (const std::string& list : typed) {
    std::istringstream words(tight_list(list));
    for (std::string word; std::getline(words, word, ',');) {
      if (word == "ended") {
        filter.states.insert(kEnded.begin(), kEnded.end());
      } else if (word == "waiting") {
        filter.states.insert(kWaiting.begin(), kWaiting.end());
      } else if (holds(kWaiting, word) || holds(kOnGpus, word) || holds(kEnded, word)) {
        filter.states.insert(word);
      } else {
        return fail(ErrorCode::InvalidArgument,
                    "--state " + word + ": no such state; valid states: " + all_states());
      }
    }
  }
  return {};
}

}  // namespace berth::cli
