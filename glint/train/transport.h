// How ranks reach each other: bytes from one to another, in order. What is built on it is group.h. There are
// three: threads of one process (local_ranks.h), the processes of an MPI job (mpi_abi.h), and those of a
// communicator of mpi4py (python/src/ranks.h).
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace glint {

// Calls come from one thread of a rank.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual size_t rank() const = 0;
  virtual size_t size() const = 0;

  // Both begin at once and give a ticket; the bytes stay where they are until it is done. Messages of one tag
  // between two ranks arrive in the order in which they were sent, and have the length that is expected.
  virtual size_t send(size_t to, int tag, std::span<const std::byte> bytes) = 0;
  virtual size_t receive(size_t from, int tag, std::span<std::byte> bytes) = 0;
  // Whether it is over; then the ticket counts no more.
  virtual bool done(size_t ticket) = 0;
  // Nothing is written to the bytes of these tickets any more. The group is of no more use.
  virtual void abandon(std::span<const size_t> tickets) = 0;

  // A word out of turn, from any rank to any other.
  virtual void tell(size_t to, const std::string& word) = 0;
  // One that has come, and from whom; false when there is none.
  virtual bool heard(size_t& from, std::string& word) = 0;

  // Ends all ranks with this code. Processes do not return from it; threads get an Error from their next
  // call.
  virtual void abort(int code) = 0;
};

}  // namespace glint
