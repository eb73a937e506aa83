#include "glint/cli/engine_of.h"

#include "glint/cli/ranks.h"
#include "glint/cli/stop.h"

namespace glint::cli {
namespace {

LinalgBackend backend(const std::string& word) {
  if (word == "auto") return LinalgBackend::automatic;
  return word == "openblas" ? LinalgBackend::openblas : LinalgBackend::eigen;
}

}  // namespace

Engine engine_of(const Context& context) { return engine_of(context, std::make_shared<Display>(context)); }

Engine engine_of(const Context& context, const std::shared_ptr<Display>& display) {
  const SharedOptions& o = context.shared;
  return Engine({.threads = o.threads.value_or(0),
                 .isa = std::string(name(context.isa)),
                 .precision = o.precision,
                 .linalg = backend(o.linalg),
                 .files = &context.files,
                 .group = context.ranks.started()},
                {.note = [display](const std::string& text) { display->note(text); },
                 .progress = [display](const ProgressReport& p) { display->progress(p); },
                 .should_stop = signal_asked_to_stop});
}

void Display::progress(const ProgressReport& p) {
  const std::lock_guard lock(mutex_);
  const bool complete = p.total > 0 && p.done >= p.total;
  if (!bar_ || p.label != label_ || (complete_ && !complete)) {
    bar_.reset();  // takes the old one away
    bar_.emplace(context_.err, context_.terminal, context_.shared.quiet,
                 ProgressSetup{.label = p.label, .total = p.total, .unit = p.unit, .start = p.start});
    label_ = p.label;
  }
  bar_->set_start(p.start);
  bar_->set_total(p.total);
  bar_->update(p.done, p.detail);
  complete_ = complete;
  if (complete) bar_->finish();  // the rate stays
}

void Display::note(const std::string& text) {
  const std::lock_guard lock(mutex_);
  const std::string words = "note: " + text;
  bar_ ? bar_->message(words) : context_.say(words);
}

void Display::line(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (bar_) bar_->line(text);
}

std::string Display::rate() {
  const std::lock_guard lock(mutex_);
  return bar_ ? bar_->rate() : "-";
}

void Display::finish() {
  const std::lock_guard lock(mutex_);
  bar_.reset();
}

}  // namespace glint::cli
