// A training step allocates nothing: every malloc of the process is counted, whoever calls it.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "glint/model/transformer.h"
#include "glint/train/optimizer.h"
#include "tests/train/train_testing.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define GLINT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define GLINT_SANITIZED 1
#endif
#endif

namespace {
std::atomic<size_t> g_allocations{0};
}

#ifdef GLINT_SANITIZED
// Declared here because g++ comes without the header; both sanitizers have the function.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, size_t),
                                                         void (*)(const volatile void*));
namespace {
[[maybe_unused]] const int g_installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t) { g_allocations++; }, [](const volatile void*) {});
}
#if defined(__SANITIZE_THREAD__)
// The thread sanitizer of g++ 12 does not tell of aligned memory, which is what matrices have: these are
// counted here, on the way to its own.
namespace {
template <class F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}
}  // namespace
extern "C" {
void* aligned_alloc(size_t alignment, size_t bytes) {
  static auto* const to = next<void*(size_t, size_t)>("aligned_alloc");
  g_allocations++;
  return to(alignment, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  static auto* const to = next<void*(size_t, size_t)>("memalign");
  g_allocations++;
  return to(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  static auto* const to = next<int(void**, size_t, size_t)>("posix_memalign");
  g_allocations++;
  return to(out, alignment, bytes);
}
}
#endif
#else
// The names under which glibc keeps its own, for programs that define malloc.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* p, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void* malloc(size_t bytes) {
  g_allocations++;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  g_allocations++;
  return __libc_calloc(count, bytes);
}
void* realloc(void* p, size_t bytes) {
  g_allocations++;
  return __libc_realloc(p, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  g_allocations++;
  return __libc_memalign(alignment, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  g_allocations++;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, size_t alignment, size_t bytes) {
  g_allocations++;
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : 12;  // ENOMEM
}
}
#endif

namespace glint {
namespace {

using namespace model_testing;

template <class F>
size_t allocations_of(F&& f) {
  const size_t before = g_allocations;
  f();
  return g_allocations - before;
}

TEST(Allocation, TheCounterCounts) {
  volatile size_t size = 1000;
  EXPECT_GE(allocations_of([&] { std::string s(size, 'x'); }), 1u);
  EXPECT_GE(allocations_of([&] { Matrix<float> m(size, 1); }), 1u);
  EXPECT_GE(allocations_of([&] { std::free(::strdup("inside the C library")); }), 1u);
}

// The whole step of the trainer: noise, forward, backward, clipping, AdamW, packing of the new weights.
void check_steps(const TrainOptions& o, TestMachine& machine) {
  const Dataset data = small_data(1600, 64);
  ImageTask task(o, data, machine.compute);
  Adamw adamw(task.params(), {o.beta1, o.beta2, o.eps, o.weight_decay, o.clip});
  Matrix<float> weights(1, task.params().floats()), gradients(1, task.params().floats());
  task.params().initialise(weights.span(), 0);
  task.set_weights(weights.span());
  uint64_t done = 0;
  const auto step = [&] {
    task.step(0, done, gradients.span());
    adamw.step(machine.compute, ++done, 1e-3, gradients.span(), weights.span());
    task.set_weights(weights.span());
  };
  step();  // draws the order of the epoch
  const uint64_t steps = task.steps_per_epoch() - 1;
  ASSERT_GE(steps, 9u);
  EXPECT_EQ(allocations_of([&] {
              for (uint64_t i = 0; i < steps; i++) step();
            }),
            0u)
      << o.gate << ", " << machine.pool.size() << " threads, " << o.precision;
}

TEST(Allocation, NoneInAStep) {
  for (const size_t threads : {1, 2}) {
    TestMachine machine(threads);
    TrainOptions o = small_options();
    for (const std::string& gate : gate_names()) {
      o.gate = gate;
      check_steps(o, machine);
    }
    o.bias = o.residual = true;
    o.norm = "rms";
    o.clip = 0.1;
    o.batch = 160;
    check_steps(o, machine);
  }
}

TEST(Allocation, NoneInAStepInBf16) {
  for (const size_t threads : {1, 2}) {
    TestMachine machine(threads, Bf16Unit::emulated);
    TrainOptions o = small_options();
    o.precision = "bf16";
    check_steps(o, machine);
  }
}

TEST(Allocation, NoneInALanguageStep) {
  TransformerConfig config;
  config.vocab = 200;
  config.layers = 2;
  config.d_model = 32;
  config.heads = 2;
  config.context = 40;
  for (const bool bf16 : {false, true}) {
    for (const size_t threads : {1, 2}) {
      const auto machine =
          bf16 ? std::make_unique<TestMachine>(threads, Bf16Unit::emulated) : std::make_unique<TestMachine>(threads);
      TransformerEngine engine(config, machine->compute, 3, true);
      const ParamTable& table = engine.params().table;
      Adamw adamw(table, {.beta2 = 0.95, .weight_decay = 0.1, .clip = 1});
      Matrix<float> weights(1, table.floats()), gradients(1, table.floats());
      table.initialise(weights.span(), 0);
      engine.set_weights(weights.span());
      std::vector<TokenId> ids(41, 3);
      std::vector<TokenRow> rows;
      for (const size_t n : {40, 3, 17, 40, 1, 25, 9})
        rows.push_back({std::span(ids).first(n), std::span(ids).subspan(1, n)});
      uint64_t done = 0;
      const auto step = [&] {
        engine.forward_backward(rows, gradients.span());
        adamw.step(machine->compute, ++done, 1e-3, gradients.span(), weights.span());
        engine.set_weights(weights.span());
        engine.evaluate(rows);
      };
      EXPECT_EQ(allocations_of([&] {
                  for (int i = 0; i < 3; i++) step();
                }),
                0u)
          << threads << " threads" << (bf16 ? ", bf16" : "");
    }
  }
}

// The trainer around it: steps in mid-epoch, between two evaluations and checkpoints.
TEST(Allocation, NoneInTheLoop) {
  const Folder folder;
  const Dataset data = small_data(3200, 64);
  TestMachine machine(2);
  TrainOptions o = small_options();
  o.epochs = 2;
  ImageTask task(o, data, machine.compute);
  size_t at_start = 0;
  std::vector<size_t> inside;
  inside.reserve(16);
  TrainHooks hooks;
  hooks.on_step = [&](uint64_t step, uint64_t, double) {
    const uint64_t index = step % task.steps_per_epoch();
    if (index == 2) at_start = g_allocations;
    if (index == task.steps_per_epoch() - 1) inside.push_back(g_allocations - at_start);
  };
  const TrainSetup setup{.out = folder / "run", .machine = Json::object()};
  train(o, task, machine.compute, real_files(), setup, hooks);
  EXPECT_EQ(inside, (std::vector<size_t>{0, 0}));
}

}  // namespace
}  // namespace glint
