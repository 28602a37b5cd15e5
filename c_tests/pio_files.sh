#!/usr/bin/env bash
# pio_files.sh <ncdump or -> <ncmpidump or -> <launcher and program...>
# Runs the program, then compares each file that PIO wrote with the one that a serial writer made: byte by byte, and
# as the file libraries' own programs show them.
set -euo pipefail
ncdump=$1 ncmpidump=$2
shift 2
"$@"

same_text() { # <program> <name>
  [ "$1" = - ] || diff <(cd pio && "$1" "$2") <(cd serial && "$1" "$2")
}

compared=0
for file in pio/*.nc; do
  name=${file#pio/}
  cmp "$file" "serial/$name"
  same_text "$ncdump" "$name"
  case $name in pnetcdf_*) same_text "$ncmpidump" "$name" ;; esac
  compared=$((compared + 1))
done
echo "$compared pairs of files are the same"
[ "$compared" -gt 0 ]
