#!/bin/bash
# Brings docs/abd.1 up to date: what stands between its marks is made from what the commands say of themselves with --help.
#   docs/manual.sh ABD [FILE]       writes FILE, docs/abd.1 itself if left out
# The test cli_manual compares.
set -euo pipefail
abd=$(realpath "$1") page=$(dirname "$(realpath "$0")")/abd.1
commands=$("$abd" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')

synopsis() {
  for name in $commands; do
    "$abd" "$name" --help | sed -n '/^Usage: /,/^$/p' | sed 's/^Usage: //; s/^ *//; /^$/d' | sed 's/-/\\-/g; s/^\(abd [a-z]*\) *\(.*\)/.B \1\n\2/; s/$/\n.br/' | sed '/^$/d'
  done
}

options() {
  for name in $commands; do
    printf '.SS abd %s\n' "$name"
    "$abd" "$name" --help | awk '
      function plain(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); return text ~ /^[.\x27]/ ? "\\&" text : text }
      /^Usage: / { part = "usage" }
      part == "usage" && /^$/ { part = "text"; print ".nf"; open = 1; next }
      part == "usage" { next }
      /^Options:/ { if (open) print ".fi"; open = 0; part = "options"; next }
      part == "options" && /^$/ { part = "text"; print ".PP\n.nf"; open = 1; next }
      part == "options" {
        names = substr($0, 3, 24); help = substr($0, 29)
        if (length($0) > 26 && substr($0, 27, 2) != "  ") { at = match(substr($0, 3), /  +[^ ]/); names = substr($0, 3, at); help = substr($0, at + 3) }
        sub(/^ +/, "", names); sub(/ +$/, "", names); sub(/^ +/, "", help)
        print ".TP\n.B " plain(names) "\n" plain(help); next
      }
      { print plain($0) }
      END { if (open) print ".fi" }'
  done
}

made=$(mktemp)
trap 'rm -f "$made"' EXIT
skip=false
while IFS= read -r line; do
  case $line in
    '.\" synopsis: begin'*) printf '%s\n' "$line"; synopsis; skip=true ;;
    '.\" options: begin'*) printf '%s\n' "$line"; options; skip=true ;;
    '.\" '*': end') skip=false ;;
  esac
  $skip || printf '%s\n' "$line"
done <"$page" >"$made"
cat "$made" >"${2:-$page}"
