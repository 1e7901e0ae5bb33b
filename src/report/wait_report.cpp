#include "report/wait_report.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/spread.hpp"

namespace berth::sim {

namespace {

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

}  // namespace

std::vector<WaitFigure> wait_figures(const WaitTimes& times, std::size_t jobs) {
  double all = 0;
  for (const Duration time : times) all += in_seconds(time);
  std::vector<WaitFigure> figures;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double total = in_seconds(times[i]);
    figures.push_back({.reason = static_cast<WaitReason>(i),
                       .total = total,
                       .mean = total / static_cast<double>(jobs),
                       .share = all > 0 ? total / all : 0});
  }
  return figures;
}

nlohmann::ordered_json to_json(const std::vector<WaitFigure>& figures) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const WaitFigure& figure : figures) {
    json[std::string(word_for(figure.reason))] = {
        {"total_seconds", figure.total}, {"mean_seconds", figure.mean}, {"share", figure.share}};
  }
  return json;
}

std::string to_text(const std::vector<WaitFigure>& figures) {
  std::vector<WaitFigure> sorted = figures;
  std::ranges::stable_sort(sorted, std::ranges::greater(), &WaitFigure::total);
  std::string text;
  for (const WaitFigure& figure : sorted) {
    if (figure.total <= 0) continue;
    text += (text.empty() ? "waiting because of " : ", ") + std::string(word_for(figure.reason)) +
            " " + percent(figure.share);
  }
  return (text.empty() ? "no job waited" : text) + "\n";
}

std::vector<Bar> bars_of(const std::vector<WaitFigure>& figures) {
  std::vector<Bar> bars;
  for (const WaitFigure& figure : figures) {
    if (figure.total <= 0) continue;
    char words[48];
    std::snprintf(words, sizeof words, "%.2f h, %s", figure.mean / 3600,
                  percent(figure.share).c_str());
    bars.push_back({std::string(word_for(figure.reason)), figure.mean / 3600, words});
  }
  return bars;
}

}  // namespace berth::sim
