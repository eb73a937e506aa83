# Shared by the tests of several processes: `source` it after check.sh. Skips where there is no MPI.
plugin=$(dirname "$glint")/libglint_mpi.so
skip() {
  echo "skipped: $*"
  exit 77
}
command -v mpirun >/dev/null || skip "no mpirun; Debian: apt-get install libopenmpi-dev openmpi-bin"
[ -f "$plugin" ] || skip "libglint_mpi.so was not built: no MPI was found"
# More ranks than cores, as root or not, and no other network than this machine's own.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo
export OMPI_MCA_mpi_yield_when_idle=0 OMPI_MCA_orte_tmpdir_base=$work OMPI_MCA_btl_vader_single_copy_mechanism=none
mpirun --version 2>/dev/null | grep -q "Open MPI" || skip "the tests are written for the mpirun of Open MPI"
timeout 120 mpirun -n 2 true >/dev/null 2>"$work/err" || skip "mpirun does not work here: $(head -c 300 "$work/err")"

# Waits for mpirun with the id $1 and gives its code. Its own end can hang when a rank has aborted (a thread of PMIx
# never ends): where all its ranks have been gone for a minute it is killed, and the code is 75.
wait_for_mpirun() {
  local gone=0 live
  while kill -0 "$1" 2>/dev/null; do
    sleep 0.1
    live=$(ps -o stat= --ppid "$1" 2>/dev/null | grep -vc '^Z' || true)
    if [ -z "$(ps -o stat= --ppid "$1" 2>/dev/null)" ] || [ "$live" -gt 0 ]; then gone=0; else gone=$((gone + 1)); fi
    if [ "$gone" -gt 600 ]; then
      kill -9 "$1"
      wait "$1" 2>/dev/null || true
      return 75
    fi
  done
  wait "$1"
}

# ranks N ARGUMENTS...: as `run`, on N processes. Once more where mpirun did not end by itself.
ranks() {
  local n=$1 try
  shift
  for try in 1 2; do
    code=0
    mpirun -n "$n" "$glint" "$@" >"$work/out" 2>"$work/err" </dev/null &
    wait_for_mpirun $! || code=$?
    [ "$code" = 75 ] || break
    echo "mpirun did not end after its ranks had (try $try)" >&2
  done
  command_line="mpirun -n $n glint $*"
}

# The process ids of the ranks of `mpirun` with the id $1, by rank.
rank_pids() {
  local child
  for child in $(pgrep -P "$1"); do
    tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null | sed -n "s/^OMPI_COMM_WORLD_RANK=\(.*\)/\1 $child/p"
  done | sort -n | cut -d' ' -f2
}
