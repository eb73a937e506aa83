// Every token of a language model as a direction of one layer.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "glint/base/text.h"
#include "glint/base/version.h"
#include "glint/lab/controls.h"
#include "glint/lab/read_directions.h"
#include "glint/lab/read_parts.h"
#include "glint/lab/read_trust.h"
#include "glint/report/table.h"

namespace glint {
namespace {

// The CSV of a scan.
Table scan_table(const ScanResult& r) {
  Table table({{.header = "token", .text = true},
               {.header = "id"},
               {.header = "participation_rank"},
               {.header = "entropy_rank"},
               {.header = "energy"},
               {.header = "largest"},
               {.header = "smallest"},
               {.header = "r2"},
               {.header = "eigenvectors_r2"},
               {.header = "linear_share"}});
  for (const ScannedToken& t : r.tokens)
    table.add({t.piece, std::to_string(t.id), number_text(t.rank.participation), number_text(t.rank.entropy),
               number_text(t.energy), number_text(t.largest), number_text(t.smallest), number_text(t.r2),
               number_text(t.eigenvectors_r2), number_text(t.linear_share)});
  return table;
}

static_assert(std::is_trivially_copyable_v<ScannedDirection>);

// What the numbers of a scan depend on beside the token.
std::string scan_key(const Engine& engine, const GluModel& model, const ScanPlan& plan,
                     const GateLine& line) {
  std::string key = std::string(kVersion) + "\n" + std::string(name(engine.isa())) + "\n" +
                    engine.linalg().description() + "\n" + model.weights_hash() + "\n" +
                    std::to_string(plan.layer) + "\n" + std::to_string(plan.block) + "\n" +
                    std::to_string(plan.strongest) + "\n";
  for (const auto* values : {&line.gain, &line.shift, &line.slope})
    key.append(reinterpret_cast<const char*>(values->data()), values->size() * sizeof(double)).append("\n");
  return key + number_text(line.power) + "\n" + number_text(line.size);
}

PiecesResult scan_pieces(const Engine& engine, const GluModel& model, const ScanPlan& plan,
                         const GateLine& line, const std::string& folder, const PieceSharing& sharing) {
  return compute_pieces(engine,
                        {.count = (plan.count + plan.block - 1) / plan.block,
                         .folder = folder + "/scan-layer-" + std::to_string(plan.layer + 1),
                         .key = scan_key(engine, model, plan, line),
                         .label = "scan",
                         .unit = "pieces of " + std::to_string(plan.block) + " tokens",
                         .compute =
                             [&](size_t i) {
                               const size_t first = i * plan.block;
                               const std::vector<ScannedDirection> some = scan_directions(
                                   model, line, plan, {first, std::min(plan.block, plan.count - first)},
                                   [&](size_t) { engine.check_stop(); });
                               return std::string(reinterpret_cast<const char*>(some.data()),
                                                  some.size() * sizeof(ScannedDirection));
                             }},
                        sharing);
}

std::vector<ScannedDirection> scanned_rows(const PiecesResult& pieces) {
  std::vector<ScannedDirection> all;
  for (const std::string& bytes : pieces.all) {
    const size_t before = all.size(), count = bytes.size() / sizeof(ScannedDirection);
    all.resize(before + count);
    std::memcpy(all.data() + before, bytes.data(), count * sizeof(ScannedDirection));
  }
  return all;
}

}  // namespace

ScanResult scan(const Engine& engine, const ScanRequest& q) {
  check_form(q.form);
  Run run(engine, {.run = q.run, .data = q.data, .tokenizer = q.tokenizer, .tokens = q.tokens});
  const TokenModel& reading = run.token_model();
  const Tokenizer& tokenizer = run.tokenizer();
  ScanResult r;
  r.linalg = engine.linalg().description();
  r.run = run.directory(), r.form = run.form(q.form), r.layer = asked_layer(reading, q.layer);
  r.samples = run.samples(), r.untrained = run.untrained_text();
  const std::string folder = result_folder(q.out, run.results());
  // With several ranks the first stores what calibration gives, and the others find it.
  Group& group = engine.group();
  if (!group.first()) group.barrier();
  const GateLine line = run.line(r.form, r.layer);
  if (group.first()) group.barrier();
  const ScanPlan plan = reading.token_scan(r.layer);
  r.strongest = plan.strongest;
  const PiecesResult pieces = scan_pieces(engine, reading, plan, line, folder, q.sharing);
  r.left = pieces.left;
  if (pieces.all.empty()) return r;
  std::vector<ScannedDirection> all = scanned_rows(pieces);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.rank.participation < b.rank.participation; });
  const Activations a = run.measured(r.layer);
  const TokenModel::LayerFidelity trust = reading.layer_fidelity(r.layer, line, a.inputs, a.blocks);
  r.fidelity = trust.all, r.eigenvectors_r2 = trust.eigenvectors_r2, r.linear_share = trust.linear_share;
  r.controls = layer_controls(run, r.layer, {r.form});
  r.warnings = trust_sentences({{.name = r.form, .fidelity = r.fidelity, .eigenvectors = {}}}, r.form,
                               r.controls, r.layer);
  add_missing_control(run, r.warnings);
  for (const ScannedDirection& s : all) {
    const auto token = static_cast<TokenId>(s.index);
    r.tokens.push_back({.id = token,
                        .piece = token < tokenizer.size() ? tokenizer.piece(token) : "",
                        .text = run.piece(token),
                        .is_text = is_text(tokenizer, token),
                        .rank = s.rank,
                        .energy = s.energy,
                        .largest = s.top,
                        .smallest = s.bottom,
                        .r2 = trust.tokens.r2[token],
                        .eigenvectors_r2 = trust.tokens.eigenvectors_r2[token],
                        .linear_share = trust.tokens.linear_share[token]});
  }
  const std::string form = r.form == run.form("auto") ? "" : "-" + r.form;
  r.csv = folder + "/scan" + form + "-layer-" + std::to_string(r.layer + 1) + ".csv";
  write_atomic(engine.files(), r.csv, scan_table(r).csv());
  discard_pieces(pieces, q.sharing);
  return r;
}

}  // namespace glint
