#include "lab/score.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

namespace berth::lab {

namespace {

double in_seconds(Duration duration) { return static_cast<double>(micros(duration)) / 1e6; }

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double percentile(std::vector<double> values, std::size_t percent) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, values.size() * percent / 100)];
}

/// Largest over smallest mean; 1 with fewer than two.
double spread(const std::map<UserId, std::vector<double>>& groups) {
  double least = 0;
  double most = 0;
  for (const auto& [group, values] : groups) {
    const double its = mean(values);
    least = least == 0 ? its : std::min(least, its);
    most = std::max(most, its);
  }
  return least == 0 ? 1 : most / least;
}

std::string cell(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string percent(double share) { return cell(share * 100, 0) + " %"; }

using Row = std::vector<std::string>;

const Row& header() {
  static const Row row = {"",          "finished", "OOM: admission", "OOM: overrun",
                          "mean wait", "p95 wait", "mean JCT",       "run/solo",
                          "makespan",  "memory",   "busy",           "JCT spread"};
  return row;
}

Row row_of(const std::string& name, const Score& score, int tasks) {
  return {name,
          std::to_string(score.finished) + "/" + std::to_string(tasks),
          std::to_string(score.oom_by_admission),
          std::to_string(score.oom_by_overrun),
          cell(score.mean_wait, 2) + " s",
          cell(score.p95_wait, 2) + " s",
          cell(score.mean_jct, 2) + " s",
          cell(score.slowdown, 2),
          cell(score.makespan, 1) + " s",
          percent(score.use.memory),
          percent(score.use.busy),
          cell(score.user_spread, 2)};
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - row[i].size(), ' ');
      text += i == 0 ? row[i] + gap : "  " + gap + row[i];
    }
    text += "\n";
  }
  return text;
}

std::vector<Row> rows_of(const Scores& scores) {
  std::vector<Row> rows = {header()};
  for (const auto& [name, score] : scores) {
    const int tasks =
        score.finished + score.oom_by_admission + score.oom_by_overrun + score.failed_otherwise;
    rows.push_back(row_of(name, score, tasks));
  }
  return rows;
}

}  // namespace

Score score(const trace::Trace& trace, const Run& run) {
  Score score{.kills = run.kills, .use = run.use};
  std::vector<double> waits;
  std::vector<double> completions;
  std::vector<double> slowdowns;
  std::map<UserId, std::vector<double>> by_user;
  Instant first = kNever;
  Instant last = kStart;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const trace::TraceJob& job = trace.jobs[i];
    const Fate& fate = run.fates[i];
    first = std::min(first, fate.submitted);
    if (fate.ended != kNever) last = std::max(last, fate.ended);
    score.suspensions += fate.suspensions;
    score.began_again += fate.programs > 1 ? 1 : 0;
    if (fate.state == "oom") {
      const bool is_honest = job.use.peak() <= job.spec.request.gpu.vram;
      ++(is_honest ? score.oom_by_admission : score.oom_by_overrun);
      continue;
    }
    if (fate.state != "done") {
      ++score.failed_otherwise;
      continue;
    }
    ++score.finished;
    const double ran = in_seconds(fate.ended - fate.started);
    const double completion = in_seconds(fate.ended - fate.submitted);
    waits.push_back(in_seconds(fate.started - fate.submitted));
    completions.push_back(completion);
    slowdowns.push_back(ran / in_seconds(job.duration));
    by_user[job.spec.user].push_back(completion);
  }
  score.mean_wait = mean(waits);
  score.p95_wait = percentile(waits, 95);
  score.mean_jct = mean(completions);
  score.slowdown = mean(slowdowns);
  score.makespan = last > first ? in_seconds(last - first) : 0;
  score.user_spread = spread(by_user);
  return score;
}

Score together(std::span<const Score> scores) {
  Score all;
  const auto share = 1.0 / static_cast<double>(scores.size());
  for (const Score& score : scores) {
    all.finished += score.finished;
    all.oom_by_admission += score.oom_by_admission;
    all.oom_by_overrun += score.oom_by_overrun;
    all.failed_otherwise += score.failed_otherwise;
    all.suspensions += score.suspensions;
    all.began_again += score.began_again;
    all.kills += score.kills;
    all.mean_wait += score.mean_wait * share;
    all.p95_wait += score.p95_wait * share;
    all.mean_jct += score.mean_jct * share;
    all.slowdown += score.slowdown * share;
    all.makespan += score.makespan * share;
    all.user_spread += score.user_spread * share;
    all.use.memory += score.use.memory * share;
    all.use.busy += score.use.busy * share;
  }
  return all;
}

nlohmann::json to_json(const Score& score) {
  return {{"finished", score.finished},
          {"oom_by_admission", score.oom_by_admission},
          {"oom_by_overrun", score.oom_by_overrun},
          {"failed_otherwise", score.failed_otherwise},
          {"suspensions", score.suspensions},
          {"began_again", score.began_again},
          {"kills", score.kills},
          {"mean_wait_seconds", score.mean_wait},
          {"p95_wait_seconds", score.p95_wait},
          {"mean_jct_seconds", score.mean_jct},
          {"run_over_solo", score.slowdown},
          {"makespan_seconds", score.makespan},
          {"memory_share", score.use.memory},
          {"busy_share", score.use.busy},
          {"user_jct_spread", score.user_spread}};
}

