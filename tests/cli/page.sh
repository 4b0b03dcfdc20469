# shellcheck shell=bash disable=SC2154,SC2034,SC2209
# Read by the scripts beside it after expect.sh: obeys a page of the documentation as a reader would. A ```json block is saved
# under the last name like `mill.json` in the text before it; of ```sh blocks every line that begins with abd is run, and must
# exit with 0, or with N where a comment "exit code N" is beside it. What needs ffmpeg or the viewer says "skipped" where they
# are missing. Counts commands, skipped, and film_at: the number of the command that makes a film.
mkdir bin
ln -s "$abd" bin/abd
export PATH=$scratch/bin:$PATH
commands=0 skipped=0 film_at=0

# look COMMAND...: serves the page until it has been fetched.
look() {
  "$@" --port 0 >address.txt 2>look.txt &
  local process=$! address=
  for _ in $(seq 100); do
    address=$(head -n 1 address.txt)
    [ -z "$address" ] && kill -0 $process 2>/dev/null || break
    sleep 0.1
  done
  [ -n "$address" ] || { cat look.txt; return 1; }
  address=${address#http://}
  address=${address%%/*}
  exec 9<>"/dev/tcp/${address/://}"
  printf 'GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n' "$address" >&9
  grep -q '<html' <&9 || { echo "no page at $address"; return 1; }
  exec 9>&-
  kill -INT $process
  wait $process
}

# obey LINE: one line of the page; a comment begins with # or after two spaces.
obey() {
  local line=$1 code=0 got=0 words
  [[ $line =~ 'exit code '([0-9]+) ]] && code=${BASH_REMATCH[1]}
  line=${line%%#*}
  read -ra words <<<"${line%%  *}"
  [ "${words[0]}" = abd ] || return 0
  commands=$((commands + 1))
  echo "== ${words[*]}"
  if [[ $line = *.mp4* ]]; then
    film_at=$commands
    words+=(--fps 5 --size 160x100) # the last of two wins; a small film
  fi
  [ "${words[1]}" != view ] || words=(look "${words[@]}")
  "${words[@]}" >out.txt 2>&1 || got=$?
  if [ "$got" -ne 0 ] && grep -E 'needs the program ffmpeg|built without' out.txt; then
    echo "skipped"
    skipped=$((skipped + 1))
  elif [ "$got" -ne "$code" ]; then
    cat out.txt
    wrong "exit code $got instead of $code: $line"
  fi
}

obey_page() {
  local in=text line name=
  while IFS= read -r line; do
    case $in:$line in
      text:'```json') in=json; : >"$name" ;;
      text:'```sh') in=sh ;;
      text:'```') in=other ;;
      *:'```') in=text ;;
      json:*) printf '%s\n' "$line" >>"$name" ;;
      sh:*) obey "$line" </dev/null ;;
      text:*) [[ ! $line =~ \`([a-z0-9-]+\.json)\` ]] || name=${BASH_REMATCH[1]} ;;
    esac
  done <"$1"
}
