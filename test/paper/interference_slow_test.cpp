// How far off what is learned of sharing is for a pair that was never seen, on measured tables.
//
// Source: 1,388 pairs of 66 configurations of 14 models on one GPU (Lucid, Hu et al., ASPLOS 2023,
// `colocate_info.csv`, busy shares in `single_data.csv`); pairs of one GPU on a V100 (Gavel,
// Narayanan et al., OSDI 2020). A speed above that alone counts as that alone.
// Method: leave one out. For each pair, every other pair of the table teaches as one run of the
// length that its speed makes, after a run alone; then the pair is asked for. Scored against taking
// every unknown pair to run at full speed, which is what happens without it. Prints the figures of
// doc/results/company.md. Skipped without the tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/knowledge/company.hpp"
#include "support/paths.hpp"
#include "trace/gzip.hpp"

namespace berth::test {
namespace {

struct TablePair {
  Fingerprint own;
  Fingerprint other;
  double speed = 1;
};

struct PairTable {
  std::vector<TablePair> pairs;
  std::map<Fingerprint, double> busy;  ///< Percent; empty where the table does not have it.
};

std::vector<std::vector<std::string>> csv_rows(const std::filesystem::path& file) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> row;
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    rows.push_back(row);
  }
  rows.erase(rows.begin());
  return rows;
}

/// Numbers names in order of appearance, from 1.
class Programs {
 public:
  Fingerprint of(const std::string& name) {
    return Fingerprint(numbers_.try_emplace(name, numbers_.size() + 1).first->second);
  }

 private:
  std::map<std::string, std::uint64_t> numbers_;
};

/// Of figures that are given several times, the mean.
class Means {
 public:
  void add(Fingerprint own, Fingerprint other, double speed) {
    auto& [sum, count] = sums_[{own, other}];
    sum += std::min(speed, 1.0), ++count;
  }
  std::vector<TablePair> pairs() const {
    std::vector<TablePair> pairs;
    for (const auto& [pair, sum] : sums_)
      pairs.push_back({pair.first, pair.second, sum.first / sum.second});
    return pairs;
  }

 private:
  std::map<std::pair<Fingerprint, Fingerprint>, std::pair<double, int>> sums_;
};

PairTable lucid_table() {
  const auto folder = shared_dir() / "traces" / "lucid-venus";
  const auto name = [](const std::vector<std::string>& row, std::size_t model, std::size_t batch) {
    return row[model] + "," + row[model + 1] + "," + row[batch] + "," + row[batch + 1];
  };
  Programs programs;
  Means means;
  PairTable table;
  for (const auto& row : csv_rows(folder / "single_data.csv")) {
    table.busy[programs.of(name(row, 0, 2))] = std::stod(row[5]);
  }
  for (const auto& row : csv_rows(folder / "colocate_info.csv")) {
    const Fingerprint one = programs.of(name(row, 1, 4));
    const Fingerprint two = programs.of(name(row, 7, 10));
    means.add(one, two, std::stod(row[6]));
    means.add(two, one, std::stod(row[12]));
  }
  table.pairs = means.pairs();
  return table;
}

PairTable gavel_table() {
  const auto file = shared_dir() / "traces" / "gavel" / "simulation_throughputs.json.gz";
  const auto all = nlohmann::json::parse(*trace::unpacked(read_file(file), "rates.gz"));
  Programs programs;
  Means means;
  for (const auto& [own, row] : all["v100"].items()) {
    const double alone = row["null"].get<double>();
    if (!own.ends_with(", 1)") || alone <= 0) continue;
    for (const auto& [other, speeds] : row.items()) {
      if (!speeds.is_array() || !other.ends_with(", 1)")) continue;
      const double speed = speeds[0].get<double>();
      if (speed > 0) means.add(programs.of(own), programs.of(other), speed / alone);
    }
  }
  return {.pairs = means.pairs(), .busy = {}};
}

