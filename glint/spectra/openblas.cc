#include "glint/spectra/openblas.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "glint/base/memory_room.h"
#include "glint/base/threads.h"

namespace glint {
namespace {

// The plain name follows the system's choice of build. The rest are Debian's places, for systems where that
// choice was never made.
constexpr const char* kLibraries[] = {
    "libopenblas.so.0",
    "libopenblas.so",
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",
    "/usr/lib/x86_64-linux-gnu/openblas-serial/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-pthread/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0",
};

// A call takes a buffer of this size, which the library keeps for later calls. Where it cannot get one it
// asks again for ever, so all that will be needed are taken at the beginning, each where there is room for
// it. Some builds ask for twice the size and give half of it back.
constexpr size_t kBuffer = size_t{128} << 20;
constexpr size_t kMostBuffers = 64;  // the library has a table of a fixed size for them

constexpr int kOpenMpBuild = 2;  // openblas_get_parallel()
constexpr double kSafe = 1e140;  // squares of entries between its inverse and it neither overflow nor vanish

// An environment variable that OpenBLAS reads once, while it is loaded: set unless the user did, and taken
// away again, so that neither the process nor its children keep it.
class EnvironmentWhileLoading {
 public:
  EnvironmentWhileLoading(const char* name, std::string_view value) : name_(name) {
    if (value.empty() || std::getenv(name)) return;
    set_ = ::setenv(name, std::string(value).c_str(), 1) == 0;
  }
  ~EnvironmentWhileLoading() {
    if (set_) ::unsetenv(name_);
  }
  EnvironmentWhileLoading(const EnvironmentWhileLoading&) = delete;
  EnvironmentWhileLoading& operator=(const EnvironmentWhileLoading&) = delete;

 private:
  const char* name_;
  bool set_ = false;
};

template <class F>
bool find(void* handle, const char* name, F& function) {
  function = reinterpret_cast<F>(::dlsym(handle, name));
  return function != nullptr;
}

double largest(int n, const double* a, int lda) {
  double m = 0;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) m = std::max(m, std::fabs(a[static_cast<size_t>(j) * lda + i]));
  return m;
}

}  // namespace

std::string_view OpenBlas::library() { return kLibraries[0]; }

