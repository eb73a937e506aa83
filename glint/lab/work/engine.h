// What everything that computes works with: the processor, the kernels, the thread pool and the linear
// algebra, put together in the right order by one line, and how long work talks to whoever started it.
//
//   glint::Engine engine;                     // all processors, the best instructions, f32
//   glint::Engine engine({.threads = 2});
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "glint/base/cpu.h"
#include "glint/base/file.h"
#include "glint/io/json_fwd.h"
#include "glint/nn/compute.h"
#include "glint/spectra/linalg.h"
#include "glint/train/group.h"

namespace glint {

struct EngineOptions {
  size_t threads = 0;             // 0: as many as the system grants
  std::string isa = "auto";       // baseline, v3, v4
  std::string precision = "f32";  // or bf16
  LinalgBackend linalg = LinalgBackend::automatic;
  FileSystem* files = nullptr;  // null: the real one
  // The ranks that train together, each with an engine of the same options. They take the lowest instruction
  // set and bf16 unit of all; Error (usage) when they are of different versions. Null: alone.
  Group* group = nullptr;
};

// How far long work is. The work is over when done is total; total 0: not known.
struct ProgressReport {
  std::string label;  // "scan"
  uint64_t done = 0, total = 0;
  uint64_t start = 0;       // of `done`, what was done before this call
  std::string unit;         // plural: "tokens"
  std::string detail = {};  // what it is at: "section 4.1"
};

// All may be empty. Any thread may call them, one call at a time.
struct Callbacks {
  std::function<void(const std::string&)> note;  // something that the caller may want to know
  std::function<void(const ProgressReport&)> progress;
  // True ends the work with Error (interrupted). It is asked at every loop over the engine's threads and
  // between the parts of that loop, so that all work can be stopped: loading, calibration, reading. What one
  // thread does in one go is not cut: a single eigendecomposition (seconds at a width of some thousands) is
  // finished first. Training stops between two steps and saves the run.
  std::function<bool()> should_stop;
};

class Engine {
 public:
  // Without bf16 instructions the precision bf16 is f32, and a note says so; GLINT_BF16=emulated computes it
  // in portable code, slowly.
  explicit Engine(const EngineOptions& options = {}, Callbacks callbacks = {});
  // A second one beside another, with threads of its own: for models side by side.
  Engine(const Engine& other, size_t threads);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const CpuInfo& cpu() const;
  Isa isa() const;
  Precision precision() const;
  Precision asked_precision() const;  // bf16 also where there are no instructions for it and f32 computes
  Bf16Unit unit() const;
  const Compute& compute() const;
  ThreadPool& pool() const { return compute().pool; }
  const LinearAlgebra& linalg() const;
  FileSystem& files() const;
  Group& group() const;
  // Version, processor, threads and ranks, as run.json has them.
  Json machine() const;

  void note(const std::string& text) const;
  void progress(const ProgressReport& report) const;
  bool stop_asked() const;
  void check_stop() const;  // Error (interrupted) when it was asked for

 private:
  struct Shared;  // what engines side by side have in common
  struct Own;
  std::shared_ptr<const Shared> shared_;
  std::unique_ptr<Own> own_;
};

// What the ranks of a group settle before they compute: that they are the same program, and which
// instructions all of them have.

struct InstructionLevel {
  Isa isa = Isa::baseline;
  Bf16Unit unit = Bf16Unit::none;
};

// The lowest of all ranks; `note` (may be empty) is told at rank 0 when that is not what each has, and when
// the ranks of a host have more threads than it has cores. Error (usage) for another version on a rank, and
// for bf16 that only some are told to emulate.
InstructionLevel agree(Group& group, const InstructionLevel& own, const std::function<void(const std::string&)>& note);

// A sentence where the ranks on one host would use more threads than it has cores, otherwise "". At
// rank 0; all call it.
std::string crowded_hosts(Group& group, size_t threads);

}  // namespace glint
