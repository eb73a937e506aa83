#include "glint/train/local_ranks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

#include "glint/base/error.h"

namespace glint {
namespace {

using LinkClock = std::chrono::steady_clock;

struct LinkMessage {
  std::vector<std::byte> bytes;
  LinkClock::time_point arrives;
};

// From one rank to another, under one tag.
struct Link {
  std::deque<LinkMessage> messages;
  std::deque<size_t> waiting;  // tickets of the receiver, in order
};

// What all ranks have in common.
struct LinkHub {
  LinkHub(size_t ranks, LinkTimes t) : times(t), free_at(ranks), words(ranks) {}
  const LinkTimes times;
  std::mutex mutex;
  std::map<std::tuple<size_t, size_t, int>, Link> links;          // from, to, tag
  std::vector<LinkClock::time_point> free_at;                     // when a rank may send again
  std::vector<std::deque<std::pair<size_t, std::string>>> words;  // to each rank, and from whom
  std::optional<int> ended;

  void check() const {
    if (ended)
      throw Error({.what = "another rank has ended all with code " + std::to_string(*ended), .where = "group"});
  }
};

class LocalTransport : public Transport {
 public:
  LocalTransport(std::shared_ptr<LinkHub> hub, size_t rank, size_t size)
      : hub_(std::move(hub)), rank_(rank), size_(size) {}
  size_t rank() const override { return rank_; }
  size_t size() const override { return size_; }

  size_t send(size_t to, int tag, std::span<const std::byte> bytes) override {
    const std::lock_guard lock(hub_->mutex);
    hub_->check();
    const auto ticks = [](double seconds) {
      return std::chrono::duration_cast<LinkClock::duration>(std::chrono::duration<double>(seconds));
    };
    LinkClock::time_point& free_at = hub_->free_at[rank_];
    free_at =
        std::max(free_at, LinkClock::now()) + ticks(hub_->times.seconds_per_byte * static_cast<double>(bytes.size()));
    hub_->links[{rank_, to, tag}].messages.push_back(
        {{bytes.begin(), bytes.end()}, free_at + ticks(hub_->times.latency)});
    return kSent;
  }
  size_t receive(size_t from, int tag, std::span<std::byte> bytes) override {
    const std::lock_guard lock(hub_->mutex);
    hub_->check();
    const size_t ticket = next_++;
    pending_[ticket] = {from, tag, bytes};
    hub_->links[{from, rank_, tag}].waiting.push_back(ticket);
    return ticket;
  }
  bool done(size_t ticket) override {
    if (ticket == kSent) return true;
    const std::lock_guard lock(hub_->mutex);
    hub_->check();
    const auto found = pending_.find(ticket);
    if (found == pending_.end()) return false;
    const Pending& p = found->second;
    if (p.arrived) return pending_.erase(found), true;
    Link& link = hub_->links[{p.from, rank_, p.tag}];
    while (!link.waiting.empty() && !link.messages.empty() && link.messages.front().arrives <= LinkClock::now()) {
      Pending& next = pending_.at(link.waiting.front());
      const std::vector<std::byte>& bytes = link.messages.front().bytes;
      if (bytes.size() != next.bytes.size())
        throw Error({.what = "a message of " + std::to_string(bytes.size()) + " bytes where " +
                             std::to_string(next.bytes.size()) + " were expected",
                     .where = "group"});
      std::memcpy(next.bytes.data(), bytes.data(), bytes.size());
      next.arrived = true;
      link.messages.pop_front();
      link.waiting.pop_front();
    }
    if (!p.arrived) return false;
    pending_.erase(found);
    return true;
  }
  void abandon(std::span<const size_t> tickets) override {
    const std::lock_guard lock(hub_->mutex);
    for (const size_t ticket : tickets) {
      const auto found = pending_.find(ticket);
      if (found == pending_.end()) continue;
      std::erase(hub_->links[{found->second.from, rank_, found->second.tag}].waiting, ticket);
      pending_.erase(found);
    }
  }
  void tell(size_t to, const std::string& word) override {
    const std::lock_guard lock(hub_->mutex);
    hub_->check();
    hub_->words[to].emplace_back(rank_, word);
  }
  bool heard(size_t& from, std::string& word) override {
    const std::lock_guard lock(hub_->mutex);
    hub_->check();
    if (hub_->words[rank_].empty()) return false;
    std::tie(from, word) = hub_->words[rank_].front();
    hub_->words[rank_].pop_front();
    return true;
  }
  void abort(int code) override {
    const std::lock_guard lock(hub_->mutex);
    if (!hub_->ended) hub_->ended = code;
  }

 private:
  static constexpr size_t kSent = 0;
  struct Pending {
    size_t from = 0;
    int tag = 0;
    std::span<std::byte> bytes;
    bool arrived = false;
  };
  std::shared_ptr<LinkHub> hub_;
  size_t rank_, size_, next_ = 1;
  std::map<size_t, Pending> pending_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> local_ranks(size_t size, LinkTimes times) {
  const auto hub = std::make_shared<LinkHub>(size, times);
  std::vector<std::unique_ptr<Transport>> ranks;
  for (size_t r = 0; r < size; r++) ranks.push_back(std::make_unique<LocalTransport>(hub, r, size));
  return ranks;
}

}  // namespace glint
