#!/bin/bash
# The first minutes of a newcomer: clone, ./demo, look at the page it tells of.
#   clone.sh SOURCE
set -euo pipefail
source=$(realpath "$1")
git -C "$source" rev-parse HEAD >/dev/null 2>&1 || { echo "skipped: $source is no clone itself"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q "$source" "$work/abd"
cd "$work/abd"
./demo | tee "$work/said.txt"
for file in out/demo.abd out/demo.png; do [ -s "$file" ] || { echo "no $file"; exit 1; }; done
grep -q 'no two surfaces cross' "$work/said.txt" || { echo "nothing was verified"; exit 1; }

# every command it offers with files that are there
look=$(sed -nE 's/^  (build\/abd view [^ ]+)  .*/\1/p' "$work/said.txt")
[ -n "$look" ] || { echo "it does not say how to look"; exit 1; }
while read -ra words; do
  echo "== ${words[*]}"
  "${words[@]}" --quiet || { echo "exit code $?"; exit 1; }
done < <(sed -nE 's/^  (build\/abd export [^ ]+ -o [^ ]+\.png( --[a-z]+ [^ ]+)*)  .*/\1/p' "$work/said.txt")

echo "== $look"
read -ra words <<<"$look"
"${words[@]}" --port 0 >address.txt 2>why.txt &
process=$!
for _ in $(seq 100); do
  [ ! -s address.txt ] && kill -0 $process 2>/dev/null || break
  sleep 0.1
done
if grep 'built without' why.txt; then
  echo "the page is skipped"
  exit 0
fi
address=$(sed -E 's|http://([^/]+)/.*|\1|' address.txt)
exec 9<>"/dev/tcp/${address/://}"
printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$address" >&9
grep -q '<html' <&9 || { echo "no page at $address"; exit 1; }
exec 9>&-
kill -INT $process
wait $process
