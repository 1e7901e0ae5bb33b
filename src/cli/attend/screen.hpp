// A page that is drawn again and again on a terminal.
#pragma once

#include <functional>
#include <string>

#include "cli/print/output.hpp"

namespace berth::cli {

/// The terminal's second screen, without a cursor; what was there before comes back in the end.
class SecondScreen {
 public:
  SecondScreen();
  ~SecondScreen();
  SecondScreen(const SecondScreen&) = delete;
  SecondScreen& operator=(const SecondScreen&) = delete;
};

/// The bytes that draw a page over the one before, without a flicker: lines beyond the terminal's
/// rows are left out, and the last row says how many.
std::string redrawn(const std::string& page, std::size_t rows);

/// Draws what `make` appends to a page, every so many seconds and after a change of size, until an
/// interrupt, or `make` returns a code that is not 0. Returns: that code; 0 after an interrupt, 128
/// and its number after another signal.
int redraw_every(double seconds,
                 const std::function<int(const Look& look, std::string& page)>& make);

}  // namespace berth::cli
