#!/usr/bin/env python3
"""The peers do the same work: on a small case PyTorch eager, PyTorch compiled and JAX give the same losses and gradients from
the same weights, their cached generation gives the logits of the whole pass, and the losses of their steps fall alike.

Bounds: f32 gradients are sums of at most some thousand products of numbers near 1, so 1e-4 of their size as a whole is a
hundred times their rounding. bf16 has 8 bits. A gate's slope jumps at 0, and the peers round at different
places, so that single entries differ by a tenth; the size of the difference as a whole stays within 2^-8 times the few
roundings in a row, so 0.05 of the size."""
import os
import sys

import tuned

if os.environ.get("GLINT_TUNED") != "1":
    os.execve(sys.executable, [sys.executable] + sys.argv, dict(os.environ, GLINT_TUNED="1", **tuned.environment("compiled", 1)))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

import jax_gates  # noqa: E402
import jax_generate  # noqa: E402
import jax_lm  # noqa: E402
import jax_step  # noqa: E402
import torch_gates  # noqa: E402
import torch_generate  # noqa: E402
import torch_lm  # noqa: E402
import torch_step  # noqa: E402

BOUND = {"f32": 1e-4, "bf16": 0.05}
failures = []


def same(what, expected, given, bound):
    expected, given = (np.asarray(a.detach().float() if isinstance(a, torch.Tensor) else a, np.float64) for a in (expected, given))
    error = np.linalg.norm(expected - given) / max(np.linalg.norm(expected), 1e-30)
    print("%-52s %.1e of %.0e" % (what, error, bound))
    if expected.shape != given.shape or not error <= bound:
        failures.append(what)


def to_jax(tensor):
    return jnp.asarray(tensor.detach().numpy())


def gates():
    for precision in ("f32", "bf16"):
        for name in ("sqs", "identity", "relu", "gelu", "silu"):
            eager = torch_gates.Layer(32, 24, name, precision)
            eager.step()
            pairs = {"JAX": jax_gates.layer_gradients(name, precision)(*map(to_jax, (eager.x, eager.w, eager.dy)))}
            if name == "sqs":  # the others differ by PyTorch's own functions
                compiled = torch_gates.Layer(32, 24, name, precision, True)
                compiled.step()
                pairs["compiled"] = compiled.x.grad, compiled.w.grad
            for peer, (dx, dw) in pairs.items():
                same("layer, %s, %s, %s: dx" % (name, precision, peer), eager.x.grad, dx, BOUND[precision])
                same("layer, %s, %s, %s: dw" % (name, precision, peer), eager.w.grad, dw, BOUND[precision])


def image_step():
    for precision in ("f32", "bf16"):
        trainers = [torch_step.Trainer(2, 32, 64, precision, compiled) for compiled in (False, True)]
        eager = trainers[0].model
        index, noise = torch.arange(64), torch.randn(32, 784)
        weights = {"embed": to_jax(eager.embed), "head": to_jax(eager.head), "glu": [to_jax(w) for w in eager.glu]}
        x = trainers[0].images[index].float() / 255
        x[:32] += noise
        loss, gradients = jax.value_and_grad(jax_step.loss_of)(weights, to_jax(x), to_jax(trainers[0].labels[index]), "sqs", precision)
        for t in trainers:
            t.value = t.loss(index, noise)
            t.value.backward()
        found = {"compiled": (trainers[1].value, [p.grad for p in trainers[1].model.parameters()]),
                 "JAX": (loss, [gradients["embed"], gradients["head"], *gradients["glu"]])}
        for peer, (value, grads) in found.items():
            same("image step, %s, %s: loss" % (precision, peer), trainers[0].value, value, BOUND[precision])
            for p, g in zip(eager.parameters(), grads):
                same("image step, %s, %s: gradient" % (precision, peer), p.grad, g, BOUND[precision])
    weights = jax_step.adamw(weights, *[jax.tree.map(jnp.zeros_like, weights)] * 2, gradients, 1)[0]
    for p, g in zip(eager.parameters(), jax.tree.leaves({"a": gradients["embed"], "b": gradients["head"], "c": gradients["glu"]})):
        p.grad = torch.from_numpy(np.array(g))
    trainers[0].optimizer.step()
    same("AdamW, JAX", eager.embed, weights["embed"], 1e-5)


