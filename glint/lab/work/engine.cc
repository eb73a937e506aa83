#include "glint/lab/work/engine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "glint/base/error.h"
#include "glint/base/threads.h"
#include "glint/base/version.h"
#include "glint/io/json.h"

namespace glint {
namespace {

// Which unit a precision gets here; none for f32.
Bf16Unit bf16_unit(const std::string& precision, const CpuInfo& cpu, const Callbacks& callbacks) {
  if (parse_precision(precision) == Precision::f32) return Bf16Unit::none;
  const char* forced = std::getenv("GLINT_BF16");
  const std::string word = forced ? forced : "";
  if (word == "emulated") return Bf16Unit::emulated;
  if (!word.empty() && word != "auto")
    bad_argument("GLINT_BF16", "unknown bf16 unit '" + word + "'", suggest(word, {"auto", "emulated"}));
  const Bf16Unit unit = best_bf16(cpu);
  if (unit == Bf16Unit::none && callbacks.note)
    callbacks.note(
        "this processor has no bf16 instructions; computing in f32 (GLINT_BF16=emulated computes bf16 in "
        "portable code, slowly)");
  return unit;
}

Products make_products(Isa isa, Bf16Unit unit) {
  const Kernels& k = kernels(isa);
  return unit == Bf16Unit::none ? Products(k) : Products(k, unit);
}

std::string host_of_process() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// "rank 2 of 4 (on node7)"
std::string who(const Group& group, size_t rank, const Json& facts) {
  return rank_name(rank, group.size()) + " (on " + facts.at("host").get<std::string>() + ")";
}

}  // namespace

// Built in this order: OpenBLAS must be opened before any thread of ours reads the environment.
struct Engine::Shared {
  Shared(const EngineOptions& options, Callbacks hooks)
      : callbacks(std::move(hooks)),
        group(options.group ? *options.group : alone),
        cpu(detect_cpu()),
        asked(parse_precision(options.precision)),
        level(
            agree(group, {parse_isa(options.isa, cpu), bf16_unit(options.precision, cpu, callbacks)}, callbacks.note)),
        isa(level.isa),
        unit(level.unit),
        linalg(options.linalg, cpu, options.threads),
        products(make_products(isa, unit)),
        files(options.files ? *options.files : real_files()) {
    if (!linalg.note().empty() && callbacks.note) callbacks.note(linalg.note());
  }

  Callbacks callbacks;
  Group alone, &group;
  CpuInfo cpu;
  Precision asked;
  InstructionLevel level;
  Isa isa;
  Bf16Unit unit;
  LinearAlgebra linalg;
  Products products;
  FileSystem& files;
  mutable std::mutex calling;  // callbacks are called one at a time

  bool stop_asked() const {
    if (!callbacks.should_stop) return false;
    const std::lock_guard lock(calling);
    return callbacks.should_stop();
  }
};

struct Engine::Own {
  Own(const Shared& shared, size_t threads)
      : pool(threads),
        stoppable(pool,
                  shared.callbacks.should_stop ? [&shared] { return shared.stop_asked(); } : std::function<bool()>()),
        scratch(pool.size()),
        compute{shared.products, pool, scratch} {}
  ThreadPool pool;
  StopScope stoppable;  // every loop of the pool, and with it all that computes
  Scratch scratch;
  Compute compute;
};

Engine::Engine(const EngineOptions& options, Callbacks callbacks)
    : shared_(std::make_shared<Shared>(options, std::move(callbacks))),
      own_(std::make_unique<Own>(*shared_, options.threads)) {
  if (const size_t cores = available_threads(); options.threads > cores)
    note(std::to_string(options.threads) + " threads on " + std::to_string(cores) + (cores == 1 ? " core" : " cores") +
         ": more threads than cores are slower, not faster");
  if (const std::string crowded = crowded_hosts(group(), pool().size()); !crowded.empty()) note(crowded);
}

Engine::Engine(const Engine& other, size_t threads)
    : shared_(other.shared_), own_(std::make_unique<Own>(*shared_, threads)) {}

Engine::~Engine() = default;

const CpuInfo& Engine::cpu() const { return shared_->cpu; }
Isa Engine::isa() const { return shared_->isa; }
Precision Engine::precision() const { return shared_->products.precision(); }
Precision Engine::asked_precision() const { return shared_->asked; }
Bf16Unit Engine::unit() const { return shared_->unit; }
const Compute& Engine::compute() const { return own_->compute; }
const LinearAlgebra& Engine::linalg() const { return shared_->linalg; }
FileSystem& Engine::files() const { return shared_->files; }
Group& Engine::group() const { return shared_->group; }

Json Engine::machine() const {
  return {{"version", kVersion},       {"cpu", describe(cpu())},
          {"isa", name(isa())},        {"precision", name(precision())},
          {"bf16_unit", name(unit())}, {"threads", pool().size()},
          {"ranks", group().size()}};
}

void Engine::note(const std::string& text) const {
  const std::lock_guard lock(shared_->calling);
  if (shared_->callbacks.note) shared_->callbacks.note(text);
}

void Engine::progress(const ProgressReport& report) const {
  const std::lock_guard lock(shared_->calling);
  if (shared_->callbacks.progress) shared_->callbacks.progress(report);
}

bool Engine::stop_asked() const { return shared_->stop_asked(); }

void Engine::check_stop() const {
  if (stop_asked()) throw Error({.code = ErrorCode::interrupted, .what = "interrupted"});
}

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
        bad_argument("group",
                     rank + " is glint " + facts["version"].get<std::string>() + ", rank 0 is glint " + kVersion,
                     "the same program on every rank");
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
