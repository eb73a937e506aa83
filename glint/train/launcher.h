// Whether this process was started as one of several, by mpirun, srun or the like, and the group of those.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glint/train/group.h"

namespace glint {

// What the environment says. A process without a launcher is rank 0 of 1.
struct Launcher {
  enum class Kind { none, open_mpi, mpich, slurm, other } kind = Kind::none;
  size_t rank = 0, size = 1;  // size 0: it does not say
  std::string name() const;   // "mpirun of Open MPI"
};

// `variable` gives the value of a variable of the environment, null when it is not set. GLINT_MPI=off: none.
Launcher find_launcher(const std::function<const char*(const char*)>& variable);
Launcher find_launcher();

// The group of the processes that the launcher started: through libglint_mpi.so, which is looked for beside
// the program, in the folders of its installation and where the system looks for libraries; GLINT_MPI=FILE
// names another. Alone without a launcher, and then nothing is opened. Error (usage) when there is no plugin,
// when it was built for another MPI than the launcher's, or when MPI sees one process where the launcher
// started several.
std::unique_ptr<Group> launched_group(const Launcher& launcher);

// Where the plugin is looked for, in this order.
std::vector<std::string> plugin_places();

}  // namespace glint
