#!/bin/sh
# check_exports.sh LIBRARY LIST: what the library exports is exactly the list, symbol versions too.
set -eu
exported=$(nm -D --defined-only --with-symbol-versions "$1" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort)
if [ "$exported" != "$(cat "$2")" ]; then
  echo "exports differ from $2 (< listed, > exported):"
  printf '%s\n' "$exported" | diff "$2" - || true
  exit 1
fi
