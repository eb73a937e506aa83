// Progress on stderr: on a terminal one line with a bar, a rate and the time left, redrawn in place;
// elsewhere the plain lines that the caller gives. To be used from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "glint/base/text.h"
#include "glint/cli/terminal.h"

namespace glint::cli {

struct ProgressSetup {
  std::string label;                 // "train"
  uint64_t total = 0;                // 0: not known, no bar and no time left
  std::string unit = "steps";        // plural
  uint64_t start = 0;                // done before this run (resumed): counts for the bar, not for the rate
  std::function<double()> now = {};  // seconds; the steady clock when empty
};

class Progress {
 public:
  Progress(std::ostream& err, Terminal terminal, bool quiet, ProgressSetup setup);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap: draws at most ten times a second. `note` follows the numbers ("loss 0.31").
  void update(uint64_t done, std::string_view note = {});
  // When more is known than at the start.
  void set_total(uint64_t total) { setup_.total = total; }
  // What was done before this run; counts for the bar, not for the rate.
  void set_start(uint64_t start) { setup_.start = start; }
  // Units per second so far, as text.
  std::string rate() const;
  // A line for logs, once an epoch or so: shown where there is no terminal.
  void line(std::string_view text);
  // A line for everyone; on a terminal it scrolls past above the bar.
  void message(std::string_view text);
  // Takes the bar away. Later calls of update start a new one.
  void finish();

 private:
  std::string render(double now) const;
  void draw(double now);
  std::string fitted(std::string_view text) const;  // a message, wrapped where it would not fit

  std::ostream& err_;
  Terminal terminal_;
  bool quiet_;
  ProgressSetup setup_;
  double begin_, drawn_ = -1;
  uint64_t done_;
  std::string note_;
  bool visible_ = false;
};

// Three significant digits: 950, 1.23k, 45.6M.
std::string rate_text(double per_second);

}  // namespace glint::cli
