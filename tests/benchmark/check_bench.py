#!/usr/bin/env python3
"""The benchmark reports what it says it does: check_bench.py ATTNPLAN DATA"""

import json
import os
import subprocess
import sys
import tempfile


def bench(tool, *arguments, **environment):
    return subprocess.run([tool, "bench", *arguments], env=dict(os.environ, **environment),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def check_figures(case):
    plan, copy = case["plan"], case["memcpy_input"]
    assert 0 < plan["median_ns"] <= plan["p99_ns"], plan
    assert 0 < copy["median_ns"] <= copy["p99_ns"], copy
    assert plan["samples"] >= 100, plan
    assert case["plan_bytes"] % 64 == 0 and case["input_bytes"] >= 4 * case["requests"]
    ratio = plan["median_ns"] / copy["median_ns"]
    assert abs(case["ratio_to_memcpy"] - ratio) <= 0.1 * ratio, case
    assert abs(case["ns_per_request"] * case["requests"] - plan["median_ns"]) <= 2, case


def main():
    tool, data = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/bench.json"
        done = bench(tool, "--quick", "--filter", "/32", "--data", data, "--json", path)
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    names = [case["name"] for case in report["cases"]]
    assert names[:3] == ["uniform/32", "ragged/32", "mixed/32"], names
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == names, done.stdout
    for case in report["cases"]:
        check_figures(case)
    core = report["cases"][0]
    assert core["requests"] == 32 and core["rows"] == 128, core

    done = bench(tool, "--quick", "--filter", "trace/", "--data", data)
    assert done.returncode == 0 and "trace/code_plain" in done.stdout, done.stderr

    done = bench(tool, "--quick", "--filter", "groups")
    assert "of 4 KV groups" in done.stdout and "of 20 KV groups" in done.stdout, done.stdout

    # The work that callgrind counts runs on its own; counting needs valgrind, and says so.
    assert bench(tool, "--fixed-work", "ragged/256", "--plans", "3").returncode == 0
    for wrong in (["--filter", "no such input"], ["--fixed-work", "no such input"],
                  ["--filter", "uniform/32", "--quick", "--json", "/no/such/folder/bench.json"]):
        done = bench(tool, *wrong)
        assert done.returncode == 2 and done.stderr.startswith("attnplan bench: "), done
    done = bench(tool, "--quick", "--filter", "uniform/32", "--instructions", PATH="/nonexistent")
    assert done.returncode == 2 and "valgrind" in done.stderr, done


main()
