#!/usr/bin/env python3
"""Ten symmetric matrices, all eigenpairs in double: glint, torch.linalg.eigh and jax.numpy.linalg.eigh taking turns in one run.
There is nothing to compile for PyTorch."""
import json
import subprocess

import turns


def ours(args, threads):
    def row(case):
        out = subprocess.run([args.program, "--benchmark_filter=^eigenpairs_10/%d/%d/" % (case["width"], threads),
                              "--benchmark_format=json", "--benchmark_min_time=0.05"], check=True, capture_output=True).stdout
        measured = json.loads(out)["benchmarks"][0]
        assert measured["time_unit"] == "ms"
        args.library = measured.get("label", "")
        return {"median_ms": measured["real_time"]}

    return row


def main():
    parser = turns.parser(__doc__, 5)
    parser.add_argument("--widths", default="256,512,784")
    parser.set_defaults(program="build/release/bench/eigen_bench", precisions="f32", peers="eager,jax")
    args = parser.parse_args()
    result = turns.result(args)
    cases = [{"width": int(w)} for w in args.widths.split(",")]
    for _, threads, _ in turns.settings(args, result):
        rows = turns.compare(args, "eigen", "f64", threads, cases, ours(args, threads), lambda case: 1)
        rows = [dict(case, **row) for case, row in zip(cases, rows)]
        result["rows"] += rows
        turns.print_table("%d thread(s) (ms; ratio = fastest peer / glint); glint with %s" % (threads, args.library),
                          [("width", lambda r: r["width"]), ("glint", lambda r: "%.1f" % r["glint_ms"])], rows)
    result["library"] = args.library
    turns.save(args, result)


if __name__ == "__main__":
    main()
