// The program `glint`: see program.h for how it runs and verbs.h for what it can do.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include "glint/base/error.h"
#include "glint/cli/verbs.h"

namespace {

// The number of a stream that was closed before the start would go to the next file that is opened, and
// messages would be written into it. stdout is opened such that writing still fails.
void keep_standard_streams() {
  for (const int fd : {0, 1, 2})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd) return;
}

std::terminate_handler usual_end = std::get_terminate();

// The last resort where a library runs out of memory on a thread of its own: there is no way back from there
// to Program::run, which says the same. Anything else that gets here is a fault of the program.
[[noreturn]] void end_without_memory() {
  try {
    if (const std::exception_ptr e = std::current_exception()) std::rethrow_exception(e);
  } catch (const std::bad_alloc&) {
    constexpr std::string_view kText = "glint: error: out of memory\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
    ::_exit(static_cast<int>(glint::ErrorCode::failure));
  } catch (...) {
  }
  usual_end();  // names the exception
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  std::set_terminate(end_without_memory);
  glint::cli::Program program;
#define GLINT_ADD_VERB(name) glint::cli::add_##name(program);
  GLINT_VERBS(GLINT_ADD_VERB)
#undef GLINT_ADD_VERB
  return program.run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
