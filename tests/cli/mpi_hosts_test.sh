#!/usr/bin/env bash
# Two hosts, as network namespaces with TCP between them: the same bytes as one process. Needs the right to make them.
set -uo pipefail
glint=$1
export GLINT_RECIPES=$2/recipes
source "$2/tests/cli/check.sh"
source "$2/tests/cli/train_runs.sh"
source "$2/tests/cli/mpi_runs.sh"
command -v ip >/dev/null || skip "no ip (Debian: iproute2)"
tag=glint$$
clean_up() {
  local ns
  for ns in ${tag}a ${tag}b; do ip netns pids "$ns" 2>/dev/null | xargs -r kill 2>/dev/null; ip netns del "$ns" 2>/dev/null; done
  rm -rf "$work"
}
trap clean_up EXIT
ip netns add ${tag}a 2>"$work/err" && ip netns add ${tag}b 2>>"$work/err" || skip "no right to make network namespaces: $(cat "$work/err")"
ip link add ${tag}x netns ${tag}a type veth peer name ${tag}y netns ${tag}b 2>"$work/err" || skip "no pair of links: $(cat "$work/err")"
ip -n ${tag}a addr add 10.249.7.1/24 dev ${tag}x && ip -n ${tag}b addr add 10.249.7.2/24 dev ${tag}y &&
  ip -n ${tag}a link set ${tag}x up && ip -n ${tag}b link set ${tag}y up &&
  ip -n ${tag}a link set lo up && ip -n ${tag}b link set lo up || skip "the links cannot be set up"
cd "$work" || exit 1
# What mpirun uses instead of ssh: the other host is the other namespace, with a name of its own.
cat >agent <<EOT
#!/bin/sh
shift
exec ip netns exec ${tag}b unshare --uts sh -c 'hostname other-host; exec "\$@"' sh sh -c "\$*"
EOT
chmod +x agent
unshare --uts true 2>/dev/null || skip "no right to change the name of a host"
export OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=10.249.7.0/24 OMPI_MCA_oob_tcp_if_include=10.249.7.0/24
export OMPI_MCA_plm_rsh_agent=$work/agent
on_hosts() { ip netns exec ${tag}a unshare --uts sh -c 'hostname this-host; exec "$@"' sh timeout 300 mpirun --host this-host:2,10.249.7.2:1 -n 3 "$@"; }
on_hosts hostname >"$work/out" 2>"$work/err" </dev/null || skip "mpirun cannot reach the other host: $(head -c 400 "$work/err")"
grep -q other-host "$work/out" || skip "both hosts are one: $(cat "$work/out")"
idx_set data
images=(train --data data --d-model 24 --layers 2 --batch 50 --no-drop-last --epochs 2 --threads 1)
run "${images[@]}" --out alone
expect_code 0
on_hosts "$glint" "${images[@]}" --out two-hosts >"$work/out" 2>"$work/err" </dev/null || fail "two hosts: $(cat "$work/err")"
same_run alone two-hosts
finish
