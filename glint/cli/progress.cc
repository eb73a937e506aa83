#include "glint/cli/progress.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "glint/base/text.h"
#include "glint/cli/output.h"

namespace glint::cli {
namespace {

constexpr double kSecondsBetweenDraws = 0.1;
constexpr size_t kWidestBar = 30, kNarrowestBar = 5;
const char* const kClear = "\r\x1b[K";

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string rate_text(double per_second) {
  double value = std::clamp(per_second, 0.0, 1e17);
  size_t prefix = 0;
  for (; value >= 999.5 && prefix < 5; prefix++) value /= 1000;
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P"};
  return fixed_text(value, decimals) + kPrefixes[prefix];
}

Progress::Progress(std::ostream& err, Terminal terminal, bool quiet, ProgressSetup setup)
    : err_(err), terminal_(std::move(terminal)), quiet_(quiet), setup_(std::move(setup)), done_(setup_.start) {
  if (!setup_.now) setup_.now = steady_seconds;
  begin_ = setup_.now();
}

std::string Progress::render(double now) const {
  const double elapsed = std::max(now - begin_, 1e-9);
  const double rate = static_cast<double>(done_ - setup_.start) / elapsed;
  std::string tail = std::to_string(done_);
  if (setup_.total) tail += "/" + std::to_string(setup_.total);
  tail += " " + setup_.unit;
  if (rate > 0) tail += "  " + rate_text(rate) + "/s";
  if (rate > 0 && setup_.total >= done_ && setup_.total)
    tail += "  ETA " + duration_text(static_cast<double>(setup_.total - done_) / rate);
  if (!note_.empty()) tail += "  " + note_;

  std::string head = setup_.label;
  const size_t columns = std::max<size_t>(terminal_.width(), 2) - 1;  // the last column may wrap
  if (setup_.total) {
    const double part = std::min(1.0, static_cast<double>(done_) / static_cast<double>(setup_.total));
    const std::string percent = std::to_string(static_cast<int>(part * 100)) + "%";
    head += (head.empty() ? "" : " ") + pad(percent, 4, Align::right);
    const size_t used = display_width(head) + display_width(tail) + 6;  // brackets and gaps
    if (used + kNarrowestBar <= columns) {
      const size_t bar = std::min(kWidestBar, columns - used);
      const size_t full = static_cast<size_t>(part * static_cast<double>(bar));
      head += "  [" + std::string(full, '=') + (full < bar ? ">" : "") +
              std::string(full < bar ? bar - full - 1 : 0, ' ') + "]";
    }
  }
  return std::string(fit_start(head + (head.empty() ? "" : "  ") + tail, columns));
}

void Progress::draw(double now) {
  err_ << kClear + render(now) << std::flush;
  visible_ = true;
  drawn_ = now;
}

std::string Progress::rate() const {
  const double elapsed = setup_.now() - begin_;
  return elapsed > 0 ? rate_text(static_cast<double>(done_ - setup_.start) / elapsed) : "-";
}

void Progress::update(uint64_t done, std::string_view note) {
  done_ = std::max(done, setup_.start);
  if (quiet_ || !terminal_.interactive) return;
  const double now = setup_.now();
  if (visible_ && now - drawn_ < kSecondsBetweenDraws && !(setup_.total && done_ >= setup_.total)) return;
  note_ = note;
  draw(now);
}

void Progress::line(std::string_view text) {
  if (!quiet_ && !terminal_.interactive) err_ << fitted(text) + "\n" << std::flush;
}

std::string Progress::fitted(std::string_view text) const {
  return prose(std::string(text), message_columns(terminal_));
}

void Progress::message(std::string_view text) {
  if (quiet_) return;
  const bool bar = visible_;
  err_ << (bar ? kClear : "") + fitted(text) + "\n" << std::flush;
  if (bar) draw(setup_.now());
}

void Progress::finish() {
  if (visible_) err_ << kClear << std::flush;
  visible_ = false;
}

}  // namespace glint::cli
