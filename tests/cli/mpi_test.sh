#!/usr/bin/env bash
# Training on several processes with MPI: the bytes of one process, and what happens when something goes wrong.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
source "$2/tests/cli/mpi_runs.sh"
cd "$work" || exit 1
idx_set data
small=(train --data data --d-model 24 --batch 50 --no-drop-last --threads 1)
images=("${small[@]}" --layers 2 --epochs 3)
stories=(train tales --layers 1 --d-model 16 --d-hidden 16 --heads 2 --context 32 --batch 64 --micro-batch 5
  --epochs 1 --threads 1)

run "${images[@]}" --out alone
expect_code 0
run "${stories[@]}" --out tales
expect_code 0
for n in 1 2 3 4; do
  ranks $n "${images[@]}" --out images-$n
  expect_code 0
  same_run alone images-$n
  [ "$(grep -c "^images-$n " "$work/out")" -eq 1 ] || fail "the result is not printed once: $(cat "$work/out")"
  grep -q "\"ranks\": $n" images-$n/run.json || fail "run.json does not say that there were $n ranks"
  ranks $n "${stories[@]}" --out tales-$n
  expect_code 0
  same_run tales tales-$n
done
# A scan of all tokens is shared too, with one result.
run spectrum tales --scan --threads 1 --out scan-1
expect_code 0
ranks 3 spectrum tales --scan --threads 1 --out scan-3
expect_code 0
cmp -s scan-1/scan-layer-1.csv scan-3/scan-layer-1.csv || fail "a scan differs with three ranks"
# And the layers of a model.
run train tales --layers 3 --d-model 16 --d-hidden 16 --heads 2 --context 32 --batch 64 --epochs 1 --out deep
expect_code 0
run spectrum deep --all-layers --token the --threads 1 --no-figures --out layers-1
expect_code 0
ranks 2 spectrum deep --all-layers --token the --threads 1 --no-figures --out layers-2
expect_code 0
diff -r layers-1 layers-2 || fail "a reading of all layers differs with two ranks"
# The program itself links no MPI.
! ldd "$glint" | grep -qi mpi || fail "the program links MPI: $(ldd "$glint" | grep -i mpi)"

# An error is said once: of all ranks, and of one.
ranks 3 train no-such-recipe --out none
expect_code 2
[ "$(grep -c "glint: error" "$work/err")" -eq 1 ] || fail "not said once: $(cat "$work/err")"
ranks 3 train --no-such-flag
expect_code 2
[ "$(grep -c "glint: error" "$work/err")" -eq 1 ] || fail "not said once: $(cat "$work/err")"
ranks 6 "${stories[@]}" --out many
expect_code 2
expect_err "6 ranks for 5 lanes"
cat >one-blind <<EOT
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" = 1 ] && cd "$work/elsewhere"
exec "$glint" "\$@"
EOT
cat >one-other <<EOT
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" = 2 ] && exec "$glint" "\$@" --lr 0.5
exec "$glint" "\$@"
EOT
cat >one-baseline <<EOT
#!/bin/sh
[ "\$OMPI_COMM_WORLD_RANK" = 1 ] && export GLINT_ISA=baseline
exec "$glint" "\$@"
EOT
cat >one-full <<EOT
#!/bin/bash
trap '' XFSZ
[ "\$OMPI_COMM_WORLD_RANK" = 0 ] && ulimit -f 4
exec "$glint" "\$@"
EOT
chmod +x one-blind one-other one-baseline one-full
mkdir elsewhere
real=$glint
glint=$work/one-blind ranks 2 "${images[@]}" --out blind
expect_code 2
expect_err "rank 1 of 2: "
[ "$(grep -c "glint: error" "$work/err")" -eq 1 ] || fail "not said once: $(cat "$work/err")"
glint=$work/one-other ranks 3 "${images[@]}" --out other
expect_code 2
expect_err "rank 2 of 3 has options.lr 0.5, rank 0 has 0.001"
# Another instruction set at one rank: a note that names it, and the bytes of that set everywhere.
glint=$work/one-baseline ranks 3 "${images[@]}" --out mixed
expect_code 0
if "$real" --version | grep -q baseline; then
  echo "skipped: this processor has the baseline alone"
else
  expect_err "rank 1 of 3 (on $(hostname)) has baseline"
  expect_err "all compute with baseline"
