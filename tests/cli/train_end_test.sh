#!/usr/bin/env bash
# The ends of a training: run.json says the truth after each, a terminal that goes away saves the run, and readers of
# stdout and stderr that go away do not end it.
set -uo pipefail
glint=$1
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
cd "$work" || exit 1
idx_set data
small=(train --data data --d-model 16 --batch 32)
state() { sed -n 's/^  "state": "\(.*\)",$/\1/p' "$1/run.json"; }
expect_state() { [ "$(state "$1")" = "$2" ] || fail "$command_line: the state is '$(state "$1")', expected '$2'"; }

run "${small[@]}" --epochs 400 --out whole
expect_code 0
expect_state whole finished

# SIGHUP saves, even when it comes twice, as from the system and from the shell.
python3 -c "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])" \
  "$glint" "${small[@]}" --epochs 400 --out hangup >"$work/out" 2>"$work/err" &
pid=$!
wait_for 60 test -s hangup/metrics.jsonl
kill -HUP "$pid"
kill -HUP "$pid" 2>/dev/null
code=0
wait "$pid" || code=$?
command_line="glint train, SIGHUP"
expect_code 130
expect_err "interrupted; saved at step"
expect_state hangup interrupted
[ "$(newest_step hangup)" -gt 0 ] || fail "nothing was saved at SIGHUP"
run "${small[@]}" --epochs 400 --out hangup
expect_code 0
expect_state hangup finished
same_run whole hangup

# With nohup it goes on.
nohup "$glint" "${small[@]}" --epochs 400 --out nohup >"$work/out" 2>"$work/err" &
pid=$!
wait_for 60 test -s nohup/metrics.jsonl
kill -HUP "$pid" 2>/dev/null
code=0
wait "$pid" || code=$?
command_line="nohup glint train"
expect_code 0
same_run whole nohup

# Readers that go away, and streams that were never open. The run ends as any other.
reader_gone() {
  python3 - "$@" <<'PYTHON'
import os, signal, subprocess, sys
which, command = sys.argv[1], sys.argv[2:]
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
read, write = os.pipe()
os.close(read)
streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
for name in streams:
    if which in (name, "both"):
        streams[name] = write
sys.exit(subprocess.run(command, stdin=subprocess.DEVNULL, **streams, restore_signals=True).returncode & 255)
PYTHON
}
for which in stdout stderr both; do
  code=0
  reader_gone "$which" "$glint" "${small[@]}" --epochs 400 --out "gone-$which" || code=$?
  command_line="glint train, the reader of $which gone"
  expect_code "$([ "$which" = stderr ] && echo 0 || echo 1)"
  expect_state "gone-$which" finished
  same_run whole "gone-$which"
done
code=0
"$glint" "${small[@]}" --epochs 400 --out closed >&- 2>&- || code=$?
command_line="glint train with closed streams"
expect_code 1 # the table could not be written
expect_state closed finished
same_run whole closed

# Divergence: true state, and no checkpoint is promised that is not there.
away=(--epochs 2 --lr 10 --gate bilinear --layers 2 --schedule constant)
run "${small[@]}" "${away[@]}" --out away
expect_code 4
expect_state away diverged
expect_err "there is no checkpoint yet"
[ -z "$(ls away/checkpoints)" ] || fail "there is a checkpoint: $(ls away/checkpoints)"
run eval away
expect_code 3
expect_err "the training diverged"
run "${small[@]}" "${away[@]}" --checkpoint-every 1 --out kept
expect_code 4
expect_err "the checkpoint of step $(newest_step kept) is kept"

# A file that cannot be written any more: as on a full disk, with a limit that every system has.
code=0
(ulimit -f 16 && trap '' XFSZ && exec "$glint" train --data data --d-model 64 --batch 32 --epochs 2 --checkpoint-every 5 --out full) \
  >"$work/out" 2>"$work/err" || code=$?
command_line="glint train, files of 16 kB at most"
expect_code 1
expect_state full failed
run train --data data --d-model 64 --batch 32 --epochs 2 --checkpoint-every 5 --out full
expect_code 0
expect_state full finished
finish
