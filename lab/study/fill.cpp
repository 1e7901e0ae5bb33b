// evaluation.md: the text, with what its braces ask for.
#include <algorithm>
#include <sstream>

#include "lab/study/document.hpp"
#include "lab/study/text.hpp"

namespace berth::lab {

namespace {

constexpr const char* kNotRun = "not run";

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string figure_of(const StudyDocument& document, const std::vector<std::string>& words) {
  const ScenarioResults* const scenario = document.results.find(words[0]);
  if (scenario == nullptr) return kNotRun;
  const StudyFigure& figure = *find_figure(words[2]);
  if (words.size() == 3) {
    const WayResults* const way = scenario->find(words[1]);
    const auto value = way == nullptr ? std::nullopt : way->figure(figure.key);
    return value ? shown(figure, sim::Interval{.mean = value->mean, .half = {}}) : kNotRun;
  }
  auto over = ways_named(document.plan.ways, {words[4]});
  std::erase(over, words[1]);
  const auto ratio = ratio_of(*scenario, words[1], over, figure);
  return ratio ? number(ratio->value) : kNotRun;
}

std::string image_of(const StudyDocument& document, const std::string& name) {
  const auto& all = document.plan.drawings;
  const auto found = std::ranges::find(all, name, &Drawing::name);
  if (found == all.end()) return "";
  return "![" + found->words + "](evaluation/" + name + ".svg)";
}

std::string words_in(const StudyDocument& document, const std::string& word) {
  std::size_t runs = 0;
  for (const ScenarioResults& scenario : document.results.scenarios) {
    for (const WayResults& way : scenario.ways) runs += way.runs.size();
  }
  if (word == "made") return document.made;
  if (word == "size") return document.results.size;
  if (word == "runs") return std::to_string(runs);
  if (word == "scenarios") return std::to_string(document.results.scenarios.size());
  if (word == "live") return document.live.empty() ? kNotRun : document.live;
  if (word == "targets") return targets_table(judge(document.plan, document.results));
  if (word == "causes") return causes_table(document.results);
  return "";
}

Expected<std::string> asked_for(const StudyDocument& document, const std::string& text) {
  const auto words = words_of(text);
  std::string found;
  if (words.size() == 1) {
    found = words_in(document, words[0]);
  } else if (words.size() == 2 && words[0] == "drawing") {
    found = image_of(document, words[1]);
  } else if (words.size() == 3 && words[0] == "parts") {
    found = parts_table(document, words[1], words[2]);
  } else if ((words.size() == 3 || (words.size() == 5 && words[3] == "over")) &&
             find_figure(words[2]) != nullptr) {
    found = figure_of(document, words);
  }
  if (!found.empty()) return found;
  return fail(ErrorCode::BadData, "'{{" + text + "}}' is none of what can be filled in");
}

}  // namespace

Expected<std::string> written(const StudyDocument& document) {
  const std::string& text = document.text;
  std::string filled;
  std::size_t at = 0;
  for (std::size_t begin; (begin = text.find("{{", at)) != std::string::npos;) {
    const std::size_t end = text.find("}}", begin);
    if (end == std::string::npos) break;
    const auto found = asked_for(document, text.substr(begin + 2, end - begin - 2));
    if (!found) return found;
    filled += text.substr(at, begin - at) + *found;
    at = end + 2;
    if (filled.ends_with('\n') && at < text.size() && text[at] == '\n') ++at;
  }
  return filled + text.substr(at);
}

}  // namespace berth::lab
