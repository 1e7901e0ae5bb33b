#include "cli/code/gpu_warnings.hpp"

#include <algorithm>
#include <charconv>

namespace berth::cli {

namespace {

constexpr std::size_t kMostOfFile = 3;
constexpr std::string_view kUsualPort = "29500";

}  // namespace

std::size_t GpuWarnings::of_file() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      list_, [&](const std::string& said) { return said.starts_with(file_ + ":"); }));
}

std::string GpuWarnings::asked() const {
  return std::to_string(*gpus_) + (*gpus_ == 1 ? " GPU" : " GPUs");
}

void GpuWarnings::number(std::size_t line, const std::string& written, int number,
                         std::string_view before) {
  if (!gpus_ || number < *gpus_) return;
  const std::string name(before);
  const bool is_one = *gpus_ == 1;
  const std::string last = std::to_string(*gpus_ - 1);
  say(line, written + ": a job that asks for " + asked() + " sees " + name + "0" +
                (is_one ? " alone" : " to " + name + last) + ", whichever it gets; write " +
                (is_one ? (name == "number " ? "" : name) + "0" : "a number up to " + last) +
                ", or ask for --gpus " + std::to_string(number + 1));
}

void GpuWarnings::count(std::size_t line, const std::string& written, int count) {
  if (!gpus_ || count <= *gpus_) return;
  say(line, written + " is more than the " + asked() + " that the job asks for; --gpus " +
                std::to_string(count) + " asks for as many");
}

void GpuWarnings::visible(std::size_t line, std::string_view value) {
  std::string_view gpus = value.substr(0, value.find_first_not_of("0123456789,"));
  while (gpus.ends_with(',')) gpus.remove_suffix(1);
  if (gpus.empty() || gpus.starts_with(',')) return;
  say(line, "CUDA_VISIBLE_DEVICES=" + std::string(gpus) + (file_.empty() ? " in the command" : "") +
                " leads past the GPU that the job gets: leave it out");
}

void GpuWarnings::port(std::size_t line, const std::string& written, std::string_view value) {
  if (value != kUsualPort) return;
  say(line, written +
                ": all who leave it at that meet there; leave it out, $MASTER_PORT is the job's "
                "own");
}

void GpuWarnings::share(std::size_t line, const std::string& written, std::string_view part) {
  double value = 0;
  const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), value);
  const bool is_part = failed == std::errc() && end == part.data() + part.size() && value > 0;
  if (!is_part || value > 1) return;
  shares_.push_back({.where = where(line), .written = written, .part = value});
}

std::string GpuWarnings::where(std::size_t line) const {
  return file_.empty() ? "" : file_ + ":" + std::to_string(line) + ": ";
}

void GpuWarnings::say(std::size_t line, const std::string& warning) {
  if (!file_.empty() && of_file() == kMostOfFile) return;
  if (std::ranges::find(said_, warning) != said_.end()) return;
  said_.push_back(warning);
  list_.push_back(where(line) + warning);
}

}  // namespace berth::cli
