#include "glint/cli/reading_options.h"

namespace glint::cli {

void add_reading_options(Verb& verb, RunSource& options) {
  verb.positional("RUN", options.run, "the run directory",
                  {.placeholder = "DIR", .kind = Value::Kind::directory})
      ->required();
  verb.text("--data", options.data, "data set or folder to measure on; default: what the run was trained on",
            {.placeholder = "NAME", .words = dataset_names()});
  verb.flag("--refine", options.refine, kRefineHelp);
  verb.directory("--data-dir", options.data_dir, "folder in which data sets are looked for first");
}

}  // namespace glint::cli
