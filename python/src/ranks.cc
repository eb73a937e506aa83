#include "ranks.h"

#include <nanobind/stl/string.h>

#include "call.h"

namespace glint::python {
namespace {

// Python is asked no more often: a question costs about as much.
constexpr auto kLookEvery = std::chrono::microseconds(30);

nb::object memory(const std::byte* bytes, size_t count, int how) {
  // The interface of C has no pointer to what is only read.
  char* data = const_cast<char*>(reinterpret_cast<const char*>(bytes));
  return nb::steal(PyMemoryView_FromMemory(data, static_cast<Py_ssize_t>(count), how));
}

}  // namespace

// What Python raises is an Error of the work, like a connection that is lost.
template <class Job>
void PythonTransport::ask(const Job& job) {
  std::string problem;
  call_.on_python(
      [&] {
        try {
          job();
        } catch (nb::python_error& e) {
          problem = nb::str(e.value()).c_str();
          if (problem.empty()) problem = nb::str(e.type()).c_str();
        } catch (const std::exception& e) {
          problem = e.what();
        }
      },
      true);
  if (!problem.empty()) throw Error({.what = "the communicator failed: " + problem, .where = "group"});
}

PythonTransport::PythonTransport(Call& call, nb::handle ranks) : call_(call), ranks_(ranks) {
  ask([&] {
    rank_ = nb::cast<size_t>(ranks_.attr("rank"));
    size_ = nb::cast<size_t>(ranks_.attr("size"));
  });
}

size_t PythonTransport::send(size_t to, int tag, std::span<const std::byte> bytes) {
  const size_t ticket = next_++;
  ask([&] { ranks_.attr("send")(ticket, to, tag, memory(bytes.data(), bytes.size(), PyBUF_READ)); });
  return ticket;
}

size_t PythonTransport::receive(size_t from, int tag, std::span<std::byte> bytes) {
  const size_t ticket = next_++;
  ask([&] { ranks_.attr("receive")(ticket, from, tag, memory(bytes.data(), bytes.size(), PyBUF_WRITE)); });
  return ticket;
}

bool PythonTransport::done(size_t ticket) {
  if (finished_.erase(ticket)) return true;
  if (std::chrono::steady_clock::now() - looked_ < kLookEvery) return false;
  ask([&] {
    for (const nb::handle one : nb::borrow<nb::list>(ranks_.attr("finished")()))
      finished_.insert(nb::cast<size_t>(one));
  });
  looked_ = std::chrono::steady_clock::now();
  return finished_.erase(ticket) > 0;
}

void PythonTransport::abandon(std::span<const size_t> tickets) {
  ask([&] {
    for (const size_t ticket : tickets) ranks_.attr("abandon")(ticket);
  });
}

void PythonTransport::tell(size_t to, const std::string& word) {
  ask([&] { ranks_.attr("tell")(to, nb::bytes(word.data(), word.size())); });
}

bool PythonTransport::heard(size_t& from, std::string& word) {
  bool some = false;
  ask([&] {
    const nb::object got = ranks_.attr("heard")();
    if (got.is_none()) return;
    const nb::tuple pair = nb::cast<nb::tuple>(got);
    const nb::bytes text = nb::cast<nb::bytes>(pair[1]);
    from = nb::cast<size_t>(pair[0]);
    word.assign(text.c_str(), text.size());
    some = true;
  });
  return some;
}

void PythonTransport::abort(int code) {
  ask([&] { ranks_.attr("abort")(code); });
}

}  // namespace glint::python
