// What a user of the installed library writes: the SQS gate over a few points, in parallel.
#include <cmath>
#include <cstdio>
#include <vector>

#include "glint/base/error.h"
#include "glint/base/threads.h"
#include "glint/kernels/gates.h"

int main() {
  const glint::GateInfo& sqs = glint::gate_info(glint::parse_gate("sqs"));
  std::vector<double> y(9);
  glint::ThreadPool pool(2);
  pool.for_tiles(y.size(), [&](size_t i, size_t) { y[i] = sqs.value(static_cast<double>(i) - 4, {}); });
  for (double v : y) std::printf("%.6f ", v);
  std::printf("\n");

  // By hand: (2 - 0.01) / (1 + 0.5 * 2).
  if (std::fabs(y[6] - 0.995) > 1e-12) return 1;
  try {
    glint::parse_gate("no-such-gate");
  } catch (const glint::Error& e) {
    return e.code() == glint::ErrorCode::usage ? 0 : 1;
  }
  return 1;
}
