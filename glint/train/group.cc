#include "glint/train/group.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "glint/io/json.h"

namespace glint {
namespace {

using GroupClock = std::chrono::steady_clock;

enum Tag { kUp = 1, kBack = 2, kData = 3 };

constexpr size_t kLongestMessage = size_t{1} << 26;  // an MPI counts bytes in an int
// A rank that waits looks again at once for a while, then sleeps in between. It never yields: on a busy
// machine that puts it behind all others, while one that sleeps comes first when it wakes.
constexpr double kAwake = 1e-4;
constexpr auto kNap = std::chrono::microseconds(50);
constexpr double kListenEvery = 1e-3;
// How long a rank with an error waits for rank 0, which may be computing.
constexpr double kLongestReport = 60;

constexpr const char* kStop = "stop";

double since(GroupClock::time_point start, GroupClock::time_point now) {
  return std::chrono::duration<double>(now - start).count();
}

std::string error_words(const Error& e) {
  const ErrorParts& p = e.parts();
  const auto cut = [](const std::string& text) { return text.substr(0, 800); };  // a word is short
  return Json{{"code", static_cast<int>(p.code)},
              {"what", cut(p.what)},
              {"where", cut(p.where)},
              {"expected", cut(p.expected)},
              {"hint", cut(p.hint)}}
      .dump(-1, ' ', true, Json::error_handler_t::replace);
}

// `whose` stands before it: "rank 2 of 4: ".
Error error_of(const std::string& words, const std::string& whose) {
  const Json j = Json::parse(words);
  ErrorParts p;
  p.code = static_cast<ErrorCode>(j.at("code").get<int>());
  p.what = whose + j.at("what").get<std::string>();
  p.where = j.at("where").get<std::string>();
  p.expected = j.at("expected").get<std::string>();
  p.hint = j.at("hint").get<std::string>();
  return Error(p);
}

[[noreturn]] void throw_stopped() { throw Error({.code = ErrorCode::interrupted, .what = "interrupted"}); }

}  // namespace

std::string rank_name(size_t rank, size_t size) {
  return "rank " + std::to_string(rank) + " of " + std::to_string(size);
}

Range part_of(size_t count, size_t rank, size_t size, size_t unit) {
  const size_t units = (count + unit - 1) / unit;
  const auto cut = [&](size_t r) { return std::min(count, (units * r + size - 1) / size * unit); };
  return {cut(rank), cut(rank + 1) - cut(rank)};
}

Group::Group() = default;
Group::Group(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)), rank_(transport_->rank()), size_(transport_->size()) {}
Group::~Group() = default;

size_t Group::send(size_t to, int tag, std::span<const std::byte> bytes) {
  times_.bytes_sent += bytes.size();
  return transport_->send(to, tag, bytes);
}

// What has come out of turn. At rank 0: errors, and that a rank was asked to stop. Elsewhere: that rank 0
// stops.
void Group::listen() {
  size_t from = 0;
  std::string word;
  while (transport_->heard(from, word)) {
    if (word != kStop) {
      told_error_ = !first();
      throw error_of(word, first() ? rank_name(from, size_) + ": " : "");
    }
    if (!first()) throw_stopped();
    stop_heard_ = true;
  }
  if (!should_stop_ || !should_stop_()) return;
  if (first()) throw_stopped();
  if (!told_stop_) transport_->tell(0, kStop);
  told_stop_ = true;
}

template <class Ready>
void Group::wait_until(const Ready& ready) {
  if (ready()) return;
  const GroupClock::time_point start = GroupClock::now();
  double listened = -1;
  for (;;) {
    const double waited = since(start, GroupClock::now());
    if (waited - listened > kListenEvery) {
      listen();
      listened = waited;
    }
    if (waited > kAwake) std::this_thread::sleep_for(kNap);
    if (ready()) break;
  }
  times_.waiting += since(start, GroupClock::now());
}

void Group::wait(size_t ticket) {
  try {
    wait_until([&] { return transport_->done(ticket); });
  } catch (...) {
    transport_->abandon({&ticket, 1});
    throw;
  }
}

