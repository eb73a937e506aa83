// Many directions of a language model at one layer: every token, or every latent of a sparse autoencoder.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "glint/base/sha256.h"
#include "glint/base/text.h"
#include "glint/base/version.h"
#include "glint/lab/read/read.h"
#include "glint/lab/read/read_directions.h"
#include "glint/lab/read/read_forms.h"
#include "glint/lab/read/read_latents.h"
#include "glint/lab/read/read_result.h"
#include "glint/lab/work/result_files.h"
#include "glint/report/table.h"

namespace glint {
namespace {

// The CSV of a scan.
Table scan_table(const ScanResult& r) {
  const bool latents = !r.autoencoder.empty(), fits = latents && r.unmeasured.empty();
  std::vector<Column> columns = {{.header = latents ? "latent" : "token", .text = true}};
  for (const char* header : {"id", "participation_rank", "entropy_rank", "energy", "largest", "smallest", "r2",
                             "eigenvectors_r2", "linear_share"})
    columns.push_back({.header = header});
  if (fits)
    for (const char* header :
         {"active", "one_correlation", "two_correlation", "one_correlation_active", "two_correlation_active"})
      columns.push_back({.header = header});
  Table table(columns);
  for (const ScannedToken& d : r.tokens) {
    std::vector<std::string> cells = {d.piece, std::to_string(d.id)};
    for (const double v : {d.rank.participation, d.rank.entropy, d.energy, d.largest, d.smallest, d.trust.r2,
                           d.trust.eigenvectors_r2, d.trust.linear_share})
      cells.push_back(number_text(v));
    if (d.latent)
      for (const double v :
           {d.latent->active, d.latent->one, d.latent->two, d.latent->one_active, d.latent->two_active})
        cells.push_back(number_text(v));
    table.add(cells);
  }
  return table;
}

// The latents of a scan: what it goes through, and what their activations are fitted to.
struct ScannedLatents {
  Autoencoder sae;
  std::string side;
  Matrix<float> glu_inputs;   // what the layer reads
  Matrix<float> activations;  // [inputs, latents]; empty where they are not known
  std::string why_not;
};

// Activations of so many latents fit into a gigabyte; fewer tokens are used where they would not.
constexpr size_t kMostActivations = size_t{1} << 28;

ScannedLatents scanned_latents(LanguageRun& run, const ScanRequest& q, size_t layer) {
  ScannedLatents out{.sae = read_autoencoder(q.sae),
                     .side = q.side,
                     .glu_inputs = run.measured(layer).inputs,
                     .activations = {},
                     .why_not = {}};
  const size_t rows = std::min(out.glu_inputs.rows(), std::max<size_t>(1, kMostActivations / out.sae.latents()));
  if (rows < out.glu_inputs.rows()) {
    Matrix<float> some(rows, out.glu_inputs.cols());
    std::copy_n(out.glu_inputs.data(), some.size(), some.data());
    out.glu_inputs = std::move(some);
  }
  const LatentInputs read = latent_inputs(run.reading(), layer, out.glu_inputs, out.sae, q.sae_reads);
  out.why_not = read.why_not;
  if (read.why_not.empty())
    out.activations = latent_activations(run.reading().pool(), out.sae, read.x,
                                         parse_numbers("all", "latent", "latent", 0, out.sae.latents() - 1));
  return out;
}

// Keeps a reference.
ScanPlan latent_scan(const LanguageRun& run, const ScannedLatents& latents, LatentSide side, size_t layer) {
  const size_t width = run.reading().outputs(layer);
  latent_vectors(latents.sae, side, {}, width);  // a wrong width is refused before any work
  ScanPlan plan = scan_plan(run.reading(), layer, latents.sae.latents(), [&latents, side, width](Range some) {
    std::vector<size_t> rows(some.count);
    for (size_t i = 0; i < some.count; i++) rows[i] = some.first + i;
    return latent_vectors(latents.sae, side, rows, width);
  });
  if (latents.why_not.empty())
    plan.fit = [&latents](size_t index, std::span<const double> values, ConstMatrixView<double> vectors) {
      std::vector<float> own(latents.activations.rows());
      for (size_t t = 0; t < own.size(); t++) own[t] = latents.activations(t, index);
      return latent_fit(values, vectors, latents.glu_inputs, own);
    };
  return plan;
}

ScannedToken scanned_token(const LanguageRun& run, const ScannedDirection& s, const ScanResult& r) {
  const Tokenizer& tokenizer = run.tokenizer();
  ScannedToken e{.id = static_cast<uint32_t>(s.index), .piece = {}, .text = {}};
  if (!r.autoencoder.empty()) {
    e.piece = std::to_string(s.index), e.text = "latent " + e.piece;
    if (r.unmeasured.empty()) e.latent = s.fit;
  } else {
    e.piece = e.id < tokenizer.size() ? tokenizer.piece(e.id) : "";
    e.text = run.piece(e.id), e.is_text = is_text(tokenizer, e.id);
  }
  e.rank = s.rank, e.energy = s.energy, e.largest = s.top, e.smallest = s.bottom;
  return e;
}

static_assert(std::is_trivially_copyable_v<ScannedDirection>);

// What the numbers of a scan depend on beside the token.
std::string scan_key(const Engine& engine, const GluModel& model, const ScanPlan& plan, const GateTerms& line,
                     const ScannedLatents* latents) {
  std::string key = std::string(kVersion) + "\n" + std::string(name(engine.isa())) + "\n" +
                    engine.linalg().description() + "\n" + model.weights_hash() + "\n" + std::to_string(plan.layer) +
                    "\n" + std::to_string(plan.block) + "\n" + std::to_string(plan.strongest) + "\n";
  const auto add = [&](const std::vector<double>& values) {
    key.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)).append("\n");
  };
  for (const TermList& list : kTermLists) add(line.*list.values);
  add(line.slope);
  key += number_text(line.power) + "\n" + number_text(line.size);
  if (!latents) return key;
  const Autoencoder& sae = latents->sae;
  for (const Matrix<float>* rows : {&sae.encoder, &sae.decoder}) key += "\n" + sha256_hex(std::as_bytes(rows->span()));
  key += "\n" + latents->side;
  return key + "\n" + sha256_hex(std::as_bytes(latents->activations.span()));
}

