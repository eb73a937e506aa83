// glint data: which data sets there are, where they were found, and what is in one.
#include <nlohmann/json.hpp>

#include "glint/base/error.h"
#include "glint/base/threads.h"
#include "glint/cli/data_text.h"
#include "glint/cli/output.h"
#include "glint/cli/picture.h"
#include "glint/lab/sheet.h"
#include "glint/cli/target.h"
#include "glint/cli/verbs.h"
#include "glint/data/dataset.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

using nlohmann::ordered_json;

struct DataFlags {
  std::string name, data_dir, sheet, draw = "auto";
  size_t per_class = 10;
};

std::string size_text(size_t height, size_t width) {
  return std::to_string(height) + " x " + std::to_string(width);
}

void list_json(Context& context, const std::vector<DatasetStatus>& images, const StoryFiles& stories,
               const TextData& tales) {
  ordered_json j;
  j["datasets"] = ordered_json::array();
  for (const DatasetStatus& s : images)
    j["datasets"].push_back({{"name", s.name},
                             {"kind", "images"},
                             {"summary", s.summary},
                             {"state", name(s.state)},
                             {"origin", s.origin},
                             {"looked", s.looked},
                             {"train", s.train},
                             {"test", s.test},
                             {"height", s.height},
                             {"width", s.width},
                             {"classes", s.classes},
                             {"bytes", s.bytes},
                             {"checksum", s.checksum},
                             {"problem", s.problem},
                             {"command", s.command}});
  j["datasets"].push_back(stories_json(stories));
  j["datasets"].push_back(corpus_json(tales));
  j["datasets"].back()["summary"] = kTalesSummary;
  context.print_json(j);
}

void list(Context& context, const DataOptions& data) {
  const std::vector<DatasetStatus> images = list_datasets(data);
  const StoryFiles stories = find_stories(data.paths);
  const TextData tales = load_text_data(kTales);
  if (context.shared.json) return list_json(context, images, stories, tales);
  Table table({{.header = "set"},
               {.header = "state"},
               {.header = "train", .align = Align::right},
               {.header = "test", .align = Align::right},
               {.header = "image", .align = Align::right},
               {.header = "classes", .align = Align::right},
               {.header = "size", .align = Align::right},
               {.header = "checksum"}});
  std::string where;
  size_t widest = std::string(kStories).size(), story_bytes = 0;
  for (const size_t bytes : stories.bytes) story_bytes += bytes;
  for (const DatasetStatus& s : images) widest = std::max(widest, s.name.size());
  const auto line = [&](const std::string& left, const std::string& text) {
    where += pad(left, widest, Align::left) + "  " + text + "\n";
  };
  const auto looked = [&](const std::vector<std::string>& folders) {
    for (size_t i = 0; i < folders.size(); i++) line("", (i ? "          " : "looked in ") + folders[i]);
  };
  for (const DatasetStatus& s : images) {
    const bool known = !s.checksum.empty();
    const auto count = [&](size_t n) { return known ? std::to_string(n) : ""; };
    table.add({s.name, std::string(name(s.state)), count(s.train), count(s.test),
               known ? size_text(s.height, s.width) : "", count(s.classes), known ? bytes_text(s.bytes) : "",
               s.checksum.substr(0, 12)});
    line(s.name, s.summary);
    if (s.state == DataState::not_found) {
      line("", "get it with " + s.command);
      looked(s.looked);
    } else if (s.state == DataState::damaged) {
      line("", "in " + s.origin);
      line("", "problem: " + s.problem);
      line("", "get it anew with " + s.command);
    } else if (s.state == DataState::verified) {
      line("", "in " + s.origin);
    }
  }
  table.add({kStories, stories.origin.empty() ? "not found" : "found", "", "", "", "",
             stories.origin.empty() ? "" : bytes_text(story_bytes), ""});
  line(kStories, kStoriesSummary);
  if (stories.origin.empty()) {
    line("", std::string("get it with ") + kStoriesCommand);
    looked(stories.looked);
  } else {
    line("", "in " + stories.origin);
  }
  table.add({kTales, "built in", std::to_string(tales.train.stories()), std::to_string(tales.valid.stories()),
             "", "", "", tales.checksum.substr(0, 12)});
  line(kTales, kTalesSummary);
  context.out << table.terminal(result_columns()) << "\n" << where;
}

// The first images of every class: [class][k] is an index into the set.
std::vector<std::vector<size_t>> first_of_classes(const ImageSet& set, size_t most) {
  std::vector<std::vector<size_t>> first(set.classes);
  for (size_t i = 0; i < set.count(); i++)
    if (first[set.labels[i]].size() < most) first[set.labels[i]].push_back(i);
  return first;
}

void write_class_sheet(Context& context, const DataFlags& o, const ImageSet& set) {
  Sheet sheet{.height = set.height, .width = set.width};
  const auto first = first_of_classes(set, o.per_class);
  for (size_t c = 0; c < first.size(); c++) {
    sheet.rows.emplace_back();
    sheet.headings.push_back(std::to_string(c));
    for (const size_t i : first[c]) sheet.rows.back().push_back({.pixels = set.pixels.view().row(i)});
  }
  write_sheet(context.files, o.sheet, sheet);
}

