#include "cli/attend/top_screen.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "cli/print/amounts.hpp"
#include "cli/tell/gpu_text.hpp"
#include "cli/tell/job_text.hpp"
#include "core/text/text.hpp"

namespace berth::cli {

namespace {

constexpr std::size_t kHistory = 12;
constexpr std::array kSortNames = {"state", "number", "user", "start", "vram"};
constexpr std::array kTenantColours = {Colour::Green, Colour::Blue, Colour::Yellow};

/// `21.7G`.
std::string short_amount(std::int64_t bytes) {
  std::string text = to_text(Bytes(bytes));
  const std::size_t gap = text.find(' ');
  return text.substr(0, gap) + (text[gap + 1] == 'B' ? "B" : text.substr(gap + 1, 1));
}

std::string sparkline(const std::deque<int>& percents) {
  constexpr std::array kLevels = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const int percent : percents) {
    const int level = std::clamp(percent, 0, 99) * static_cast<int>(kLevels.size()) / 100;
    text += kLevels[static_cast<std::size_t>(level)];
  }
  return text;
}

/// The reason is cut where it is too long, so when the job starts stands before it.
Json with_start_first(const Json& job, double now) {
  const std::string start = start_text(job, now, StartForm::Moment);
  Json row = job;
  if (start.empty()) return row;
  row["reason_brief"] = start + " " + text_of(job, "reason_brief");
  row.erase("predicted_start_at");
  return row;
}

const Json& tenants_of(const Json& gpu) {
  static const Json none = Json::array();
  const Json& list = part_of(gpu, "tenants");
  return list.is_array() ? list : none;
}

}  // namespace

std::string tenant_bar(const Json& gpu, std::size_t cells, const Look& look) {
  const std::int64_t capacity = std::max<std::int64_t>(bytes_of(gpu, "capacity_bytes"), 1);
  std::size_t left = cells;
  const auto width_of = [&](std::int64_t bytes) {
    const std::int64_t cell = (bytes * static_cast<std::int64_t>(cells) + capacity / 2) / capacity;
    const std::size_t width =
        std::max<std::size_t>(bytes > 0 ? 1 : 0, static_cast<std::size_t>(cell));
    return std::min(left, width);
  };
  std::string bar;
  std::size_t n = 0;
  for (const Json& tenant : tenants_of(gpu)) {
    const std::size_t width = width_of(bytes_of(tenant, "charge_bytes"));
    left -= width;
    const std::string handle = tenant_handle(tenant);
    std::string segment(width, n % 2 == 0 ? '=' : '-');
    if (width >= handle.size() + 2)
      segment.replace((width - handle.size()) / 2, handle.size(), handle);
    bar += painted(segment, kTenantColours[n++ % kTenantColours.size()], look);
  }
  const std::size_t foreign = width_of(bytes_of(gpu, "foreign_bytes"));
  left -= foreign;
  bar += painted(std::string(foreign, 'x'), Colour::Magenta, look);
  return "[" + bar + std::string(left, '.') + "]";
}

// ---- Figures -----------------------------------------------------------------------------------

void TopScreen::update(Json gpus, std::vector<Json> jobs, double now) {
  trouble_.clear();
  gpus_ = std::move(gpus);
  jobs_ = std::move(jobs);
  now_ = now;
  const Json& list = part_of(gpus_, "gpus");
  if (!list.is_array()) return;
  for (const Json& gpu : list) {
    auto& busy = busy_[integer_of(gpu, "index").value_or(0)];
    const auto percent = integer_of(gpu, "utilisation_percent").value_or(0);
    busy.push_back(static_cast<int>(std::clamp<std::int64_t>(percent, 0, 100)));
    if (busy.size() > kHistory) busy.pop_front();
  }
}

std::vector<std::string> TopScreen::users() const {
  std::set<std::string> names;
  for (const Json& job : jobs_) names.insert(user_of(job));
  return {names.begin(), names.end()};
}

