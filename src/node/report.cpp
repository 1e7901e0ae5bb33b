#include "node/report.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/base/limits.hpp"
#include "core/base/split.hpp"

namespace berth::node {

namespace {

constexpr std::string_view kAgentMark = "berth-agent";
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kMostMebibytes = std::int64_t{1} << 32;
constexpr std::size_t kLongestProblem = 120;

std::string mebibytes(Bytes amount) {
  return std::to_string((amount.raw() + kMebibyte - 1) / kMebibyte);
}

std::optional<std::int64_t> count_in(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole && number >= 0 && number <= most ? std::optional(number) : std::nullopt;
}

std::optional<Bytes> amount_in(std::string_view text) {
  const auto count = count_in(text, kMostMebibytes);
  return count ? std::optional(Bytes(*count * kMebibyte)) : std::nullopt;
}

/// What a driver says, as one word of plain characters.
std::string as_word(std::string_view words) {
  std::string word(words.substr(0, kLongestProblem));
  for (char& c : word) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == ',' || c == ':';
    if (!is_plain) c = '_';
  }
  return word;
}

std::optional<NodeHolding> holding_in(std::string_view text) {
  constexpr std::int64_t kMostNumber = 0xffff'ffff;
  const auto job = count_in(next_part(text, ':'), kMostNumber);
  const auto now = amount_in(next_part(text, ':'));
  const auto most = amount_in(next_part(text, ':'));
  const auto processes = count_in(text, kMostNumber);
  if (!job || !now || !most || !processes) return std::nullopt;
  return NodeHolding{.job = static_cast<std::uint32_t>(*job),
                     .now = *now,
                     .most = *most,
                     .processes = static_cast<std::uint32_t>(*processes)};
}

/// Returns: whether the word was taken. Words that a later agent may add are left out.
bool take_word(NodeReport& report, std::string_view key, std::string_view value) {
  if (key == "at") {
    const auto at = count_in(value, std::int64_t{1} << 40);
    if (at) report.at = *at;
    return at.has_value();
  }
  if (key == "every") {
    const auto every = count_in(value, 86'400);
    if (every) report.every = seconds(*every);
    return every.has_value();
  }
  if (key == "gpu") {
    const auto index = count_in(value, limits::kMostGpusOfNode - 1);
    if (!index || report.gpus.size() >= limits::kMostGpusOfNode) return false;
    report.gpus.push_back({.index = static_cast<std::uint32_t>(*index)});
    return true;
  }
  constexpr auto kOfGpus =
      std::to_array<std::string_view>({"usable", "used", "other", "job", "problem", "lost"});
  if (std::ranges::find(kOfGpus, key) == kOfGpus.end()) return true;
  if (report.gpus.empty()) return false;
  NodeGpu& gpu = report.gpus.back();
  if (key == "problem") {
    gpu.problem = value;
    std::ranges::replace(gpu.problem, '_', ' ');
    return !value.empty();
  }
  if (key == "lost") return gpu.is_lost = true;
  if (key == "job") {
    const auto holding = holding_in(value);
    if (holding) gpu.jobs.push_back(*holding);
    return holding.has_value();
  }
  const auto amount = amount_in(value);
  if (!amount) return false;
  (key == "usable" ? gpu.usable : key == "used" ? gpu.used : gpu.other) = *amount;
  return true;
}

}  // namespace

std::string to_text(const NodeReport& report) {
  std::string text(kAgentMark);
  text += " at=" + std::to_string(report.at);
  text += " every=" + std::to_string(micros(report.every) / 1'000'000);
  for (const NodeGpu& gpu : report.gpus) {
    text += " gpu=" + std::to_string(gpu.index);
    if (!gpu.problem.empty()) {
      text += " problem=" + as_word(gpu.problem) + (gpu.is_lost ? " lost" : "");
      continue;
    }
    text += " usable=" + mebibytes(gpu.usable) + " used=" + mebibytes(gpu.used) +
            " other=" + mebibytes(gpu.other);
    for (const NodeHolding& holding : gpu.jobs) {
      text += " job=" + std::to_string(holding.job) + ":" + mebibytes(holding.now) + ":" +
              mebibytes(holding.most) + ":" + std::to_string(holding.processes);
    }
  }
  return text;
}

Expected<std::optional<NodeReport>> parse_node_report(std::string_view text) {
  if (next_part(text, ' ') != kAgentMark) return std::nullopt;
  NodeReport report;
  while (!text.empty()) {
    const std::string_view word = next_part(text, ' ');
    std::string_view value = word;
    const std::string_view key = next_part(value, '=');
    if (word.empty() || take_word(report, key, value)) continue;
    return fail(ErrorCode::BadData,
                "a node's Extra: '" + std::string(word.substr(0, 60)) + "' cannot be read");
  }
  return report;
}

}  // namespace berth::node
