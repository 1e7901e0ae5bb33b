#include "fgd/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

namespace berth::fgd {

namespace {

double value(const Curve& curve, Measure measure, std::size_t load) {
  return measure == Measure::Allocated ? curve.allocated[load] : curve.fragmented[load];
}

std::string number(double value, int digits = 2) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// Ours, then theirs in brackets where it differs; bold where it differs too much.
std::string words(const Cell& cell) {
  const std::string ours = number(cell.ours);
  if (!cell.theirs) return ours;
  const std::string theirs = number(*cell.theirs);
  if (ours == theirs) return ours;
  return (cell.is_inside() ? ours : "**" + ours + "**") + " (" + theirs + ")";
}

std::set<std::string> mixes_of(const Curves& curves) {
  std::set<std::string> mixes;
  for (const auto& [name, curve] : curves) mixes.insert(name.mix);
  return mixes;
}

bool is_published(const Curves& theirs, const std::string& mix) {
  return mixes_of(theirs).contains(mix);
}

template <class Visit>
void for_each_cell(const Findings& findings, const Curves& theirs, Visit visit) {
  for (const std::string& mix : mixes_of(findings.ours)) {
    for (const Way& way : kWays) {
      const RunName name{.mix = mix, .way = std::string(way.published), .seed = 0};
      for (const Measure measure : {Measure::Allocated, Measure::Fragmented}) {
        for (const std::size_t load : kLoads) {
          visit(name, measure, load, cell_of(findings.ours, theirs, name, measure, load));
        }
      }
    }
  }
}

std::string table(const Findings& findings, const Curves& theirs, const std::string& mix,
                  Measure measure) {
  std::string text =
      measure == Measure::Allocated ? "| allocated, % of GPUs |" : "| fragmented, % of GPUs |";
  std::string rule = "|---|";
  for (const std::size_t load : kLoads) {
    text += " " + std::to_string(load) + " % |";
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const Way& way : kWays) {
    const RunName name{.mix = mix, .way = std::string(way.published), .seed = 0};
    text += "| " + std::string(way.place) + " |";
    for (const std::size_t load : kLoads) {
      text += " " + words(cell_of(findings.ours, theirs, name, measure, load)) + " |";
    }
    text += "\n";
  }
  return text + "\n";
}

std::string outside(const Findings& findings, const Curves& theirs) {
  int all = 0;
  int count = 0;
  std::string list;
  for_each_cell(findings, theirs,
                [&](const RunName& name, Measure measure, std::size_t load, const Cell& cell) {
                  if (!cell.theirs) return;
                  ++all;
                  if (cell.is_inside()) return;
                  ++count;
                  list += "- " + name.mix + ", " + name.way.substr(3) + ", " +
                          (measure == Measure::Allocated ? "allocated" : "fragmented") + " at " +
                          std::to_string(load) + " %: " + number(cell.ours) + ", published " +
                          number(*cell.theirs) + ", tolerance " + number(cell.tolerance) + "\n";
                });
  return std::to_string(count) + " of " + std::to_string(all) +
         " means lie outside the larger of 0.3 points and three standard errors.\n" +
         (list.empty() ? "" : "\n" + list);
}

std::string matches(const Findings& findings, const Curves& theirs) {
  std::string text =
      "| placement | published figures met to 0.01 | runs met in every figure | processor time "
      "of a run |\n|---|---|---|---|\n";
  for (const Way& way : kWays) {
    Match sum;
    int runs = 0;
    int exact = 0;
    for (const auto& [name, curve] : findings.ours) {
      if (name.way != way.published) continue;
      const auto published = theirs.find(name);
      if (published == theirs.end()) continue;
      const Match match = match_of(curve, published->second);
      sum = {.equal = sum.equal + match.equal, .all = sum.all + match.all};
      ++runs;
      if (match.equal == match.all) ++exact;
    }
    const auto seconds = findings.seconds.find(std::string(way.place));
    text += "| " + std::string(way.place) + " | " + std::to_string(sum.equal) + " of " +
            std::to_string(sum.all) + " | " + std::to_string(exact) + " of " +
            std::to_string(runs) + " | " +
            (seconds == findings.seconds.end() ? "" : number(seconds->second) + " s") + " |\n";
  }
  return text;
}

/// Runs that give every published figure, of each mix.
std::string matches_by_mix(const Findings& findings, const Curves& theirs) {
  std::string text = "| runs met in every figure |";
  std::string rule = "|---|";
  for (const Way& way : kWays) {
    text += " " + std::string(way.place) + " |";
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::string& mix : mixes_of(findings.ours)) {
    if (!is_published(theirs, mix)) continue;
    text += "| " + mix + " |";
    for (const Way& way : kWays) {
      const auto is_met = [&](const auto& run) {
        if (run.first.mix != mix || run.first.way != way.published) return false;
        const auto published = theirs.find(run.first);
        if (published == theirs.end()) return false;
        const Match match = match_of(run.second, published->second);
        return match.equal == match.all;
      };
      text += " " + std::to_string(std::ranges::count_if(findings.ours, is_met)) + " |";
    }
    text += "\n";
  }
  return text;
}

constexpr std::string_view kIntroduction =
    R"(# Fragmentation gradient descent, as published

Written by `tools/results-fgd`. The study is that of Weng et al., "Beware of Fragmentation:
Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023: Alibaba's
openb cluster (1,213 nodes, 6,212 GPUs), tasks drawn until they ask for 130 % of its GPUs, placed
one by one, none ever leaves; ten seeds, 42 to 51. `test/fgd` runs berth's own placements
(`src/policy/place`) on the ledger that admits for the engine. The mixes are those whose list of
tasks is at hand.

The authors' program draws from Go's `math/rand`, which is reproduced here
(`test/fgd/go_random.hpp`), so the tasks and the order of tasks and nodes are theirs, seed by seed.
Between the two shuffles ten numbers go elsewhere in their program; that there are ten was found by
trial. `random` draws its nodes from berth's own generator: theirs depends on the order in which
threads answered.

)";

constexpr std::string_view kWhatDiffers = R"(
Where figures differ, by some hundredths, the likely reasons are these; none was tested by itself:

- Single seeds of a mix, for all placements at once: the other numbers drawn between the shuffles
  come from threads of their own, and were most likely not ten in that run.
- `gpuspec10` and `gpuspec25`: what is allocated agrees but for `fgd`; the authors tell classes of
  tasks apart by how their types are spelled (`V100M16|V100M32|V100M32` is one), which moves the
  cut at 95 %.
- `fgd` elsewhere: their score is a floating-point sum cut to a whole number, ours is exact. Where
  a choice changes nothing, theirs falls on either side of 50.
)";

