#!/bin/bash
# The manual page and the commands' own help say the same, and docs/ mentions every option.
#   manual.sh ABD SOURCE
. "$(dirname "$0")/expect.sh"
"$source/docs/manual.sh" "$abd" page.1
diff "$source/docs/abd.1" page.1 >diff.txt || { head -40 diff.txt; wrong "docs/abd.1 is not up to date: docs/manual.sh build/abd"; }
if command -v man >/dev/null; then
  man -l --warnings page.1 >page.txt 2>warnings.txt || true
  [ ! -s warnings.txt ] || { cat warnings.txt; wrong "the manual page has faults"; }
fi
for name in $("$abd" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  expect 0 "^Usage: abd $name" "$abd" "$name" --help
  grep -q 'Exit codes: ' out.txt || wrong "$name --help tells no exit codes"
  grep -qF "abd $name" "$source"/docs/*.md || wrong "docs/ does not mention abd $name"
  sed -n '/^Options:/,/^$/s/^  \(-[a-z], \)\?.*--\([a-z-]*\).*/\1--\2/p' out.txt | sed 's/,//' >options.txt
  while read -ra option; do
    found=false
    for word in "${option[@]}"; do if grep -qF -e "$word" "$source"/docs/*.md; then found=true; fi; done
    $found || wrong "docs/ does not mention abd $name ${option[*]}"
  done <options.txt
done
echo good
