#include "live/figures.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

namespace berth::bench {

double quantile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1) + 0.5)];
}

Seconds processor_time(pid_t pid) {
  double nanoseconds = 0;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    nanoseconds += std::strtod(slurp(task.path() / "schedstat").c_str(), nullptr);
  }
  return Seconds(nanoseconds / 1e9);
}

double kib_of(pid_t pid, const std::string& file, const std::vector<std::string>& names) {
  std::istringstream lines(slurp("/proc/" + std::to_string(pid) + "/" + file));
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(':'));
    const bool counts = std::ranges::find(names, name) != names.end();
    if (counts) sum += std::strtod(line.c_str() + name.size() + 1, nullptr);
  }
  return sum;
}

void report(benchmark::State& state, const std::function<Expected<Figures>()>& measure) {
  for (auto _ : state) {
    const auto figures = measure();
    if (!figures) {
      state.SkipWithError(figures.error().message.c_str());
      break;
    }
    state.SetIterationTime(figures->time.count());
    for (const auto& [name, value] : figures->counters) state.counters[name] = value;
  }
}

void as_row(benchmark::internal::Benchmark* row) {
  row->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond);
}

}  // namespace berth::bench
