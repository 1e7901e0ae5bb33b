#include <sstream>

#include "lab/study/document.hpp"

namespace berth::lab {

namespace {

Expected<std::string> mean_named(const std::string& words, const StudyResults& results) {
  std::istringstream list(words);
  std::string scenario;
  std::string way;
  std::string key;
  std::string more;
  const bool is_three = static_cast<bool>(list >> scenario >> way >> key) && !(list >> more);
  const StudyFigure* const figure = is_three ? find_figure(key) : nullptr;
  if (figure == nullptr) {
    return fail(ErrorCode::BadData, "'{{" + words + "}}' is not {{SCENARIO WAY FIGURE}}");
  }
  const ScenarioResults* const found = results.find(scenario);
  const WayResults* const its = found == nullptr ? nullptr : found->find(way);
  const auto value = its == nullptr ? std::nullopt : its->figure(key);
  if (!value) return "not run";
  return shown(*figure, sim::Interval{.mean = value->mean, .half = {}});
}

}  // namespace

Expected<std::string> with_figures(const std::string& text, const StudyResults& results) {
  std::string filled;
  std::size_t at = 0;
  for (std::size_t begin; (begin = text.find("{{", at)) != std::string::npos;) {
    const std::size_t end = text.find("}}", begin);
    if (end == std::string::npos) break;
    const auto mean = mean_named(text.substr(begin + 2, end - begin - 2), results);
    if (!mean) return mean;
    filled += text.substr(at, begin - at) + *mean;
    at = end + 2;
  }
  return filled + text.substr(at);
}

}  // namespace berth::lab
