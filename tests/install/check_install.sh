#!/bin/sh
# check_install.sh WAY BUILD CONSUMER WORK: installs BUILD, moves the tree, and builds and runs the
# consumers against it, found by `find_package` or by `pkg_config`.
set -eu
way=$1 build=$2 consumer=$3 work=$4

rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/installed" >/dev/null
mv "$work/installed" "$work/moved"
prefix=$work/moved

case $way in
  find_package)
    cmake -S "$consumer" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
    cmake --build "$work/build"
    "$work/build/consumer_c"
    "$work/build/consumer_core"
    ;;
  pkg_config)
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name attnplan.pc)")
    export PKG_CONFIG_PATH
    libdir=$(pkg-config --variable=libdir attnplan)
    # shellcheck disable=SC2046 # flags are words
    "${CC:-cc}" -std=c99 -Wall -Wextra -Werror -o "$work/consumer_c" "$consumer/consumer.c" \
      $(pkg-config --cflags --libs attnplan) -Wl,-rpath,"$libdir"
    "$work/consumer_c"
    test "$(pkg-config --modversion attnplan)" = "$("$work/consumer_c" --version)"
    ;;
  *)
    echo "no such way: $way" >&2
    exit 2
    ;;
esac