// Waits for one of the buffers. OpenBLAS keeps its thread count in one place; in the OpenMP build that place
// belongs to the calling thread.
class OpenBlas::Turn {
 public:
  explicit Turn(const OpenBlas& blas) : blas_(blas) {
    blas.free_.acquire();
    if (blas.openmp_) blas.set_num_threads_(1);
  }
  ~Turn() { blas_.free_.release(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const OpenBlas& blas_;
};

std::shared_ptr<const OpenBlas> OpenBlas::open(const CpuInfo& cpu, size_t threads, std::string& problem) {
  // The environment, the library and its buffers belong to the process: objects made at once take turns.
  static std::mutex mutex;
  static std::shared_ptr<OpenBlas> opened;
  const std::lock_guard lock(mutex);
  const size_t processors = available_threads();
  const size_t buffers = std::min({threads ? threads : processors, processors, kMostBuffers});
  if (!opened) {
    // One more for the library itself, and one that is left to the rest of the program.
    if (!room_for(kBuffer, buffers + 2)) {
      problem = "there is no room for OpenBLAS, which needs " + std::to_string((buffers + 2) * (kBuffer >> 20)) +
                " MB of address space for " + std::to_string(buffers) + (buffers == 1 ? " thread" : " threads");
      return nullptr;
    }
    opened = load(cpu);
  }
  if (opened) opened->reserve(buffers);
  return opened;
}

std::shared_ptr<OpenBlas> OpenBlas::load(const CpuInfo& cpu) {
  const EnvironmentWhileLoading core("OPENBLAS_CORETYPE", openblas_core_type(cpu));
  const EnvironmentWhileLoading threads("OPENBLAS_NUM_THREADS", "1");  // no idle helpers
  for (const char* library : kLibraries)
    // NODELETE: OpenBLAS does not survive being unloaded while threads have used it.
    if (void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      auto blas = std::make_shared<OpenBlas>();
      if (blas->resolve(handle)) return blas;
    }
  return nullptr;
}

bool OpenBlas::resolve(void* handle) {
  if (!(find(handle, "dgemm_", dgemm_) && find(handle, "sgemm_", sgemm_) && find(handle, "dsytrd_", sytrd_) &&
        find(handle, "dstedc_", stedc_) && find(handle, "dormtr_", ormtr_) &&
        find(handle, "openblas_set_num_threads", set_num_threads_) &&
        find(handle, "openblas_get_parallel", get_parallel_)))
    return false;
  find(handle, "openblas_get_config", get_config_);
  find(handle, "openblas_get_corename", get_corename_);
  if (!find(handle, "blas_memory_alloc", memory_alloc_) || !find(handle, "blas_memory_free", memory_free_))
    memory_alloc_ = nullptr;
  openmp_ = get_parallel_() == kOpenMpBuild;
  set_num_threads_(1);
  return true;
}

// Has the library take as many buffers as asked for, or as there is room for; never less than before.
void OpenBlas::reserve(size_t buffers) {
  if (buffers <= reserved_) return;
  for (size_t i = 0; i < reserved_; i++) free_.acquire();  // nobody is inside a call
  std::vector<void*> held;
  held.reserve(buffers);
  // A build that does not show these functions gets no such help.
  while (memory_alloc_ && held.size() < buffers && (held.size() < reserved_ || room_for(2 * kBuffer)))
    held.push_back(memory_alloc_(1));
  for (void* buffer : held) memory_free_(buffer);
  reserved_ = memory_alloc_ ? held.size() : buffers;
  free_.release(static_cast<std::ptrdiff_t>(reserved_));
}

std::string OpenBlas::description() const {
  // The configuration is "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...".
  std::string text = get_config_ ? get_config_() : "OpenBLAS";
  if (const size_t version = text.find(' '); version != std::string::npos)
    text = text.substr(0, text.find(' ', version + 1));
  return get_corename_ ? text + " (" + get_corename_() + ")" : text;
}

void OpenBlas::gemm(char op_a, char op_b, int m, int n, int k, double alpha, const double* a, int lda, const double* b,
                    int ldb, double beta, double* c, int ldc) const {
  const Turn turn(*this);
  dgemm_(&op_a, &op_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}

void OpenBlas::gemm(char op_a, char op_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                    int ldb, float beta, float* c, int ldc) const {
  const Turn turn(*this);
  sgemm_(&op_a, &op_b, &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc, 1, 1);
}

bool OpenBlas::eigh(int n, double* a, int lda, double* values, EighWorkspace& workspace) const {
  const Turn turn(*this);
  const auto width = static_cast<size_t>(n);
  // A stride that is a large power of two puts every column on the same few cache lines.
  const int ldz = n % 64 == 0 ? n + 8 : n;
  const size_t z_size = static_cast<size_t>(ldz) * width;
  // What dstedc and, in blocks of up to 64 reflectors, dsytrd and dormtr ask for.
  const size_t work_size = std::max(1 + 4 * width + width * width, 64 * width + 65 * 64);
  workspace.work.resize(std::max(workspace.work.size(), 2 * width + z_size + work_size));
  workspace.iwork.resize(std::max(workspace.iwork.size(), 3 + 5 * width));
  double* off_diagonal = workspace.work.data();
  double* tau = off_diagonal + width;
  double* z = tau + width;
  double* work = z + z_size;
  const int lwork = static_cast<int>(work_size), liwork = static_cast<int>(3 + 5 * width);

  double scale = 1;
  if (const double m = largest(n, a, lda); m > kSafe || (m > 0 && m < 1 / kSafe)) scale = m;
  if (scale != 1)
    for (size_t j = 0; j < width; j++)
      for (size_t i = 0; i < width; i++) a[j * static_cast<size_t>(lda) + i] /= scale;

  int info = 0;
  sytrd_("L", &n, a, &lda, values, off_diagonal, tau, work, &lwork, &info, 1);
  if (info == 0)
    stedc_("I", &n, values, off_diagonal, z, &ldz, work, &lwork, workspace.iwork.data(), &liwork, &info, 1);
  if (info == 0) ormtr_("L", "L", "N", &n, &n, a, &lda, tau, z, &ldz, work, &lwork, &info, 1, 1, 1);
  if (info != 0) return false;
  for (size_t k = 0; k < width; k++) {
    values[k] *= scale;
    std::copy_n(z + k * static_cast<size_t>(ldz), width, a + k * static_cast<size_t>(lda));
  }
  return true;
}

std::string_view openblas_core_type(const CpuInfo& cpu) {
  constexpr int kIntelFamily = 6;  // AMD's AVX2 families are 21 and above, and OpenBLAS goes by family there
  if (cpu.best == Isa::v4) return "SkylakeX";
  if (cpu.best == Isa::v3 && cpu.family == kIntelFamily) return "Haswell";
  return "";
}

}  // namespace glint
