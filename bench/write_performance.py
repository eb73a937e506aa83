#!/usr/bin/env python3
"""Writes docs/performance.md, and the results in README.md, from what the benchmarks measured (docs/results/*.json).
Nothing there is typed by hand: run the benchmarks, then this."""
import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"


def load(name):
    path = RESULTS / (name + ".json")
    return json.loads(path.read_text()) if path.exists() else None


# What the gates are called, as glint said it when they were measured.
TITLES = (load("gates") or {}).get("titles", {})


def title(gate):
    return TITLES.get(gate, gate)


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "|".join("---:" if i else "---" for i in range(len(head))) + "|"]
    return "\n".join(out + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values))


def verdict(value, limit, at_most):
    good = value <= limit if at_most else value >= limit
    return "%s %s %.2f" % ("reached" if good else "**missed**", "at most" if at_most else "at least", limit)


def threads_text(n):
    return "%d thread%s" % (n, "" if n == 1 else "s")


def machine_text(m):
    tuning = ", ".join("`%s=%s`" % kv for kv in m["tuning"].items())
    return ("Machine: %s, %d cores, %s. PyTorch %s, tuned: %s.\n" %
            (m["cpu"], m["cores"], ", ".join(m["flags"]) or "no vector extensions", m["torch"], tuning))


