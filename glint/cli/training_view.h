// What training tells the display.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "glint/cli/engine_of.h"
#include "glint/lab/work/jobs.h"
#include "glint/report/table.h"

namespace glint::cli {

inline std::string metric_text(const Evaluation& e, bool text) {
  return text ? "  perplexity " + fixed_text(std::exp(e.test_loss), 2)
              : "  test accuracy " + fixed_text(100 * e.test_accuracy, 2) + " %";
}

// The spread over the ranks: "4 ranks 91-97 % busy".
inline std::string busy_text(const std::vector<double>& busy) {
  const auto [low, high] = std::ranges::minmax(busy);
  return std::to_string(busy.size()) + " ranks " + fixed_text(100 * low, 0) + "-" + fixed_text(100 * high, 0) +
         " % busy";
}

// What one or several runs tell the display.
class Telling {
 public:
  Telling(Display& display, size_t jobs, const TrainOptions& options)
      : display_(display),
        jobs_(jobs),
        samples_(options.batch),
        text_(options.text),
        unit_(text_ ? "stories" : "images") {}

  JobHooks hooks() {
    return {.begin = [this](const TrainJob&, uint64_t steps) { begin(steps); },
            .resumed = [this](const TrainJob& job, uint64_t step) { resumed(job, step); },
            .step = [this](const TrainJob&, double loss) { step(loss); },
            .evaluation = [this](const TrainJob& job, const Evaluation& e) { evaluation(job, e); },
            .note = [this](const TrainJob&, const std::string& text) { display_.note(text); },
            .end = {}};
  }

 private:
  // The total is known when the first task is made.
  void begin(uint64_t steps) {
    if (total_ > 0) return;
    total_ = jobs_ * steps * samples_;
    show({});
  }
  void resumed(const TrainJob& job, uint64_t step) {
    steps_ += step;
    start_ = steps_ * samples_;
    if (step > 0) display_.note(job.out + " goes on after step " + std::to_string(step));
  }
  void step(double loss) {
    steps_++;
    show("loss " + fixed_text(loss, 4) + note_);
  }
  void evaluation(const TrainJob& job, const Evaluation& e) {
    note_ =
        text_ ? ", validation " + fixed_text(e.test_loss, 4) : ", test " + fixed_text(100 * e.test_accuracy, 2) + " %";
    if (!e.busy.empty()) note_ += ", " + busy_text(e.busy);
    if (!e.epoch_end) return;
    std::string text = jobs_ > 1 ? "seed " + std::to_string(job.options.seed) + "  " : "";
    text += "epoch " + std::to_string(e.epoch) + "/" + std::to_string(job.options.epochs) + "  train loss " +
            fixed_text(e.train_loss, 4) + (text_ ? "  validation loss " : "  test loss ") + fixed_text(e.test_loss, 4) +
            metric_text(e, text_) + "  " + display_.rate() + " " + unit_ + "/s  " + duration_text(e.seconds);
    if (!e.busy.empty()) text += "  " + busy_text(e.busy);
    display_.line(text);
  }
  void show(const std::string& detail) {
    display_.progress({.label = "train",
                       .done = steps_ * samples_,
                       .total = total_,
                       .start = start_,
                       .unit = unit_,
                       .detail = detail});
  }

  Display& display_;
  const uint64_t jobs_, samples_;
  const bool text_;
  const std::string unit_;
  uint64_t steps_ = 0, start_ = 0, total_ = 0;
  std::string note_;
};

}  // namespace glint::cli
