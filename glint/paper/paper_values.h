// The numbers that the paper prints, to stand beside ours: table 1 and the timing table of its appendix C.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace glint {

// Table 1 has these checkpoints: shares of all steps.
inline constexpr size_t kCheckpoints = 4;
inline constexpr std::array<double, kCheckpoints> kCheckpointShares = {0.25, 0.5, 0.75, 1};

struct PaperCell {
  double loss, metric;  // metric: accuracy, or perplexity for the stories
};

struct PaperRow {
  std::string_view data, gate;  // as glint names them; "stories" for TinyStories
  std::array<PaperCell, kCheckpoints> at;
};

// In the paper's order: three data sets, five gates each.
std::span<const PaperRow> paper_table1();
// Nothing for a data set or a gate that the paper does not have.
std::optional<PaperRow> paper_row(std::string_view data, std::string_view gate);

// Appendix C: milliseconds of forward + backward of a one-layer GLU on the authors' GPU.
struct PaperTiming {
  size_t batch, width;
  double relu, silu, gelu, identity, sqs;
  double ms(std::string_view gate) const;  // NaN for another gate
};
std::span<const PaperTiming> paper_timing();

// Stories that the paper trained on.
inline constexpr size_t kPaperStories = 2120000;

// "MNIST", "Fashion-MNIST", "TinyStories"; the name itself for other sets.
std::string data_title(std::string_view data);
// "SQS", "Bilinear", "SwiGLU": as the paper calls the gates.
std::string gate_title(std::string_view gate);
// The five gates in the paper's order, the rivals of SQS first.
inline constexpr std::array<std::string_view, 5> kPaperGates = {"relu", "gelu", "silu", "identity", "sqs"};

}  // namespace glint
