"""Writes the notebooks of this folder from the cells below and runs them: outputs are those of the package that is installed.

    python make_notebooks.py [NAME ...]          needs nbformat, nbclient and ipykernel
    python make_notebooks.py --check [NAME ...]  runs the committed notebooks and writes nothing
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
# A cell that begins with # is text, everything else is code.
NOTEBOOKS: dict[str, list[str]] = {
    "1-gates-and-a-first-model": [
        """# The gates, and a first model

A GLU layer computes `y = σ(L x) ⊙ (R x)`. Without the gate σ it is *bilinear*, and its weights can be read: every output is a quadratic form
of the input. SQS, the signed quadratic shrink, is a gate that keeps much of that and trains as well as the usual ones.""",
        "import numpy as np\nimport glint\nglint.__version__",
        "sqs = glint.gate(\"sqs\", c=0.01, lam=0.5, p=1)\nsqs(np.array([-4.0, -1.0, 0.0, 1.0, 4.0]))",
        "glint.gates.figure()",
        "# SQS is odd, but for the value at 0, where it jumps from +c to -c. Its slope at 0 is that of the right side, 1 + λc.",
        "x = np.linspace(0.5, 4, 8)\nbool(np.array_equal(sqs(-x), -sqs(x))), sqs.grad(0.0)",
        "# ## A model of digits\n\nThe recipe `quick` trains on digits that are built in, so that nothing has to be fetched.",
        "run = glint.train(\"quick\", seed=0, progress=False)\nrun",
        "run.metrics",
        "# What it gets wrong: rows are the true classes, columns what the model says.",
        "result = run.evaluate()\nprint(f\"accuracy {result['accuracy']:.3f}\")\nresult.confusion",
        "# And why it decides as it does on one image:",
        "run.explain(index=7)",
    ],
    "2-reading-an-image-model": [
        """# Reading an image model honestly

A reading replaces the gate by something simpler, so that each output becomes a quadratic form with eigenvectors. There are four such
*forms*. Each is shown with its fidelity, and with controls: what a plain linear map would reach, and what an untrained model gives.""",
        "import numpy as np\nimport glint\nrun = glint.train(\"quick\", seed=0, progress=False)",
        "forms = run.read()\nforms.fidelity",
        """# `weights` needs no data; `scaled` lets each gain shrink with the size of the input; `calibrated` is a line per hidden unit, whose shifts
leave a linear part; `local` is exact for one input. The last row is the control: a reading is worth what it explains beyond that.""",
        "forms.figure()",
        "form = forms[\"3\"]\nform.fidelity",
        "# The eigenvectors are arrays. Those of the class 3, the strongest first:",
        "values, vectors = form.top(4)\nprint(values.round(2))\nprint(\"share of the sum of squares in the first 8:\", form.energy()[7].round(3))",
        "# ## Does the model do what the reading says?\n\nThe two strongest eigenvectors of the class 3 are taken out of the model itself.",
        "without = run.ablate(\"3\", vectors=[0, 1])\nprint(\"predicted and real change go together: r =\", round(without[\"all\"][\"r\"], 3))\nwithout.table()",
        "# A mask made from eigenvectors, beside masks of the same length that are shuffled or random:",
        "run.attack(\"3\", images=200, strengths=[0, 2, 4, 8]).table()",
        "# ## A bilinear twin\n\nWithout a gate the form of the weights is the model.",
        "twin = glint.train(\"quick\", gate=\"identity\", seed=0, progress=False)\ntwin.read(form=\"weights\").fidelity",
        "glint.compare(run, twin, top=4)",
    ],
    "3-which-gate-and-shrink": [
        """# Which gate, and how much shrink?

A small sweep: loss beside how far the plain quadratic form of the weights decides as the model does. On built-in digits this takes a minute;
`fashion-4.1` in place of `quick` gives the real thing.""",
        "import glint\nsweep = glint.sweep(\n    \"quick\", gate=[\"sqs\", \"identity\", \"silu\"], lam=[0.1, 0.5], norm=[\"none\", \"rms\"],\n    epochs=3, d_model=64, seeds=range(2), progress=False)\nprint(sweep.answer)",
        "table = sweep.frame()\ntable[[\"gate\", \"lam\", \"norm\", \"test_loss\", \"agreement_weights\"]].sort_values(\"test_loss\").round(3)",
        "# Every run is there, with its seed:",
        "sweep.runs.frame()[[\"gate\", \"norm\", \"seed\", \"test_loss\", \"test_accuracy\"]].head()",
        "# The trade in one picture: up is readable, left is a low loss.",
        "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(5, 3))\nfor (gate, norm), part in table.groupby([\"gate\", \"norm\"]):\n    ax.plot(part[\"test_loss\"], 100 * part[\"agreement_weights\"], \"o\", label=f\"{gate}, norm {norm}\")\nax.set_xlabel(\"test loss\"); ax.set_ylabel(\"agreement of the weights form, %\"); ax.legend(fontsize=7);",
    ],
    "4-a-language-model-of-stories": [
        """# A language model of stories, and its tokens

The recipe `tales` trains a small transformer on stories that are built in. Its last GLU layer is then read along tokens.""",
        "import glint\nrun = glint.train(\"tales\", epochs=2, progress=False)\nrun",
        "run.generate(\"once upon a time\", seed=1, tokens=60)",
        "run.evaluate()",
        "# ## A token read\n\nWhich patterns of the layer's input speak for the token *happy*, seen as the tokens whose embeddings they are near:",
        "form = run.read(\"happy\")\nform.near(6)",
        "form.fidelity",
        "# One token against another:",
        "run.read(\"happy - sad\").near(5)",
        "# Every token as a direction, the most concentrated spectra first:",
        "scan = run.scan(progress=False)\nscan.frame()[[\"token\", \"participation_rank\", \"r2\", \"eigenvectors_r2\"]].head(8).round(3)",
        "# The layer as arrays, for whatever else you want to do with it:",
        "layer = run.layer(-1)\nlayer, layer.L.shape, layer.P.shape",
    ],
}


def make(name: str) -> nbformat.NotebookNode:
    book = nbformat.v4.new_notebook()
    for i, text in enumerate(NOTEBOOKS[name]):
        is_text = text.startswith("#")
        if is_text and i > 0:  # the first has its own title
            text = text[2:]
        cell = nbformat.v4.new_markdown_cell(text) if is_text else nbformat.v4.new_code_cell(text)
        cell["id"] = f"cell-{i}"
        book.cells.append(cell)
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return book


def execute(book: nbformat.NotebookNode) -> None:
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(book, timeout=1200, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    for cell in book.cells:
        cell.get("metadata", {}).pop("execution", None)  # times, which differ every time


def main() -> None:
    words = sys.argv[1:]
    check = "--check" in words
    names = [w for w in words if w != "--check"] or ([p.stem for p in sorted(HERE.glob("*.ipynb"))] if check else list(NOTEBOOKS))
    for name in names:
        book = nbformat.read(HERE / f"{name}.ipynb", 4) if check else make(name)
        execute(book)
        if not check:
            nbformat.write(book, HERE / f"{name}.ipynb")
        print(f"{name}: runs")


if __name__ == "__main__":
    main()
