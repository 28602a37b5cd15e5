#!/usr/bin/env bash
# self.sh <cluster>: what tests rely on. Nodes are apart from each other, clusters too, and nothing is left of one that is killed.
set -euo pipefail
cluster=$1
die() { echo "error: $*" >&2; exit 1; }
outside() { PATH=$PATH:/usr/sbin:/sbin ip -o link | cut -d: -f2; awk '$2 == "/dev/shm" || $2 == "/etc/hosts"' /proc/mounts; hostname; }

bash "$cluster" check
outside >before

# Two clusters at once: the same names and addresses, but other disks.
nodes_are_apart() {
  bash "$cluster" with 2 -- bash -euc '
    cluster on 1 bash -c "echo $0 >/dev/shm/local/file"
    sleep 0.5
    [ "$(cluster on 1 cat /dev/shm/local/file)" = "$0" ]
    [ "$(cluster on 2 hostname) $(cluster on 2 ls /dev/shm/local)" = "node2 " ]
    cluster on 2 bash -c "exec 3<>/dev/tcp/node1/9" 2>&1 | grep -q refused
    cluster cut 1
    if timeout 1 bash -c "exec 3<>/dev/tcp/node1/9" 2>error || grep -q refused error; then exit 1; fi
    cluster wipe 1
    [ -z "$(cluster on 1 ls /dev/shm/local)" ]' "$1" || die "cluster $1"
}
mkdir one two
(cd one && nodes_are_apart one) &
(cd two && nodes_are_apart two)
wait $!

rc=0
bash "$cluster" with 1 -- bash -c 'exit 5' || rc=$?
[ $rc = 5 ] || die "exit code $rc instead of 5"

# marked: processes of the cluster that is to be killed, wherever they are.
mark=cluster-self-$$-$RANDOM
marked() { pgrep -fc "^$mark" || true; }
bash "$cluster" with 2 -- bash -c 'cluster on 2 bash -c "exec -a $0 sleep 1000" & exec -a $0 sleep 1000' $mark &
for _ in $(seq 100); do if [ "$(marked)" = 2 ]; then break; fi; sleep 0.1; done
[ "$(marked)" = 2 ] || die "the processes to be killed did not start"
kill -KILL $!
wait $! 2>/dev/null || true
for _ in $(seq 50); do if [ "$(marked)" = 0 ]; then break; fi; sleep 0.1; done
[ "$(marked)" = 0 ] || die "processes outlive the cluster"

outside | diff before - || die "something is left behind"
