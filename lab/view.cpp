#include "lab/view.hpp"

#include <unistd.h>

#include <cstdio>
#include <map>

namespace berth::lab {

namespace {

constexpr int kBar = 40;
constexpr Duration kBetweenLines = seconds(5);

double share(const Json& gpu, const char* key) {
  return gpu.at(key).get<double>() / gpu.at("total_bytes").get<double>();
}

/// What is held, what is charged beyond that, what is free.
std::string bar(const Json& gpu) {
  const int used = static_cast<int>(share(gpu, "used_bytes") * kBar + 0.5);
  const int charged = std::max(used, static_cast<int>(share(gpu, "charged_bytes") * kBar + 0.5));
  std::string text;
  for (int i = 0; i < kBar; ++i) text += i < used ? "█" : i < charged ? "▒" : "·";
  return text;
}

std::string gib(const Json& bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%4.1f", bytes.get<double>() / (1 << 30));
  return text;
}

std::string gpu_line(const Json& gpu) {
  const Json& busy = gpu.at("utilisation_percent");
  std::string text = "  GPU " + std::to_string(gpu.at("index").get<int>()) + "  " + bar(gpu) +
                     "  " + gib(gpu.at("used_bytes")) + " of " + gib(gpu.at("total_bytes")) +
                     " GiB";
  if (busy.is_number()) text += ", busy " + std::to_string(busy.get<int>()) + " %";
  const std::size_t jobs = gpu.at("tenants").size();
  return text + ", " + std::to_string(jobs) + (jobs == 1 ? " job\n" : " jobs\n");
}

}  // namespace

View::View(std::string title) : title_(std::move(title)), is_terminal_(::isatty(1) == 1) {
  std::printf("\n%s\n", title_.c_str());
  std::fflush(stdout);
}

View::~View() = default;

std::string View::counts(const Moment& moment) const {
  std::map<std::string, int> states;
  for (const Json& job : moment.jobs) ++states[job.at("state").get<std::string>()];
  std::string text = "  " + std::to_string(micros(moment.since_start) / 1'000'000) + " s:";
  for (const char* state :
       {"queued", "starting", "running", "stopping", "done", "oom", "failed", "cancelled"}) {
    if (states[state] > 0) text += " " + std::to_string(states[state]) + " " + state;
  }
  return text + "\n";
}

std::string View::picture(const Moment& moment) const {
  std::string text;
  for (const Json& gpu : moment.gpus.at("gpus")) text += gpu_line(gpu);
  return text + counts(moment);
}

void View::show(const Moment& moment) {
  if (!is_terminal_) {
    if (last_line_ >= Duration(0) && moment.since_start - last_line_ < kBetweenLines) return;
    last_line_ = moment.since_start;
    std::fputs(counts(moment).c_str(), stdout);
    std::fflush(stdout);
    return;
  }
  const std::string text = picture(moment);
  if (lines_ > 0) std::printf("\033[%dA", lines_);
  lines_ = 0;
  for (const char c : text) lines_ += c == '\n' ? 1 : 0;
  std::string cleared;
  for (const char c : text) {
    if (c == '\n') cleared += "\033[K";
    cleared += c;
  }
  std::fputs(cleared.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace berth::lab
