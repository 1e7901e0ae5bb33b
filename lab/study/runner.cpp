#include "lab/study/runner.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

namespace berth::lab {

namespace {

using Steady = std::chrono::steady_clock;

/// Runs `step(i)` for every i below `count`, `at_once` beside each other.
void in_parallel(std::size_t count, int at_once, const std::function<void(std::size_t)>& step) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) step(i);
  };
  std::vector<std::jthread> threads;
  for (int i = 1; i < at_once; ++i) threads.emplace_back(work);
  work();
}

/// Says how far it is, and about how long it will take.
class Lines {
 public:
  explicit Lines(std::size_t all) : all_(all) {}

  void done(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++done_;
    const double spent = std::chrono::duration<double>(Steady::now() - start_).count();
    const double left = spent / static_cast<double>(done_) * static_cast<double>(all_ - done_);
    std::printf("[%zu/%zu] %s (about %.0f s to go)\n", done_, all_, what.c_str(), left);
    std::fflush(stdout);
  }

 private:
  std::mutex mutex_;
  std::size_t all_;
  std::size_t done_ = 0;
  Steady::time_point start_ = Steady::now();
};

std::string last_line(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text.substr(text.find_last_of('\n') + 1);
}

Expected<void> make_traces(const StudyResults& results, int at_once) {
  std::set<std::string> makes;
  for (const ScenarioResults& scenario : results.scenarios) {
    for (const WayResults& way : scenario.ways) {
      for (const StudyRun& run : way.runs) {
        if (!run.make.empty() && run.figures.empty()) makes.insert(run.make);
      }
    }
  }
  const std::vector<std::string> list(makes.begin(), makes.end());
  std::vector<Expected<std::string>> made(list.size());
  in_parallel(list.size(), at_once, [&](std::size_t i) { made[i] = output_of(list[i]); });
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!made[i]) return fail(made[i].error().code, list[i] + ": " + made[i].error().message);
  }
  return {};
}

}  // namespace

Expected<std::string> output_of(const std::string& command) {
  char file[] = "/tmp/berth-study-XXXXXX";
  const int errors = ::mkstemp(file);
  if (errors < 0) return fail(ErrorCode::Io, "no temporary file can be made");
  ::close(errors);
  const auto text_of = [](std::FILE* from) {
    std::string text;
    char part[4096];
    for (std::size_t got; (got = std::fread(part, 1, sizeof part, from)) > 0;) {
      text.append(part, got);
    }
    return text;
  };
  std::FILE* const pipe = ::popen(("{ " + command + "; } 2>" + file).c_str(), "r");
  const std::string output = pipe == nullptr ? "" : text_of(pipe);
  const int status = pipe == nullptr ? -1 : ::pclose(pipe);
  std::string said;
  if (std::FILE* const from = std::fopen(file, "r"); from != nullptr) {
    said = text_of(from);
    std::fclose(from);
  }
  ::unlink(file);
  if (status == 0) return output;
  return fail(ErrorCode::Io, last_line(std::move(said)));
}

StudyResults planned(const StudyPlan& plan, const StudyTools& tools) {
  StudyResults results{.size = plan.size, .scenarios = {}};
  for (const Scenario& scenario : plan.scenarios) {
    auto& to = results.scenarios.emplace_back(ScenarioResults{
        .name = scenario.name, .words = scenario.words, .group = scenario.group, .ways = {}});
    for (const StudyWay& way : plan.ways) {
      if (std::ranges::find(scenario.ways, way.name) == scenario.ways.end()) continue;
      auto& its = to.ways.emplace_back(WayResults{.way = way.name, .runs = {}});
      for (const std::uint64_t number : scenario.seeds) {
        const std::string seed = std::to_string(number);
        const auto with = [&](const std::string& text) {
          return filled(filled(text, "{seed}", seed), "{berth}", tools.berth);
        };
        its.runs.push_back(
            {.seed = number,
             .make = with(scenario.make),
             .command = with("{berth} sim --trace " + scenario.trace + " " + scenario.arguments +
                             " " + way.arguments + " --seed {seed} --json"),
             .figures = {},
             .waits = {},
             .error = ""});
      }
    }
  }
  return results;
}

void keep(StudyResults& results, const StudyResults& earlier, const std::vector<std::string>& but) {
  for (ScenarioResults& scenario : results.scenarios) {
    const ScenarioResults* const before = earlier.find(scenario.name);
    for (WayResults& way : scenario.ways) {
      const WayResults* const its = before == nullptr ? nullptr : before->find(way.way);
      if (its == nullptr || std::ranges::find(but, way.way) != but.end()) continue;
      for (StudyRun& run : way.runs) {
        const auto same = std::ranges::find_if(its->runs, [&](const StudyRun& other) {
          return other.command == run.command && other.make == run.make && other.seed == run.seed;
        });
        if (same != its->runs.end()) run = *same;
      }
    }
  }
}

void run_one(StudyRun& run) {
  const auto output = output_of(run.command);
  const auto done = output ? read_summary(*output, run) : std::unexpected(output.error());
  if (!done) run.error = done.error().message;
}

Expected<std::size_t> run_study(StudyResults& results, const StudyTools& tools) {
  if (auto made = make_traces(results, tools.at_once); !made) {
    return std::unexpected(made.error());
  }
  struct Task {
    const ScenarioResults* scenario;
    WayResults* way;
  };
  std::vector<Task> tasks;
  for (ScenarioResults& scenario : results.scenarios) {
    for (WayResults& way : scenario.ways) {
      const bool is_done =
          std::ranges::none_of(way.runs, [](const StudyRun& run) { return run.figures.empty(); });
      if (!is_done) tasks.push_back({&scenario, &way});
    }
  }
  Lines lines(tasks.size());
  std::atomic<std::size_t> failed = 0;
  in_parallel(tasks.size(), tools.at_once, [&](std::size_t i) {
    std::string error;
    for (StudyRun& run : tasks[i].way->runs) {
      if (!run.figures.empty()) continue;
      run_one(run);
      if (run.error.empty()) continue;
      ++failed;
      error = ": " + run.error;
    }
    lines.done(tasks[i].scenario->name + ", " + tasks[i].way->way + error);
  });
  return failed.load();
}

}  // namespace berth::lab
