// glint data: which data sets there are, where they were found, and what is in one.
#include <memory>
#include <nlohmann/json.hpp>

#include "glint/cli/engine_of.h"
#include "glint/cli/output.h"
#include "glint/cli/picture.h"
#include "glint/cli/target.h"
#include "glint/cli/verbs.h"
#include "glint/lab/work/data_sets.h"
#include "glint/report/table.h"

namespace glint::cli {
namespace {

struct DataFlags {
  DataRequest request;
  std::string draw = "auto";
};

std::string bytes_text(size_t bytes) {
  constexpr const char* kUnits[] = {"kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1e3;
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); unit++) value /= 1e3;
  return fixed_text(value, value < 99.95 ? 1 : 0) + " " + kUnits[unit];
}

std::string size_text(size_t height, size_t width) { return std::to_string(height) + " x " + std::to_string(width); }

void print_list(Context& context, const DataResult& r) {
  const StoryFiles& stories = *r.stories;
  const TextData& tales = r.corpus->set;
  Table table(headers({"set", "state"}, {"train", "test", "image", "classes", "size"}, {"checksum"}));
  std::string where;
  size_t widest = std::string(kStories).size(), story_bytes = 0;
  for (const size_t bytes : stories.bytes) story_bytes += bytes;
  for (const DatasetStatus& s : r.known) widest = std::max(widest, s.name.size());
  const auto line = [&](const std::string& left, const std::string& text) {
    where += pad(left, widest, Align::left) + "  " + text + "\n";
  };
  const auto looked = [&](const std::vector<std::string>& folders) {
    for (size_t i = 0; i < folders.size(); i++) line("", (i ? "          " : "looked in ") + folders[i]);
  };
  for (const DatasetStatus& s : r.known) {
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
  table.add({kTales, "built in", std::to_string(tales.train.stories()), std::to_string(tales.valid.stories()), "", "",
             "", tales.checksum.substr(0, 12)});
  line(kTales, r.corpus->summary);
  context.out << table.terminal(result_columns()) << "\n" << where;
}

void print_stories(Context& context, const StoryFiles& stories) {
  context.out << kStories << ": " << kStoriesSummary << "\nin " << stories.origin << "\n\n";
  Table table({{.header = "file"}, {.header = "size", .align = Align::right}});
  for (size_t i = 0; i < stories.bytes.size(); i++) table.add({kStoryFiles[i], bytes_text(stories.bytes[i])});
  context.out << table.terminal(result_columns());
}

void print_corpus(Context& context, const CorpusData& corpus) {
  const TextData& data = corpus.set;
  context.out << data.name << ": " << data.train.stories() << " train and " << data.valid.stories()
              << " validation stories, vocabulary of " << data.tokenizer.size() << " pieces ("
              << name(data.tokenizer.kind()) << ")\n";
  if (data.name != data.origin) context.out << "where:     " << data.origin << "\n";
  context.out << "state:     " << corpus.state << "\ntokenizer: " << data.tokenizer.sha256()
              << "\nchecksum:  " << data.checksum << "\n\n";
  Table table(headers({""}, {"stories", "tokens", "tokens per story"}));
  for (const auto& [part, c] : {std::pair("train", &data.train), std::pair("valid", &data.valid)})
    table.add({part, std::to_string(c->stories()), std::to_string(c->tokens()),
               fixed_text(static_cast<double>(c->tokens()) / static_cast<double>(c->stories()), 1)});
  context.out << table.terminal(result_columns());
}

void print_images(Context& context, const std::string& draw_word, const DataResult& r) {
  const Dataset& data = r.images->set;
  const std::vector<size_t>&train = r.images->train, &test = r.images->test;
  context.out << data.name << ": " << data.train.count() << " train and " << data.test.count() << " test images of "
              << size_text(data.train.height, data.train.width) << " pixels, " << bytes_text(unpacked_bytes(data))
              << "\n";
  if (data.name != data.origin) context.out << "where:    " << data.origin << "\n";
  context.out << "state:    " << r.images->state << "\nchecksum: " << data.checksum << "\n\n";

  std::vector<Column> columns = headers({}, {"class", "train", "test"});
  const bool named = data.class_names[0] != "0";
  if (named) columns.push_back({.header = "name"});
  Table table(columns);
  for (size_t c = 0; c < train.size(); c++) {
    std::vector<std::string> cells = {std::to_string(c), std::to_string(train[c]), std::to_string(test[c])};
    if (named) cells.push_back(data.class_names[c]);
    table.add(cells);
  }
  context.out << table.terminal(result_columns());

  const Drawing drawing = detect_drawing(detect_terminal(1), draw_word);
  std::vector<Picture> pictures;
  if (drawing.form != Drawing::Form::none)
    for (const auto& images : first_of_classes(data.train, 1))
      for (const size_t i : images)
        pictures.push_back(gray_picture(data.train.pixels.view().row(i), data.train.height, data.train.width,
                                        {data.class_names[data.train.labels[i]]}));
  if (!pictures.empty()) context.out << "\nThe first train image of each class:\n\n" << draw(pictures, drawing);
  if (!r.sheet.empty()) context.out << "\nsheet: " << r.sheet << "\n";
}

void run(Context& context, const DataFlags& o) {
  if (!o.request.name.empty() && !o.request.sheet.empty())
    check_target(o.request.sheet, ".png", "--sheet", "the sheet");
  const DataResult r = describe_data(engine_of(context), o.request);
  if (context.shared.json) return context.print_json(to_json(r));
  if (r.list)
    print_list(context, r);
  else if (r.stories)
    print_stories(context, *r.stories);
  else if (r.corpus)
    print_corpus(context, *r.corpus);
  else
    print_images(context, o.draw, r);
}

}  // namespace

void add_data(Program& program) {
  Verb& verb = program.add(
      {.name = "data",
       .group = Group::prepare,
       .summary = "the data sets: where they are, how large, and what is in one",
       .details = "Without NAME: every data set that glint knows, whether its files were found and are the "
                  "published ones, and the command that gets a missing one. With NAME: how many images each class "
                  "has, and the first of each, drawn in the terminal; of a corpus stories, tokens and whether its "
                  "checksums are right. glint itself never uses the network.",
       .examples = {{"glint data", "all data sets"},
                    {"glint data glyphs --sheet glyphs.png", "the built-in digits, and a picture of them"},
                    {"glint data corpus", "what glint tokenize put into that folder"},
                    {"glint data --json --data-dir ~/data", "the list for a program, with another folder"}}});
  const auto o = std::make_shared<DataFlags>();
  verb.add(Field("name", o->request.name, "A data set, or a folder: with IDX files or made by glint tokenize")
               .directory()
               .suggest(data_words())
               .argument("NAME"));
  verb.add(Field("data_dir", o->request.data_dir, "Look for the data here first").directory());
  verb.add(Field("sheet", o->request.sheet,
                 "Write a .png picture with the first train images of each class, one row per class")
               .file());
  verb.add(Field("per_class", o->request.per_class, "Images of a class in the sheet").range(1, 1000));
  verb.add(draw_field(o->draw));
  verb.share({"threads", "json"});
  verb.run([o](Context& context) { run(context, *o); });
}

}  // namespace glint::cli
