"""llama.cpp (the package xllamacpp) on one GGUF file: a line of JSON with the tokens per second that its server states for
greedy text from the beginning and for a prompt, medians of rounds.

    llama_cpp.py MODEL.gguf THREADS TOKENS TEXT
"""
import json
import statistics
import sys

import xllamacpp

ROUNDS = 5


def main():
    path, threads, tokens, text = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = params.n_batch = params.n_ubatch = 512
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_prompt = False
    params.verbosity = -1
    server = xllamacpp.Server(params)

    def timings(prompt, n):
        answer = server.handle_completions({"prompt": prompt, "n_predict": n, "temperature": 0.0, "top_k": 1, "samplers": ["top_k"],
                                            "ignore_eos": True, "cache_prompt": False})
        return (json.loads(answer) if isinstance(answer, (str, bytes)) else answer)["timings"]

    written, read = [], []
    for i in range(ROUNDS + 1):  # the first is not counted
        a, b = timings([1], tokens), timings(text, 1)
        if i > 0:
            written.append(a["predicted_per_second"]), read.append(b["prompt_per_second"])
    print(json.dumps({"tokens_per_second": statistics.median(written), "prompt_tokens_per_second": statistics.median(read)}))


if __name__ == "__main__":
    main()