/// Learns as of runs that ended.
class Teacher {
 public:
  void alone(Fingerprint what, double busy) {
    const JobId job = begin(what);
    company_.saw_alone(job, static_cast<std::int16_t>(std::lround(busy)), kStart, kStart + kAlone);
    end(job, kAlone);
  }
  void beside(const TablePair& pair) {
    const JobId job = begin(pair.own);
    const JobId other = begin(pair.other);
    const Duration ran(std::llround(static_cast<double>(micros(kAlone)) / pair.speed));
    company_.pass(job, other, kStart, kStart + ran);
    end(job, ran);
    company_.forget(other);
  }
  const Company& company() const { return company_; }

 private:
  static constexpr Duration kAlone = seconds(10'000);

  JobId begin(Fingerprint what) {
    const JobId job(++last_);
    company_.identify(job, what);
    return job;
  }
  void end(JobId job, Duration ran) {
    company_.leave(job);
    company_.learn(job, ran);
    company_.forget(job);
  }

  Company company_;
  std::uint64_t last_ = 0;
};

struct Errors {
  std::vector<double> all;

  void add(double said, double is) { all.push_back(std::abs(said - is)); }
  double mean() const {
    double sum = 0;
    for (const double error : all) sum += error;
    return sum / static_cast<double>(all.size());
  }
  double ninety() {
    std::ranges::sort(all);
    return all[all.size() * 9 / 10];
  }
  void print(const char* what) {
    std::printf("%-44s %5zu pairs, error mean %.3f, of 9 in 10 up to %.3f\n", what, all.size(),
                mean(), ninety());
  }
};

double share(std::int64_t ppm) { return static_cast<double>(ppm) / 1e6; }

/// Of what schedulers read of a job beside one that it never met.
void score_by_duty(const PairTable& table) {
  Errors full;
  Errors learned;
  std::size_t unknown = 0;
  for (const TablePair& out : table.pairs) {
    Teacher teacher;
    for (const auto& [what, busy] : table.busy) teacher.alone(what, busy);
    for (const TablePair& pair : table.pairs) {
      if (pair.own != out.own || pair.other != out.other) teacher.beside(pair);
    }
    const KnownRate rate = teacher.company().rate(out.own, out.other);
    ASSERT_NE(rate.from, RateSource::Pair);
    if (rate.from == RateSource::Unknown) ++unknown;
    full.add(1, out.speed);
    learned.add(share(rate.ppm), out.speed);
  }
  full.print("an unknown pair taken to run at full speed");
  learned.print("by how busy both are");
  std::printf("%zu pairs of classes of which too little is known\n", unknown);
  EXPECT_LT(learned.mean(), 0.75 * full.mean());
}

/// Of the mean that a label of `lucid` comes from, against the neighbour that was left out.
void score_by_mean(const PairTable& table) {
  Errors full;
  Errors learned;
  for (const TablePair& out : table.pairs) {
    Teacher teacher;
    teacher.alone(out.own, 0);
    for (const TablePair& pair : table.pairs) {
      if (pair.own != out.own || pair.other == out.other) continue;
      for (int run = 0; run < Company::kEnough; ++run) teacher.beside(pair);
    }
    const auto mean = teacher.company().mean_ppm(out.own);
    if (!mean) continue;
    full.add(1, out.speed);
    learned.add(share(*mean), out.speed);
  }
  full.print("an unknown pair taken to run at full speed");
  learned.print("by the mean beside its other neighbours");
  EXPECT_LT(learned.mean(), 0.75 * full.mean());
}

TEST(InterferenceOfLucidsTable, IsNearerByHowBusyBothAreThanUnknown) {
  if (const auto absent = absent_shared("traces/lucid-venus")) GTEST_SKIP() << *absent;
  score_by_duty(lucid_table());
}

TEST(InterferenceOfLucidsTable, IsNearerByTheMeanOfOtherNeighbours) {
  if (const auto absent = absent_shared("traces/lucid-venus")) GTEST_SKIP() << *absent;
  score_by_mean(lucid_table());
}

TEST(InterferenceOfGavelsTable, IsNearerByTheMeanOfOtherNeighbours) {
  if (const auto absent = absent_shared("traces/gavel")) GTEST_SKIP() << *absent;
  score_by_mean(gavel_table());
}

}  // namespace
}  // namespace berth::test
