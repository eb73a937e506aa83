"""The options of calls. Made by scripts/make-python-options from the fields of the library's requests."""

import os
from collections.abc import Sequence
from typing import Literal, TypedDict

from .gates import Gate

_Path = str | os.PathLike[str]
_Word = str | int | Sequence[int]

class AblateOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    layer: int | None
    """Which layer, from 1 on; default: the last"""
    form: Literal["auto", "weights", "scaled", "calibrated"]
    """The reading whose eigenvectors are removed and that predicts the change (default auto)"""
    via: _Word
    """Images, below the last layer: rank of the eigenvector above, one per layer (default 1)"""
    from_layer: int | None
    """Language models: the outputs are of this later layer, and `layer` is read along eigenvectors of their forms
    there"""
    eigenvector: _Word
    """With `from_layer`: +1 the strongest for, -1 the strongest against, or several: +1,-1 (default +1)"""
    sae: _Path
    """Language models: a sparse autoencoder or transcoder (SAELens, circuit-tracer), whose latents are outputs"""
    side: Literal["decoder", "encoder"]
    """Of a latent: what it writes, or what it looks for (default decoder)"""
    sae_reads: Literal["auto", "input", "output"]
    """What of this layer `sae` reads; auto: what its file says (default auto)"""
    scale: float
    """What is left of the input along them: 0 removes, 1 changes nothing (default 0.0)"""
    save: _Path
    """Write the changed model as a run into this new folder"""

class AttackOptions(TypedDict, total=False):
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    show: int
    """Eigenvectors in a mask (default 3)"""
    strengths: Sequence[float]
    """Euclidean lengths of the mask, with commas between them (default [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0])"""
    form: Literal["auto", "weights", "scaled", "calibrated"]
    """How gates are read: as the identity (weights, the paper), or by gains or lines measured on data (default auto)"""
    images: int
    """Test images for each mask, at most (default 2000)"""
    seed: int
    """Seed of the controls (default 0)"""

class CompareOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    form: Literal["auto", "weights", "scaled", "calibrated"]
    """How gates are read. weights: odd gates as the identity (the paper), ReLU, GELU and SiLU as half of it; scaled,
    calibrated: by lines measured on data; auto: scaled for odd gates, calibrated for others (default weights)"""
    layer: int | None
    """Language models: which layer, from 1 on; default: the last of each"""
    token: _Word
    """Language models: tokens, with commas between; default: 12 frequent ones"""
    space: Literal["auto", "pixels", "tokens", "input"]
    """Compare pictures of the eigenvectors, their products with token embeddings, or the vectors at the input of the
    last layer (same width; means something when the runs began alike, with the same seed) (default auto)"""
    show: int
    """Eigenvectors of each sign (default 10)"""

class EvaluateOptions(TypedDict, total=False):
    split: Literal["test", "train"]
    """Which images or stories (default test)"""
    worst: int
    """How many of the images with the highest loss to show (default 10)"""

class Evaluate_TextOptions(TypedDict, total=False):
    split: Literal["test", "train"]
    """Which images or stories (default test)"""
    worst: int
    """How many of the images with the highest loss to show (default 10)"""

class ExplainOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    form: Literal["auto", "weights", "scaled", "calibrated", "local"]
    """The form whose eigenvectors are drawn (default auto)"""
    split: Literal["test", "train"]
    """Images: which ones `index` counts (default test)"""
    classes: _Word
    """Images: classes to explain; default: the decided, the runner-up and the true one"""
    as_is: bool
    """Images: only resize the picture, neither invert nor centre it (default False)"""
    position: int | None
    """Language models: predict after so many tokens of the prompt; default: after all"""
    token: _Word
    """Language models: the token to explain; default: the one that the model expects"""
    against: _Word
    """Language models: rather than this token; explains the difference of the logits"""
    layer: _Word
    """Language models: layers whose GLU is taken apart, 6, 1,6 or all; default: the one that adds most"""
    show: int
    """How many eigenvectors for and against (default 4)"""
    near: int
    """Language models: how many tokens stand for an eigenvector (default 8)"""

