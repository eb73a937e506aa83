#!/usr/bin/env python3
"""Writes docs/performance.md, and the results in README.md, from what the benchmarks measured (docs/results/*.json).
Nothing there is typed by hand: run the benchmarks, then this."""
import json
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"


def load(name):
    path = RESULTS / (name + ".json")
    return json.loads(path.read_text()) if path.exists() else None


# What the gates are called, as glint said it when they were measured.
TITLES = (load("gates") or load("step") or {}).get("titles", {})


def title(gate):
    return TITLES.get(gate, gate)


def table(head, rows):
    out = ["| " + " | ".join(head) + " |", "|" + "|".join("---:" if i else "---" for i in range(len(head))) + "|"]
    return "\n".join(out + ["| " + " | ".join(r) + " |" for r in rows]) + "\n"


def verdict(value, limit, at_most):
    good = value <= limit if at_most else value >= limit
    return "%s %s %.2f" % ("reached" if good else "**missed**", "at most" if at_most else "at least", limit)


def threads_text(n):
    return "%d thread%s" % (n, "" if n == 1 else "s")


BUSY = 0.3  # cores: the machine was not free
PEERS = {"eager": "PyTorch eager", "compiled": "PyTorch compiled", "jax": "JAX"}
TURNS = "glint, PyTorch (eager and compiled) and JAX taking turns. The ratio is that of the fastest peer to glint: above 1 glint is faster.\n"


def machine_text(m):
    text = "Machine: %s, %d cores, %s. " % (m["cpu"], m["cores"], ", ".join(m["flags"]) or "no vector extensions")
    if m["torch"]:
        text += "PyTorch %s and JAX %s, tuned: %s. " % (m["torch"], m["jax"], "; ".join(m["tuning"]))
    if m["busy"] < BUSY:
        return text + "The machine was free.\n"
    return text + ("**Measured beside other work** that kept %.1f of the %d cores busy: preliminary.\n" % (m["busy"], m["cores"]))


def peer_cells(r, form="%.2f", scale=1):
    """The peers' times, the fastest in bold, and the ratio of the fastest to glint."""
    cells = []
    for peer in r["peers"]:
        text = form % (scale * r["peers"][peer])
        cells.append("**%s**" % text if peer == r["best_peer"] else text)
    return cells + ["%.2f" % r["ratio"]]


def peer_heads(rows):
    return [PEERS[p] for p in rows[0]["peers"]] + ["ratio"]


