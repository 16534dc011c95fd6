# shellcheck shell=bash
# `./dev hip-report`, which sources this: says what it does, step by step, and leaves a JSON document
# whatever happens, so that a failure can be sent as well. Uses die, jobs and commit_name of dev.

: "${jobs:=1}"

# The first of the given programs that exists.
first_of() {
  local program
  for program in "$@"; do
    command -v "$program" && return
  done
  return 1
}

json_string() { # null where there is nothing to say
  [[ -n $1 ]] || { printf null; return; }
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  text=${text//$'\t'/ }
  printf '"%s"' "${text//$'\n'/\\n}"
}
json_file() { if [[ -s $1 ]]; then cat "$1"; else printf null; fi; }
first_line() { [[ ! -r $1 ]] || head -n 1 "$1"; }

# Sets report_platform and report_why.
report_choose_platform() {
  local rocm=$1 nvcc
  nvcc=$(first_of nvcc "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc") || nvcc=
  if [[ -n ${ATTNPLAN_HIP_PLATFORM:-} ]]; then
    [[ $ATTNPLAN_HIP_PLATFORM =~ ^(amd|nvidia)$ ]] || die 'ATTNPLAN_HIP_PLATFORM is amd or nvidia'
    report_platform=$ATTNPLAN_HIP_PLATFORM report_why='ATTNPLAN_HIP_PLATFORM says so'
  elif [[ -e /dev/kfd ]]; then
    report_platform=amd report_why='/dev/kfd is there'
  elif [[ -e /dev/nvidiactl ]]; then
    report_platform=nvidia report_why='/dev/nvidiactl is there'
  elif [[ -d $rocm ]]; then
    report_platform=amd report_why="neither /dev/kfd nor /dev/nvidiactl is there, but $rocm is"
  elif [[ -n $nvcc ]]; then
    report_platform=nvidia report_why="neither /dev/kfd nor /dev/nvidiactl is there, but $nvcc is"
  else
    report_platform=amd report_why='nothing speaks for another one'
  fi
}

# report_run NAME COMMAND...: one step with its output in a log; a failure becomes the reason.
report_run() {
  local log=$report_dir/$1.log what=$1
  shift
  echo "dev: $what ... (log: $PWD/$log)"
  "$@" >"$log" 2>&1 </dev/null && return
  tail -n 40 "$log" >&2
  report_reason="$what failed: $(grep -iE -m 1 -A 8 'error|fatal' "$log" || tail -n 5 "$log")"
  return 1
}

# Whether the runtime sees a device; the answer becomes report_runtime.
report_find_device() {
  local cc=$1 rocm=$2 program=$report_dir/count_devices libraries=() name answer
  report_run 'device-check' "$cc" -o "$program" tests/hip/hip_report/count_devices.c -ldl || return
  if [[ $report_platform == nvidia ]]; then
    libraries=(libcuda.so.1 libcuda.so)
  else
    for name in libamdhip64.so{,.7,.6,.5}; do
      [[ ! -e $rocm/lib/$name ]] || libraries+=("$rocm/lib/$name")
    done
    libraries+=(libamdhip64.so{,.7,.6,.5})
  fi
  if answer=$("$program" "$report_platform" "${libraries[@]}"); then
    report_runtime=$answer
    echo "dev: found $answer"
  else
    report_reason="no device for platform $report_platform: $answer"
    [[ $report_platform == nvidia || -w /dev/kfd ]] || report_reason+='. /dev/kfd is missing or not
writable for this user: in a container, pass --device /dev/kfd --device /dev/dri, and be in the
groups render and video'
    report_reason=${report_reason//$'\n'/ }
    return 1
  fi
}

report_configure() {
  local cxx=$1 cc=$2 flags=() generator=()
  [[ ! -d deps/include ]] || flags=("-DCMAKE_CXX_FLAGS=-isystem $PWD/deps/include")
  ! command -v ninja >/dev/null || generator=(-G Ninja)
  # Whatever an earlier run found may have been moved.
  rm -rf "$report_dir/CMakeCache.txt" "$report_dir"/CMakeFiles/[0-9]*
  report_run configure cmake "${generator[@]}" -S . -B "$report_dir" -DCMAKE_BUILD_TYPE=Release \
    "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_C_COMPILER=$cc" \
    "-DATTNPLAN_HIP_PLATFORM=$report_platform" -DATTNPLAN_TOOL=OFF -DATTNPLAN_TESTS=OFF \
    -DATTNPLAN_HIP_PROGRAMS=ON "${flags[@]}" || return
  sed -n 's/^-- HIP module: /dev: /p' "$report_dir/configure.log"
}

# What the toolchain's status line about $1 says.
report_found() { sed -n "s/^-- HIP module: $1 //p" "$report_dir/configure.log" 2>/dev/null || true; }

report_driver() {
  local file
  for file in /sys/module/amdgpu/version /proc/driver/nvidia/version; do
    first_line "$file"
  done
}

# All steps up to the first that fails; statuses in report_tested and report_timed.
report_steps() {
  local rocm=$1 cxx=$2 cc=$3
  report_find_device "$cc" "$rocm" && report_configure "$cxx" "$cc" || return
  echo 'dev: the build takes some minutes'
  report_run build cmake --build "$report_dir" -j "$jobs" \
    --target attnplan_hip_test attnplan_hip_bench || return
  echo 'dev: test ...'
  report_tested=0
  "$report_dir/bin/attnplan_hip_test" --json "$report_dir/test.json" || report_tested=$?
  ((report_tested == 0)) || { report_reason="the test ended with $report_tested"; return 1; }
  echo 'dev: bench ...'
  report_timed=0
  "$report_dir/bin/attnplan_hip_bench" --json "$report_dir/bench.json" || report_timed=$?
  ((report_timed == 0)) || { report_reason="the bench ended with $report_timed"; return 1; }
}

report_write() {
  local rocm=$1 i
  local -a fields=(
    commit "$(commit_name)" platform "$report_platform" platform_reason "$report_why"
    compiler "$(report_found compiler)" headers "$(report_found headers)"
    runtime_library "$(report_found 'runtime library')" runtime "$report_runtime"
    rocm "$(first_line "$rocm/.info/version")" system "$(sed -n 's/^PRETTY_NAME=//p' \
      /etc/os-release 2>/dev/null | tr -d \")" kernel "$(uname -sr)" driver "$(report_driver)"
    reason "$report_reason")
  printf '{'
  for ((i = 0; i < ${#fields[@]}; i += 2)); do
    printf '"%s": ' "${fields[i]}"
    json_string "${fields[i + 1]}"
    printf ',\n '
  done
  printf '"test_status": %s,\n "test": ' "$report_tested"
  json_file "$report_dir/test.json"
  printf ',\n "bench_status": %s,\n "bench": ' "$report_timed"
  json_file "$report_dir/bench.json"
  printf '}\n'
}

hip_report() { # FILE
  local out=$1 rocm=${ROCM_PATH:-/opt/rocm} cxx cc status=0
  report_dir=build/hip-report report_runtime='' report_tested=null report_timed=null
  report_reason='stopped before the end'
  report_choose_platform "$rocm"
  echo "dev: platform $report_platform, as $report_why"
  command -v cmake >/dev/null || die 'hip-report needs cmake 3.22 or newer'
  # The planner wants g++ 12 or clang 14, or newer ones; a ROCm image has its own clang.
  cxx=$(first_of "${CXX:-}" g++-14 g++-13 g++-12 "$rocm/llvm/bin/clang++" clang++ g++) ||
    die 'hip-report needs a C++20 compiler'
  cc=$(first_of "${CC:-}" "$rocm/llvm/bin/clang" clang gcc cc) || die 'hip-report needs a C compiler'
  mkdir -p "$report_dir"
  rm -f "$report_dir"/{configure.log,test.json,bench.json}
  report_write "$rocm" >"$out" || die "cannot write $out"
  report_reason=''
  report_steps "$rocm" "$cxx" "$cc" || status=1
  report_write "$rocm" >"$out"
  ((status == 0)) || echo "dev: $report_reason" >&2
  echo "dev: wrote $out"
  return "$status"
}
