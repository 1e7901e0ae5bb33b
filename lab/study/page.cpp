#include "lab/study/page.hpp"

#include "lab/study/heat.hpp"
#include "lab/study/text.hpp"
#include "report/chart.hpp"

namespace berth::lab {

namespace {

constexpr const char* kPageStyle = R"(<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>berth: evaluation</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 960px; padding: 0 1rem;
       color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; display: block;
        overflow-x: auto; }
th, td { padding: .2rem .45rem; text-align: right; border-bottom: 1px solid #e4e4e4;
         vertical-align: top; }
.text, table.heat td:first-child { text-align: left; }
table.heat td:first-child { font-weight: 600; white-space: nowrap; }
svg { width: 100%; max-width: 760px; margin: 0 0 18px; vertical-align: top; }
svg text { font: 11px system-ui, sans-serif; fill: #555; }
svg text.title { font-size: 13px; font-weight: 600; fill: #222; }
svg .grid { stroke: #e4e4e4; }
svg polyline { stroke-width: 1.2; }
</style>
)";

}  // namespace

std::string page(const StudyDocument& document, const std::string& text) {
  std::string html = html_of(text);
  for (const auto& [name, svg] : drawings(document)) {
    const std::string image = "<img src=\"evaluation/" + name + ".svg\">";
    const std::size_t at = html.find(image);
    if (at != std::string::npos) html.replace(at, image.size(), svg);
  }
  return kPageStyle + html + heats(document) + html_of(tables(document)) + "</html>\n";
}

}  // namespace berth::lab
