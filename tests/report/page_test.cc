// The explorer page as a file: what it holds, what it may do, and that no name can break out of its place.
#include "glint/report/page.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "glint/base/error.h"
#include "glint/base/file.h"
#include "glint/base/rng.h"
#include "glint/base/sha256.h"
#include "glint/report/page_pack.h"

namespace glint {
namespace {

std::string unbase64(std::string_view text) {
  std::string out;
  uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    const int v = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (v < 0) break;
    word = word << 6 | static_cast<uint32_t>(v);
    if ((bits += 6) >= 8) out += static_cast<char>(word >> (bits -= 8) & 255);
  }
  return out;
}

PageData small_page(size_t images = 3) {
  PageRun run;
  run.name = "run";
  run.config.inputs = 4;
  run.config.classes = 2;
  run.config.d_model = 3;
  run.height = run.width = 2;
  run.class_names = {"a", "b"};
  const ClassifierParams params = classifier_params(run.config);
  run.weights.resize(params.table.floats());
  params.table.initialise(run.weights, 1);
  run.strongest = 1;
  PageForm form;
  form.name = "weights";
  form.gain = {1, 1, 1};
  form.values = Matrix<double>(2, 3);
  form.vectors = Matrix<float>(4, 3);
  run.forms.push_back(form);
  run.logits = Matrix<float>(images, 2);
  PageData data;
  data.version = "0";
  data.runs.push_back(run);
  data.images.pixels = Matrix<uint8_t>(images, 4);
  data.images.labels.resize(images);
  return data;
}

std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const size_t a = text.find(before);
  EXPECT_NE(a, std::string::npos) << before;
  const size_t b = text.find(after, a + before.size());
  return text.substr(a + before.size(), b - a - before.size());
}

constexpr const char* kDataStart = "<script type=\"application/json\" id=\"glint-data\">";

TEST(PagePack, Base64OfEveryLength) {
  EXPECT_EQ(base64(as_bytes("")), "");
  EXPECT_EQ(base64(as_bytes("f")), "Zg==");
  EXPECT_EQ(base64(as_bytes("fo")), "Zm8=");
  EXPECT_EQ(base64(as_bytes("foo")), "Zm9v");
  std::string all;
  for (int i = 0; i < 256; i++) all += static_cast<char>(i);
  EXPECT_EQ(unbase64(base64(as_bytes(all))), all);
}

TEST(PagePack, DeflatesWhatShrinksAndNothingElse) {
  const std::vector<uint8_t> flat(10000, 7);
  EXPECT_TRUE(pack_u8(flat, {flat.size()}).deflate);
  ParamTable table;
  table.add({.name = "w", .rows = 1, .cols = 1000, .fan_in = 0});
  Matrix<float> m(1, table.floats());
  table.initialise(m.span(), 3);
  EXPECT_FALSE(pack_f32(m.span().first(1000), {1000}).deflate);
}

TEST(Page, HoldsItsDataAndRefusesEverythingElse) {
  const PageData data = small_page();
  const Page page = make_page(data, 5000000);
  EXPECT_FALSE(page.half);
  const std::string policy = between(page.html, "Content-Security-Policy\" content=\"", "\"");
  EXPECT_EQ(policy.find("default-src 'none'; "), 0u);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(policy.find("connect-src"), std::string::npos);
  EXPECT_EQ(policy.find("http"), std::string::npos);
  const std::string scripts = between(policy, "script-src ", ";");  // one script, by its hash
  EXPECT_TRUE(scripts.starts_with("'sha256-") && scripts.find(' ') == scripts.npos) << scripts;
  // The hashes are those of the inline elements.
  for (const auto& [before, after] : {std::pair{"<style>", "</style>"}, {"<script type=\"module\">", "</script>"}}) {
    const std::string content = between(page.html, before, after);
    Sha256 hash;
    hash.update(as_bytes(content));
    const Sha256::Digest digest = hash.finish();
    EXPECT_NE(policy.find("'sha256-" + base64(std::as_bytes(std::span(digest))) + "'"), std::string::npos) << before;
  }
  const Json json = parse_json(between(page.html, kDataStart, "</script>"), "page");
  const Json& w = json["runs"][0]["tensors"]["embed.weight"];
  EXPECT_EQ(w["dtype"], "f32");
  EXPECT_EQ(w["shape"], Json({3, 4}));
  const std::string bytes = unbase64(w["data"].get<std::string>());
  ASSERT_EQ(bytes.size(), 12 * sizeof(float));
  EXPECT_EQ(std::memcmp(bytes.data(), data.runs[0].weights.data(), bytes.size()), 0);
}

