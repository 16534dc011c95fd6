"""The record of machine code as text: figures.json, and the table of docs/kernels.md."""

import json
import re

BEGIN, END = "<!-- machine code: begin -->\n", "<!-- machine code: end -->\n"
_HEAD = """| kernel, K and V heads | target | registers | scalar; spilled | LDS, KiB | waves | MFMA | \
16-byte loads | in flight |
|---|---|---|---|---|---|---|---|---|
"""


def dump(record):
    """JSON with a line for each kernel and target."""
    lines = []
    for kernel, archs in sorted(record["kernels"].items()):
        inner = ",\n".join(f"   {json.dumps(arch)}: {json.dumps(figures)}"
                           for arch, figures in sorted(archs.items()))
        lines.append(f"  {json.dumps(kernel)}: {{\n{inner}}}")
    kernels = ",\n".join(lines)
    return f'{{"clang": {record["clang"]},\n "kernels": {{\n{kernels}}}}}\n'


def _row_name(kernel):
    """Instances of one row: caches of one width, plain and shuffled pages."""
    match = re.match(r"(\w+)<(\w+?)(?:,(.*))?>$", kernel)
    if not match:
        return kernel
    name, first, rest = match.groups()
    words = (rest or "").split(",")
    width = "16-bit" if first in ("bf16", "fp16") else "fp8" if first[0] == "e" else first
    if name == "paged_attention":
        k_head, v_head, _, tiles = words
        heads = k_head if k_head == v_head else f"{k_head}/{v_head}"
        return f"{name} {width}, {heads}" + (f", {tiles} tiles" if tiles != "1" else "")
    return f"{name} {width}" + (f", {'/'.join(words)}" if rest else "")


def _range(values):
    values = [0 if value is None else value for value in values]
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}-{high}"


def _cells(figures):
    """Of one row and target, from all of its instances."""
    loops = [each["loop"] for each in figures if each["loop"]]
    def loop(key):
        return _range([each[key] for each in loops]) if loops else ""
    return [_range([each["vgprs"] for each in figures]),
            f"{_range([each['sgprs'] for each in figures])}; "
            f"{_range([each['sgpr_spills'] for each in figures])}",
            f"{max(each['lds'] for each in figures) / 1024:.1f}",
            _range([each["waves"] for each in figures]),
            loop("mfma"), loop("wide_loads"), loop("in_flight")]


def _order(name):
    return [int(word) if word.isdigit() else word for word in re.split(r"(\d+)", name)]


def render(record):
    """The table between the markers."""
    rows = {}
    for kernel, archs in record["kernels"].items():
        for arch, figures in archs.items():
            rows.setdefault(_row_name(kernel), {}).setdefault(arch, []).append(figures)
    text = f"clang {record['clang']}, -O3; scratch memory is 0 everywhere.\n\n" + _HEAD
    for name in sorted(rows, key=_order):
        for arch in sorted(rows[name]):
            text += f"| {name} | {arch} | {' | '.join(_cells(rows[name][arch]))} |\n"
    return f"{BEGIN}{text}{END}"


def insert(document, record):
    begin, end = document.index(BEGIN), document.index(END) + len(END)
    return document[:begin] + render(record) + document[end:]