PiecesResult scan_pieces(const Engine& engine, const GluModel& model, const ScanPlan& plan, const GateTerms& line,
                         const std::string& folder, const PieceSharing& sharing, const ScannedLatents* latents) {
  return compute_pieces(
      engine,
      {.count = (plan.count + plan.block - 1) / plan.block,
       .folder = folder + (latents ? "/scan-latents-layer-" : "/scan-layer-") + std::to_string(plan.layer + 1),
       .key = scan_key(engine, model, plan, line, latents),
       .label = "scan",
       .unit = "pieces of " + std::to_string(plan.block) + (latents ? " latents" : " tokens"),
       .compute =
           [&](size_t i) {
             const size_t first = i * plan.block;
             const std::vector<ScannedDirection> some =
                 scan_directions(model, line, plan, {first, std::min(plan.block, plan.count - first)},
                                 [&](size_t) { engine.check_stop(); });
             return std::string(reinterpret_cast<const char*>(some.data()), some.size() * sizeof(ScannedDirection));
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
  check_ranges(q);
  return scan(engine, *open_language_run(engine, q.source), q);
}

ScanResult scan(const Engine& engine, LanguageRun& run, const ScanRequest& q) {
  check_request(q, run);
  const LanguageReading& reading = run.reading();
  ScanResult r;
  r.linalg = engine.linalg().description();
  r.run = run.directory(), r.form = run.form(q.form), r.layer = asked_layer(reading, q.layer);
  r.samples = run.samples(), r.untrained = run.untrained_text();
  const std::string folder = result_folder(q.out, run.results());
  // With several ranks the first stores what calibration gives, and the others find it.
  Group& group = engine.group();
  if (!group.first()) group.barrier();
  const GateTerms line = run.line(r.form, r.layer);
  if (group.first()) group.barrier();
  std::optional<ScannedLatents> latents;
  if (!q.sae.empty()) {
    latents = scanned_latents(run, q, r.layer);
    r.autoencoder = autoencoder_text(latents->sae), r.unmeasured = latents->why_not;
  }
  const ScanPlan plan = latents ? latent_scan(run, *latents, parse_side(q.side), r.layer) : reading.token_scan(r.layer);
  r.strongest = plan.strongest;
  const PiecesResult pieces =
      scan_pieces(engine, reading, plan, line, folder, q.sharing, latents ? &*latents : nullptr);
  r.left = pieces.left;
  if (pieces.all.empty()) return r;
  std::vector<ScannedDirection> all = scanned_rows(pieces);
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.rank.participation < b.rank.participation; });
  const Activations a = run.measured(r.layer);
  r.fidelity = reading.layer_fidelity(r.layer, line, a.inputs, a.blocks, &plan);
  const std::vector<Trust> each = std::move(r.fidelity.units);
  r.controls = layer_controls(run, r.layer, {r.form});
  r.warnings = trust_sentences({{.form = r.form, .fidelity = r.fidelity}}, r.form, r.controls, r.layer, r.untrained);
  add_missing_control(run, r.warnings);
  for (const ScannedDirection& s : all) {
    if (latents && s.rank.participation == 0) continue;  // it points nowhere
    ScannedToken e = scanned_token(run, s, r);
    e.trust = each[e.id];
    r.tokens.push_back(std::move(e));
  }
  const std::string form = r.form == run.form("auto") ? "" : "-" + name(r.form);
  r.csv = folder + (latents ? "/scan-latents" : "/scan") + form + "-layer-" + std::to_string(r.layer + 1) + ".csv";
  write_atomic(engine.files(), r.csv, scan_table(r).csv());
  discard_pieces(pieces, q.sharing);
  return r;
}

}  // namespace glint