constexpr std::string_view kHowToRead =
    R"(
## Means over the seeds

Ours, and the published figure in brackets where it differs. Columns are the load that had arrived.
Fragmented are GPUs, in parts, that the typical tasks cannot use
(`src/policy/place/fragmentation.hpp`).

)";

}  // namespace

bool Cell::is_inside() const { return !theirs || std::abs(ours - *theirs) <= tolerance + 1e-9; }

Cell cell_of(const Curves& ours, const Curves& theirs, const RunName& name, Measure measure,
             std::size_t load) {
  constexpr double kLeast = 0.3;
  Cell cell;
  double sum = 0;
  double squares = 0;
  double count = 0;
  bool is_published = true;
  for (const auto& [run, curve] : ours) {
    if (run.mix != name.mix || run.way != name.way) continue;
    cell.ours += value(curve, measure, load);
    ++count;
    const auto published = theirs.find(run);
    is_published = is_published && published != theirs.end();
    if (!is_published) continue;
    const double figure = value(published->second, measure, load);
    sum += figure;
    squares += figure * figure;
  }
  if (count == 0) return cell;
  cell.ours /= count;
  if (!is_published) return cell;
  const double mean = sum / count;
  const double variance = squares / count - mean * mean;
  const double sample = count > 1 ? std::max(0.0, variance) * count / (count - 1) : 0;
  cell.theirs = mean;
  cell.tolerance = std::max(kLeast, 3 * std::sqrt(sample / count));
  return cell;
}

Match match_of(const Curve& ours, const Curve& theirs) {
  Match match;
  for (std::size_t load = 1; load <= 130; ++load) {
    for (const Measure measure : {Measure::Allocated, Measure::Fragmented}) {
      ++match.all;
      const double apart = value(ours, measure, load) - value(theirs, measure, load);
      if (std::abs(apart) < 0.005) ++match.equal;
    }
  }
  return match;
}

std::string report(const Findings& findings, const Curves& theirs) {
  std::string text(kIntroduction);
  text += matches(findings, theirs) + "\n";
  text += matches_by_mix(findings, theirs) + "\n" + outside(findings, theirs);
  text += kWhatDiffers;
  text += kHowToRead;
  for (const std::string& mix : mixes_of(findings.ours)) {
    text += "### " + mix + (is_published(theirs, mix) ? "" : " (nothing published)") + "\n\n";
    text += table(findings, theirs, mix, Measure::Allocated);
    text += table(findings, theirs, mix, Measure::Fragmented);
  }
  text.pop_back();
  return text;
}

}  // namespace berth::fgd