fi
GLINT_ISA=baseline run "${images[@]}" --out baseline
expect_code 0
same_run baseline mixed
# No room at rank 0, for the weights and the checkpoints: said once, and all end.
glint=$work/one-full ranks 3 "${images[@]}" --out full
expect_code 1
expect_err "cannot write"
[ "$(grep -c "glint: error" "$work/err")" -eq 1 ] || fail "not said once: $(cat "$work/err")"
glint=$real
# Numbers that blow up, at any rank.
ranks 3 "${small[@]}" --layers 4 --lr 10 --gate bilinear --schedule constant --epochs 20 --out diverged
expect_code 4
[ "$(grep -c "glint: error" "$work/err")" -eq 1 ] || fail "not said once: $(cat "$work/err")"
grep -q '"state": "diverged"' diverged/run.json || fail "run.json does not say that it diverged"

# A rank that is killed ends the job, and nothing is lost that was saved. The run goes on with other numbers of ranks.
long=("${small[@]}" --layers 2 --epochs 150)
run "${long[@]}" --out long
expect_code 0
for victim in 0 1 2; do
  before=$(newest_step killed)
  mpirun -n 3 "$glint" "${long[@]}" --checkpoint-every 5 --out killed >"$work/out" 2>"$work/err" </dev/null &
  job=$!
  command_line="mpirun, rank $victim killed"
  moved() { [ "$(newest_step killed)" -gt "$((before + 20))" ] || ! kill -0 $job 2>/dev/null; }
  wait_for 60 moved
  pids=($(rank_pids $job))
  [ "${#pids[@]}" -eq 3 ] || { wait $job; fail "the job ended too soon: $(cat "$work/err")"; break; }
  kill -9 "${pids[$victim]}"
  begin=$(date +%s%N)
  ended() { ! kill -0 $job 2>/dev/null; }
  wait_for 1 ended || kill -9 $job
  echo "rank $victim killed: the job ended after $((($(date +%s%N) - begin) / 1000000)) ms"
  code=0
  wait $job || code=$?
  [ "$code" -ne 0 ] || fail "$command_line: exit code 0"
  [ "$(newest_step killed)" -gt "$before" ] || fail "$command_line: a checkpoint is lost"
done
ranks 4 "${long[@]}" --out killed
expect_code 0
same_run long killed
# SIGTERM to mpirun: rank 0 saves within the second that mpirun gives. A signal for one rank alone stops all, with the
# code of a run that was stopped.
endless=("${small[@]}" --layers 2 --epochs 100000 --checkpoint-every 1000000000)
running() { grep -qs '"step"' stopped/metrics.jsonl || ! kill -0 $job 2>/dev/null; }
for whom in mpirun 0 1; do
  rm -rf stopped
  mpirun -n 3 "$glint" "${endless[@]}" --out stopped >"$work/out" 2>"$work/err" </dev/null &
  job=$!
  command_line="mpirun, SIGTERM for $whom"
  wait_for 60 running
  pids=($(rank_pids $job))
  [ "${#pids[@]}" -eq 3 ] || { fail "$command_line: the job ended too soon: $(cat "$work/err")"; continue; }
  if [ $whom = mpirun ]; then kill -TERM $job; else kill -TERM "${pids[$whom]}"; fi
  code=0
  wait $job || code=$?
  if [ $whom = mpirun ]; then [ "$code" -ne 0 ] || fail "$command_line: exit code 0"; else expect_code 130; fi
  grep -q '"state": "interrupted"' stopped/run.json || fail "$command_line: run.json says $(grep state stopped/run.json)"
  [ "$(newest_step stopped)" -gt 0 ] || fail "$command_line: nothing is saved"
  expect_err "interrupted; saved at step"
done

# Without the plugin, with that of another version, without a launcher, and alone on request.
GLINT_MPI=$work/none.so ranks 2 "${images[@]}" --out missing
expect_code 2
expect_err "plugin for MPI cannot be opened"
expect_err "libopenmpi-dev"
[ "$(grep -c "glint: error" "$work/err")" -eq 1 ] || fail "not said once: $(cat "$work/err")"
GLINT_MPI=$work/none.so run "${images[@]}" --out images-1
expect_code 0
# mpirun of MPICH, as its environment shows it, and Slurm without PMI: each task would train alone.
PMI_SIZE=2 PMI_RANK=0 run "${images[@]}" --out mpich
expect_code 2
expect_err "was built for Open MPI"
SLURM_NTASKS=4 SLURM_PROCID=0 run "${images[@]}" --out slurm
expect_code 2
expect_err "Slurm has 4 tasks, but MPI sees only this one"
expect_err "SLURM_MPI_TYPE=pmix srun"
SLURM_NTASKS=4 GLINT_MPI=off run "${images[@]}" --out alone
expect_code 0
finish