Score score_of(const nlohmann::json& json) {
  return {.finished = json.at("finished"),
          .oom_by_admission = json.at("oom_by_admission"),
          .oom_by_overrun = json.at("oom_by_overrun"),
          .failed_otherwise = json.at("failed_otherwise"),
          .suspensions = json.value("suspensions", 0),
          .began_again = json.value("began_again", 0),
          .kills = json.value("kills", 0),
          .mean_wait = json.at("mean_wait_seconds"),
          .p95_wait = json.at("p95_wait_seconds"),
          .mean_jct = json.at("mean_jct_seconds"),
          .slowdown = json.at("run_over_solo"),
          .makespan = json.at("makespan_seconds"),
          .user_spread = json.at("user_jct_spread"),
          .use = {.memory = json.at("memory_share"), .busy = json.at("busy_share")}};
}

std::string table(const Scores& scores) { return aligned(rows_of(scores)); }

Effort effort(const trace::Trace& trace, const Run& run) {
  Effort effort{.jobs = static_cast<int>(trace.jobs.size()), .called = run.name};
  std::vector<double> times;
  Instant first = kNever;
  Instant last = kStart;
  for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
    const Fate& fate = run.fates[i];
    const auto gpus = static_cast<double>(trace.jobs[i].spec.request.gpu.count.raw());
    effort.wasted += in_seconds(fate.lost) * gpus;
    first = std::min(first, fate.submitted);
    if (fate.state != "done") {
      ++effort.unfinished;
      continue;
    }
    last = std::max(last, fate.ended);
    effort.first_try += fate.attempts == 1 ? 1 : 0;
    times.push_back(in_seconds(fate.ended - fate.submitted));
  }
  effort.mean = mean(times);
  effort.worst = times.empty() ? 0 : std::ranges::max(times);
  effort.makespan = last > first ? in_seconds(last - first) : 0;
  return effort;
}

std::string table(const Efforts& efforts) {
  std::vector<Row> rows = {
      {"", "first try", "GPU-seconds wasted", "mean time", "worst", "makespan"}};
  for (const auto& [name, effort] : efforts) {
    rows.push_back({name, std::to_string(effort.first_try) + "/" + std::to_string(effort.jobs),
                    cell(effort.wasted, 1), cell(effort.mean, 1) + " s",
                    cell(effort.worst, 1) + " s", cell(effort.makespan, 1) + " s"});
  }
  return aligned(rows);
}

std::string in_words(const Efforts& efforts) {
  const auto tries = [](const Effort& effort) {
    return std::to_string(effort.first_try) + " of " + std::to_string(effort.jobs) +
           " jobs at the first try";
  };
  const auto times = [](const Effort& effort) {
    return "a result after " + cell(effort.mean, 1) + " s on average and " + cell(effort.worst, 1) +
           " s at most";
  };
  const Effort& ours = efforts.back().second;
  std::string text = ours.called + ": " + tries(ours) + ", " + times(ours) + ".";
  for (const auto& [name, other] : std::span(efforts).first(efforts.size() - 1)) {
    text += "\n" + other.called + ": " + tries(other) + ", " + times(other);
    if (other.wasted > 0) text += ", " + cell(other.wasted, 1) + " GPU-seconds for nothing";
    if (other.unfinished > 0) text += ", " + std::to_string(other.unfinished) + " given up";
    text += ".";
  }
  return text + "\n";
}

std::string markdown(const Scores& scores) {
  std::string text;
  bool is_header = true;
  for (const Row& row : rows_of(scores)) {
    for (const std::string& word : row) text += "| " + word + " ";
    text += "|\n";
    if (!std::exchange(is_header, false)) continue;
    for (std::size_t i = 0; i < row.size(); ++i) text += i == 0 ? "|---" : "|---:";
    text += "|\n";
  }
  return text;
}

namespace {

struct Compared {
  const char* name;
  double (*value)(const Score&);
};
constexpr Compared kCompared[] = {
    {"mean wait", [](const Score& score) { return score.mean_wait; }},
    {"p95 wait", [](const Score& score) { return score.p95_wait; }},
    {"mean JCT", [](const Score& score) { return score.mean_jct; }},
    {"run/solo", [](const Score& score) { return score.slowdown; }},
    {"makespan", [](const Score& score) { return score.makespan; }},
    {"memory", [](const Score& score) { return score.use.memory; }},
    {"busy", [](const Score& score) { return score.use.busy; }},
    {"JCT spread", [](const Score& score) { return score.user_spread; }},
};

std::string ratio(double one, double other) { return other == 0 ? "-" : cell(one / other, 2); }

}  // namespace

std::string agreement(const Scores& scores) {
  std::string text = "| live over simulated ";
  std::string line = "|---";
  for (const Compared& each : kCompared) {
    text += std::string("| ") + each.name + " ";
    line += "|---:";
  }
  text += "|\n" + line + "|\n";
  for (std::size_t i = 0; i + 1 < scores.size(); i += 2) {
    text += "| " + scores[i].first.substr(0, scores[i].first.find(','));
    for (const Compared& each : kCompared) {
      text += " | " + ratio(each.value(scores[i].second), each.value(scores[i + 1].second));
    }
    text += " |\n";
  }
  return text;
}

}  // namespace berth::lab
