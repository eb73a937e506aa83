// What the environment says of a launcher. The plugin itself is tested under mpirun: tests/cli/mpi_test.sh.
#include "glint/train/launcher.h"

#include <gtest/gtest.h>

#include <map>

namespace glint {
namespace {

Launcher launcher_of(const std::map<std::string, std::string>& variables) {
  return find_launcher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, IsReadFromTheEnvironment) {
  using Kind = Launcher::Kind;
  const auto expect = [](const std::map<std::string, std::string>& variables, Kind kind, size_t rank, size_t size) {
    const Launcher l = launcher_of(variables);
    EXPECT_EQ(l.kind, kind);
    EXPECT_EQ(l.rank, rank);
    EXPECT_EQ(l.size, size);
  };
  expect({}, Kind::none, 0, 1);
  expect({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}, {"PMIX_RANK", "2"}}, Kind::open_mpi, 2, 4);
  expect({{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}}, Kind::mpich, 1, 3);
  expect({{"PMIX_RANK", "5"}}, Kind::other, 5, 0);
  // In a job of Slurm mpirun is asked first; of srun the step counts, not the job.
  expect({{"SLURM_NTASKS", "8"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, Kind::open_mpi, 0, 2);
  expect({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "3"}}, Kind::slurm, 3, 8);
  expect({{"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "1"}}, Kind::none, 0, 1);
  expect({{"SLURM_NTASKS", "1"}}, Kind::none, 0, 1);
  // Not a number: as if it were not there.
  expect({{"SLURM_NTASKS", "many"}}, Kind::none, 0, 1);
  expect({{"OMPI_COMM_WORLD_SIZE", "4"}, {"GLINT_MPI", "off"}}, Kind::none, 0, 1);
}

TEST(Launcher, WithoutOneNothingIsOpened) {
  const std::unique_ptr<Group> group = launched_group({});
  EXPECT_TRUE(group->alone());
  EXPECT_TRUE(group->first());
}

}  // namespace
}  // namespace glint
