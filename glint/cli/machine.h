// What a verb that computes works with: the thread pool and the products of the asked precision.
#pragma once

#include "glint/cli/verb.h"
#include "glint/nn/compute.h"

namespace glint::cli {

class Machine {
 public:
  // With --precision bf16 on a processor without bf16 instructions: says so and computes in f32.
  // GLINT_BF16=emulated computes bf16 in portable code, for checking a run elsewhere; it is slow.
  explicit Machine(const Context& context);
  // The same with one's own number of threads, for several models side by side; `loud` false: without the
  // message.
  Machine(const Context& context, size_t threads, bool loud = true);

  const Compute& compute() const { return compute_; }
  Precision precision() const { return products_.precision(); }
  Bf16Unit unit() const { return unit_; }

 private:
  Bf16Unit unit_;
  Products products_;
  ThreadPool pool_;
  Scratch scratch_;
  Compute compute_;
};

// Which unit a precision gets here; none for f32.
Bf16Unit bf16_unit(const Context& context, bool loud);

}  // namespace glint::cli
