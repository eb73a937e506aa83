// The ranks that train one model together. Each computes its rows or lanes of a batch; sums over the ranks
// are left folds in the order of the rows, so that the bytes are those of one rank alone.
//
//   glint::Group group;              // alone: every call is done at once
//   glint::Group group(transport);   // one of several
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "glint/base/error.h"
#include "glint/model/batch_share.h"
#include "glint/train/transport.h"

namespace glint {

// The part of a rank, of `count` things in a row: cut at multiples of `unit`, as even as that allows. Where
// there is anything, rank 0 has the first.
Range part_of(size_t count, size_t rank, size_t size, size_t unit = 1);

// What a rank did since it was made.
struct GroupTimes {
  uint64_t bytes_sent = 0;
  double waiting = 0;  // seconds in which it could do nothing but wait for others
};

// All ranks make the same calls in the same order. While a rank waits it hears of the errors of others, and
// throws them: at rank 0 with the rank that they come from.
class Group {
 public:
  Group();  // alone
  explicit Group(std::unique_ptr<Transport> transport);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  size_t rank() const { return rank_; }
  size_t size() const { return size_; }
  bool first() const { return rank_ == 0; }  // the one that writes and speaks
  bool alone() const { return size_ == 1; }

  // A pipelined chain. Rank 0 folds a piece of `values` and hands it to rank 1, which goes on with it, and so
  // to the last, whose result flows back to all while later pieces still come. `fold(pieces)` is called for
  // consecutive pieces, `at_once` or fewer at a time, and finds what came from the ranks before in `values`.
  void ordered_sum(std::span<const Range> pieces, size_t at_once, std::span<float> values, const FoldPieces& fold);
  // From rank 0 to all.
  void broadcast(std::span<std::byte> bytes);
  std::string broadcast(std::string text);
  // At rank 0 the texts of all ranks in order; nothing elsewhere.
  std::vector<std::string> gather(const std::string& text);
  // At rank 0 `all` gets the parts of the ranks: that of rank r is [parts[r].first, +count) bytes. Every rank
  // gives its own there.
  void gather(std::span<std::byte> all, std::span<const Range> parts);
  void barrier();

  // Whether to stop, asked while rank 0 waits: true is Error (interrupted). Elsewhere it is told to rank 0.
  // A group that is alone never waits and keeps nothing: jobs side by side share it.
  void ask_while_waiting(std::function<bool()> should_stop) {
    if (!alone()) should_stop_ = std::move(should_stop);
  }
  // Whether another rank was asked to stop. At rank 0.
  bool stop_heard();
  // Rank 0 stops: the others' waiting ends with Error (interrupted).
  void stop_others();

  // An error of this rank. At rank 0 all others are told, and throw it. Elsewhere rank 0 is told, throws it
  // with the rank, and tells the others; returns when it has answered, when the group has ended, or when it
  // did not hear of it in time. The group is of no more use.
  void report(const Error& error) noexcept;
  // Ends all ranks: see Transport.
  void abort(int code);

  const GroupTimes& times() const { return times_; }

 private:
  class Chain;
  size_t send(size_t to, int tag, std::span<const std::byte> bytes);
  template <class Ready>
  void wait_until(const Ready& ready);
  void wait(size_t ticket);
  void listen();
  void send_whole(size_t to, std::span<const std::byte> bytes);
  void receive_whole(size_t from, std::span<std::byte> bytes);
  void send_text(size_t to, const std::string& text);
  std::string receive_text(size_t from);

  std::unique_ptr<Transport> transport_;  // null: alone
  size_t rank_ = 0, size_ = 1;
  std::function<bool()> should_stop_;
  bool told_stop_ = false, stop_heard_ = false;
  bool told_error_ = false;  // rank 0 has said what is wrong, and waits for no answer
  GroupTimes times_;
};

// While it lives, a rank that waits asks `should_stop`.
class StopWhileWaiting {
 public:
  StopWhileWaiting(Group& group, std::function<bool()> should_stop) : group_(group) {
    group_.ask_while_waiting(std::move(should_stop));
  }
  ~StopWhileWaiting() { group_.ask_while_waiting({}); }
  StopWhileWaiting(const StopWhileWaiting&) = delete;
  StopWhileWaiting& operator=(const StopWhileWaiting&) = delete;

 private:
  Group& group_;
};

// "rank 2 of 4"
std::string rank_name(size_t rank, size_t size);

}  // namespace glint
