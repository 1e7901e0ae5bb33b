#include "tidy/source.hpp"

#include <algorithm>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>

namespace berth::tidy {

namespace fs = std::filesystem;

namespace {

bool is_skipped_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name == "build" || name == "node_modules" || name == "corpus" ||
         (name.starts_with('.') && name != ".ci");
}

bool is_text(std::string_view text) { return text.find('\0') == std::string_view::npos; }

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

bool is_word_part(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Walks C++ text and blanks what is not code.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : in_(text), out_(text) {}

  std::string run() {
    while (at_ < in_.size()) {
      if (starts("//")) {
        blank_until("\n", false);
      } else if (starts("/*")) {
        blank_until("*/", true);
      } else if (starts("R\"")) {
        blank_raw();
      } else if (in_[at_] == '"') {
        blank_quoted('"');
      } else if (in_[at_] == '\'' && !is_digit_separator()) {
        blank_quoted('\'');
      } else {
        ++at_;
      }
    }
    return std::move(out_);
  }

 private:
  bool starts(std::string_view with) const { return in_.substr(at_).starts_with(with); }
  bool is_digit_separator() const { return at_ > 0 && is_word_part(in_[at_ - 1]); }

  void blank(std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < std::min(to, in_.size()); ++i) {
      if (out_[i] != '\n') out_[i] = ' ';
    }
  }
  void blank_until(std::string_view end, bool with_end) {
    const std::size_t found = in_.find(end, at_ + 2);
    const std::size_t stop = found == std::string_view::npos ? in_.size()
                             : with_end                      ? found + end.size()
                                                             : found;
    blank(at_, stop);
    at_ = stop;
  }
  void blank_raw() {
    const std::size_t open = in_.find('(', at_);
    const std::string end = ")" + std::string(in_.substr(at_ + 2, open - at_ - 2)) + "\"";
    const std::size_t found = in_.find(end, at_);
    const std::size_t stop = found == std::string_view::npos ? in_.size() : found + end.size();
    blank(open, stop);
    at_ = stop;
  }
  void blank_quoted(char quote) {
    std::size_t end = at_ + 1;
    while (end < in_.size() && in_[end] != quote && in_[end] != '\n') {
      end += in_[end] == '\\' ? 2 : 1;
    }
    blank(at_ + 1, end);
    at_ = end + 1;
  }

  std::string_view in_;
  std::string out_;
  std::size_t at_ = 0;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const Finding& finding) {
  out << finding.path;
  if (finding.line > 0) out << ":" << finding.line;
  return out << ": " << finding.what;
}

std::vector<Source> read_tree(const fs::path& top) {
  std::vector<Source> sources;
  for (auto at = fs::recursive_directory_iterator(top); at != fs::recursive_directory_iterator();
       ++at) {
    if (at->is_directory() && is_skipped_folder(at->path())) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file() && at->path().filename() != ".git") {  // of a worktree
      std::string text = contents(at->path());
      if (is_text(text)) {
        sources.push_back({fs::relative(at->path(), top).generic_string(), std::move(text)});
      }
    }
  }
  std::ranges::sort(sources, {}, &Source::path);
  return sources;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string code_only(std::string_view text) { return Blanker(text).run(); }

bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool left = at == 0 || !is_word_part(line[at - 1]) || !is_word_part(word.front());
    const bool right = end == line.size() || !is_word_part(line[end]) || !is_word_part(word.back());
    if (left && right) return true;
  }
  return false;
}

std::string_view part(std::string_view path, std::size_t n) {
  for (; n > 0; --n) {
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return {};
    path.remove_prefix(slash + 1);
  }
  return path.substr(0, path.find('/'));
}

bool is_cpp(const Source& source) {
  return source.path.ends_with(".hpp") || source.path.ends_with(".cpp");
}
bool is_header(const Source& source) {
  return source.path.ends_with(".hpp") || source.path.ends_with(".h");
}

}  // namespace berth::tidy
