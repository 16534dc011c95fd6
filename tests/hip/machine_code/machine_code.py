#!/usr/bin/env python3
"""The machine code of every kernel of src/hip on AMD's targets, as figures.

Compiles the device code to assembly and compares with figures.json: scratch memory, spilled vector
registers, a loop that waits for all of its loads, and anything worse than the record fail. --update
writes the record and the table of docs/kernels.md.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import assembly
import table

ROOT = pathlib.Path(__file__).resolve().parents[3]
HIP = ROOT / "src" / "hip"
RECORD = pathlib.Path(__file__).with_name("figures.json")
DOCS = ROOT / "docs" / "kernels.md"
ARCHS = ("gfx90a", "gfx942", "gfx950")
CACHES = ("bf16", "fp16", "e4m3fn", "e4m3fnuz", "e5m2")  # enum Cache
SKIPPED = 77


def find_compiler():
    """The newest clang++ of at least 20 on PATH, or None."""
    for version in range(40, 19, -1):
        found = shutil.which(f"clang++-{version}")
        if found:
            return found
    return None


def compiler_version(compiler):
    text = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout
    return int(re.search(r"version (\d+)", text).group(1))


def units():
    """(source, definitions) of everything that holds device code."""
    parts = sorted(set(re.findall(r"^ATTNPLAN_ATTENTION\((\d+)", (HIP / "kernels.inc").read_text(),
                                  re.M)), key=int)
    for source in sorted(HIP.glob("*.cc")):
        text = source.read_text()
        if '#include "hip/entries.h"' not in text:
            continue
        if "ATTNPLAN_HIP_PART" in text:
            for part in parts:
                yield source, [f"-DATTNPLAN_HIP_PART={part}"]
        else:
            yield source, []


def label(symbol):
    """paged_attention<bf16,128,128,0,1> for a mangled kernel."""
    match = re.match(r"_ZN8attnplan3hipL?\d+(\w+?)_kernel(?:I(.*?)EEv)?", symbol)
    if not match:
        return symbol
    words = []
    for kind, value in re.findall(r"L(NS0_5CacheE|i|b)(\d+)E", (match.group(2) or "") + "E"):
        words.append(CACHES[int(value)] if kind.startswith("N") else value)
    return match.group(1) + (f"<{','.join(words)}>" if words else "")


def compile_unit(compiler, arch, source, definitions):
    """Label -> figures of the kernels of one unit."""
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "unit.s"
        subprocess.run(
            [compiler, "-x", "hip", f"--offload-arch={arch}", "--offload-device-only", "-nogpulib",
             "-nogpuinc", "-mcode-object-version=4", "-O3", "-std=c++20", f"-I{ROOT}/src",
             f"-I{ROOT}/capi", f"-I{ROOT}/include", *definitions, "-S", str(source), "-o",
             str(output)], check=True)
        found = assembly.kernels(output.read_text())
    return {label(symbol): figures for symbol, figures in found.items()}


def measure(compiler, jobs):
    """Kernel -> arch -> figures."""
    work = [(arch, *unit) for unit in units() for arch in ARCHS]
    measured = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda item: compile_unit(compiler, *item), work)
        for (arch, _, _), kernels in zip(work, results):
            for kernel, figures in kernels.items():
                measured.setdefault(kernel, {})[arch] = figures
    return measured


def faults(figures):
    """What is wrong with a kernel whatever the record says."""
    if figures["scratch"] or figures["vgpr_spills"]:
        yield (f"{figures['scratch']} bytes of scratch memory, "
               f"{figures['vgpr_spills']} vector registers spilled")
    if figures["loop"] and figures["loop"]["in_flight"] == 0:
        yield "the inner loop waits for all of its loads: prefetch lost"


def regressions(figures, recorded):
    """What became worse."""
    if figures["waves"] < recorded["waves"]:
        yield f"{figures['waves']} waves a SIMD, were {recorded['waves']}"
    loop, before = figures["loop"], recorded["loop"]
    if not before:
        return
    if not loop:
        yield "no loop with matrix instructions any more"
        return
    for key, what in (("in_flight", "loads in flight after the loop's strictest wait"),
                      ("wide_loads", "16-byte loads in the loop")):
        if before[key] is not None and (loop[key] if loop[key] is not None else 0) < before[key]:
            yield f"{loop[key]} {what}, were {before[key]}"
    if loop["mfma"] != before["mfma"]:
        yield f"{loop['mfma']} matrix instructions in the loop, were {before['mfma']}"
    if loop["loop_spills"] > before["loop_spills"]:
        yield f"{loop['loop_spills']} scalar spills in the loop, were {before['loop_spills']}"


def check(measured, record, same_compiler):
    """All complaints, one a line."""
    complaints = []
    recorded = record["kernels"]
    for kernel, archs in measured.items():
        for arch, figures in archs.items():
            found = list(faults(figures))
            before = recorded.get(kernel, {}).get(arch)
            if before is None:
                found.append("not in the record: a new kernel? Read its figures, then run "
                             "tests/hip/machine_code/machine_code.py --update")
            elif same_compiler:
                found += regressions(figures, before)
            complaints += [f"{kernel} {arch}: {text}" for text in found]
    complaints += [f"{kernel} {arch}: in the record, but not compiled"
                   for kernel, archs in recorded.items() for arch in archs
                   if arch not in measured.get(kernel, {})]
    if table.render(record) not in DOCS.read_text():
        complaints.append(f"{DOCS.name} does not hold the table of the record")
    return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", help="clang++ with AMDGPU, 20 or newer")
    parser.add_argument("--update", action="store_true", help="write the record and the table")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    compiler = arguments.compiler or find_compiler()
    if not compiler:
        print("skipped: needs clang++ 20 or newer (Debian: clang-22)")
        return SKIPPED
    version = compiler_version(compiler)
    measured = measure(compiler, arguments.jobs)
    if arguments.update:
        record = {"clang": version, "kernels": measured}
        RECORD.write_text(table.dump(record))
        DOCS.write_text(table.insert(DOCS.read_text(), record))
        found = [f"{kernel} {arch}: {text}" for kernel, archs in measured.items()
                 for arch, figures in archs.items() for text in faults(figures)]
    else:
        record = json.loads(RECORD.read_text())
        found = check(measured, record, record["clang"] == version)
        if record["clang"] != version:
            print(f"the record is of clang {record['clang']}: figures were not compared with it")
        elif not found and record["kernels"] != measured:
            print("better or other figures than recorded: run this with --update")
    print(*found, f"{len(measured)} kernels, {len(ARCHS)} targets, clang {version}", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