// The page has labels as bytes.
TEST(Page, RefusesLabelsThatDoNotFit) {
  PageData data = small_page(3);
  data.images.labels = {0, 255, 1};
  make_page(data, size_t{1} << 24);
  data.images.labels = {0, 256, 1};
  try {
    make_page(data, size_t{1} << 24);
    FAIL() << "a label of 256 was taken";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
  }
}

TEST(Page, RefusesModelsWithoutPictures) {
  PageData data = small_page(3);
  data.runs[0].height = data.runs[0].width = 0;
  EXPECT_THROW(make_page(data, size_t{1} << 24), Error);
}

TEST(Page, NamesCannotLeaveTheirPlace) {
  PageData data = small_page();
  data.runs[0].name = "</title><script>x</script>{{data}}";
  data.runs[0].class_names = {"</script><img src=x onerror=y>",
                              "a\xe2\x80\xa8"
                              "b<!--<script>\xff"};
  data.runs[0].run["machine"] = {{"cpu", "</SCRIPT>"}};
  const std::string html = make_page(data, 5000000).html;
  const std::string json = between(html, kDataStart, "</script>");
  EXPECT_EQ(json.find('<'), std::string::npos);
  for (const char c : json) ASSERT_TRUE(c >= 0x20 && c < 0x7f);  // U+2028 and broken UTF-8 are escaped
  const Json back = parse_json(json, "page");
  EXPECT_EQ(back["runs"][0]["name"], data.runs[0].name);
  EXPECT_EQ(back["runs"][0]["classNames"][0], data.runs[0].class_names[0]);
  EXPECT_EQ(back["runs"][0]["classNames"][1],
            "a\xe2\x80\xa8"
            "b<!--<script>\xef\xbf\xbd");
  // Two scripts: the data and the program; and none from a name.
  size_t scripts = 0;
  for (size_t at = 0; (at = html.find("<script", at)) != std::string::npos; at++) scripts++;
  EXPECT_EQ(scripts, 2u);
  EXPECT_NE(html.find("<title>&lt;/title&gt;&lt;script&gt;"), std::string::npos);
}

TEST(Page, TakesHalfPrecisionWhenItWouldBeTooLarge) {
  PageData data = small_page();
  data.runs[0].config.d_model = 200;
  const ClassifierParams params = classifier_params(data.runs[0].config);
  data.runs[0].weights.assign(params.table.floats(), 0);
  params.table.initialise(data.runs[0].weights, 1);
  data.runs[0].half_deviation = 0.25;
  const size_t full = make_page(data, 5000000).html.size();
  EXPECT_FALSE(make_page(data, full).half);
  const Page half = make_page(data, full - 1);
  EXPECT_TRUE(half.half);
  EXPECT_LT(half.html.size(), full);
  const Json json = parse_json(between(half.html, kDataStart, "</script>"), "page");
  EXPECT_EQ(json["runs"][0]["halfDeviation"], 0.25);
  EXPECT_EQ(json["runs"][0]["tensors"]["head.weight"]["dtype"], "f16");
  try {
    make_page(data, half.html.size() - 1);
    FAIL() << "over the limit";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::usage);
  }
}

TEST(Page, ModulesImportOnlyEachOther) {
  const auto [files, count] = web_files();
  std::vector<std::string> names;
  for (size_t i = 0; i < count; i++) names.emplace_back(files[i].name);
  const std::regex import("from \"([^\"]+)\"");
  size_t imports = 0;
  for (size_t i = 0; i < count; i++) {
    const std::string source(reinterpret_cast<const char*>(files[i].bytes), files[i].size);
    for (std::sregex_iterator it(source.begin(), source.end(), import), end; it != end; ++it, imports++) {
      const std::string target = (*it)[1];
      ASSERT_TRUE(target.starts_with("glint/")) << files[i].name << " imports " << target;
      EXPECT_NE(std::find(names.begin(), names.end(), target.substr(6) + ".js"), names.end()) << target;
    }
    for (const char* word : {"innerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest"})
      EXPECT_EQ(source.find(word), std::string::npos) << files[i].name << " has " << word;
  }
  EXPECT_GT(imports, 20u);
}

}  // namespace
}  // namespace glint
