#include "journal/recorded.hpp"

#include <algorithm>
#include <ranges>
#include <variant>

#include "core/text/text.hpp"

namespace berth::journal {

void Recorded::add(Instant now, std::span<const Input> inputs, const Effects& effects) {
  for (const Input& input : inputs) {
    if (const auto* const submitted = std::get_if<Submitted>(&input)) {
      jobs_[submitted->job].submit = now;
    } else if (const auto* const adopted = std::get_if<Adopted>(&input)) {
      jobs_[adopted->job].submit = now;
    } else if (const auto* const released = std::get_if<Released>(&input)) {
      jobs_[released->job].end = now;
    }
  }
  for (const Effect& effect : effects.list) {
    const auto* const launch = std::get_if<Launch>(&effect);
    if (launch == nullptr) continue;
    Times& times = jobs_[launch->job];
    if (times.start == kNever) times.start = now;
    times.end = kNever;
  }
}

std::string Recorded::csv() const {
  Instant first = kNever;
  for (const Times& times : jobs_ | std::views::values) {
    first = std::min({first, times.submit, times.start, times.end});
  }
  const auto text_of = [&](Instant at) { return at == kNever ? "" : seconds_text(at - first); };
  std::string text = "job_id,submit,start,end\n";
  for (const auto& [job, times] : jobs_) {
    text += std::to_string(job.value()) + "," + text_of(times.submit) + "," + text_of(times.start) +
            "," + text_of(times.end) + "\n";
  }
  return text;
}

}  // namespace berth::journal
