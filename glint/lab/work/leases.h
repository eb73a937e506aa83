// Leases: workers on one file system, on one machine or many, that share a list of runs. Whoever holds the
// lease of a run trains it. A lease is a file with host, process and a number that its holder raises every
// few seconds; one whose number stays the same for a minute, or whose process is gone from this machine, is
// taken over. Safe over NFS: a lease is made by link and taken over by rename, and nobody trusts another
// machine's clock.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace glint {

struct LeaseTimes {
  std::chrono::milliseconds renew{10000};  // the holder raises its number this often
  std::chrono::milliseconds stale{60000};  // so long the number must stay the same
};

// The leases of one worker.
class Leases {
 public:
  explicit Leases(LeaseTimes times = {});
  ~Leases();  // gives all back
  Leases(const Leases&) = delete;
  Leases& operator=(const Leases&) = delete;

  // Whether the lease is ours now; false: another has it. A stale one is taken over. Error (failure) when the
  // file system refuses.
  bool claim(const std::string& file);
  void release(const std::string& file);
  // Whether another worker took it from us, because we could not renew it in time: what it stands for must be
  // left alone.
  bool lost(const std::string& file) const;
  // Who holds a lease, "node7, process 4711"; "" when nobody does.
  static std::string holder(const std::string& file);

 private:
  struct Seen {
    std::string content;
    std::chrono::steady_clock::time_point since;
  };
  struct Held {
    uint64_t number = 0;
    bool lost = false;
  };
  std::string content(uint64_t number) const;
  std::string own_name(const std::string& file);
  bool link_new(const std::string& file);
  bool is_stale(const std::string& file, const std::string& text);
  bool take_over(const std::string& file, const std::string& text);
  void renew(const std::string& file, Held& held);
  void renew_all(std::stop_token stop);

  const LeaseTimes times_;
  const std::string host_, token_;
  mutable std::mutex mutex_;
  std::map<std::string, Seen> seen_;
  std::map<std::string, Held> held_;
  uint64_t files_ = 0;
  std::jthread renewer_;
};

}  // namespace glint
