#include "glint/cli/sharing_options.h"

#include <cstdlib>

#include "glint/base/error.h"
#include "glint/cli/output.h"

namespace glint::cli {
namespace {

size_t small_number(const std::string& word) {
  return word.empty() || word.size() > 4 || word.find_first_not_of("0123456789") != word.npos ? 0 : std::stoul(word);
}

Shard parse_shard(const std::string& text) {
  const size_t slash = text.find('/');
  const size_t index = small_number(text.substr(0, slash)),
               of = slash == text.npos ? 0 : small_number(text.substr(slash + 1));
  if (index < 1 || index > of)
    bad_argument("--shard", "cannot read the share '" + text + "'",
                 "I/N with I from 1 to N, as 2/4 for the second of four machines");
  return {index - 1, of};
}

// The tasks of an array are numbered from its first number on, in steps.
Shard slurm_shard() {
  const auto number = [](const char* name, size_t otherwise) {
    const char* text = std::getenv(name);
    if (!text || !*text || std::string(text).find_first_not_of("0123456789") != std::string::npos) return otherwise;
    return static_cast<size_t>(std::strtoull(text, nullptr, 10));
  };
  const size_t count = number("SLURM_ARRAY_TASK_COUNT", 1), first = number("SLURM_ARRAY_TASK_MIN", 0),
               step = std::max<size_t>(1, number("SLURM_ARRAY_TASK_STEP", 1)),
               id = number("SLURM_ARRAY_TASK_ID", first);
  if (count <= 1) return {};
  const size_t index = id < first ? count : (id - first) / step;
  if (index >= count || (id - first) % step != 0)
    bad_argument("SLURM_ARRAY_TASK_ID",
                 "task " + std::to_string(id) + " is none of the " + std::to_string(count) + " tasks of this job array",
                 "tasks in equal steps, as --array=1-" + std::to_string(count), "--shard I/N");
  return {index, count};
}

}  // namespace

void add_sharing(Verb& verb, SharingFlags& flags) {
  verb.add(Field("shard", flags.shard,
                 "Train only share I of N of the runs, as 2/4; no results. In a job array of Slurm the number of the "
                 "task is the share when none is given")
               .shown("I/N"));
  verb.add(Field("join", flags.join,
                 "Share the runs with all others that do so in the same folder, on this machine or another: each "
                 "takes the next that nobody has; no results"));
  verb.add(Field("wait", flags.wait, "With --join: wait for the runs of the others, then make the results"));
}

Sharing parse_sharing(const Context& context, const SharingFlags& flags) {
  if (flags.join && !flags.shard.empty())
    bad_argument("--shard " + flags.shard, "--join and --shard exclude each other",
                 "shares that are fixed before, or runs that are taken one by one");
  if (flags.wait && !flags.join)
    throw Error({.code = ErrorCode::usage, .what = "--wait needs --join", .where = "--wait"});
  Sharing sharing{.shard = {}, .join = flags.join, .wait = flags.wait, .times = {}};
  if (flags.join) return sharing;
  if (!flags.shard.empty()) {
    sharing.shard = parse_shard(flags.shard);
  } else if (sharing.shard = slurm_shard(); sharing.shard.of > 1) {
    context.say("note: share " + std::to_string(sharing.shard.index + 1) + " of " + std::to_string(sharing.shard.of) +
                ", as a task of a Slurm job array; --shard 1/1 trains all");
  }
  return sharing;
}

std::string share_trained(const Sharing& sharing, size_t left, const std::string& runs) {
  const auto shown = [](const std::string& text) { return prose(text, result_columns()); };
  if (sharing.join)
    return shown(left == 0 ? "All runs are trained. The same command without --join makes the results.\n"
                           : "Nothing is left to take; other workers still train " + std::to_string(left) +
                                 (left == 1 ? " run" : " runs") +
                                 ". When they have ended the same command without --join makes the results; with "
                                 "--wait it waits for them.\n");
  return shown("Share " + std::to_string(sharing.shard.index + 1) + " of " + std::to_string(sharing.shard.of) +
               " is trained. Copy " + runs +
               " of every machine into one folder (they do not overlap), then the same command without --shard "
               "makes the results.\n");
}

}  // namespace glint::cli
