#!/usr/bin/env python3
"""Tells whether one build of a bench is slower than another: pairs.py [--pairs 15] <bench> <other bench> -- <arguments>

Runs both in turns and prints, for every figure, the median of the ratios bench / other with its 95 % interval, taken
from the order statistics of the pairs: no assumption about how times are distributed. SLOWER marks a figure whose
interval lies wholly above 1.05; the exit code is then 1. LAUNCH is put before both, e.g. LAUNCH="mpiexec -n 4".
"""

import argparse
import math
import os
import shlex
import statistics
import subprocess
import sys

LIMIT = 1.05


def figures(command):
    """What one run prints: lines that end in a number and its unit."""
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0 or "WRONG" in run.stdout:
        sys.exit(f"{shlex.join(command)} ended with {run.returncode}:\n{run.stdout}")
    found = {}
    for line in run.stdout.splitlines():
        words = line.split()
        try:
            found[" ".join(words[:-2])] = (float(words[-2]), words[-1])
        except (IndexError, ValueError):
            continue
    return found


def interval(ratios):
    """The narrowest pair of order statistics that covers the median in at least 95 % of all samples."""
    ordered, count = sorted(ratios), len(ratios)
    outside = 0.0
    for low in range(count // 2):
        outside += 2 * math.comb(count, low) / 2**count
        if outside > 0.05:
            return ordered[max(low - 1, 0)], ordered[count - max(low - 1, 0) - 1]
    return ordered[0], ordered[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("bench")
    parser.add_argument("other")
    parser.add_argument("arguments", nargs="*")
    given = parser.parse_args()
    launch = shlex.split(os.environ.get("LAUNCH", ""))
    ratios, units = {}, {}
    for turn in range(given.pairs):
        # Neither always runs first.
        order = ["bench", "other"] if turn % 2 == 0 else ["other", "bench"]
        run = {side: figures([*launch, getattr(given, side), *given.arguments]) for side in order}
        for name, (value, unit) in run["bench"].items():
            base = run["other"].get(name, (0, unit))[0]
            if value > 0 and base > 0:
                ratios.setdefault(name, []).append(value / base)
                units[name] = unit
    slower = False
    for name, values in ratios.items():
        if len(values) < given.pairs:
            continue
        low, high = interval(values)
        mark = "SLOWER" if low > LIMIT else ""
        slower |= low > LIMIT
        print(f"{name:<44} {statistics.median(values):7.3f}  [{low:.3f}, {high:.3f}]  {units[name]} {mark}".rstrip())
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