std::vector<const Json*> TopScreen::listed() const {
  std::vector<const Json*> rows;
  for (const Json& job : jobs_) {
    if (user_.empty() || user_of(job) == user_) rows.push_back(&job);
  }
  static constexpr double kUnknown = 1e300;
  const auto key = [this](const Json* job) -> std::pair<double, std::string> {
    switch (sort_) {
      case TopSort::State:
      case TopSort::Id:
        return {sort_ == TopSort::State && waits(*job) ? 1.0 : 0.0, ""};
      case TopSort::User:
        return {0.0, user_of(*job)};
      case TopSort::Start:
        return {waits(*job) ? number_of(*job, "predicted_start_at").value_or(kUnknown) : 0.0, ""};
      case TopSort::Vram:
        return {
            -static_cast<double>(integer_of(*job, "vram_bytes").value_or(std::int64_t{1} << 50)),
            ""};
    }
    return {};
  };
  std::ranges::stable_sort(rows, {}, [&](const Json* job) {
    return std::tuple(key(job), integer_of(*job, "id").value_or(0));
  });
  return rows;
}

// ---- Keys --------------------------------------------------------------------------------------

void TopScreen::move(std::int64_t by) {
  const auto rows = listed();
  if (rows.empty()) return;
  const auto at = std::ranges::find(rows, selected_.value_or(-1), [](const Json* job) {
    return integer_of(*job, "id").value_or(0);
  });
  const auto last = static_cast<std::int64_t>(rows.size()) - 1;
  const std::int64_t now = at == rows.end() ? (by > 0 ? -1 : 0) : at - rows.begin();
  const auto next = static_cast<std::size_t>(std::clamp<std::int64_t>(now + by, 0, last));
  selected_ = integer_of(*rows[next], "id");
}

TopWish TopScreen::on_key(const Key& key) {
  constexpr std::int64_t kAll = std::int64_t{1} << 40;
  constexpr char kInterrupt = 3;
  if (key.letter == kInterrupt) return {.quits = true};
  if (asks_to_cancel_) {
    asks_to_cancel_ = false;
    if (key.letter == 'y' || key.letter == 'Y') return {.cancels = selected_};
    message_ = "nothing was cancelled";
    return {};
  }
  message_.clear();
  const auto page = static_cast<std::int64_t>(std::max<std::size_t>(rows_, 2) - 1);
  if (key.special == Special::Up || key.letter == 'k') move(-1);
  if (key.special == Special::Down || key.letter == 'j') move(1);
  if (key.special == Special::PageUp) move(-page);
  if (key.special == Special::PageDown || key.letter == ' ') move(page);
  if (key.special == Special::Home || key.letter == 'g') move(-kAll);
  if (key.special == Special::End || key.letter == 'G') move(kAll);
  if (key.letter == 's') {
    sort_ = static_cast<TopSort>((static_cast<std::size_t>(sort_) + 1) % kSortNames.size());
  }
  if (key.letter == 'u') {
    const auto names = users();
    const auto next = user_.empty() ? names.begin() : std::ranges::upper_bound(names, user_);
    user_ = next == names.end() ? "" : *next;
    selected_.reset();
  }
  if (key.letter == 'c' && selected_) asks_to_cancel_ = true;
  if (key.letter == 'c' && !selected_) message_ = "choose a job with the arrow keys first";
  return {.quits = key.letter == 'q', .refreshes = key.letter == 'r'};
}

// ---- The page ----------------------------------------------------------------------------------

std::string TopScreen::head(const Look& look) const {
  std::int64_t running = 0;
  std::int64_t held = 0;
  for (const Json& job : jobs_) {
    running += waits(job) ? 0 : 1;
    held += text_of(job, "state") == "held" ? 1 : 0;
  }
  const auto waiting = static_cast<std::int64_t>(jobs_.size()) - running - held;
  std::string text = "berth  " + clock_text(now_, now_) + "  " + std::to_string(running) +
                     " running, " + std::to_string(waiting) + " waiting";
  if (held > 0) text += ", " + std::to_string(held) + " held";
  text += "  by " + std::string(kSortNames[static_cast<std::size_t>(sort_)]);
  if (!user_.empty()) text += "  only " + user_;
  if (!trouble_.empty()) text += "  ! " + trouble_;
  const std::size_t width = look.width.value_or(80);
  return painted(cut(text, width), trouble_.empty() ? Colour::Bold : Colour::Red, look);
}

