// Ranks that reach each other through a communicator of mpi4py. Its calls are made by glint._ranks.Ranks, and
// all of them by the Python thread of the call (call.h): so that MPI needs no support for threads.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <set>

#include "glint/train/transport.h"

namespace glint::python {

class Call;

class PythonTransport : public Transport {
 public:
  // `ranks` is a glint._ranks.Ranks that outlives this. From the thread of the work.
  PythonTransport(Call& call, nanobind::handle ranks);
  size_t rank() const override { return rank_; }
  size_t size() const override { return size_; }
  size_t send(size_t to, int tag, std::span<const std::byte> bytes) override;
  size_t receive(size_t from, int tag, std::span<std::byte> bytes) override;
  bool done(size_t ticket) override;
  void abandon(std::span<const size_t> tickets) override;
  void tell(size_t to, const std::string& word) override;
  bool heard(size_t& from, std::string& word) override;
  void abort(int code) override;

 private:
  template <class Job>
  void ask(const Job& job);

  Call& call_;
  const nanobind::handle ranks_;
  size_t rank_ = 0, size_ = 1, next_ = 0;
  std::set<size_t> finished_;  // tickets that Python said are over
  std::chrono::steady_clock::time_point looked_ = {};
};

}  // namespace glint::python
