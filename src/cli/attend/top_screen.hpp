// What `berth top` shows, and what keys do to it: no terminal, no daemon.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/attend/raw_terminal.hpp"
#include "cli/attend/top_keys.hpp"
#include "cli/print/json.hpp"
#include "cli/print/output.hpp"

namespace berth::cli {

enum class TopSort { State, Id, User, Start, Vram };

/// What a key asks of the program.
struct TopWish {
  bool quits = false;
  std::optional<std::int64_t> cancels;  ///< A job, after a confirmation.
  bool refreshes = false;
};

class TopScreen {
 public:
  /// The latest answers of the daemon; `now` in seconds since 1970.
  void update(Json gpus, std::vector<Json> jobs, double now);
  /// The daemon does not answer, and why; the figures of before stay.
  void set_trouble(std::string what) { trouble_ = std::move(what); }
  void say(std::string message) { message_ = std::move(message); }

  TopWish on_key(const Key& key);
  /// Exactly as many lines as the terminal has rows, each of at most its columns.
  std::string page(TerminalSize size, const Look& look);

 private:
  std::vector<const Json*> listed() const;
  std::vector<std::string> users() const;
  std::string head(const Look& look) const;
  std::vector<std::string> gpu_lines(std::size_t most, const Look& look) const;
  std::string usage_line(std::int64_t gpu) const;
  std::string foot(const Json* selected) const;
  void move(std::int64_t by);

  Json gpus_;
  std::vector<Json> jobs_;
  double now_ = 0.0;
  std::map<std::int64_t, std::deque<int>> busy_;  ///< Percent of the last updates, by GPU.
  TopSort sort_ = TopSort::State;
  std::string user_;  ///< Only this one's jobs; "": all.
  std::optional<std::int64_t> selected_;
  std::size_t first_ = 0;  ///< The first row that is shown.
  std::size_t rows_ = 1;   ///< Of the list, as drawn last.
  bool asks_to_cancel_ = false;
  std::string message_;
  std::string trouble_;
};

/// `[==6====|=12==xxx....]`: the charges of tenants, non-berth use, free memory, in `cells` cells.
std::string tenant_bar(const Json& gpu, std::size_t cells, const Look& look);

}  // namespace berth::cli