void show(Context& context, const DataFlags& o, const DataOptions& options) {
  const DataKind kind = data_kind(o.name);
  if (kind == DataKind::corpus || kind == DataKind::plain_text) {
    if (!o.sheet.empty())
      throw Error({.code = ErrorCode::usage,
                   .what = o.name + " is text: there are no images for a sheet",
                   .where = "--sheet"});
    return show_text(context, o.name, options.paths);
  }
  check_data_word(o.name, "glint data NAME");
  const Dataset data = load_dataset(o.name, options);
  std::vector<size_t> train(data.train.classes), test(data.train.classes);
  for (const uint32_t label : data.train.labels) train[label]++;
  for (const uint32_t label : data.test.labels) test[label]++;
  if (!o.sheet.empty()) write_class_sheet(context, o, data.train);

  // load_dataset has compared the sets that have a published checksum.
  std::string state = "no published checksum to compare with";
  if (data.origin.starts_with("built in"))
    state = name(DataState::built_in);
  else if (data.name != data.origin)
    state = name(DataState::verified);
  if (context.shared.json) {
    ordered_json j = {{"name", data.name},
                      {"kind", "images"},
                      {"state", state},
                      {"origin", data.origin},
                      {"train", data.train.count()},
                      {"test", data.test.count()},
                      {"height", data.train.height},
                      {"width", data.train.width},
                      {"bytes", unpacked_bytes(data)},
                      {"checksum", data.checksum}};
    j["classes"] = ordered_json::array();
    for (size_t c = 0; c < train.size(); c++)
      j["classes"].push_back({{"name", data.class_names[c]}, {"train", train[c]}, {"test", test[c]}});
    if (!o.sheet.empty()) j["sheet"] = o.sheet;
    return context.print_json(j);
  }
  context.out << data.name << ": " << data.train.count() << " train and " << data.test.count()
              << " test images of " << size_text(data.train.height, data.train.width) << " pixels, "
              << bytes_text(unpacked_bytes(data)) << "\n";
  if (data.name != data.origin) context.out << "where:    " << data.origin << "\n";
  context.out << "state:    " << state << "\nchecksum: " << data.checksum << "\n\n";

  std::vector<Column> columns = {{.header = "class", .align = Align::right},
                                 {.header = "train", .align = Align::right},
                                 {.header = "test", .align = Align::right}};
  const bool named = data.class_names[0] != "0";
  if (named) columns.push_back({.header = "name"});
  Table table(columns);
  for (size_t c = 0; c < train.size(); c++) {
    std::vector<std::string> cells = {std::to_string(c), std::to_string(train[c]), std::to_string(test[c])};
    if (named) cells.push_back(data.class_names[c]);
    table.add(cells);
  }
  context.out << table.terminal(result_columns());

  const Drawing drawing = detect_drawing(detect_terminal(1), o.draw);
  std::vector<Picture> pictures;
  if (drawing.form != Drawing::Form::none)
    for (const auto& images : first_of_classes(data.train, 1))
      for (const size_t i : images)
        pictures.push_back(gray_picture(data.train.pixels.view().row(i), data.train.height, data.train.width,
                                        {data.class_names[data.train.labels[i]]}));
  if (!pictures.empty())
    context.out << "\nThe first train image of each class:\n\n" << draw(pictures, drawing);
  if (!o.sheet.empty()) context.out << "\nsheet: " << o.sheet << "\n";
}

void run(Context& context, const DataFlags& o) {
  if (o.name.empty() && !o.sheet.empty())
    throw Error({.code = ErrorCode::usage,
                 .what = "--sheet needs a data set",
                 .where = "--sheet " + o.sheet,
                 .expected = "glint data NAME --sheet " + o.sheet});
  if (!o.sheet.empty()) check_target(o.sheet, ".png", "--sheet", "the sheet");
  ThreadPool pool(context.shared.threads);
  DataOptions options;
  options.paths = data_paths_from_environment(o.data_dir);
  options.pool = &pool;
  o.name.empty() ? list(context, options) : show(context, o, options);
}

}  // namespace

void add_data(Program& program) {
  Verb& verb = program.add(
      {.name = "data",
       .group = Group::prepare,
       .summary = "the data sets: where they are, how large, and what is in one",
       .details =
           "Without NAME: every data set that glint knows, whether its files were found and are the "
           "published ones, and the command that gets a missing one. With NAME: how many images each class "
           "has, and the first of each, drawn in the terminal; of a corpus stories, tokens and whether its "
           "checksums are right. glint itself never uses the network.",
       .examples = {{"glint data", "all data sets"},
                    {"glint data glyphs --sheet glyphs.png", "the built-in digits, and a picture of them"},
                    {"glint data corpus", "what glint tokenize put into that folder"},
                    {"glint data --json --data-dir ~/data", "the list for a program, with another folder"}}});
  const auto o = std::make_shared<DataFlags>();
  verb.positional("NAME", o->name, "A data set, or a folder: with IDX files or made by glint tokenize",
                  {.words = data_words(), .kind = Value::Kind::directory});
  verb.directory("--data-dir", o->data_dir, "Look for the data here first");
  verb.file("--sheet", o->sheet,
            "Write a .png picture with the first train images of each class, a row each");
  verb.size("--per-class", o->per_class, 1, 1000, "Images of a class in the sheet");
  verb.choice("--draw", o->draw, drawing_words(), "How to draw in the terminal");
  verb.share_threads();
  verb.share_json();
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
