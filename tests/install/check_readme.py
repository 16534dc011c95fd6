#!/usr/bin/env python3
"""What the README shows is what happens: check_readme.py README SOURCE BUILD [--update]

Runs the commands of its console blocks on the batch of its json block, compiles and runs its C
program, and compares what they print with what stands there; --update writes it there instead."""

import difflib
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(command, directory, build, **more):
    environment = dict(os.environ, PATH=f"{build}/bin:{os.environ['PATH']}",
                       LD_LIBRARY_PATH=f"{build}/lib", **more)
    done = subprocess.run(["bash", "-c", command], cwd=directory, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout


def console(text, directory, build):
    commands = [line for line in text.splitlines() if line.startswith("$ ")]
    assert commands, f"a console block without a command: {text}"
    shown = ""
    for line in commands:
        shown += f"{line}\n{run(line[2:], directory, build).rstrip()}\n"
    return shown


def c_program(text, directory, source, build):
    with open(f"{directory}/engine.c", "w", encoding="utf-8") as file:
        file.write(text)
    compiled = run(f"${{CC:-cc}} -std=c11 -Wall -Wextra -Werror -I {source}/capi engine.c -o engine "
                   f"-L {build}/lib -lattnplan", directory, build)
    return compiled + run("./engine", directory, build)


def as_it_happens(readme, directory, source, build):
    program = None

    def replace(match):
        nonlocal program
        kind, text = match.groups()
        if kind == "json":
            with open(f"{directory}/step.json", "w", encoding="utf-8") as file:
                file.write(text)
        elif kind == "console":
            text = console(text, directory, build)
        elif kind == "c":
            program = text
        elif kind == "text" and program is not None:
            text, program = c_program(program, directory, source, build), None
        return f"```{kind}\n{text}```"

    return FENCE.sub(replace, readme)


def main():
    path, source, build = sys.argv[1:4]
    with open(path, encoding="utf-8") as file:
        readme = file.read()
    kinds = [kind for kind, _ in FENCE.findall(readme)]
    assert {"json", "console", "c", "text"} <= set(kinds), kinds
    with tempfile.TemporaryDirectory() as directory:
        actual = as_it_happens(readme, directory, source, build)
    if sys.argv[4:] == ["--update"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(actual)
    elif actual != readme:
        sys.stdout.writelines(difflib.unified_diff(readme.splitlines(True), actual.splitlines(True),
                                                   "README.md", "what happens"))
        sys.exit(1)


main()
