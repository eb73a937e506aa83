#include "glint/lab/work/agreement.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "glint/base/error.h"
#include "glint/base/version.h"
#include "glint/io/json.h"

namespace glint {
namespace {

std::string host_of_process() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// "rank 2 of 4 (on node7)"
std::string who(const Group& group, size_t rank, const Json& facts) {
  return rank_name(rank, group.size()) + " (on " + facts.at("host").get<std::string>() + ")";
}

}  // namespace

InstructionLevel agree(Group& group, const InstructionLevel& own, const std::function<void(const std::string&)>& note) {
  if (group.alone()) return own;
  const Json mine = {{"version", kVersion},
                     {"isa", static_cast<int>(own.isa)},
                     {"unit", static_cast<int>(own.unit)},
                     {"host", host_of_process()}};
  const std::vector<std::string> all = group.gather(mine.dump());
  InstructionLevel lowest = own;
  if (group.first()) {
    std::string lower_at, emulated_at, other_at;
    for (size_t r = 0; r < all.size(); r++) {
      const Json facts = Json::parse(all[r]);
      const std::string rank = who(group, r, facts);
      if (facts["version"] != kVersion)
        throw Error(
            {.code = ErrorCode::usage,
             .what = rank + " is glint " + facts["version"].get<std::string>() + ", rank 0 is glint " + kVersion,
             .where = "group",
             .expected = "the same program on every rank"});
      const Isa isa = static_cast<Isa>(facts["isa"].get<int>());
      const Bf16Unit unit = static_cast<Bf16Unit>(facts["unit"].get<int>());
      (unit == Bf16Unit::emulated ? emulated_at : other_at) = rank;
      if (isa != own.isa || unit != own.unit)
        lower_at += (lower_at.empty() ? "" : ", ") + rank + " has " + std::string(name(isa)) + " and bf16 unit " +
                    std::string(name(unit));
      lowest.isa = std::min(lowest.isa, isa);
      lowest.unit = std::min(lowest.unit, unit);
    }
    if (!emulated_at.empty() && !other_at.empty())
      bad_argument("GLINT_BF16", emulated_at + " emulates bf16, " + other_at + " does not", "the same on every rank");
    if (!lower_at.empty() && note)
      note(lower_at + ", rank 0 has " + std::string(name(own.isa)) + " and " + std::string(name(own.unit)) +
           "; all compute with " + std::string(name(lowest.isa)) + " and " + std::string(name(lowest.unit)));
  }
  group.broadcast(std::as_writable_bytes(std::span(&lowest, 1)));
  return lowest;
}

std::string crowded_hosts(Group& group, size_t threads) {
  if (group.alone()) return "";
  const Json mine = {
      {"host", host_of_process()}, {"threads", threads}, {"cores", std::max(1u, std::thread::hardware_concurrency())}};
  std::map<std::string, std::pair<size_t, size_t>> hosts;  // threads, cores
  std::map<std::string, size_t> ranks;
  for (const std::string& text : group.gather(mine.dump())) {
    const Json facts = Json::parse(text);
    const std::string host = facts["host"].get<std::string>();
    hosts[host].first += facts["threads"].get<size_t>();
    hosts[host].second = facts["cores"].get<size_t>();
    ranks[host]++;
  }
  for (const auto& [host, load] : hosts)
    if (load.first > load.second)
      return host + " has " + std::to_string(ranks[host]) + " ranks with " + std::to_string(load.first) +
             " threads in all on " + std::to_string(load.second) +
             " cores: it will be slow. Fewer `threads` for each rank help";
  return "";
}

}  // namespace glint
