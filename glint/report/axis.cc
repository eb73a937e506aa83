#include "glint/report/axis.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "glint/base/error.h"
#include "glint/base/text.h"

namespace glint {
namespace {

constexpr double kLargest = 1e300, kSmallest = 1e-300;  // spans and logarithms stay finite
constexpr double kSlack = 1e-9;                         // of a step: a limit that was rounded still has its tick
constexpr double kOneDecade = 1.2;                      // about; in powers of ten
constexpr double kAlmostEven = 0.5;                     // so short a log axis can have the ticks of a linear one

const char* const kMinus = "\xe2\x88\x92";
const char* const kTimesTen =
    "\xc3\x97"
    "10";

// With a typographic minus, and no minus for what rounds to zero.
std::string decimal(double value, int decimals) {
  const std::string digits = fixed_text(std::fabs(value), decimals);
  const bool zero = digits.find_first_not_of("0.") == std::string::npos;
  return (value < 0 && !zero ? kMinus : "") + digits;
}

std::string integer(int value) { return (value < 0 ? kMinus : "") + std::to_string(std::abs(value)); }

int exponent_of(double value) { return static_cast<int>(std::floor(std::log10(value) + 1e-12)); }

double nice_step(double raw) {
  const double unit = std::pow(10.0, exponent_of(raw));
  for (const double m : {1.0, 2.0, 5.0})
    if (m * unit >= raw * (1 - kSlack)) return m * unit;
  return 10 * unit;
}

std::vector<Tick> linear_ticks(const Limits& limits, int most, double least = 0) {
  const double step = std::max(least, nice_step((limits.max - limits.min) / most));
  const double largest = std::max(std::fabs(limits.min), std::fabs(limits.max));
  const int step_exponent = exponent_of(step), exponent = exponent_of(largest);
  const bool scientific = exponent >= 6 || step_exponent < -5;
  const double first = std::ceil(limits.min / step - kSlack);
  std::vector<Tick> ticks;
  for (int i = 0; i <= most + 1; i++) {
    const double value = (first + i) * step;
    if (value > limits.max + kSlack * step) break;
    Tick tick{.value = std::clamp(value, limits.min, limits.max)};
    if (!scientific || first + i == 0) {
      tick.label = decimal(value, first + i == 0 && scientific ? 0 : std::max(0, -step_exponent));
    } else {
      tick.label = decimal(value / std::pow(10.0, exponent), std::clamp(exponent - step_exponent, 0, 15)) + kTimesTen;
      tick.power = integer(exponent);
    }
    ticks.push_back(tick);
  }
  return ticks;
}

std::vector<Tick> log_ticks(const Limits& limits, int most, double apart) {
  const double low = std::log10(limits.min), high = std::log10(limits.max), span = high - low;
  const int first = static_cast<int>(std::ceil(low - kSlack)), last = static_cast<int>(std::floor(high + kSlack));
  const int decades = last - first + 1;
  const bool plain = low >= -4 - kSlack && high <= 5 + kSlack;
  const auto label = [&](Tick& tick, int digit, int exponent) {
    if (plain) {
      tick.label = decimal(digit * std::pow(10.0, exponent), std::max(0, -exponent));
    } else {
      tick.label = digit == 1 ? "10" : std::to_string(digit) + kTimesTen;
      tick.power = integer(exponent);
    }
  };
  const int stride = std::max(1, (decades + most - 1) / most);
  struct Place {
    double at;
    int digit, exponent;
  };
  std::vector<Place> places;
  std::vector<Tick> ticks;
  for (int e = first - 1; e <= last; e++)
    for (int digit = 1; digit <= 9; digit++) {
      const double at = e + std::log10(digit);
      if (at < low - kSlack || at > high + kSlack) continue;
      const bool labelled = digit == 1 && (e - first) % stride == 0;
      if (!labelled && !(stride == 1 ? decades <= 6 : digit == 1)) continue;
      places.push_back({at, digit, e});
      ticks.push_back({.value = std::clamp(digit * std::pow(10.0, e), limits.min, limits.max)});
      if (labelled) label(ticks.back(), digit, e);
    }
  // Too few decades to read values from: other digits help, the most telling first, as far as there is room.
  const std::string_view more = span < kOneDecade ? "25374689" : span < 2 ? "25" : "";
  for (const char digit : more)
    for (size_t i = 0; i < places.size(); i++) {
      if (places[i].digit != digit - '0') continue;
      bool room = true;
      for (size_t k = 0; k < places.size(); k++)
        room =
            room && (ticks[k].label.empty() || std::fabs(places[k].at - places[i].at) >= apart * span * (1 - kSlack));
      if (room) label(ticks[i], places[i].digit, places[i].exponent);
    }
  const auto labelled = std::ranges::count_if(ticks, [](const Tick& t) { return !t.label.empty(); });
  return labelled < 2 || (labelled < 3 && span < kAlmostEven) ? linear_ticks(limits, most) : ticks;
}

std::vector<Tick> early_ticks(const Limits& limits, double apart) {
  std::vector<Tick> ticks;
  double last = -HUGE_VAL;
  const auto add = [&](double value) {
    const double at = axis_fraction(Scale::early, limits, value);
    if (value < limits.min || value > limits.max * (1 + kSlack)) return;
    Tick tick{.value = std::min(value, limits.max)};
    if (at - last >= apart * (1 - kSlack)) {
      last = at;
      if (value < 1e6) {
        tick.label = decimal(value, 0);
      } else {
        tick.label = decimal(value / std::pow(10.0, exponent_of(value)), 0) + kTimesTen;
        tick.power = integer(exponent_of(value));
      }
    }
    ticks.push_back(std::move(tick));
  };
  add(0);
  for (int e = 0; e <= exponent_of(std::max(1.0, limits.max)); e++)
    for (const double digit : {1.0, 2.0, 5.0}) add(digit * std::pow(10.0, e));
  return ticks;
}

[[noreturn]] void bad_limits(const Axis& axis, const std::string& expected) {
  bad_argument("axis '" + axis.label + "'", "the limits of the axis leave nothing to show", expected);
}

}  // namespace

bool drawable(Scale scale, double value) {
  if (!(std::fabs(value) <= kLargest)) return false;
  return scale == Scale::linear || value >= (scale == Scale::early ? 0 : kSmallest);
}

Limits axis_limits(const Axis& axis, const std::vector<double>& values, double margin) {
  const bool log = axis.scale == Scale::log, early = axis.scale == Scale::early;
  for (const std::optional<double>& fixed : {axis.min, axis.max})
    if (fixed && !drawable(axis.scale, *fixed))
      bad_limits(axis, log     ? "limits from 1e-300 to 1e300"
                       : early ? "limits from 0 to 1e300"
                               : "limits from -1e300 to 1e300");
  if (axis.min && axis.max && !(*axis.min < *axis.max)) bad_limits(axis, "a minimum below the maximum");

  // In the space in which the axis is even.
  const auto to = [&](double v) { return log ? std::log10(v) : early ? std::log1p(v) : v; };
  const auto from = [&](double v) {  // a margin must not lead beyond what is drawable
    return log     ? std::clamp(std::pow(10.0, v), kSmallest, kLargest)
           : early ? std::clamp(std::expm1(v), 0.0, kLargest)
                   : v;
  };
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (const double v : values) {
    if (!drawable(axis.scale, v)) continue;
    low = std::min(low, to(v));
    high = std::max(high, to(v));
  }
  if (low > high) low = 0, high = 1;
  const double around = std::max(std::fabs(low), std::fabs(high));
  if (high - low <= std::max(1e-12 * around, 1e-290)) {  // one value, or a range that ticks cannot resolve
    const double half = log || early ? 0.5 : around < 1e-280 ? 0.5 : 0.1 * around;
    low -= half;
    high += half;
  } else {
    const double extra = margin * (high - low);
    low -= extra;
    high += extra;
  }
  Limits limits{axis.min ? *axis.min : from(low), axis.max ? *axis.max : from(high)};
  if (!(limits.min < limits.max)) {  // all data lies outside the one fixed limit
    const double one = log ? 10 : std::max(1.0, std::fabs(axis.min ? *axis.min : *axis.max));
    if (axis.min)
      limits.max = log ? limits.min * one : limits.min + one;
    else
      limits.min = log ? limits.max / one : limits.max - one;
  }
  return limits;
}

std::vector<Tick> axis_ticks(Scale scale, const Limits& limits, int most, double apart, bool whole) {
  if (scale == Scale::linear) return linear_ticks(limits, most, whole ? 1 : 0);
  if (scale == Scale::early) return early_ticks(limits, apart > 0 ? apart : 1.0 / most);
  return log_ticks(limits, most, apart > 0 ? apart : 1.0 / most);
}

double axis_fraction(Scale scale, const Limits& limits, double value) {
  if (scale == Scale::early)
    return (std::log1p(value) - std::log1p(limits.min)) / (std::log1p(limits.max) - std::log1p(limits.min));
  if (scale == Scale::log)
    return (std::log10(value) - std::log10(limits.min)) / (std::log10(limits.max) - std::log10(limits.min));
  return (value - limits.min) / (limits.max - limits.min);
}

}  // namespace glint
