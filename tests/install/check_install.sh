#!/bin/sh
# check_install.sh WAY BUILD CONSUMER WORK HIP: installs BUILD, moves the tree, and builds and runs
# the consumers against it, found by `find_package` or by `pkg_config`; that of the HIP module where
# HIP is ON.
set -eu
way=$1 build=$2 consumer=$3 work=$4 hip=$5

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
    test "$hip" = OFF || "$work/build/consumer_hip"
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
    test "$hip" = ON || exit 0
    # shellcheck disable=SC2046 # flags are words
    "${CC:-cc}" -std=c99 -Wall -Wextra -Werror -o "$work/consumer_hip" "$consumer/consumer_hip.c" \
      $(pkg-config --cflags --libs attnplan_hip) -Wl,-rpath,"$libdir"
    "$work/consumer_hip"
    test "$(pkg-config --modversion attnplan_hip)" = "$(pkg-config --modversion attnplan)"
    ;;
  *)
    echo "no such way: $way" >&2
    exit 2
    ;;
esac