def gates_section(data):
    text = ["`make bench-gates`. %d shapes (batch and width 256 to 2048), %d gates: " %
            (max(line["shapes"] for line in data["summary"]), len({line["gate"] for line in data["summary"]})) +
            TURNS + "Products: the bare matrix products of the same step, on packed weights, in the same run. The peers run SQS and no gate on "
            "all shapes, the other gates on the smallest and the largest.\n", machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows = []
    for line in data["summary"]:
        rows.append([title(line["gate"]), line["precision"], str(line["threads"]), "%.3f" % line["vs_products"], "%.3f" % line["vs_identity"],
                     "%.3f" % line["vs_identity_worst"], "%.2f (%d)" % (line["ratio"], line["peer_shapes"]), "%.2f" % line["worst_ratio"]])
    text.append("Geometric means over the shapes:\n")
    text.append(table(["gate", "precision", "threads", "time / products", "time / bilinear", "worst / bilinear",
                       "fastest peer / glint (shapes)", "worst shape"], rows))
    text.append("Goals for SQS:\n")
    rows = []
    for line in (l for l in data["summary"] if l["gate"] == "sqs"):
        where = "%s, %s" % (line["precision"], threads_text(line["threads"]))
        rows.append(["time / bilinear, mean", where, "%.3f" % line["vs_identity"], verdict(line["vs_identity"], 1.05, True)])
        rows.append(["time / bilinear, worst shape", where, "%.3f" % line["vs_identity_worst"], verdict(line["vs_identity_worst"], 1.10, True)])
        rows.append(["time / products, mean", where, "%.3f" % line["vs_products"], verdict(line["vs_products"], 1.25, True)])
        rows.append(["fastest peer / glint, mean", where, "%.2f" % line["ratio"], verdict(line["ratio"], 1, False)])
    text.append(table(["goal", "where", "measured", "verdict"], rows))
    for threads in sorted({r["threads"] for r in data["rows"]}):
        for precision in sorted({r["precision"] for r in data["rows"]}, reverse=True):
            mine = [r for r in data["rows"] if r["threads"] == threads and r["precision"] == precision and r["gate"] == "sqs"]
            if not mine:
                continue
            text.append("SQS, milliseconds, %s, %s:\n" % (precision, threads_text(threads)))
            text.append(table(["batch × width", "products", "glint"] + peer_heads(mine),
                              [["%d × %d" % (r["batch"], r["width"]), "%.2f" % r["products_ms"], "%.2f" % r["glint_ms"]] + peer_cells(r)
                               for r in sorted(mine, key=lambda r: (r["batch"], r["width"]))]))
    sqs = [r for r in data["rows"] if r["gate"] == "sqs"]
    slow = [r for r in sqs if r["ratio"] < 1]
    if slow:
        worst = min(slow, key=lambda r: r["ratio"])
        text.append("SQS is behind the fastest peer (below 1.0) in %d of %d measurements, at worst %.2f (batch %d, width %d, %s, %s).\n" %
                    (len(slow), len(sqs), worst["ratio"], worst["batch"], worst["width"], worst["precision"], threads_text(worst["threads"])))
    return text


def step_section(data):
    text = ["`make bench-step`. Noise, forward, backward and AdamW: " + TURNS, machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows, goals = [], []
    for r in data["rows"]:
        where = "section %s, batch %d, width %d, %s, %s" % (r["model"], r["batch"], r["width"], r["precision"], threads_text(r["threads"]))
        rows.append([r["model"], str(r["batch"]), str(r["width"]), r["precision"], str(r["threads"]), "%.2f" % r["glint_ms"],
                     "%.3f" % r["over_products"]] + peer_cells(r))
        goals.append(["fastest peer / glint", where, "%.2f" % r["ratio"], verdict(r["ratio"], 1, False)])
        if r["precision"] == "f32":
            goals.append(["time / products", where, "%.3f" % r["over_products"], verdict(r["over_products"], 1.2, True)])
    text.append(table(["section", "batch", "width", "precision", "threads", "glint ms", "/ products"] + peer_heads(data["rows"]), rows))
    text.append(table(["goal", "where", "measured", "verdict"], goals))
    text += installed_text(data["rows"], lambda r: "section %s, width %d, %s" % (r["model"], r["width"], r["precision"]))
    f32 = {(r["model"], r["width"], r["threads"]): r["glint_ms"] for r in data["rows"] if r["precision"] == "f32"}
    gains = [f32[r["model"], r["width"], r["threads"]] / r["glint_ms"] for r in data["rows"] if r["precision"] == "bf16"]
    if gains:
        text.append("A step of glint in bf16 is %.2f to %.2f times as fast as in f32.\n" % (min(gains), max(gains)))
    if "jobs" in data:
        text.append("The whole job, `glint train mnist-4.1 --gate sqs` (20 epochs, %s); PyTorch's clock starts when its libraries are "
                    "loaded, the data read and the step compiled, glint's with its process:\n" % threads_text(data["jobs"][0]["threads"]))
        text.append(table(["program", "precision", "seconds", "test loss", "test accuracy %"],
                          [[j["program"], j["precision"], "%.1f" % j["s"], "%.4f" % j["loss"], "%.2f" % (100 * j["accuracy"])]
                           for j in data["jobs"]]))
    return text


def installed_text(rows, name):
    """What a comparison with PyTorch as it is installed would claim."""
    found = [r for r in rows if "installed_ms" in r]
    if not found:
        return []
    return ["PyTorch eager **as installed**, without the tuning above, on one thread: %s. A comparison with it would say more about how MKL "
            "treats this processor than about glint.\n" %
            "; ".join("%s %.1f ms (%.1f times glint's)" % (name(r), r["installed_ms"], r["installed_ms"] / r["glint_ms"]) for r in found)]


STORIES, TOKENS_A_STORY, PAPER_EPOCHS = 2120000, 190, 3  # of TinyStories, cut at 256 tokens


def lm_section(data):
    text = ["`make bench-lm`. The paper's model (4 layers, width 128, 4 heads, vocabulary 4096): forward, backward, clipping and "
            "AdamW on stories of 256 tokens and of mixed lengths (which the peers pad, sorted by length; glint does not pad): " + TURNS +
            "Products: the bare matrix products of the linear layers of the same step, without attention, in the same run: no step in this "
            "precision is faster.\n", machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows = []
    for r in data["rows"]:
        length = "256" if r["shortest"] >= 256 else "%d to 256" % r["shortest"]
        rows.append([length, r["precision"], str(r["threads"]), "%.1f" % (1e3 * r["glint_ms"] / r["tokens"]), "%.2f" % (r["glint_ms"] / r["products_ms"]),
                     "%.0f" % r["glint_tokens_per_second"]] + peer_cells(r, "%.1f", 1e3 / r["tokens"]) + [verdict(r["ratio"], 1.2, False)])
    text.append(table(["tokens a story", "precision", "threads", "glint µs a token", "/ products", "tokens a second"] +
                      peer_heads(data["rows"]) + ["goal"], rows))
    text += installed_text(data["rows"], lambda r: "stories of %d to 256 tokens" % r["shortest"])
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
    text = ["`make bench-generate`. Stories of 255 tokens with a cache of keys and values (the peers have one as well), "
            "milliseconds: " + TURNS, machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows = [[str(r["stories"]), r["precision"], str(r["threads"]), "%.0f" % r["glint_tokens_s"], "%.1f" % r["glint_ms"]] + peer_cells(r, "%.1f")
            for r in data["rows"]]
    return text + [table(["stories at once", "precision", "threads", "glint tokens a second", "glint ms"] + peer_heads(data["rows"]), rows)]


def eigen_section(data):
    text = ["`make bench-eigen`. All eigenpairs of ten symmetric matrices in double, milliseconds: glint (%s), torch.linalg.eigh "
            "and jax.numpy.linalg.eigh taking turns. There is nothing to compile.\n" % data["library"], machine_text(data["machine"])]
    rows = [[str(r["width"]), str(r["threads"]), "%.1f" % r["glint_ms"]] + peer_cells(r, "%.1f") +
            [verdict(r["ratio"], 1 if r["threads"] == 1 else 1.2, False)] for r in data["rows"]]
    return text + [table(["width", "threads", "glint ms"] + peer_heads(data["rows"]) + ["goal"], rows)]


def solver_section(data):
    text = ["`make bench-solver`. The %d strongest eigenpairs of either sign of a GLU layer, without its interaction matrix, milliseconds: glint "
            "(%s) from the weights as the file stores them, and SciPy %s, `eigsh` on a LinearOperator, taking turns. SciPy in double is as "
            "accurate; in f32 it has half the memory traffic and six digits. The goals: under 10 s on 2 threads for the wide layer, memory at "
            "most 1.3 times its weights, no slower than SciPy, and 3 times as fast if it can be.\n" %
            (data["rows"][0]["k"] // 2, data["library"], data["machine"]["scipy"]), machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows, goals = [], []
    for r in data["rows"]:
        cells = [r["name"], "%d × %d" % (r["hidden"], r["width"]), r["stored"], str(r["threads"]), "%.0f" % r["glint_ms"] if r["glint_ms"] > 100 else "%.1f" % r["glint_ms"],
                 "%d" % r["products"], "%.2f" % (r["peak_mb"] / r["layer_mb"])]
        for peer in ("scipy", "scipy_f32"):
            cells.append("%.0f (%d)" % (r["peers"][peer], r["peer_products"][peer]) if peer in r["peers"] else "")
        cells.append("%.2f" % (r["peers"]["scipy"] / r["glint_ms"]) if r["peers"] else "")
        cells.append("%.1e" % r["differs_whole"] if "differs_whole" in r else "%.1e" % r["differs"]["scipy"] if r["peers"] else "")
        rows.append(cells)
        where = "%s, %s, %s" % (r["name"], r["stored"], threads_text(r["threads"]))
        if r["name"] == "wide" and r["threads"] == 2:
            goals.append(["seconds", where, "%.2f" % (r["glint_ms"] / 1e3), verdict(r["glint_ms"] / 1e3, 10, True)])
            goals.append(["peak memory / weights", where, "%.2f" % (r["peak_mb"] / r["layer_mb"]), verdict(r["peak_mb"] / r["layer_mb"], 1.3, True)])
        if r["peers"]:
            goals.append(["SciPy / glint", where, "%.2f" % (r["peers"]["scipy"] / r["glint_ms"]), verdict(r["peers"]["scipy"] / r["glint_ms"], 1, False)])
    text.append(table(["layer", "shape", "stored", "threads", "glint ms", "products", "memory / weights", "SciPy (products)", "SciPy in f32 (products)",
                       "SciPy / glint", "values differ by"], rows))
    text.append("The memory is the peak of the whole process, with the file mapped; of a small layer it is that of the program. Values are compared with "
                "those of the whole matrix where that is possible, else with SciPy's, relative to the largest.\n")
    return text + [table(["goal", "where", "measured", "verdict"], goals)]


def foreign_section(data):
    text = ["`make bench-foreign`. stories15M of llama2.c, SmolLM2-135M-Instruct (Q4_1) and Gemma 3 270M (Q4_K_M), tokens per second: text written greedily, "
            "one token at a time, and a prompt of some 200 tokens read at once; glint, llama.cpp (the same GGUF files) and, for stories15M, PyTorch taking "
            "turns, all with the model open. Memory: what reading all weights once per token would allow; of Q8_0 of stories15M (17 MB) the caches hold a "
            "part. Products: what the bare f32 products of the prompt would allow. llama.cpp is the compiled code of the package xllamacpp, which uses AVX2 "
            "and not AVX-512, timed by its own server, sampling included; `glint, AVX2` is glint without AVX-512. llama.cpp rounds what it multiplies the "
            "weights with to 8 bits; glint multiplies with f32.\n",
            machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows, goals = [], []
    of = {(r["model"], r["weights"], r["threads"], r["program"]): r for r in data["rows"]}
    for r in data["rows"]:
        share = r["prompt_tokens_per_second"] / r["product_tokens_per_second"]
        memory = r["tokens_per_second"] / r["memory_tokens_per_second"]
        rows.append([r["model"], r["weights"], r["program"], str(r["threads"]), "%.0f" % r["tokens_per_second"], "%.2f" % memory,
                     "%.0f" % r["prompt_tokens_per_second"], "%.2f" % share])
        if not r["program"].startswith("glint"):
            continue
        where = "%s, %s, %s" % (r["model"], r["weights"], threads_text(r["threads"]))
        theirs = of.get((r["model"], r["weights"], r["threads"], "llama.cpp"))
        native = r["program"] == "glint"
        if theirs:
            ratio = r["tokens_per_second"] / theirs["tokens_per_second"]
            goals.append(["text: %s / llama.cpp" % r["program"], where, "%.2f" % ratio, verdict(ratio, 1.2 if native else 1, False)])
        if theirs and native:
            ratio = r["prompt_tokens_per_second"] / theirs["prompt_tokens_per_second"]
            goals.append(["prompt: glint / llama.cpp", where, "%.2f" % ratio, verdict(ratio, 2, False)])
        if native:
            goals.append(["prompt / products", where, "%.2f" % share, verdict(share, 0.7, False)])
            torch = of.get((r["model"], "f32", r["threads"], "PyTorch"))
            if torch:
                ratio = r["tokens_per_second"] / torch["tokens_per_second"]
                goals.append(["text: glint / PyTorch%s" % ("" if r["weights"] == "f32" else " in f32"), where, "%.2f" % ratio, verdict(ratio, 3, False)])
    text.append(table(["model", "weights", "program", "threads", "written per second", "/ memory", "read per second", "/ products"], rows))
    return text + [table(["goal", "where", "measured", "verdict"], goals)]


def tokens_section(data):
    text = ["`make bench-tokens`. %.1f MB of English (licences, glint's documentation, the topics of Python's help) as lists of numbers on one thread, "
            "milliseconds: `run.tokens` of glint's Python package, SentencePiece %s and Hugging Face tokenizers %s taking turns, given the same pieces. A peer "
            "counts only where its numbers are glint's.\n" % (data["bytes"] / 1e6, data["versions"]["SentencePiece"], data["versions"]["tokenizers"]),
            machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows = []
    for r in data["rows"]:
        cells = ["%.0f" % r["peers"][p] if p in r["peers"] else "other numbers" if p in r["other"] else "" for p in ("SentencePiece", "tokenizers")]
        rows.append([r["model"], r["kind"], str(r["vocabulary"]), str(r["tokens"]), "%.0f" % r["glint_ms"]] + cells + ["%.2f" % r["ratio"]])
    text.append(table(["model", "kind", "pieces", "tokens", "glint", "SentencePiece", "tokenizers", "ratio"], rows))
    goals = [[r["model"], r["best_peer"], "%.2f" % r["ratio"], verdict(r["ratio"], 1, False)] for r in data["rows"] if "ratio" in r]
    return text + [table(["model", "fastest peer", "ratio", "verdict"], goals)]


def torch_section(data):
    text = ["`make bench-torch`. Forward and backward of gate(l) r on f32 tensors: the expression in eager PyTorch, under torch.compile, and `glint.torch.glu`, "
            "taking turns in one process; milliseconds, the best of all turns. Above 1 glint is faster. `halves`: l and r are the halves of one tensor.\n",
            machine_text(data["machine"])]
    text += ["Not measured here: %s.\n" % s for s in data["skipped"]]
    rows = []
    for r in data["rows"]:
        cells = ["%d × %d" % (r["rows"], r["cols"]), title(r["gate"]), "halves" if r["halves"] else "l, r", str(r["threads"]), "%.3f" % r["glint_ms"]]
        for peer in ("eager", "compile"):
            cells += ["%.3f" % r[peer + "_ms"], "%.2f" % r["ratio_" + peer]] if peer + "_ms" in r else ["", ""]
        rows.append(cells)
    return text + [table(["shape", "gate", "inputs", "threads", "glint", "eager", "eager / glint", "compiled", "compiled / glint"], rows)]


def precision_section(data):
    text = ["`bench/compare_precision.py`: the same recipe and seeds in both precisions, at the end of training.\n"]
    if any(r["unit"] == "emulated" for r in data["rows"]):
        text.append("bf16 was computed by the portable emulation (operands rounded to bf16, sums in f32): the processor has no bf16 "
                    "instructions.\n")
    head, rows = ["recipe", "precision", "seeds", "test loss", "test accuracy %"], []
    for r in data["rows"]:
        rows.append([r["recipe"], r["precision"], str(len(r["seeds"])), "%.4f ± %.4f" % (r["test_loss"]["mean"], r["test_loss"]["sd"]),
                     "%.2f ± %.2f" % (100 * r["test_accuracy"]["mean"], 100 * r["test_accuracy"]["sd"])])
        if "seconds" in r:
            rows[-1].append("%.1f" % r["seconds"])
    return text + [table(head + ["seconds"] * (len(rows[0]) - len(head)), rows)]


def ran_section(data):
    text = ["The tests of the kernels (`ctest -R kernels`), by instructions. They compare every kernel with a "
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
                    "as fast as the fastest of PyTorch %s eager, compiled and JAX %s on the machine of the last measurement (%s%s).\n" %
                    (min(r["over_products"] for r in best), max(r["over_products"] for r in best),
                     min(r["ratio"] for r in best), max(r["ratio"] for r in best), step["machine"]["torch"], step["machine"]["jax"],
                     step["machine"]["cpu"], ", beside other work" if step["machine"]["busy"] >= BUSY else ""))
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


SECTIONS = (("gates", "A GLU layer, forward and backward (appendix C of the paper)", gates_section),
            ("step", "A training step of the image models", step_section),
            ("lm", "A training step of the language model", lm_section), ("generate", "Writing stories", generate_section),
            ("eigen", "Eigenpairs", eigen_section), ("solver", "Eigenpairs of wide layers", solver_section),
            ("foreign", "Models of other programs", foreign_section), ("tokens", "Tokenizers", tokens_section),
            ("torch", "glint.torch", torch_section), ("precision", "bf16 against f32", precision_section),
            ("ran", "What has run where", ran_section))


def main():
    text = ["# Performance\n",
            "Written by `bench/write_performance.py` from `docs/results/*.json`; do not edit. `make performance` measures everything again and "
            "writes this file. Every time is a median of runs that alternate with what it is compared with, because machines are noisy: trust "
            "ratios, not milliseconds. The peers are processes of their own, written as a user would who wants speed; `make peers-check` shows "
            "that they compute the same losses and gradients.\n"]
    for name, heading, section in SECTIONS:
        data = load(name)
        text.append("## %s\n" % heading)
        text += section(data) if data else ["Not measured yet beside these peers: `make bench-%s`.\n" % name]
    (ROOT / "docs" / "performance.md").write_text("\n".join(text))
    readme_results(load("gates"), load("step"))
    print("docs/performance.md")


if __name__ == "__main__":
    main()
