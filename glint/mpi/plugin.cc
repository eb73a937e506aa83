// libglint_mpi.so: bytes between the processes of an MPI job, as glint/train/mpi_abi.h says. No collective of
// MPI is used: their order of sums depends on the number of ranks.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <list>
#include <string>

#include "glint/train/mpi_abi.h"

namespace {

// A communicator of our own, so that nothing else in the process can take our messages.
MPI_Comm data = MPI_COMM_NULL, words = MPI_COMM_NULL;

struct Word {
  std::string text;
  MPI_Request request = MPI_REQUEST_NULL;
};
std::list<Word> told;  // kept until the process ends: few and short

int start(int* rank, int* size, char* problem, int room) {
  int provided = 0, initialized = 0;
  MPI_Initialized(&initialized);
  int code = initialized ? MPI_SUCCESS : MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &data);
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &words);
  if (code != MPI_SUCCESS) {
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    std::snprintf(problem, static_cast<size_t>(room), "%s", text);
    return code;
  }
  MPI_Comm_set_errhandler(data, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(words, MPI_ERRORS_RETURN);
  MPI_Comm_rank(data, rank);
  MPI_Comm_size(data, size);
  return 0;
}

void* begun(MPI_Request* request, int code) {
  if (code == MPI_SUCCESS) return request;
  delete request;
  return nullptr;
}

void* send(int to, int tag, const void* bytes, int count) {
  auto* request = new MPI_Request;
  return begun(request, MPI_Isend(bytes, count, MPI_BYTE, to, tag, data, request));
}

void* receive(int from, int tag, void* bytes, int count) {
  auto* request = new MPI_Request;
  return begun(request, MPI_Irecv(bytes, count, MPI_BYTE, from, tag, data, request));
}

int test(void* handle) {
  auto* request = static_cast<MPI_Request*>(handle);
  int flag = 0;
  if (MPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) return -1;
  if (flag) delete request;
  return flag ? 1 : 0;
}

void abandon(void* handle) {
  auto* request = static_cast<MPI_Request*>(handle);
  if (*request != MPI_REQUEST_NULL) {
    MPI_Cancel(request);
    MPI_Request_free(request);
  }
  delete request;
}

void tell(int to, const char* bytes, int count) {
  Word& word = told.emplace_back();
  word.text.assign(bytes, static_cast<size_t>(count));
  MPI_Isend(word.text.data(), count, MPI_BYTE, to, 0, words, &word.request);
}

int heard(int* from, char* bytes, int room) {
  int flag = 0, length = 0;
  MPI_Status status;
  if (MPI_Iprobe(MPI_ANY_SOURCE, 0, words, &flag, &status) != MPI_SUCCESS || !flag) return -1;
  MPI_Get_count(&status, MPI_BYTE, &length);
  std::string text(static_cast<size_t>(length), '\0');
  *from = status.MPI_SOURCE;
  if (MPI_Recv(text.data(), length, MPI_BYTE, *from, 0, words, MPI_STATUS_IGNORE) != MPI_SUCCESS) return -1;
  length = std::min(length, room);
  std::copy_n(text.data(), length, bytes);
  return length;
}

void abort_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }
void finish() { MPI_Finalize(); }

#if defined(OMPI_MAJOR_VERSION)
#define GLINT_TEXT_OF(x) #x
#define GLINT_TEXT(x) GLINT_TEXT_OF(x)
constexpr const char* kBuiltFor =
    "Open MPI " GLINT_TEXT(OMPI_MAJOR_VERSION) "." GLINT_TEXT(OMPI_MINOR_VERSION) "." GLINT_TEXT(OMPI_RELEASE_VERSION);
#elif defined(MPICH_VERSION)
constexpr const char* kBuiltFor = "MPICH " MPICH_VERSION;
#else
constexpr const char* kBuiltFor = "an unknown MPI";
#endif

constexpr GlintMpi kTable = {kGlintMpiAbi, kBuiltFor, start, send,      receive, test,
                             abandon,      tell,      heard, abort_all, finish};

}  // namespace

extern "C" __attribute__((visibility("default"))) const GlintMpi* glint_mpi(void) { return &kTable; }