// One ordered sum. Where a piece is: it comes from below, is folded, goes up, comes back from above and goes
// down. Each move begins as soon as the one before is over.
class Group::Chain {
 public:
  Chain(Group& group, std::span<const Range> pieces, std::span<float> values)
      : group_(group), transport_(*group.transport_), pieces_(pieces), values_(values) {
    const size_t n = pieces.size();
    below_.resize(n, kNone), up_.resize(n, kNone), above_.resize(n, kNone), down_.resize(n, kNone);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;
  ~Chain() {
    for (const std::vector<size_t>* list : {&below_, &up_, &above_, &down_})
      for (const size_t ticket : *list)
        if (ticket != kNone) transport_.abandon({&ticket, 1});
  }

  void operator()(size_t at_once, const FoldPieces& fold) {
    if (has_below())
      for (size_t i = 0; i < pieces_.size(); i++) below_[i] = transport_.receive(group_.rank_ - 1, kUp, bytes(i));
    for (size_t first = 0; first < pieces_.size(); first += at_once) {
      const size_t count = std::min(at_once, pieces_.size() - first);
      if (has_below())
        group_.wait_until([&] {
          move();
          return came(first + count);
        });
      fold({first, count});
      for (size_t i = first; i < first + count; i++) hand_on(i);
      move();
    }
    group_.wait_until([&] {
      move();
      return over();
    });
  }

 private:
  static constexpr size_t kNone = ~size_t{0};
  bool has_below() const { return group_.rank_ > 0; }
  bool has_above() const { return group_.rank_ + 1 < group_.size_; }

  std::span<std::byte> bytes(size_t i) const {
    return std::as_writable_bytes(values_.subspan(pieces_[i].first, pieces_[i].count));
  }
  bool finished(size_t& ticket) {
    if (ticket != kNone && transport_.done(ticket)) ticket = kNone;
    return ticket == kNone;
  }
  bool came(size_t last) {
    while (came_ < last && finished(below_[came_])) came_++;
    return came_ >= last;
  }
  // The last rank has the sum.
  void hand_on(size_t i) {
    if (has_above())
      up_[i] = group_.send(group_.rank_ + 1, kUp, bytes(i));
    else if (has_below())
      down_[i] = group_.send(group_.rank_ - 1, kBack, bytes(i));
    folded_ = i + 1;
  }
  void move() {
    if (!has_above()) return;
    // What comes back takes the place of what went up.
    for (; went_ < folded_ && finished(up_[went_]); went_++)
      above_[went_] = transport_.receive(group_.rank_ + 1, kBack, bytes(went_));
    for (; back_ < went_ && finished(above_[back_]); back_++)
      if (has_below()) down_[back_] = group_.send(group_.rank_ - 1, kBack, bytes(back_));
  }
  bool over() {
    if (has_above() && back_ < pieces_.size()) return false;
    while (has_below() && down_done_ < pieces_.size() && finished(down_[down_done_])) down_done_++;
    return !has_below() || down_done_ == pieces_.size();
  }

  Group& group_;
  Transport& transport_;
  std::span<const Range> pieces_;
  std::span<float> values_;
  std::vector<size_t> below_, up_, above_, down_;  // tickets
  size_t came_ = 0, folded_ = 0, went_ = 0, back_ = 0, down_done_ = 0;
};

void Group::ordered_sum(std::span<const Range> pieces, size_t at_once, std::span<float> values,
                        const FoldPieces& fold) {
  at_once = std::max<size_t>(1, at_once);
  if (alone()) {
    for (size_t first = 0; first < pieces.size(); first += at_once)
      fold({first, std::min(at_once, pieces.size() - first)});
    return;
  }
  Chain(*this, pieces, values)(at_once, fold);
}

void Group::send_whole(size_t to, std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kLongestMessage)
    wait(send(to, kData, bytes.subspan(at, std::min(kLongestMessage, bytes.size() - at))));
}

void Group::receive_whole(size_t from, std::span<std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kLongestMessage)
    wait(transport_->receive(from, kData, bytes.subspan(at, std::min(kLongestMessage, bytes.size() - at))));
}

void Group::send_text(size_t to, const std::string& text) {
  const uint64_t length = text.size();
  send_whole(to, std::as_bytes(std::span(&length, 1)));
  send_whole(to, std::as_bytes(std::span(text)));
}

std::string Group::receive_text(size_t from) {
  uint64_t length = 0;
  receive_whole(from, std::as_writable_bytes(std::span(&length, 1)));
  std::string text(length, '\0');
  receive_whole(from, std::as_writable_bytes(std::span(text)));
  return text;
}

// A binomial tree: a rank gets it from the rank without its lowest bit.
void Group::broadcast(std::span<std::byte> bytes) {
  size_t step = 1;
  while (step < size_ && !(rank_ & step)) step <<= 1;
  if (rank_ > 0) receive_whole(rank_ - step, bytes);
  for (step >>= 1; step > 0; step >>= 1)
    if (rank_ + step < size_) send_whole(rank_ + step, bytes);
}

std::string Group::broadcast(std::string text) {
  uint64_t length = text.size();
  broadcast(std::as_writable_bytes(std::span(&length, 1)));
  text.resize(length);
  broadcast(std::as_writable_bytes(std::span(text)));
  return text;
}

std::vector<std::string> Group::gather(const std::string& text) {
  if (!first()) {
    send_text(0, text);
    return {};
  }
  std::vector<std::string> all = {text};
  for (size_t r = 1; r < size_; r++) all.push_back(receive_text(r));
  return all;
}

void Group::gather(std::span<std::byte> all, std::span<const Range> parts) {
  const auto part = [&](size_t r) { return all.subspan(parts[r].first, parts[r].count); };
  if (!first()) return send_whole(0, part(rank_));
  for (size_t r = 1; r < size_; r++) receive_whole(r, part(r));
}

void Group::barrier() {
  gather("");
  std::byte nothing{};
  broadcast({&nothing, 1});
}

bool Group::stop_heard() {
  if (!alone() && first()) listen();
  return stop_heard_;
}

void Group::stop_others() {
  for (size_t r = 1; r < size_; r++) transport_->tell(r, kStop);
}

void Group::report(const Error& error) noexcept {
  if (alone() || told_error_) return;
  try {
    if (first()) {
      for (size_t r = 1; r < size_; r++) transport_->tell(r, error_words(error));
      return;
    }
    transport_->tell(0, error_words(error));
    const GroupClock::time_point start = GroupClock::now();
    size_t from = 0;
    std::string word;
    while (since(start, GroupClock::now()) < kLongestReport) {
      if (transport_->heard(from, word) && word != kStop) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  } catch (...) {  // it has ended
  }
}

void Group::abort(int code) {
  if (!alone()) transport_->abort(code);
}

}  // namespace glint
