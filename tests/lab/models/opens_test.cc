// One call opens each file once: the kernel counts.
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <map>

#include "glint/lab/read/explain_token.h"
#include "glint/lab/read/read_layers.h"
#include "tests/lab/saved_model.h"

namespace glint {
namespace {

using fixtures::SavedModel;

const std::string kGolden = GLINT_GOLDEN_DIR;

// How often each file of a folder was opened since this was made.
class Opens {
 public:
  explicit Opens(const std::string& folder) : queue_(inotify_init1(IN_NONBLOCK)) {
    inotify_add_watch(queue_, folder.c_str(), IN_OPEN);
  }
  ~Opens() { close(queue_); }
  Opens(const Opens&) = delete;
  Opens& operator=(const Opens&) = delete;

  std::map<std::string, size_t> take() {
    std::map<std::string, size_t> out;
    alignas(inotify_event) char bytes[1 << 16];
    for (ssize_t n; (n = ::read(queue_, bytes, sizeof bytes)) > 0;)
      for (const char* at = bytes; at < bytes + n;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        if (event->len > 0 && !(event->mask & IN_ISDIR)) out[event->name]++;
        at += sizeof(inotify_event) + event->len;
      }
    return out;
  }

 private:
  int queue_;
};

using Counts = std::map<std::string, size_t>;

TEST(Opens, OfAnExportAreOnePerFile) {
  const SavedModel saved;
  ReadRequest request{.source = RunSource{.run = saved.folder.path()}};
  request.spectra = request.figures = false;
  read(saved.engine, request);  // leaves the calibration
  Opens opens(saved.folder.path());
  read(saved.engine, request);
  EXPECT_EQ(opens.take(), (Counts{{"calibration.safetensors", 1}, {"config.json", 1}, {"model.safetensors", 1}}));
}

TEST(Opens, OfARunAreOnePerFile) {
  const std::string run = kGolden + "/schemas/runs/sqs";
  ReadRequest request{.source = RunSource{.run = run}, .form = "weights"};
  request.spectra = request.figures = false, request.controls = "none";
  Opens opens(run);
  read(Engine{{.threads = 2}}, request);
  EXPECT_EQ(opens.take(), (Counts{{"config.json", 1}, {"model.safetensors", 1}, {"run.json", 1}}));
}

// All layers, with the twin: the file is mapped once for both.
TEST(Opens, OfALanguageModelAreOnePerFile) {
  const Engine engine{{.threads = 2}};
  const TempFolder folder;
  for (const std::string file : {"/tiny/tiny.bin", "/qwen3"}) {
    const std::string path = kGolden + "/families" + file;
    ReadRequest request{.source = RunSource{.run = path, .tokens = 100}, .along = Along{.directions = {"hidden:1"}}};
    request.figures = false, request.out = folder.path();
    const bool one = file.ends_with(".bin");  // the other has no tokenizer
    if (!one) request.form = "weights", request.controls = "none";
    Opens opens(one ? kGolden + "/families/tiny" : path);
    read_layers(engine, request);
    const Counts counts = opens.take();
    EXPECT_TRUE(counts.contains(one ? "tiny.bin" : "model.safetensors"));
    for (const auto& [name, count] : counts) EXPECT_EQ(count, 1u) << file << ": " << name;
  }
}

TEST(Opens, OfAnExplanationAreOnePerFile) {
  Opens opens(kGolden + "/families/tiny");
  ExplainRequest request{.source = RunSource{.run = kGolden + "/families/tiny/tiny.bin", .tokens = 100}};
  request.prompt = "the cat", request.figures = false;
  explain_token(Engine{{.threads = 2}}, request);
  EXPECT_EQ(opens.take(), (Counts{{"tiny.bin", 1}, {"tokenizer.bin", 1}}));
}

}  // namespace
}  // namespace glint
