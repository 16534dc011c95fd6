#!/bin/sh
# hip_report_test.sh DEV STUB WORK: `dev hip-report` where the runtime, STUB, sees no device: it stops
# before it builds, and its document lies where the caller asked for it and says why.
set -eu
dev=$1 stub=$2 work=$3

rm -rf "$work"
mkdir -p "$work/rocm/lib" "$work/caller"
cp "$stub" "$work/rocm/lib/libamdhip64.so"
cd "$work/caller"

status=0
ROCM_PATH="$work/rocm" ATTNPLAN_HIP_PLATFORM=amd "$dev" hip-report report.json \
  >output 2>errors || status=$?
test "$status" -eq 1
grep -qx 'dev: platform amd, as ATTNPLAN_HIP_PLATFORM says so' output
grep -qx "dev: wrote $PWD/report.json" output
grep -q 'no device for platform amd' errors
python3 - <<'END'
import json

with open("report.json") as file:
    report = json.load(file)
assert report["platform"] == "amd", report
assert "sees no device (error 100)" in report["reason"], report
assert report["kernel"], report
for key in ("test_status", "test", "bench_status", "bench", "compiler"):
    assert report[key] is None, (key, report)
END

status=0
ATTNPLAN_HIP_PLATFORM=cuda "$dev" hip-report 2>errors || status=$?
test "$status" -eq 1
grep -qx 'dev: ATTNPLAN_HIP_PLATFORM is amd or nvidia' errors
