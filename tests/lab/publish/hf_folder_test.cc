#include "glint/lab/publish/hf_folder.h"

#include <gtest/gtest.h>

namespace glint {
namespace {

ImageModel model() {
  ImageModel m;
  m.config.classes = 2;
  m.config.inputs = 6;
  m.height = 2, m.width = 3;
  m.data = "odd: name\n- x";
  m.class_names = {"cat", "dog"};
  return m;
}

TEST(HfFolder, ConfigHasTheFieldsOfBothSides) {
  const Json json = hf_config(model());
  EXPECT_EQ(json["format"], "glint-classifier");
  EXPECT_EQ(json["architectures"][0], "GlintClassifier");
  EXPECT_EQ(json["id2label"]["1"], "dog");
  EXPECT_EQ(json["label2id"]["dog"], 1);
  EXPECT_EQ(json["gate"], "sqs");
}

TEST(HfFolder, AModelOfVectorsSaysNothingOfPictures) {
  ImageModel m = model();
  m.height = m.width = 0;
  EXPECT_FALSE(hf_config(m).contains("image"));
  const std::string text = hf_readme(m, {.name = "x", .version = "1", .options = {}, .result = {}, .fidelity = {}});
  for (const char* part : {"image", "pixels", "background"}) EXPECT_EQ(text.find(part), text.npos) << part;
}

TEST(HfFolder, CardHasMetricsFidelityAndOptions) {
  ModelCard card{
      .name = "first", .version = "1", .options = {{"lr", 0.001}}, .result = {{"test_accuracy", 0.5}}, .fidelity = {}};
  Fidelity weights, control;
  weights.agreement = 0.25, weights.r2 = -1, weights.accuracy_form = 0.125, weights.r2_scaled = 0.0625;
  weights.r2_centred = 0.375, weights.mirrored = {.r2 = 0, .agreement = 0.8125};
  control.agreement = 0.6875;
  card.fidelity = {{"weights", weights}, {"control: linear map", control}};
  const std::string text = hf_readme(model(), card);
  for (const char* part : {"# first", "| lr ", "0.001", "test_accuracy", "0.2500", "-1.0000", "0.1250", "0.0625",
                           "0.3750", "0.8125", "control: linear map", "0.6875"})
    EXPECT_NE(text.find(part), text.npos) << part;
  // A line feed in a name would end the entry of the header.
  EXPECT_NE(text.find("- \"odd: name\\n- x\"\n"), text.npos);
}

TEST(HfFolder, CardOfARunThatSaysLittle) {
  const std::string text =
      hf_readme(model(), {.name = "x", .version = "1", .options = {}, .result = {}, .fidelity = {}});
  EXPECT_EQ(text.find("## Metrics"), text.npos);
  EXPECT_EQ(text.find("## Training"), text.npos);
}

}  // namespace
}  // namespace glint