def small_transformers(precision, compiled=(False, True)):
    shape = {"vocab": 64, "layers": 2, "d": 32, "hidden": 24, "heads": 4}
    trainers = [torch_lm.Trainer(torch_lm.batches([9, 7, 12, 12], 2, 64), precision, c, **shape) for c in compiled]
    m = trainers[0].model
    weights = {"wte": to_jax(m.wte), "head": to_jax(m.head),
               "blocks": [{key: to_jax(getattr(b, key)) for key in ("qkv", "o", "w", "p")} for b in m.blocks]}
    return trainers, weights


def language_step():
    for precision in ("f32", "bf16"):
        trainers, weights = small_transformers(precision)
        for inputs, targets in trainers[0].parts:
            for t in trainers:
                t.optimizer.zero_grad()
                t.value = t.loss(inputs, targets)
                t.value.backward()
            loss, gradients = jax.value_and_grad(jax_lm.loss_of)(weights, to_jax(inputs), to_jax(targets), trainers[0].tokens, precision=precision)
            first, last = gradients["blocks"][0], gradients["blocks"][-1]
            names = ("wte", "head", "blocks.0.qkv", "blocks.0.o", "blocks.1.w", "blocks.1.p")
            found = {"compiled": (trainers[1].value, [dict(trainers[1].model.named_parameters())[n].grad for n in names]),
                     "JAX": (loss, [gradients["wte"], gradients["head"], first["qkv"], first["o"], last["w"], last["p"]])}
            for peer, (value, grads) in found.items():
                same("language step, %s, %s: loss" % (precision, peer), trainers[0].value, value, BOUND[precision])
                for name, g in zip(names, grads):
                    same("language step, %s, %s: %s" % (precision, peer, name), dict(trainers[0].model.named_parameters())[name].grad,
                         g, BOUND[precision])


def generation():
    """Cached, a token at a time, the logits are those of the whole pass."""
    trainers, weights = small_transformers("f32", (False,))
    model, tokens = trainers[0].model, torch.randint(0, 64, (2, 12), generator=torch.Generator().manual_seed(1))
    whole = model(tokens)
    cached = [torch_generate.Cached(model, 2, compiled) for compiled in (False, True)]
    cache = jax_generate.empty_cache(weights, 2, 4, "f32")
    for t in range(12):
        with torch.no_grad():
            for peer, c in zip(("eager", "compiled"), cached):
                same("cached generation, %s" % peer, whole[:, t], c.logits(tokens[:, t], t), BOUND["f32"])
        logits, cache = jax_generate.logits_of(weights, cache, to_jax(tokens[:, t]), t, 64)
        same("cached generation, JAX", whole[:, t], logits, BOUND["f32"])
    chances = jax.nn.softmax(jax.random.normal(jax.random.key(0), (64, 4096)))
    uniform = jax.random.uniform(jax.random.key(1), (64, 1))
    straight = (np.cumsum(np.asarray(chances, np.float64), axis=1) <= np.asarray(uniform)).sum(1)
    same("sampling, JAX: sums before the token", np.take_along_axis(np.cumsum(np.asarray(chances, np.float64), axis=1), straight[:, None], 1),
         np.take_along_axis(np.cumsum(np.asarray(chances, np.float64), axis=1), np.asarray(jax_generate.pick(chances, uniform))[:, None], 1), 2e-3)


def falling():
    """Twenty steps on one batch: every peer learns it, and ends within a tenth of the others' way."""
    ends = {}
    index = torch.arange(64)
    for precision in ("f32", "bf16"):
        for compiled in (False, True):
            t = torch_step.Trainer(1, 32, 64, precision, compiled)
            losses = [float(t.step(index).detach()) for _ in range(20)]
            ends["compiled" if compiled else "eager", precision] = losses[0] - losses[-1]
        t = jax_step.Trainer(1, 32, 64, precision)
        losses = [float(t.step(to_jax(index))) for _ in range(20)]
        ends["jax", precision] = losses[0] - losses[-1]
    print("fall of the loss in 20 steps:", ", ".join("%s %s %.2f" % (*k, v) for k, v in ends.items()))
    if max(ends.values()) > 1.5 * min(ends.values()) or min(ends.values()) <= 0:
        failures.append("the losses do not fall alike")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for check in (gates, image_step, language_step, generation, falling):
        check()
    if failures:
        sys.exit("the peers differ: " + "; ".join(failures))
    print("the peers do the same work")
