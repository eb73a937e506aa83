"""Gives a model of Hugging Face the SQS gate and trains it to say what it said before: a plain loop of PyTorch.

    python convert_a_model.py MODEL STORIES.txt OUT [STEPS]   MODEL: a folder, say of `glint export smollm2.gguf --hf MODEL`
    python convert_a_model.py                                 SmolLM2's shape with two layers and weights by chance, three steps
"""

import copy
import sys

import torch
import torch.nn.functional as F
import transformers

import glint.torch as gt

gt.register()  # transformers knows hidden_act="sqs" from here on
torch.manual_seed(0)
if len(sys.argv) > 3:
    model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        ids = torch.tensor(tokenizer(file.read())["input_ids"])
    steps, length, batch = int(sys.argv[4]) if len(sys.argv) > 4 else 400, 256, 8
else:
    config = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=576, intermediate_size=1536, num_hidden_layers=2, num_attention_heads=9, num_key_value_heads=3,
        tie_word_embeddings=True, hidden_act="silu",
    )  # fmt: skip
    model, tokenizer = transformers.LlamaForCausalLM(config), None
    ids, steps, length, batch = torch.randint(0, 49152, (600,)), 3, 32, 2
windows = ids[: len(ids) // length * length].view(-1, length)

teacher = copy.deepcopy(model).eval().requires_grad_(False)
gt.convert_(model, gt.SQS(lam=0.5, c=0.01), windows[:16])  # in place, with the gains that fit these windows best
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
for step in range(steps):
    rows = windows[torch.randint(0, len(windows), (batch,))]
    logits = model(rows).logits.flatten(0, 1).log_softmax(-1)
    with torch.no_grad():
        wanted = teacher(rows).logits.flatten(0, 1).log_softmax(-1)
    text = F.nll_loss(logits.unflatten(0, rows.shape)[:, :-1].flatten(0, 1), rows[:, 1:].flatten())
    away = F.kl_div(logits, wanted, log_target=True, reduction="batchmean")
    (0.5 * text + 0.5 * away).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step(), optimizer.zero_grad(), schedule.step()
    if step % 20 == 0 or step == steps - 1:
        print(f"step {step + 1:4d}  loss of the text {text:.3f}  away from the original {away:.3f}", flush=True)

if len(sys.argv) > 3:
    model.save_pretrained(sys.argv[3])  # config.json says "sqs:lambda=0.5,c=0.01,p=1"
    tokenizer.save_pretrained(sys.argv[3])
    print("glint spectrum", sys.argv[3], "--token happy")
else:
    run = gt.open(model)
    print(run, run.layer(1).read(out=gt.direction(model, 15, 0), k=8), sep="\n")
