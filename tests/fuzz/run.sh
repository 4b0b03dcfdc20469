#!/bin/bash
# Runs one fuzz target for a while on a fresh copy of its corpus; what it finds stays beside the copy, in the build.
#   run.sh PROGRAM CORPUS COPY SECONDS
set -euo pipefail
program=$1 corpus=$2 copy=$3 seconds=$4
rm -rf "$copy"
mkdir -p "$copy"
[ ! -d "$corpus" ] || cp -r "$corpus/." "$copy/"
# Every seed once, then mutations: a regression among the seeds fails even where time is short.
"$program" -runs=0 -artifact_prefix="$copy.found-" "$copy"
"$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
           -artifact_prefix="$copy.found-" "$copy" 2>&1 | tail -n 40
