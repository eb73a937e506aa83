// The grammar of directions, and numbers in words.
#include "glint/lab/read/direction.h"

#include <gtest/gtest.h>

#include "glint/base/error.h"
#include "glint/lab/models/image_run.h"
#include "glint/lab/read/read.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

using Kind = DirectionWord::Kind;

TEST(Direction, APrefixSaysWhatAWordIs) {
  const Along along{.directions = {"latent:17", "happy - sad", "hidden:12", "v.npy", "token:hidden:12"}};
  const std::vector<DirectionWord> words = direction_words(along, ModelKind::language);
  const std::vector<std::pair<Kind, std::string>> expected = {{Kind::token, "happy - sad"},
                                                              {Kind::token, "hidden:12"},
                                                              {Kind::file, "v.npy"},
                                                              {Kind::hidden, "12"},
                                                              {Kind::latent, "17"}};
  ASSERT_EQ(words.size(), expected.size());
  for (size_t i = 0; i < words.size(); i++) {
    EXPECT_EQ(words[i].kind, expected[i].first) << i;
    EXPECT_EQ(words[i].text, expected[i].second) << i;
  }
  EXPECT_EQ(words_of({.directions = {"3-5", "class:7"}}, ModelKind::image, Kind::unit), "3-5,7");
  EXPECT_THROW(direction_words({.directions = {"token:happy"}}, ModelKind::image), Error);
  EXPECT_THROW(direction_words({.directions = {"class:3"}}, ModelKind::language), Error);
}

TEST(Direction, NumbersAreLists) {
  using List = std::vector<size_t>;
  EXPECT_EQ(parse_numbers("17", "latent", "latent", 0, 20), List{17});
  EXPECT_EQ(parse_numbers("3,8", "latent", "latent", 0, 20), (List{3, 8}));
  EXPECT_EQ(parse_numbers("2..4,1", "remove", "eigenvector", 1), (List{2, 3, 4, 1}));
  EXPECT_EQ(parse_numbers("all", "layer", "layer", 1, 3), (List{1, 2, 3}));
  for (const char* bad : {"", "0", "all", "4..2", "1,", "x", "-1", "1..999999999", "12345678901"})
    EXPECT_THROW(parse_numbers(bad, "remove", "eigenvector", 1), Error) << bad;
}

// A vector in memory is read as the class whose weights it has.
TEST(Direction, AVectorInMemoryIsReadAsItIs) {
  const fixtures::SavedModel saved;
  ReadRequest q{.source = RunSource{.run = saved.folder.path()}, .form = "weights", .controls = "none"};
  q.spectra = q.figures = false;
  q.along.directions = {"3"};
  const std::vector<double> of_class = read(saved.engine, q).directions.at(0).form.spectrum.values;
  const auto run = open_image_run(saved.engine, q.source);
  const Directions classes = run->reading().classes();
  const std::span<const double> row = classes.weights.view().row(3);
  std::vector<double> hidden(row.begin(), row.end());
  ASSERT_EQ(hidden.size(), run->reading().outputs(0));
  q.along = {};
  q.along.vectors.push_back({.name = "mine", .values = hidden});
  const ReadResult r = read(saved.engine, *run, q);
  EXPECT_EQ(r.names(), std::vector<std::string>{"mine"});
  EXPECT_EQ(r.directions.at(0).form.spectrum.values, of_class);
  q.along.vectors[0].values.pop_back();
  EXPECT_THROW(read(saved.engine, *run, q), Error);
  q.along = {};
  q.along.directions = {"3", "hidden:1"};
  EXPECT_THROW(read(saved.engine, *run, q), Error) << "classes beside others";
}

}  // namespace
}  // namespace glint
