#include "lab/study/text.hpp"

#include <cmath>
#include <cstdio>
#include <string_view>
#include <vector>

#include "report/chart.hpp"

namespace berth::lab {

namespace {

/// What stands between marks, as an element: `*a*` is `<em>a</em>`.
std::string marked(std::string text, const std::string& mark, const std::string& element) {
  for (std::size_t begin = 0; (begin = text.find(mark, begin)) != std::string::npos;) {
    const std::size_t end = text.find(mark, begin + mark.size());
    const bool is_mark = end != std::string::npos && end > begin + mark.size() &&
                         text[begin + mark.size()] != ' ' && text[end - 1] != ' ';
    if (!is_mark) {
      begin += mark.size();
      continue;
    }
    const std::string inner = text.substr(begin + mark.size(), end - begin - mark.size());
    const std::string whole = "<" + element + ">" + inner + "</" + element + ">";
    text.replace(begin, end + mark.size() - begin, whole);
    begin += whole.size();
  }
  return text;
}

/// `[words](address)` as its words: the page stands alone.
std::string without_links(std::string text) {
  for (std::size_t middle; (middle = text.find("](")) != std::string::npos;) {
    const std::size_t begin = text.rfind('[', middle);
    const std::size_t end = text.find(')', middle);
    if (begin == std::string::npos || end == std::string::npos) return text;
    text.replace(begin, end + 1 - begin, text.substr(begin + 1, middle - begin - 1));
  }
  return text;
}

std::string line_of(std::string_view text) {
  std::string line = without_links(sim::escaped(std::string(text)));
  line = marked(std::move(line), "`", "code");
  line = marked(std::move(line), "**", "strong");
  return marked(std::move(line), "*", "em");
}

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  std::size_t at = 1;
  for (std::size_t end; (end = line.find('|', at)) != std::string_view::npos; at = end + 1) {
    cells.push_back(line.substr(at, end - at));
  }
  return cells;
}

/// Opens and closes the blocks that lines belong to.
class Blocks {
 public:
  void add(std::string_view line) {
    if (line.starts_with('#')) return heading(line);
    if (line.starts_with("|")) return row(line);
    if (line.starts_with("- ")) {
      into("ul");
      html_ += "<li>" + line_of(line.substr(2)) + "\n";
    } else if (line.starts_with("![")) {
      into("");
      const std::size_t from = line.find("](") + 2;
      html_ +=
          "<img src=\"" + std::string(line.substr(from, line.find(')', from) - from)) + "\">\n";
    } else if (line.empty()) {
      into("");
    } else {
      if (inside_ != "ul") into("p");
      html_ += line_of(line) + "\n";
    }
  }
  std::string html() {
    into("");
    return std::move(html_);
  }

 private:
  void heading(std::string_view line) {
    into("");
    const std::size_t depth = line.find_first_not_of('#');
    const std::string element = "h" + std::to_string(depth);
    html_ += "<" + element + ">" + line_of(line.substr(depth + 1)) + "</" + element + ">\n";
  }
  /// The head is written when the line under it has said which columns are numbers.
  void row(std::string_view line) {
    if (inside_ != "table") {
      into("table");
      head_ = line;
    } else if (line.starts_with("|--")) {
      numbers_.clear();
      for (const std::string_view cell : cells_of(line)) numbers_.push_back(cell.ends_with(':'));
      write_row(head_, "th");
    } else {
      write_row(line, "td");
    }
  }
  void write_row(std::string_view line, const std::string& element) {
    html_ += "<tr>";
    std::size_t column = 0;
    for (const std::string_view cell : cells_of(line)) {
      const bool is_number = column < numbers_.size() && numbers_[column];
      html_ += "<" + element + (is_number ? ">" : " class=\"text\">") + line_of(cell) + "</" +
               element + ">";
      ++column;
    }
    html_ += "</tr>\n";
  }
  void into(const std::string& block) {
    if (inside_ == block) return;
    if (!inside_.empty()) html_ += "</" + inside_ + ">\n";
    if (!block.empty()) html_ += "<" + block + ">\n";
    inside_ = block;
  }

  std::string html_;
  std::string inside_;
  std::string_view head_;
  std::vector<bool> numbers_;  ///< By column.
};

}  // namespace

std::string cell(const std::string& text) { return " " + text + " |"; }

std::string rule(std::size_t columns) {
  std::string text = "|---|";
  for (std::size_t i = 0; i < columns; ++i) text += "---:|";
  return text + "\n";
}

std::string number(double value) {
  if (std::isinf(value)) return "from 0";
  char text[40];
  std::snprintf(text, sizeof text, std::abs(value) >= 100 ? "%.0f" : "%.2f", value);
  return text;
}

std::string html_of(const std::string& markdown) {
  Blocks blocks;
  for (std::size_t at = 0; at < markdown.size();) {
    const std::size_t end = std::min(markdown.find('\n', at), markdown.size());
    blocks.add(std::string_view(markdown).substr(at, end - at));
    at = end + 1;
  }
  return blocks.html();
}

}  // namespace berth::lab
