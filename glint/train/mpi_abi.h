// What libglint_mpi.so offers. The plugin is compiled against the MPI of the machine and knows nothing else
// of glint; the program opens it at run time and knows nothing of MPI.
#pragma once

#include <cstdint>

extern "C" {

struct GlintMpi {
  uint32_t abi;           // kGlintMpiAbi of the plugin
  const char* built_for;  // "Open MPI 4.1.4"

  // Begins. Gives 0, or what MPI says is wrong in `problem`, which has `room` bytes.
  int (*start)(int* rank, int* size, char* problem, int room);
  // Begin to send or receive; null when MPI refuses.
  void* (*send)(int to, int tag, const void* bytes, int count);
  void* (*receive)(int from, int tag, void* bytes, int count);
  // 1: it is over and the request is gone, 0: not yet, -1: it failed.
  int (*test)(void* request);
  void (*abandon)(void* request);
  void (*tell)(int to, const char* bytes, int count);
  // The length of a word that has come, which then stands in `bytes`, cut at `room`; -1: there is none.
  int (*heard)(int* from, char* bytes, int room);
  void (*abort)(int code);
  void (*finish)(void);
};

typedef const GlintMpi* (*GlintMpiEntry)(void);

}  // extern "C"

inline constexpr uint32_t kGlintMpiAbi = 1;
inline constexpr const char* kGlintMpiEntry = "glint_mpi";
