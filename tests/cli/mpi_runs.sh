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

# ranks N ARGUMENTS...: as `run`, on N processes.
ranks() {
  local n=$1
  shift
  code=0
  timeout 900 mpirun -n "$n" "$glint" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
  command_line="mpirun -n $n glint $*"
}

# The process ids of the ranks of `mpirun` with the id $1, by rank.
rank_pids() {
  local child
  for child in $(pgrep -P "$1"); do
    tr '\0' '\n' <"/proc/$child/environ" 2>/dev/null | sed -n "s/^OMPI_COMM_WORLD_RANK=\(.*\)/\1 $child/p"
  done | sort -n | cut -d' ' -f2
}
