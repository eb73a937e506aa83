"""Writes the notebooks of this folder from the cells below and runs them: outputs are those of the package that is installed.

    python make_notebooks.py [NAME ...]          needs nbformat, nbclient and ipykernel
    python make_notebooks.py --check [NAME ...]  runs the committed notebooks and writes nothing
"""

from __future__ import annotations

import os
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
        "without = run.ablate(\"3\", vectors=[1, 2])\nprint(\"predicted and real change go together: r =\", round(without[\"all\"][\"r\"], 3))\nwithout.table()",
        "# A mask made from eigenvectors, beside masks of the same length that are shuffled or random:",
        "run.attack(\"3\", images=200, strengths=[0, 2, 4, 8]).table()",
        "# ## A bilinear twin\n\nWithout a gate the form of the weights is the model.",
        "twin = glint.train(\"quick\", gate=\"identity\", seed=0, progress=False)\ntwin.read(form=\"weights\").fidelity",
        "glint.compare(run, twin, show=4)",
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
        "layer = run.layer()\nlayer, layer.L.shape, layer.P.shape",
    ],
    "5-the-gate-in-your-own-pytorch-model": [
        """# The SQS gate in your own PyTorch model

`glint.torch` has the gates and GLU layers as modules. You train them as any module; afterwards the layer is read from its weights,
and every reading says how far it can be trusted. This notebook needs PyTorch and matplotlib; it takes well under two minutes.""",
        """import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

import glint
import glint.torch as gt

torch.manual_seed(0)
gt.GLU(256, 32, gate=gt.SQS(lam=0.5))""",
        """# ## The gate

`gt.SQS(c, lam, p)` is a module, `gt.sqs(h)` the function, `gt.glu(l, r, gate)` the gate and the product in one pass. `lam` says
how strongly the gate shrinks. At 0 it jumps from `+c` to `-c`, and its slope there is `1 + lam c`; the usual expression with `abs`
gives the slope 0.""",
        """h = torch.linspace(-6, 6, 601, requires_grad=True)
figure, axes = plt.subplots(1, 2, figsize=(9, 2.8))
for name in ("sqs", "identity", "silu", "gelu"):
    y = gt.gate(h, name)
    (slope,) = torch.autograd.grad(y.sum(), h)
    axes[0].plot(h.detach(), y.detach(), label=name)
    axes[1].plot(h.detach(), slope, label=name)
axes[0].set_title("gate(h)")
axes[0].set_ylim(-3, 3)
axes[1].set_title("its slope")
axes[1].legend()
zero = torch.zeros(1, requires_grad=True)
gt.sqs(zero).backward()
print("slope at 0:", zero.grad.item())""",
        """# ## A task that no linear model can do

Each picture has a cross and a ring, both bright or dark by chance, and a lot of noise. The question: are they alike, both bright or
both dark? The answer is in the product of two features, and neither of them says anything alone.""",
        """y, x = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
cross = ((abs(x - y) < 1.5) | (abs(x + y - 15) < 1.5)).float()
ring = (abs(((x - 7.5) ** 2 + (y - 7.5) ** 2).sqrt() - 6) < 1).float()
cross, ring = (p - p.mean() for p in (cross, ring))
ring -= cross * (ring * cross).sum() / (cross * cross).sum()  # nothing in common
cross, ring = (p / p.norm() for p in (cross, ring))

def pictures(n, seed):
    generator = torch.Generator().manual_seed(seed)
    signs = torch.randint(0, 2, (n, 2), generator=generator) * 2.0 - 1
    noise = torch.randn(n, 256, generator=generator)
    clean = signs[:, :1] * cross.flatten() + signs[:, 1:] * ring.flatten()
    return 3 * clean + noise, (signs[:, 0] == signs[:, 1]).long()

train, test = pictures(20000, 1), pictures(4000, 2)
figure, axes = plt.subplots(1, 6, figsize=(9, 1.7))
for axis, picture, title in zip(axes, [cross, ring, *train[0][:4]], ["cross", "ring", *("alike" if a else "not" for a in train[1][:4])]):
    axis.imshow(picture.detach().reshape(16, 16), cmap="RdBu_r", vmin=-abs(picture).max(), vmax=abs(picture).max())
    axis.set_title(title, fontsize=9)
    axis.axis("off")""",
        """# ## Models

`gt.GLU(256, 32)` computes `gate(L x) * (R x)` with 32 hidden units; a `d_out` would add a projection. The layers stand where a
Linear and an activation would.""",
        """def fit(model, steps=400, lr=2e-3, batch=512):
    torch.manual_seed(0)
    for layer in model:
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.5)
    for step in range(steps):
        index = torch.randint(0, len(train[0]), (batch,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(train[0][index]), train[1][index]).backward()
        optimizer.step()
    return model.eval()

def accuracy(model, x=test[0]):
    with torch.no_grad():
        return (model(x).argmax(1) == test[1]).float().mean().item()

models = {"linear": fit(nn.Sequential(nn.Linear(256, 2)))}
for gate in (gt.SQS(), "identity", "silu"):
    model = nn.Sequential(gt.GLU(256, 32, gate=gate), nn.Linear(32, 2, bias=False))
    models[model[0].gate.spec.name] = fit(model)
{name: round(accuracy(model), 3) for name, model in models.items()}""",
        """# ## Reading the layer

`gt.read` takes the module apart, checks that its parts compute what it computes, and reads an output direction as a quadratic form
of the input: here the logit of *alike* less that of *not*. With `inputs` the form is fitted on half of them and measured on the
other half. The same call reads the MLP of a Hugging Face or TransformerLens model; `gt.capture(model, layer, texts)` collects its inputs.""",
        """def direction(model):
    return model[1].weight[1] - model[1].weight[0]

forms = {name: gt.read(model[0], out=direction(model), inputs=test[0]) for name, model in models.items() if name != "linear"}
forms["sqs"]""",
        """# Two eigenvalues stand out. Their eigenvectors are what the task is made of: *alike* is `(cross + ring)²` against
`(cross - ring)²`.""",
        """both, differ = ((cross + ring) / 2 ** 0.5).flatten(), ((cross - ring) / 2 ** 0.5).flatten()
figure, axes = plt.subplots(2, 4, figsize=(7, 3.6))
axes[0, 0].set_ylabel("+")
for row, wanted, title in ((0, both, "(cross + ring) / √2"), (1, differ, "(cross - ring) / √2")):
    shown = [(title, wanted.numpy())]
    for name, form in forms.items():
        vector = form.vectors[0 if row == 0 else -1]
        vector = vector * np.sign(vector @ wanted.numpy())
        shown.append((f"{name}: cosine {vector @ wanted.numpy():.2f}", vector))
    for axis, (title, vector) in zip(axes[row], shown):
        axis.imshow(vector.reshape(16, 16), cmap="RdBu_r", vmin=-abs(vector).max(), vmax=abs(vector).max())
        axis.set_title(title, fontsize=8)
        axis.axis("off")""",
        """# How far can each be trusted? `r2` is that of the whole form, `eigenvectors_r2` that of its eigenvectors alone. Where they differ
the form needs a linear part beside them. SQS and the bilinear layer have none, and on these pictures, which are as often bright as dark, even
SiLU hardly needs one: `linear_share` says how much.""",
        """for name, form in forms.items():
    fidelity = form.fidelity
    print(f"{name:9s}", form.form.ljust(11), {k: round(v, 3) for k, v in fidelity.items() if isinstance(v, float)})""",
        """# ## Does the model use what the reading says?

The two strongest eigenvectors are taken out of the pictures. If the reading is right, the model can no longer tell; two random
directions are the control.""",
        """def without(x, vectors):
    basis = torch.linalg.qr(torch.as_tensor(vectors, dtype=torch.float32).T)[0]
    return x - (x @ basis) @ basis.T

_, strongest = forms["sqs"].top(2)
chance = torch.randn(2, 256, generator=torch.Generator().manual_seed(3))
print(f"as it is           {accuracy(models['sqs']):.3f}")
print(f"without those two  {accuracy(models['sqs'], without(test[0], strongest)):.3f}")
print(f"without random two {accuracy(models['sqs'], without(test[0], chance)):.3f}")""",
        """# ## The same model in glint

A Linear, GLU layers and a Linear are glint's own kind of model: `gt.from_module` makes a run of it, which everything in glint can
open, and `gt.to_module` is the way back.""",
        """whole = nn.Sequential(nn.Linear(256, 16, bias=False), gt.GLU(16, 32, gate=gt.SQS()), nn.Linear(32, 2, bias=False))
fit(whole)
run = gt.from_module(whole, class_names=["not", "alike"], image=(16, 16))
with torch.no_grad():
    print("accuracy", round(accuracy(whole), 3), " largest difference of the logits", float(abs(torch.from_numpy(run.logits(test[0])) - whole(test[0])).max()))""",
        """# ## In a model of Hugging Face

After `gt.register()` transformers knows glint's gates: `hidden_act` is a gate's name, with its options after a colon. Models are trained,
saved and loaded as any other. Here a tiny Llama learns to repeat what it has seen two tokens ago.""",
        """import transformers

gt.register()
torch.manual_seed(0)
llama = transformers.LlamaForCausalLM(transformers.LlamaConfig(
    vocab_size=32, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, hidden_act="sqs:lambda=0.5,c=0.01"))
optimizer = torch.optim.AdamW(llama.parameters(), lr=3e-3)
for step in range(120):
    ids = torch.randint(0, 32, (32, 2)).repeat(1, 8)
    loss = llama(ids, labels=ids).loss
    loss.backward()
    optimizer.step(), optimizer.zero_grad()
print(f"loss {loss.item():.2f}; by guessing {np.log(32):.2f}")""",
        """# `gt.open` makes a run of the model in memory; with its tokenizer as second argument it can be asked in words, `run.read("happy")`. A single
layer is read along the same direction with `gt.direction`: the row of the unembedding times the weights of the norms that follow.""",
        """run = gt.open(llama.eval())
with torch.no_grad():
    away = np.abs(run.logits([1, 2, 1, 2]) - llama(torch.tensor([[1, 2, 1, 2]])).logits[0].numpy()).max()
print(run, f"logits differ by {away:.0e}", sep="\\n")
mlp, norm = llama.model.layers[1].mlp, llama.model.layers[1].post_attention_layernorm
gt.read(mlp, out=gt.direction(llama, 5), norm=norm)""",
        """# With inputs a reading says how far it goes: R² with a 95 % interval, and on how many inputs.""",
        """seen = gt.capture(llama, 1, torch.randint(0, 32, (64, 2)).repeat(1, 8))
fidelity = gt.read(mlp, out=gt.direction(llama, 5), inputs=seen).fidelity
print(f"R² {fidelity['r2']:.3f} ({fidelity['r2_interval'][0]:.3f} to {fidelity['r2_interval'][1]:.3f}) on {fidelity['inputs']} inputs")""",
        """# Under `torch.compile` and on other devices the same modules are plain operations of PyTorch, without a graph break; on the CPU
in float32 they run on glint's fused loops, as everything above did, and on a GPU with triton on kernels of Triton. `make bench-torch`
measures what that gains on the CPU, `bench/gpu/appendix_c.py` on a GPU.""",
    ],
    "6-reading-a-language-model": [
        """# Reading a language model that somebody else trained

glint opens models of the Llama family as they are: folders of Hugging Face, GGUF files, files of llama2.c. This notebook reads
*SmolLM2-135M-Instruct*, a model of 30 SwiGLU layers. `scripts/fetch-data smollm2 --to data` fetches it (98 MB). Where it is not there, stories15M or
the smaller stories260K is taken, and without these a model that glint trains itself on built-in tales; the folder is `data`, or what `GLINT_DATA` names.""",
        """import os
from pathlib import Path

import glint

folders = [Path(f) for f in ("data", "../../data", os.environ.get("GLINT_DATA")) if f]
models = ["smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "stories15m/stories15M.bin", "stories260k/stories260K.bin", "stories260K.bin"]
found = [folder / model for model in models for folder in folders if (folder / model).exists()]
if found:
    run = glint.load(found[0])
else:
    run = glint.train("tales", epochs=2, progress=False)
print(run.kind, "model:", run.about["text"])""",
        "# What it is, and what it writes:",
        "glint.model(os.path.relpath(run.path))",
        'run.generate("Once upon a time", temperature=0, tokens=40, progress=False)',
        """# How well does it know a text? The loss is the mean over the tokens, in nats.""",
        """text = "Once upon a time, there was a little dog. The dog was very happy. One day, the dog saw a big red ball in the park."
run.evaluate(text=text)["loss"]""",
        """# ## How far can each layer be read?

A SwiGLU layer is not a quadratic form, but a part of it is, exactly: σ(l) − σ(−l) = l for SiLU, so half of the bilinear form is the part of the layer that is the
same for x and −x. That is the form `weights`, and it needs no data. `scaled` fits one gain per hidden unit, `calibrated` a line. Here they
are compared with the layer itself along one token, on text that was not fitted on. Beside them stand the controls: the best linear map of the layer's input, and the same form of the model with every matrix redrawn.""",
        'layers = run.layers("happy", tokens=2000, progress=False)\nlayers',
        """# A form with a low R² must not be believed, however clear its eigenvectors look. Where glint sees that a layer cannot be read
in some form it says so, and also where the redrawn model is read about as well: then R² says that the layer acts as a quadratic form, which comes with its
shape, and what the model has learned is what the eigenvectors say.""",
        """for layer in layers["layers"][-3:]:
    for warning in layer["warnings"]:
        print(f"layer {layer['layer']}: {warning}")""",
        """# ## One direction

Which patterns of the layer's input speak for the token *happy*, and which against it? Eigenvectors are shown as the tokens whose embeddings lie along
them, and against them.""",
        'at = max(1, 2 * run.about["layers"] // 3)\nform = run.read("happy", layer=at, tokens=2000, progress=False)\nform.near(6)',
        'print(form.trust)\nform.fidelity',
        """# People read sentences, not lists of tokens: the passages in which the strongest eigenvectors are strongest, with the words coloured by how much each shows.""",
        """story = [
    "Lily was very sad because she lost her toy. Her mom gave her a big hug and said, do not worry. Lily smiled and was happy again.",
    "Tom had a red ball. He was happy to play with his friend in the park. They laughed and ran all day.",
    "The little bird could not fly. It was scared and cried. A kind man helped it, and the bird was so glad.",
    "One day a big dog saw a cat in the garden. The dog was angry and ran after the cat.",
]
form.passages(story, n=2)""",
        """# ## One decision

Why does the model expect *happy* here rather than *sad*? The difference of the two logits is split into what the embedding, the attention and the GLU of each layer
write along it, then the strongest layer into its eigenvectors; the parts add up to the true difference. `run.page(sentence=[...])` has every token of chosen sentences to click on.""",
        'run.explain(text="Lily found her lost toy. She smiled and was very", token="happy", against="sad", progress=False)',
        "# One token against another, and a single hidden unit:",
        'run.read("happy - sad", layer=at, tokens=2000, progress=False).near(5)',
        "run.read(hidden=5, layer=at, tokens=2000, progress=False).near(5)",
        """# ## The hidden units

Each unit reads the stream along its gate and up weights and writes along its down weights. The cosines between them say what kind of unit it is: one that
strengthens what it finds, one that weakens it, or one that writes something else.""",
        "run.neurons(progress=False)",
        """# ## The arrays

Everything is there as arrays. `run.weights` has the tensors by the names of the file, `run.layer` a layer with the norm folded in; any
output direction can be read, with as few eigenpairs as wanted.""",
        """import numpy as np

layer = run.layer(at)
direction = np.random.default_rng(0).normal(size=layer.outputs)
strongest = layer.read(out=direction, k=4)
print(layer)
print(len(run.weights), "tensors; eigenvalues of a random direction:", strongest.values.round(3))""",
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
        data = Path(os.environ.get("GLINT_DATA") or HERE.parents[1] / "data").resolve()
        if data.is_dir():  # what scripts/fetch-data has fetched, under a name that says nothing of this machine
            Path(folder, "data").symlink_to(data)
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