class Explain_TokenOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    form: Literal["auto", "weights", "scaled", "calibrated", "local"]
    """The form whose eigenvectors are drawn (default auto)"""
    split: Literal["test", "train"]
    """Images: which ones `index` counts (default test)"""
    classes: _Word
    """Images: classes to explain; default: the decided, the runner-up and the true one"""
    as_is: bool
    """Images: only resize the picture, neither invert nor centre it (default False)"""
    position: int | None
    """Language models: predict after so many tokens of the prompt; default: after all"""
    token: _Word
    """Language models: the token to explain; default: the one that the model expects"""
    against: _Word
    """Language models: rather than this token; explains the difference of the logits"""
    layer: _Word
    """Language models: layers whose GLU is taken apart, 6, 1,6 or all; default: the one that adds most"""
    show: int
    """How many eigenvectors for and against (default 4)"""
    near: int
    """Language models: how many tokens stand for an eigenvector (default 8)"""

class ExportOptions(TypedDict, total=False):
    npy: _Path
    """Write .npy files into this new folder"""
    hf: _Path
    """Write a folder as model hubs expect it"""
    force: bool
    """Replace an earlier export (default False)"""

class GenerateOptions(TypedDict, total=False):
    temperature: float
    """Below 1 the likely words are preferred; 0: always the likeliest (default 0.8)"""
    top_k: int
    """Only the K likeliest tokens; 0: all (default 0)"""
    top_p: float
    """Only the likeliest tokens that make up this share (default 1.0)"""
    seed: int
    """The same seed gives the same stories (default 0)"""
    count: int
    """Number of stories (default 1)"""
    tokens: int
    """The most tokens to add to the prompt; 0: until the context of the model is full (default 0)"""

class LayersOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    form: Literal["auto", "weights", "scaled", "calibrated"]
    """The form that is drawn and stored (default auto)"""
    via: _Word
    """Images, below the last layer: rank of the eigenvector above, one per layer (default 1)"""
    from_layer: int | None
    """Language models: the outputs are of this later layer, and `layer` is read along eigenvectors of their forms
    there"""
    eigenvector: _Word
    """With `from_layer`: +1 the strongest for, -1 the strongest against, or several: +1,-1 (default +1)"""
    sae: _Path
    """Language models: a sparse autoencoder or transcoder (SAELens, circuit-tracer), whose latents are outputs"""
    side: Literal["decoder", "encoder"]
    """Of a latent: what it writes, or what it looks for (default decoder)"""
    sae_reads: Literal["auto", "input", "output"]
    """What of this layer `sae` reads; auto: what its file says (default auto)"""
    controls: Literal["none", "linear", "all"]
    """What is measured beside the eigenvectors: none, nothing, which is fastest; linear: how far each form is the
    layer, and how far a linear map is; all: an untrained model too (default all)"""

class NeuronsOptions(TypedDict, total=False):
    layer: int | None
    """Which layer, from 1 on; default: all"""

class PageOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    images: int | None
    """Images: how many test images the page holds; when not given, 1000, and fewer where it would be over the limit"""
    show: int | None
    """How many eigenvectors of either sign; when not given, 8 for every class, and fewer where the page would be
    over the limit"""
    layers: _Word
    """Language models: layers of a page of readings; default: six of them"""
    limit: int
    """Largest size of the page in bytes (default 5000000)"""
    token: Sequence[str]
    """Language models: tokens as outputs, with commas between"""
    sae: _Path
    """Language models: a sparse autoencoder or transcoder (SAELens, circuit-tracer), whose latents are outputs"""
    side: Literal["decoder", "encoder"]
    """Of a latent: what it writes, or what it looks for (default decoder)"""
    sae_reads: Literal["auto", "input", "output"]
    """What of this layer `sae` reads; auto: what its file says (default auto)"""

class PassagesOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    near: int
    """How many tokens stand for an eigenvector (default 8)"""

class ReadOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    layer: int | None
    """Which layer, from 1 on; default: the last"""
    form: Literal["auto", "weights", "scaled", "calibrated"]
    """The form that is drawn and stored (default auto)"""
    via: _Word
    """Images, below the last layer: rank of the eigenvector above, one per layer (default 1)"""
    from_layer: int | None
    """Language models: the outputs are of this later layer, and `layer` is read along eigenvectors of their forms
    there"""
    eigenvector: _Word
    """With `from_layer`: +1 the strongest for, -1 the strongest against, or several: +1,-1 (default +1)"""
    sae: _Path
    """Language models: a sparse autoencoder or transcoder (SAELens, circuit-tracer), whose latents are outputs"""
    side: Literal["decoder", "encoder"]
    """Of a latent: what it writes, or what it looks for (default decoder)"""
    sae_reads: Literal["auto", "input", "output"]
    """What of this layer `sae` reads; auto: what its file says (default auto)"""
    inputs: _Path
    """Language models: a sparse autoencoder of what the layer reads; shows which pairs of its latents make an output"""
    pairs: int
    """How many pairs of `inputs` (default 10)"""
    k: int
    """Store only the K strongest eigenpairs of each unit, which is much faster for wide layers; 0: all (default 0)"""
    show: int
    """How many eigenvectors of each sign are shown (default 4)"""
    near: int
    """Language models: how many tokens stand for an eigenvector (default 8)"""
    controls: Literal["none", "linear", "all"]
    """What is measured beside the eigenvectors: none, nothing, which is fastest; linear: how far each form is the
    layer, and how far a linear map is; all: an untrained model too (default all)"""
    files: _Path
    """Folder for spectra.safetensors, figures or the scan; default: the run itself, for a model of another program
    NAME-reading here"""

class ReadabilityOptions(TypedDict, total=False):
    form: Literal["auto", "weights", "scaled", "calibrated"]
    """The form whose eigenvectors are measured (default auto)"""
    layer: int | None
    """Language models: which layer, from 1 on; default: the last"""
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    token: Sequence[str]
    """Language models: tokens as outputs, with commas between"""
    direction: Sequence[str]
    """What to read along, of any kind: "happy - sad", 3-5, hidden:12, latent:17, or v.npy, a file with a vector of
    the layer's output. May be given several times"""
    hidden: Sequence[str]
    """The product gate(l) r of one hidden unit, from 1 on"""
    latent: Sequence[str]
    """Latents of `sae`, from 0 on: 17, 3,8 or 0..9"""
    from_layer: int | None
    """Language models: the outputs are of this later layer, and `layer` is read along eigenvectors of their forms
    there"""
    eigenvector: _Word
    """With `from_layer`: +1 the strongest for, -1 the strongest against, or several: +1,-1 (default +1)"""
    sae: _Path
    """Language models: a sparse autoencoder or transcoder (SAELens, circuit-tracer), whose latents are outputs"""
    side: Literal["decoder", "encoder"]
    """Of a latent: what it writes, or what it looks for (default decoder)"""
    sae_reads: Literal["auto", "input", "output"]
    """What of this layer `sae` reads; auto: what its file says (default auto)"""

class ScanOptions(TypedDict, total=False):
    tokens: int
    """Language models: so many tokens measure, and of a text as many calibrate; 0: 20000, for models of other
    programs 4000 or fewer (default 0)"""
    expert: _Word
    """Mixtures of experts: which expert of the layer, from 1 on, or shared"""
    refine: bool
    """Images: improve the scaled form by descent on logits and decisions; once for a run, seconds (default False)"""
    layer: int | None
    """Which layer, from 1 on; default: the last"""
    form: Literal["auto", "weights", "scaled", "calibrated"]
    """The form that is drawn and stored (default auto)"""
    sae: _Path
    """Language models: a sparse autoencoder or transcoder (SAELens, circuit-tracer), whose latents are outputs"""
    side: Literal["decoder", "encoder"]
    """Of a latent: what it writes, or what it looks for (default decoder)"""
    sae_reads: Literal["auto", "input", "output"]
    """What of this layer `sae` reads; auto: what its file says (default auto)"""

