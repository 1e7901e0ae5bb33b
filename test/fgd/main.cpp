// Runs the whole study and prints the page: every mix at hand, every placement, ten seeds.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <thread>

#include "fgd/report.hpp"

namespace berth::fgd {
namespace {

struct Arguments {
  std::string folder;
  std::vector<std::string> mixes;
  std::int64_t first_seed = 42;
  std::int64_t seeds = 10;
};

/// Processor time of this thread in seconds.
double worked() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/// Two runs at a time; a free thread takes the next draw.
class Workers {
 public:
  Workers(const Arguments& arguments, const std::map<std::string, Mix>& mixes) : mixes_(mixes) {
    for (const auto& [name, mix] : mixes) {
      for (std::int64_t s = 0; s < arguments.seeds; ++s) {
        work_.push_back({.mix = name, .way = "", .seed = arguments.first_seed + s});
      }
    }
  }

  Expected<Findings> run_all() {
    std::vector<std::jthread> threads(2);
    for (std::jthread& thread : threads) thread = std::jthread([this] { work(); });
    threads.clear();
    if (error_) return std::unexpected(*error_);
    for (auto& [place, seconds] : findings_.seconds) seconds /= static_cast<double>(work_.size());
    return findings_;
  }

 private:
  void work() {
    for (std::size_t next = next_++; next < work_.size(); next = next_++) {
      RunName name = work_[next];
      const Draw drawn = draw(mixes_.at(name.mix), name.seed);
      for (const Way& way : kWays) {
        const double before = worked();
        const auto run = fgd::run(drawn, way.place, name.seed);
        const double seconds = worked() - before;
        const std::scoped_lock lock(mutex_);
        if (!run) {
          error_ = run.error();
          return;
        }
        name.way = way.published;
        findings_.ours[name] = run->curve;
        findings_.seconds[std::string(way.place)] += seconds;
        std::fprintf(stderr, "%s, seed %lld, %s: %zu tasks, %lld thousandths allocated, %.2f s\n",
                     name.mix.c_str(), static_cast<long long>(name.seed), way.place.data(),
                     run->tasks, static_cast<long long>(run->allocated), seconds);
      }
    }
  }

  const std::map<std::string, Mix>& mixes_;
  std::vector<RunName> work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  Findings findings_;
  std::optional<Error> error_;
};

Expected<std::string> study(const Arguments& arguments) {
  const std::filesystem::path folder = arguments.folder;
  const std::filesystem::path published = folder / "fgd-expected";
  const auto theirs = std::filesystem::exists(published) ? load_published(published) : Curves();
  if (!theirs) return std::unexpected(theirs.error());
  std::map<std::string, Mix> mixes;
  auto names = mixes_at_hand(folder);
  if (!names) return std::unexpected(names.error());
  if (!arguments.mixes.empty()) names = arguments.mixes;
  for (const std::string& name : *names) {
    auto mix = load_mix(folder, name);
    if (!mix) return std::unexpected(mix.error());
    mixes.emplace(name, std::move(*mix));
  }
  const auto findings = Workers(arguments, mixes).run_all();
  if (!findings) return std::unexpected(findings.error());
  return report(*findings, *theirs);
}

}  // namespace
}  // namespace berth::fgd

int main(int count, char** words) {
  berth::fgd::Arguments arguments;
  CLI::App app(
      "The experiment of FGD (Weng et al., ATC 2023) with berth's placements, as Markdown.");
  app.add_option("folder", arguments.folder,
                 "Of the openb traces and, if there is one, fgd-expected.")
      ->required();
  app.add_option("--mix", arguments.mixes, "Only these: default, cpu100, ...")->delimiter(',');
  app.add_option("--seeds", arguments.seeds, "How many.")->check(CLI::Range(1, 10));
  app.add_option("--first-seed", arguments.first_seed, "From 42 to 51.")->check(CLI::Range(42, 51));
  CLI11_PARSE(app, count, words);
  const auto page = berth::fgd::study(arguments);
  if (!page) {
    std::fprintf(stderr, "berth-fgd: %s\n", page.error().message.c_str());
    return 1;
  }
  std::fputs(page->c_str(), stdout);
}
