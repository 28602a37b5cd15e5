#!/usr/bin/env bash
# placed.sh <program redset_nodes>: on a cluster of five nodes.
# STANCHION_TOPOLOGY places sets without a word in the program: by host, one node is lost; by a file, a rack of two.
set -euo pipefail
. "$(dirname "$0")/common.sh"
program=$1
local=/dev/shm/local/job

export STANCHION_TOPOLOGY=host
say "by host: protect on nodes 1 to 4"
job 8 1,2,3,4 "$program" protect $local partner xor rs2
say "node 1 is lost, node 5 takes its place"
cluster wipe 1
job 8 5,2,3,4 "$program" recover $local partner xor rs2

export STANCHION_TOPOLOGY=file:$PWD/topology
cat >topology <<'END'
# Two racks; nodes 1 and 3 are in the first one.
node1 rack0/node1
node3 rack0/node3
node2 rack1/node2
node4 rack1/node4
node5 rack1/node5
END
say "by a file: protect on nodes 1 to 4"
job 8 1,2,3,4 "$program" protect $local partner xor rs2
say "rack0 is lost, that is nodes 1 and 3; nodes 5 and 3 take their places"
cluster wipe 1
cluster wipe 3
cluster wipe 5
job 8 5,2,3,4 "$program" recover $local partner rs2
job 8 5,2,3,4 "$program" lost $local xor
