#!/bin/bash
# check_elf.sh LIBRARY: it loads where there is nothing but the C and C++ runtime of an
# Ubuntu 22.04 image (glibc 2.35, GLIBCXX_3.4.30), and asks the loader for nothing unusual.
set -euo pipefail
library=$1
failed=0
complain() {
  echo "$library: $*"
  failed=1
}

dynamic=$(readelf -dW "$library")
needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")
[[ -n $needed ]] || complain 'needs no library at all: readelf was not understood'
for name in $needed; do
  case $name in
    libstdc++.so.6 | libgcc_s.so.1 | libm.so.6 | libc.so.6 | ld-linux-*.so.*) ;;
    *) complain "needs $name" ;;
  esac
done
grep -q '(SONAME).*\[libattnplan\.so\.[0-9]*\]' <<<"$dynamic" || complain 'has no SONAME libattnplan.so.MAJOR'
! grep -E '\((TEXTREL|RPATH|RUNPATH)\)' <<<"$dynamic" || complain 'has text relocations or a run path'

# newest PREFIX LIMIT: no needed symbol version PREFIX_x.y.z is beyond the limit.
versions=$(readelf -VW "$library" | grep -oE '\b(GLIBC|GLIBCXX|CXXABI|GCC)_[0-9.]+' | sort -u)
newest() {
  local version
  grep -q "^$1_" <<<"$versions" || complain "no $1 version found: readelf was not understood"
  while read -r version; do
    [[ $(printf '%s\n' "$version" "$2" | sort -V | tail -n 1) == "$2" ]] ||
      complain "needs $1_$version, newer than $1_$2"
  done < <(sed -n "s/^$1_//p" <<<"$versions")
}
newest GLIBC 2.35
newest GLIBCXX 3.4.30
newest CXXABI 1.3.13

segments=$(readelf -lW "$library")
! grep -E '^ +LOAD .* RWE ' <<<"$segments" || complain 'has a segment both writable and executable'
grep -qE '^ +GNU_STACK .* RW ' <<<"$segments" || complain 'wants an executable stack'
grep -qE '^ +GNU_RELRO ' <<<"$segments" || complain 'has no read-only relocations'
exit "$failed"
