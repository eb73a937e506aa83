#!/usr/bin/env python3
"""Writes chat.json: prompts that Jinja makes of chat templates, for tests/tokens/chat_template_test.cc and tests/python/test_models.py.

    python3 -m venv ENV && ENV/bin/pip install jinja2 gguf
    ENV/bin/python tests/golden/make_chat.py SmolLM2-135M-Instruct.Q4_1.gguf

The templates below have the shapes of the common ones, with the options that these have and one message does not use. The template of
SmolLM2 is in its file alone; of it the prompts are stored.
"""

import json
import sys
from pathlib import Path

import gguf
import jinja2

BEGIN, END = "<s>", "</s>"
MESSAGES = ["What is a square?", "  two spaces, and a line feed at the end \n", "ein Würfel; \"quotes\" {{ braces }}"]

TEMPLATES = {
    "chatml": "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    "chatml with tools": "{%- if tools %}{{- '<|im_start|>system\\n' }}{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- else %}"
    "{{- 'Use the tools.' }}{%- endif %}{{- '<|im_end|>\\n' }}{%- else %}{%- if messages[0]['role'] == 'system' %}"
    "{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}{%- else %}"
    "{{- '<|im_start|>system\\nYou answer in short sentences.<|im_end|>\\n' }}{%- endif %}{%- endif %}"
    "{%- for m in messages %}{%- if m.role == 'user' %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}",
    "gemma": "{{ bos_token }}{% for m in messages %}{% set role = 'model' if m['role'] == 'assistant' else m['role'] %}"
    "{{ '<start_of_turn>' + role + '\\n' + m['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
    "llama 3": "{% for m in messages %}{% set text = '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' %}"
    "{{ bos_token + text if loop.first else text }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    "llama 3 with dates": "{{- bos_token }}{%- if not date_string is defined %}{%- if strftime_now is defined %}{%- set date_string = strftime_now(\"%d %b %Y\") %}"
    "{%- else %}{%- set date_string = \"26 Jul 2024\" %}{%- endif %}{%- endif %}{{- \"<|start_header_id|>system<|end_header_id|>\\n\\n\" }}"
    "{{- \"Cutting Knowledge Date: December 2023\\n\" }}{{- \"Today Date: \" + date_string + \"\\n\\n\" }}{{- \"<|eot_id|>\" }}"
    "{%- for m in messages %}{{- '<|start_header_id|>' + m['role'] + '<|end_header_id|>\\n\\n' + m['content'] | trim + '<|eot_id|>' }}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}",
    "llama 2": "{% if messages[0]['role'] == 'system' %}{% set said = '<<SYS>>\\n' + messages[0]['content'] + '\\n<</SYS>>\\n\\n' %}{% endif %}"
    "{% for m in messages %}{% if m['role'] == 'user' %}{{ bos_token + '[INST] ' + m['content'].strip() + ' [/INST]' }}{% endif %}{% endfor %}",
}
OTHERS = {
    "<|user|>": "{% for m in messages %}{{ '<|user|>\\n' + m['content'] + eos_token }}{% endfor %}{{ '<|assistant|>' }}",
    "[INST]": "{{ bos_token }}{% for m in messages %}{{ '[INST] ' + m['content'] + ' [/INST]' }}{% endfor %}",
}


def render(source, message):
    template = jinja2.Environment(trim_blocks=True, lstrip_blocks=True).from_string(source)
    messages = [{"role": "user", "content": message}]
    return template.render(messages=messages, bos_token=BEGIN, eos_token=END, add_generation_prompt=True)


def main():
    smollm2 = gguf.GGUFReader(sys.argv[1]).get_field("tokenizer.chat_template").contents()
    out = {
        "begin": BEGIN,
        "messages": MESSAGES,
        "templates": [{"name": n, "source": s, "prompts": [render(s, m) for m in MESSAGES]} for n, s in TEMPLATES.items()],
        "others": [{"mark": mark, "source": s} for mark, s in OTHERS.items()],
        "smollm2": [render(smollm2, m) for m in MESSAGES],
    }
    Path(__file__).with_name("chat.json").write_text(json.dumps(out, indent=1) + "\n")


if __name__ == "__main__":
    main()
