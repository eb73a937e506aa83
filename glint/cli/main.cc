// The program `glint`: see program.h for how it runs and verbs.h for what it can do.
#include <fcntl.h>

#include <cerrno>

#include "glint/cli/verbs.h"

namespace {

// The number of a stream that was closed before the start would go to the next file that is opened, and
// messages would be written into it. stdout is opened such that writing still fails.
void keep_standard_streams() {
  for (const int fd : {0, 1, 2})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd)
      return;
}

}  // namespace

int main(int argc, char** argv) {
  keep_standard_streams();
  glint::cli::Program program;
#define GLINT_ADD_VERB(name) glint::cli::add_##name(program);
  GLINT_VERBS(GLINT_ADD_VERB)
#undef GLINT_ADD_VERB
  return program.run({argv + (argc > 0 ? 1 : 0), argv + argc});
}
