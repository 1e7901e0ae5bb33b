#include "fgd/published.hpp"

#include <charconv>
#include <sstream>

namespace berth::fgd {

namespace {

constexpr std::string_view kPrefix = "openb_pod_list_";

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream words(line);
  for (std::string field; std::getline(words, field, ',');) fields.push_back(field);
  return fields;
}

/// Where the loads from 0 to 130 % begin: the columns differ between the files.
std::size_t first_load(const std::vector<std::string>& header) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == "0") return i;
  }
  return header.size();
}

using Values = std::array<double, 131>;

Expected<void> read_curves(const std::filesystem::path& path, Values Curve::* which,
                           Curves& curves) {
  const auto text = text_of(path);
  if (!text) return std::unexpected(text.error());
  std::istringstream lines(*text);
  std::string line;
  std::getline(lines, line);
  const std::size_t loads = first_load(fields_of(line));
  for (int number = 2; std::getline(lines, line); ++number) {
    const std::vector<std::string> fields = fields_of(line);
    const bool whole = fields.size() >= loads + 131 && fields[0].starts_with(kPrefix);
    if (!whole) {
      return fail(ErrorCode::BadData, path.string() + ":" + std::to_string(number) +
                                          ": a mix, a placement, a seed and 131 figures expected");
    }
    const RunName name{
        .mix = fields[0].substr(kPrefix.size()), .way = fields[1], .seed = std::stoll(fields[3])};
    Values& values = curves[name].*which;
    for (std::size_t load = 0; load < values.size(); ++load) {
      values[load] = std::stod(fields[loads + load]);
    }
  }
  return {};
}

}  // namespace

Expected<Curves> load_published(const std::filesystem::path& folder) {
  Curves curves;
  const auto allocated =
      read_curves(folder / "analysis_allo_discrete.csv.gz", &Curve::allocated, curves);
  if (!allocated) return std::unexpected(allocated.error());
  const auto fragmented =
      read_curves(folder / "analysis_frag_discrete.csv.gz", &Curve::fragmented, curves);
  if (!fragmented) return std::unexpected(fragmented.error());
  return curves;
}

}  // namespace berth::fgd