class TrainOptions(TypedDict, total=False):
    noise_std: float
    """standard deviation of the normal noise on pixels (pixels are 0 to 1) (default 1.0)"""
    noise_prob: float
    """share of the samples that get noise, drawn anew each epoch (default 0.5)"""
    drop_last: bool
    """leave out the last batch of an epoch when it is not full (default True)"""
    gate: str | Gate
    """the gate of the GLU layers (default sqs)"""
    c: float
    """shift of SQS (default 0.01)"""
    lam: float
    """shrink of SQS (default 0.5)"""
    p: float
    """sharpness of the shrink of SQS (default 1.0)"""
    layers: int
    """GLU layers (default 1)"""
    d_model: int
    """width of the embedding (default 256)"""
    d_hidden: int
    """width of the GLU layers; 0: the width of the embedding (default 0)"""
    bias: bool
    """biases in every layer (default False)"""
    residual: bool
    """each GLU layer adds to its input (default False)"""
    norm: Literal["none", "rms"]
    """normalise the input of each GLU layer (default none)"""
    heads: int
    """stories: heads of the attention (default 4)"""
    context: int
    """stories: the most tokens of a story; the rest is cut (default 256)"""
    batch: int
    """samples per step (default 2048)"""
    micro_batch: int
    """stories: how many of a step are in memory at once (default 16)"""
    epochs: int
    """passes over the training set (default 20)"""
    lr: float
    """learning rate of AdamW (default 0.001)"""
    beta1: float
    """decay of the first moment (default 0.9)"""
    beta2: float
    """decay of the second moment (default 0.999)"""
    eps: float
    """added to the root of the second moment (default 1e-08)"""
    weight_decay: float
    """decoupled decay of every matrix (default 0.1)"""
    clip: float
    """largest norm of the gradient; 0: no clipping (default 0.0)"""
    schedule: Literal["cosine-epoch", "cosine-step", "constant"]
    """of the learning rate (default cosine-epoch)"""
    warmup: int
    """steps over which the learning rate rises from 0 (default 0)"""
    precision: Literal["f32", "bf16"]
    """of the matrix products; weights are always kept in f32 (default f32)"""
    seed: int
    """fixes initialisation, order and noise (default 0)"""
    eval_steps: int
    """test also at this many log-spaced steps, for curves; 0: once per epoch (default 0)"""
    eval_first: int
    """test also after each of the first so many steps (default 0)"""

class SweepLists(TypedDict, total=False):
    noise_std: float | Sequence[float]
    """standard deviation of the normal noise on pixels (pixels are 0 to 1) (default 1.0)"""
    noise_prob: float | Sequence[float]
    """share of the samples that get noise, drawn anew each epoch (default 0.5)"""
    drop_last: bool | Sequence[bool]
    """leave out the last batch of an epoch when it is not full (default True)"""
    gate: str | Gate | Sequence[str | Gate]
    """the gate of the GLU layers (default sqs)"""
    c: float | Sequence[float]
    """shift of SQS (default 0.01)"""
    lam: float | Sequence[float]
    """shrink of SQS (default 0.5)"""
    p: float | Sequence[float]
    """sharpness of the shrink of SQS (default 1.0)"""
    layers: int | Sequence[int]
    """GLU layers (default 1)"""
    d_model: int | Sequence[int]
    """width of the embedding (default 256)"""
    d_hidden: int | Sequence[int]
    """width of the GLU layers; 0: the width of the embedding (default 0)"""
    bias: bool | Sequence[bool]
    """biases in every layer (default False)"""
    residual: bool | Sequence[bool]
    """each GLU layer adds to its input (default False)"""
    norm: Literal["none", "rms"] | Sequence[Literal["none", "rms"]]
    """normalise the input of each GLU layer (default none)"""
    heads: int | Sequence[int]
    """stories: heads of the attention (default 4)"""
    context: int | Sequence[int]
    """stories: the most tokens of a story; the rest is cut (default 256)"""
    batch: int | Sequence[int]
    """samples per step (default 2048)"""
    micro_batch: int | Sequence[int]
    """stories: how many of a step are in memory at once (default 16)"""
    epochs: int | Sequence[int]
    """passes over the training set (default 20)"""
    lr: float | Sequence[float]
    """learning rate of AdamW (default 0.001)"""
    beta1: float | Sequence[float]
    """decay of the first moment (default 0.9)"""
    beta2: float | Sequence[float]
    """decay of the second moment (default 0.999)"""
    eps: float | Sequence[float]
    """added to the root of the second moment (default 1e-08)"""
    weight_decay: float | Sequence[float]
    """decoupled decay of every matrix (default 0.1)"""
    clip: float | Sequence[float]
    """largest norm of the gradient; 0: no clipping (default 0.0)"""
    schedule: Literal["cosine-epoch", "cosine-step", "constant"] | Sequence[Literal["cosine-epoch", "cosine-step", "constant"]]
    """of the learning rate (default cosine-epoch)"""
    warmup: int | Sequence[int]
    """steps over which the learning rate rises from 0 (default 0)"""
    precision: Literal["f32", "bf16"] | Sequence[Literal["f32", "bf16"]]
    """of the matrix products; weights are always kept in f32 (default f32)"""
    seed: int | Sequence[int]
    """fixes initialisation, order and noise (default 0)"""
    eval_steps: int | Sequence[int]
    """test also at this many log-spaced steps, for curves; 0: once per epoch (default 0)"""
    eval_first: int | Sequence[int]
    """test also after each of the first so many steps (default 0)"""
