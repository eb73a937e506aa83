// The flags of verbs that train many runs: which of them this process trains.
#pragma once

#include <string>

#include "glint/cli/verb.h"
#include "glint/lab/work/jobs.h"

namespace glint::cli {

struct SharingFlags {
  std::string shard;
  bool join = false, wait = false;
};

// --shard, --join and --wait.
void add_sharing(Verb& verb, SharingFlags& flags);

// "2/4" is the second of four shares. Without --shard and --join a task of a Slurm job array trains its
// share.
Sharing parse_sharing(const Context& context, const SharingFlags& flags);

// What a process says that trained a share: `what` is the folder of the runs.
std::string share_trained(const Sharing& sharing, size_t left, const std::string& runs);

}  // namespace glint::cli