def gates_section(data):
    text = ["## A GLU layer, forward and backward (appendix C of the paper)\n",
            "`make bench-gates`. Sixteen shapes (batch and width 256 to 2048), %d gates, glint and PyTorch taking turns. "
            "Products: the bare matrix products of the same step, on packed weights, in the same run.\n" %
            len({line["gate"] for line in data["summary"]}),
            machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows = []
    for line in data["summary"]:
        rows.append([title(line["gate"]), line["precision"], str(line["threads"]), "%.3f" % line["vs_products"],
                     "%.3f" % line.get("vs_identity", 1), "%.3f" % line.get("vs_identity_worst", 1),
                     "%.2f" % line["faster_than_torch_f32"], "%.2f" % line["slowest_ratio_f32"]])
    text.append("Geometric means over the shapes:\n")
    text.append(table(["gate", "precision", "threads", "time / products", "time / bilinear", "worst / bilinear",
                       "PyTorch f32 / glint", "worst shape"], rows))
    text.append("Goals for SQS:\n")
    rows = []
    for line in (l for l in data["summary"] if l["gate"] == "sqs"):
        where = "%s, %s" % (line["precision"], threads_text(line["threads"]))
        rows.append(["time / bilinear, mean", where, "%.3f" % line["vs_identity"], verdict(line["vs_identity"], 1.05, True)])
        rows.append(["time / bilinear, worst shape", where, "%.3f" % line["vs_identity_worst"], verdict(line["vs_identity_worst"], 1.10, True)])
        if line["precision"] == "f32":
            rows.append(["time / products, mean", where, "%.3f" % line["vs_products"], verdict(line["vs_products"], 1.25, True)])
            rows.append(["times faster than PyTorch f32", where, "%.2f" % line["faster_than_torch_f32"], verdict(line["faster_than_torch_f32"], 1.2, False)])
        else:
            rows.append(["times faster than PyTorch bf16", where, "%.2f" % line["faster_than_torch_bf16"], verdict(line["faster_than_torch_bf16"], 2, False)])
            rows.append(["times faster than PyTorch f32", where, "%.2f" % line["faster_than_torch_f32"], verdict(line["faster_than_torch_f32"], 5, False)])
    text.append(table(["goal", "where", "measured", "verdict"], rows))
    for threads in sorted({r["threads"] for r in data["rows"]}):
        for precision in sorted({r["precision"] for r in data["rows"]}, reverse=True):
            mine = [r for r in data["rows"] if r["threads"] == threads and r["precision"] == precision]
            if not mine:
                continue
            names = list(dict.fromkeys(r["gate"] for r in mine))
            text.append("Milliseconds, %s, %s (in brackets PyTorch f32 / glint):\n" % (precision, threads_text(threads)))
            rows = []
            for shape in sorted({(r["batch"], r["d_in"]) for r in mine}):
                cell = {r["gate"]: r for r in mine if (r["batch"], r["d_in"]) == shape}
                rows.append(["%d × %d" % shape, "%.2f" % cell[names[0]]["products_ms"]] +
                            ["%.2f (%.2f)" % (cell[g]["glint_ms"], cell[g]["ratio_f32"]) for g in names])
            text.append(table(["batch × width", "products"] + [title(g) for g in names], rows))
    slow = [r for r in data["rows"] if r["gate"] == "sqs" and r["ratio_f32"] < 1]
    if slow:
        worst = min(slow, key=lambda r: r["ratio_f32"])
        text.append("SQS is behind PyTorch (below 1.0) in %d of %d measurements, at worst %.2f (batch %d, width %d, %s). "
                    "All are wide layers, where the matrix products are nearly all of the time and OpenBLAS's are as fast "
                    "as ours or a few percent faster.\n" %
                    (len(slow), len([r for r in data["rows"] if r["gate"] == "sqs"]), worst["ratio_f32"], worst["batch"],
                     worst["d_in"], threads_text(worst["threads"])) if all(r["d_in"] >= 1024 for r in slow) else
                    "SQS is behind PyTorch (below 1.0) in %d of %d measurements: %s.\n" %
                    (len(slow), len([r for r in data["rows"] if r["gate"] == "sqs"]),
                     ", ".join("%d × %d on %s: %.2f" % (r["batch"], r["d_in"], threads_text(r["threads"]), r["ratio_f32"]) for r in slow)))
    return text


def step_section(data):
    text = ["## A training step of the image models\n",
            "`make bench-step`. Noise, forward, backward and AdamW, glint and PyTorch taking turns.\n", machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows, goals = [], []
    for r in data["rows"]:
        where = "section %s, batch %d, width %d, %s, %s" % (r["model"], r["batch"], r["width"], r["precision"], threads_text(r["threads"]))
        rows.append([r["model"], str(r["batch"]), str(r["width"]), r["precision"], str(r["threads"]), "%.2f" % r["glint_ms"],
                     "%.3f" % r["over_products"], "%.2f" % r["torch_f32_ms"], "%.2f" % r["ratio_f32"]])
        if r["precision"] == "f32":
            goals.append(["times faster than PyTorch f32", where, "%.2f" % r["ratio_f32"], verdict(r["ratio_f32"], 1.35 if r["model"] == "4.1" else 1.4, False)])
            goals.append(["time / products", where, "%.3f" % r["over_products"], verdict(r["over_products"], 1.2, True)])
        else:
            goals.append(["times faster than PyTorch bf16", where, "%.2f" % r["ratio_bf16"], verdict(r["ratio_bf16"], 3, False)])
            goals.append(["times faster than PyTorch f32", where, "%.2f" % r["ratio_f32"], verdict(r["ratio_f32"], 8 if r["model"] == "4.1" else 6, False)])
    text.append(table(["section", "batch", "width", "precision", "threads", "glint ms", "/ products", "PyTorch f32 ms", "ratio"], rows))
    text.append(table(["goal", "where", "measured", "verdict"], goals))
    if "job" in data:
        j = data["job"]
        text.append("The whole job, `glint train mnist-4.1 --gate sqs` (20 epochs, %s): glint %.1f s in %s, test accuracy %.2f %%; "
                    "PyTorch f32 %.1f s, test accuracy %.2f %%; ratio %.2f.\n" %
                    (threads_text(j["threads"]), j["glint_s"], j["precision"], 100 * j["glint_accuracy"], j["torch_s"],
                     100 * j["torch_accuracy"], j["torch_s"] / j["glint_s"]))
    return text


STORIES, TOKENS_A_STORY, PAPER_EPOCHS = 2120000, 190, 3  # of TinyStories, cut at 256 tokens


def lm_section(data):
    text = ["## A training step of the language model\n",
            "`make bench-lm`. The paper's model (4 layers, width 128, 4 heads, vocabulary 4096): forward, backward, clipping and "
            "AdamW on stories of 256 tokens and of mixed lengths (which PyTorch pads, sorted by length; glint does not pad), "
            "glint and PyTorch taking turns. Products: the bare matrix products of the linear layers of the same step, without "
            "attention, in the same run: no step in this precision is faster.\n", machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows = []
    for r in data["rows"]:
        us = lambda ms: "%.1f" % (ms / r["tokens"] * 1e3)  # noqa: E731
        length = "256" if r["shortest"] >= 256 else "%d to 256" % r["shortest"]
        cells = [length, r["precision"], str(r["threads"]), us(r["glint_ms"]), "%.2f" % (r["glint_ms"] / r["products_ms"]),
                 "%.0f" % r["glint_tokens_per_second"], us(r["torch_f32_ms"]), "%.2f" % r["ratio_f32"],
                 "%.2f" % (r["torch_f32_ms"] / r["products_ms"])]
        if r["shortest"] < 256:
            cells.append("")
        elif r["precision"] == "f32":
            cells.append(verdict(r["ratio_f32"], 2, False))
        else:
            cells.append("%s; PyTorch bf16 / glint %.2f, %s" % (verdict(r["ratio_f32"], 6, False), r["ratio_bf16"],
                                                                verdict(r["ratio_bf16"], 3.5, False)))
        rows.append(cells)
    text.append(table(["tokens a story", "precision", "threads", "glint µs a token", "/ products", "tokens a second",
                       "PyTorch f32 µs", "PyTorch f32 / glint", "PyTorch f32 / products", "goal"], rows))
    text.append("Peak memory of `glint bench lm` with %d stories a step, one thread: %s. It grows with the micro-batch (each of "
                "its stories has gradients of its own) and not with the corpus, which is mapped.\n" %
                (data["memory"][0]["rows"], ", ".join("%.0f MB at micro-batch %d" % (m["mb"], m["micro_batch"])
                                                      for m in data["memory"])))
    best = max((r for r in data["rows"] if r["shortest"] < 256), key=lambda r: r["glint_tokens_per_second"])
    tokens = STORIES * TOKENS_A_STORY * PAPER_EPOCHS
    text.append("The paper's full run, %d epochs over %.2f million stories of about %d tokens, would take %.0f hours on this "
                "machine at %.0f tokens a second (stories of mixed length, %s, %s).\n" %
                (PAPER_EPOCHS, STORIES / 1e6, TOKENS_A_STORY, tokens / best["glint_tokens_per_second"] / 3600,
                 best["glint_tokens_per_second"], best["precision"], threads_text(best["threads"])))
    return text


def generate_section(data):
    text = ["## Writing stories\n", "`make bench-generate`. Stories of 255 tokens with a cache of keys and values, glint and "
            "PyTorch (with a cache as well) taking turns.\n", machine_text(data["machine"])]
    rows = [[str(r["stories"]), r["precision"], str(r["threads"]), "%.0f" % r["glint_tokens_s"], "%.0f" % r["torch_f32_tokens_s"],
             "%.1f" % r["ratio_f32"]] for r in data["rows"]]
    return text + [table(["stories at once", "precision", "threads", "glint tokens a second", "PyTorch f32", "ratio"], rows)]


def eigen_section(data):
    text = ["## Eigenpairs\n", "`make bench-eigen`. All eigenpairs of ten symmetric matrices in double, glint and "
            "torch.linalg.eigh taking turns.\n", machine_text(data["machine"])]
    rows = [[str(r["width"]), str(r["threads"]), "%.1f" % r["glint_ms"], "%.1f" % r["torch_ms"], "%.2f" % r["ratio"],
             verdict(r["ratio"], 1 if r["threads"] == 1 else 1.2, False)] for r in data["rows"]]
    return text + [table(["width", "threads", "glint ms", "PyTorch ms", "ratio", "goal"], rows)]


def precision_section(data):
    text = ["## bf16 against f32\n", "`bench/compare_precision.py`: the same recipe and seeds in both precisions, at the end of training.\n"]
    if any(r["unit"] == "emulated" for r in data["rows"]):
        text.append("bf16 was computed by the portable emulation (operands rounded to bf16, sums in f32): the processor has no bf16 "
                    "instructions.\n")
    rows = [[r["recipe"], r["precision"], str(len(r["seeds"])), "%.4f ± %.4f" % (r["test_loss"]["mean"], r["test_loss"]["sd"]),
             "%.2f ± %.2f" % (100 * r["test_accuracy"]["mean"], 100 * r["test_accuracy"]["sd"])] for r in data["rows"]]
    return text + [table(["recipe", "precision", "seeds", "test loss", "test accuracy %"], rows)]


def ran_section(data):
    text = ["## What has run where\n", "The tests of the kernels (`ctest -R kernels`), by instructions. They compare every kernel with a "
            "reference in double at every level that a machine has. Where it lacks the bf16 instructions, the source files of both bf16 "
            "units run over intrinsics written in plain C++ (`tests/kernels/simulated/immintrin.h`); where it has them, natively too.\n"]
    rows = [[r["code"], r["native"], r["elsewhere"]] for r in data["rows"]]
    return text + ["| code | native | otherwise |\n|---|---|---|\n" + "\n".join("| " + " | ".join(r) + " |" for r in rows) + "\n"]


def table1_text():
    """Table 1 at the end of training, from the numbers of `glint reproduce`."""
    path = RESULTS / "reproduction" / "tables" / "table1.json"
    if not path.exists():
        return []
    cells = {(r["data"], r["gate"], r["quantity"]): r for r in json.loads(path.read_text())
             if r["share"] == 1 and r.get("norm", "none") == "none"}
    columns = [("mnist", "loss", "MNIST loss", 1, 4), ("mnist", "accuracy", "accuracy %", 100, 2),
               ("fashion-mnist", "loss", "Fashion-MNIST loss", 1, 4), ("fashion-mnist", "accuracy", "accuracy %", 100, 2),
               ("stories", "loss", "stories: validation loss", 1, 3)]
    columns = [c for c in columns if any(k[0] == c[0] for k in cells)]
    rows = []
    for gate in ("relu", "gelu", "silu", "identity", "sqs"):
        row = [title(gate)]
        for data, quantity, _, scale, digits in columns:
            r = cells[data, gate, quantity]
            text = "%.*f ± %.*f" % (digits, scale * r["mean"], digits, scale * r["sd"])
            row.append(text if data == "stories" else text + " (%.*f)" % (digits, scale * r["paper"]))
        rows.append(row)
    seeds = {data: next(r["n"] for k, r in cells.items() if k[0] == data) for data in ("mnist", "stories") if any(k[0] == data for k in cells)}
    text = "Table 1 of the paper at the end of training, mean ± standard deviation over %d seeds, the paper's value in brackets" % seeds["mnist"]
    if "stories" in seeds:
        text += " (stories: %d seeds on a small part of TinyStories, so no paper's value beside them)" % seeds["stories"]
    return [text + ":\n", table(["gate"] + [c[2] for c in columns], rows)]


def reproduction_text():
    """One figure of the reproduction, and what became of the paper's claims."""
    folder = RESULTS / "reproduction"
    path = folder / "tables" / "verdicts.json"
    if not path.exists():
        return []
    claims = json.loads(path.read_text())
    own = sum(v["place"] == "not in the paper" for v in claims)
    seeds = max(r["n"] for r in json.loads((folder / "tables" / "table1.json").read_text()))
    counts = {word: sum(v["verdict"] == word for v in claims)
              for word in ("holds", "holds in part", "does not hold", "not tested at this scale")}
    figure = "docs/results/reproduction/figures/figure3-fashion-mnist-loss.svg"
    return ["Test loss on Fashion-MNIST over the steps of training, five gates, mean and spread over %d seeds (figure 3 of the paper, "
            "as `glint reproduce` draws it):\n" % seeds,
            "![Test loss of five gates on Fashion-MNIST](%s)\n" % figure,
            "Of the %d claims that the report judges (%d of them our own), %d hold, %d hold in part and %d do not hold; not "
            "tested at the paper's scale: %d. The report, with every number: "
            "[docs/results/reproduction/report.md](docs/results/reproduction/report.md). [docs/reproduction.md](docs/reproduction.md) "
            "says how to make it.\n" % ((len(claims), own) + tuple(counts.values()))]


def readme_results(gates, step):
    """A few lines for the README: table 1 at the end of training, and the speed of a step."""
    text = table1_text()
    if step:
        best = [r for r in step["rows"] if r["precision"] == "f32"]
        text.append("A whole training step in f32 takes %.2f to %.2f times the bare matrix products and is %.2f to %.2f times "
                    "as fast as tuned PyTorch on the machine of the last measurement (%s).\n" %
                    (min(r["over_products"] for r in best), max(r["over_products"] for r in best),
                     min(r["ratio_f32"] for r in best), max(r["ratio_f32"] for r in best), step["machine"]["cpu"]))
    if gates:
        sqs = [l for l in gates["summary"] if l["gate"] == "sqs" and l["precision"] == "f32"]
        text.append("SQS costs %s times what no gate costs (geometric mean over the sixteen shapes of the paper's appendix C, "
                    "on %s).\n" % (" and ".join("%.2f" % l["vs_identity"] for l in sqs),
                                   " and ".join(threads_text(l["threads"]) for l in sqs)))
    text.append("All figures, goals missed included: [docs/performance.md](docs/performance.md).\n")
    text += reproduction_text()
    begin, end = "<!-- results: written by bench/write_performance.py -->\n", "<!-- end of results -->"
    readme = (ROOT / "README.md").read_text()
    head, rest = readme.split(begin)
    (ROOT / "README.md").write_text(head + begin + "\n" + "\n".join(text) + "\n" + end + rest.split(end)[1])


def main():
    text = ["# Performance\n",
            "Written by `bench/write_performance.py` from `docs/results/*.json`; do not edit. Every time is a median of runs "
            "that alternate with what it is compared with, because machines are noisy: trust ratios, not milliseconds.\n"]
    for name, section in (("gates", gates_section), ("step", step_section), ("lm", lm_section),
                          ("generate", generate_section), ("eigen", eigen_section), ("precision", precision_section),
                          ("ran", ran_section)):
        data = load(name)
        if data:
            text += section(data)
    (ROOT / "docs" / "performance.md").write_text("\n".join(text))
    readme_results(load("gates"), load("step"))
    print("docs/performance.md")


if __name__ == "__main__":
    main()