/// `21.7G used, 13.3G charged, 1.06G free, 42 % ▁▂▃`.
std::string TopScreen::usage_line(std::int64_t index) const {
  const Json& list = part_of(gpus_, "gpus");
  for (const Json& gpu : list) {
    if (integer_of(gpu, "index").value_or(0) != index) continue;
    std::string text = " " + short_amount(bytes_of(gpu, "used_bytes")) + " used, " +
                       short_amount(bytes_of(gpu, "headroom_bytes")) + " free";
    if (const auto busy = integer_of(gpu, "utilisation_percent")) {
      const auto history = busy_.find(index);
      text += ", " + std::to_string(*busy) + " % " +
              (history == busy_.end() ? "" : sparkline(history->second));
    }
    const Json& healthy = part_of(gpu, "healthy");
    if (healthy.is_boolean() && !healthy.get<bool>()) text = " out of service";
    return text;
  }
  return "";
}

std::vector<std::string> TopScreen::gpu_lines(std::size_t most, const Look& look) const {
  constexpr std::size_t kBeside = 44;  // the name before the bar and the figures behind it
  const std::size_t width = look.width.value_or(80);
  const std::size_t cells = std::clamp<std::size_t>(width > kBeside ? width - kBeside : 0, 10, 100);
  std::vector<std::string> lines;
  const Json& list = part_of(gpus_, "gpus");
  if (!list.is_array()) return lines;
  const bool has_tenant_lines = list.size() * 2 <= most;
  for (const Json& gpu : list) {
    const std::int64_t index = integer_of(gpu, "index").value_or(0);
    const std::string name = "GPU " + std::to_string(index) + " ";
    const std::size_t left = width - std::min(width, columns_of(name) + cells + 2);
    lines.push_back(painted(name, Colour::Bold, look) + tenant_bar(gpu, cells, look) +
                    cut(usage_line(index), left));
    if (!has_tenant_lines) continue;
    std::string tenants;
    for (const Json& tenant : tenants_of(gpu)) {
      tenants += (tenants.empty() ? "" : ", ") + tenant_handle(tenant) + " " +
                 cut(printable(text_of(tenant, "name")), 16) + " " +
                 printable(text_of(tenant, "user_name")) + " " +
                 short_amount(bytes_of(tenant, "charge_bytes"));
      if (const auto busy = integer_of(tenant, "utilisation_percent")) {
        tenants += " " + std::to_string(*busy) + " %";
      }
    }
    const Json& foreign = part_of(gpu, "foreign");
    for (const Json& process : foreign.is_array() ? foreign : Json::array()) {
      tenants += (tenants.empty() ? "" : ", ") + std::string("non-berth ") +
                 printable(text_of(process, "name")) + " " +
                 printable(text_of(process, "user_name")) + " " +
                 short_amount(bytes_of(process, "bytes"));
      const std::string where = printable(text_of(process, "in"));
      if (!where.empty()) tenants += " in " + where;
    }
    lines.push_back(
        painted(cut("      " + (tenants.empty() ? "nobody" : tenants), width), Colour::Dim, look));
  }
  if (lines.size() > most) {
    const std::size_t hidden = lines.size() - most + 1;
    lines.resize(most - 1);
    lines.push_back("... " + std::to_string(hidden) + " more GPUs");
  }
  return lines;
}

std::string TopScreen::foot(const Json* selected) const {
  if (asks_to_cancel_ && selected != nullptr) {
    return "cancel job " + std::to_string(selected_.value_or(0)) + " of " + user_of(*selected) +
           "? y or n";
  }
  if (!message_.empty()) return message_;
  return "q quit  arrows choose  s sort  u user  c cancel  r refresh";
}

std::string TopScreen::page(TerminalSize size, const Look& look) {
  constexpr std::size_t kLeastRows = 4;
  const std::size_t rows = std::max<std::size_t>(size.rows, kLeastRows);
  std::vector<std::string> lines = {head(look)};
  const std::vector<std::string> gpus = gpu_lines(std::max<std::size_t>(1, rows / 2 - 2), look);
  lines.insert(lines.end(), gpus.begin(), gpus.end());

  const auto jobs = listed();
  const Json* selected = nullptr;
  std::size_t at = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (selected_ && integer_of(*jobs[i], "id") == selected_) selected = jobs[i], at = i;
  }
  if (selected == nullptr) selected_.reset();
  // The reason of the chosen job in full, at most three lines of it.
  std::vector<std::string> reason;
  if (selected != nullptr) {
    const std::string words = printable(text_of(*selected, "reason"));
    reason = wrapped("job " + std::to_string(*selected_) + ": " +
                         (words.empty() ? printable(text_of(*selected, "state")) : words),
                     look.width.value_or(80));
    reason.resize(std::min<std::size_t>(reason.size(), 3));
  }
  const std::size_t taken = lines.size() + 2 + reason.size();  // and titles, foot
  rows_ = rows > taken ? rows - taken : 1;
  if (selected != nullptr && at < first_) first_ = at;
  if (selected != nullptr && at >= first_ + rows_) first_ = at - rows_ + 1;
  first_ = std::min(first_, jobs.size() > rows_ ? jobs.size() - rows_ : 0);

  const std::size_t end = std::min(jobs.size(), first_ + rows_);
  const auto table_of = [&](Table::Rest rest) {
    Table table = job_table(Width::Usual, rest);
    for (std::size_t i = first_; i < end; ++i) {
      add_row(table, with_start_first(*jobs[i], now_), now_);
    }
    return table;
  };
  std::size_t begin = 0;
  // So narrow a table is cut, and then nothing may stand in it that is no character.
  constexpr std::size_t kNarrow = 40;
  const std::size_t width = look.width.value_or(80);
  Look table_look = look;
  table_look.colour = look.colour && width >= kNarrow;
  // Whole reasons where there is room for them; that of a chosen job stands below.
  std::string text = table_of(Table::Rest::Wrapped).text(table_look);
  const auto rows_of = static_cast<std::size_t>(std::ranges::count(text, '\n'));
  if (selected != nullptr || rows_of > rows_ + 1) {
    text = table_of(Table::Rest::Cut).text(table_look);
  }
  for (std::size_t row = 0; begin < text.size(); ++row) {
    const std::size_t stop = text.find('\n', begin);
    std::string line = text.substr(begin, stop - begin);
    if (width < kNarrow) line = cut(line, width);
    const bool is_selected = selected != nullptr && row == at - first_ + 1;
    if (is_selected && look.colour) line.insert(0, "\x1b[7m").append("\x1b[0m");
    if (is_selected && !look.colour) line = ">" + (line.starts_with(' ') ? line.substr(1) : line);
    lines.push_back(std::move(line));
    begin = stop + 1;
  }
  if (jobs.empty()) lines.emplace_back("no jobs");
  if (lines.size() + reason.size() + 1 > rows) lines.resize(rows - reason.size() - 1);
  while (lines.size() + reason.size() + 1 < rows) lines.emplace_back();
  lines.insert(lines.end(), reason.begin(), reason.end());
  const std::string hidden = jobs.size() > rows_
                                 ? "  (" + std::to_string(first_ + 1) + "-" + std::to_string(end) +
                                       " of " + std::to_string(jobs.size()) + ")"
                                 : "";
  lines.push_back(
      painted(cut(foot(selected) + hidden, look.width.value_or(80)), Colour::Dim, look));
  std::string whole;
  for (std::size_t i = 0; i < lines.size(); ++i) whole += (i == 0 ? "" : "\n") + lines[i];
  return whole;
}

}  // namespace berth::cli
