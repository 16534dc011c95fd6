"""What AMDGPU assembly, as clang prints it, says about its kernels."""

import re

_LABEL = re.compile(r"^(\.LBB\w+):")
_BRANCH = re.compile(r"^\t(s_cbranch_\w+|s_branch)\s+(\.LBB\w+)")
_END = re.compile(r"^\t(s_endpgm|s_setpc_b64)\b")
_WAIT = re.compile(r"vmcnt\((\d+)\)")
_WIDE = re.compile(r"^\t(global|buffer)_load_(dwordx4|b128)\b")
_MATRIX = re.compile(r"^\tv_mfma_")
_SPILL = re.compile(r"^\tv_(read|write)lane_b32\b")
_METADATA = {
    "vgprs": ".vgpr_count",
    "agprs": ".agpr_count",
    "sgprs": ".sgpr_count",
    "vgpr_spills": ".vgpr_spill_count",
    "sgpr_spills": ".sgpr_spill_count",
    "scratch": ".private_segment_fixed_size",
    "lds": ".group_segment_fixed_size",
}
NEVER = 1 << 20  # loads in flight where nothing waits


class Block:
    """Straight code: its instructions and the blocks that may follow."""

    def __init__(self):
        self.lines = []
        self.next = []

    def count(self, pattern):
        return sum(1 for line in self.lines if pattern.match(line))

    def fewest_in_flight(self):
        """Loads that may still be in flight after the block's strictest wait for loads."""
        waits = [int(count) for line in self.lines if line.startswith("\ts_waitcnt")
                 for count in _WAIT.findall(line)]
        return min(waits, default=NEVER)


def _blocks(lines):
    """The control flow graph of one function; block 0 is its entry."""
    blocks, labels, jumps = [], {}, []
    open_block = fall_through = None  # the block to append to; the one that runs on into the next
    for line in lines:
        label = _LABEL.match(line)
        if label or open_block is None:
            blocks.append(Block())
            if open_block is not None:
                fall_through = open_block
            if fall_through is not None:
                blocks[fall_through].next.append(len(blocks) - 1)
            open_block, fall_through = len(blocks) - 1, None
        if label:
            labels[label.group(1)] = open_block
            continue
        blocks[open_block].lines.append(line)
        branch = _BRANCH.match(line)
        if branch:
            jumps.append((open_block, branch.group(2)))
            fall_through = None if branch.group(1) == "s_branch" else open_block
            open_block = None
        elif _END.match(line):
            open_block = None
    for block, label in jumps:
        blocks[block].next.append(labels[label])
    return blocks


def _dominators(blocks):
    """For each block the set of blocks that every way to it passes."""
    before = [[] for _ in blocks]
    for i, block in enumerate(blocks):
        for j in block.next:
            before[j].append(i)
    everything = set(range(len(blocks)))
    dominators = [{0}] + [everything] * (len(blocks) - 1)
    changed = True
    while changed:
        changed = False
        for i in range(1, len(blocks)):
            ways = [dominators[j] for j in before[i]]
            found = (set.intersection(*ways) if ways else set()) | {i}
            if found != dominators[i]:
                dominators[i], changed = found, True
    return dominators, before


def _loops(blocks, dominators, before):
    """Natural loops: (header, members, blocks that branch back)."""
    loops = {}
    for i, block in enumerate(blocks):
        for header in block.next:
            if header in dominators[i]:
                members, latches = loops.setdefault(header, ({header}, set()))
                latches.add(i)
                todo = [i]
                while todo:
                    j = todo.pop()
                    if j not in members:
                        members.add(j)
                        todo += before[j]
    return [(header, *found) for header, found in loops.items()]


def _inner_loop(blocks):
    """Figures of the innermost loop with most matrix instructions; None where there is none."""
    dominators, before = _dominators(blocks)
    loops = _loops(blocks, dominators, before)
    chosen, most = None, 0
    for loop in loops:
        members = loop[1]
        if any(other[1] < members and any(blocks[i].count(_MATRIX) for i in other[1])
               for other in loops):
            continue
        count = sum(blocks[i].count(_MATRIX) for i in members)
        if count > most:
            chosen, most = loop, count
    if chosen is None:
        return None
    _, members, latches = chosen
    every_step = [blocks[i] for i in members if all(i in dominators[j] for j in latches)]
    in_flight = min(blocks[i].fewest_in_flight() for i in members)
    return {
        "mfma": sum(block.count(_MATRIX) for block in every_step),
        "wide_loads": sum(block.count(_WIDE) for block in every_step),
        "in_flight": None if in_flight == NEVER else in_flight,
        "loop_spills": sum(block.count(_SPILL) for block in every_step),
    }


def _metadata(text, name):
    """The figures of one kernel from the note at the end of the assembly."""
    # Fields of a kernel are in alphabetical order: cut the list into kernels first.
    for entry in text.split("\n  - ")[1:]:
        fields = dict(re.findall(r"^\s*(\.\w+):\s+(\S+)$", "    " + entry, re.M))
        if fields.get(".name") == name:
            return {key: int(fields.get(field, 0)) for key, field in _METADATA.items()}
    raise ValueError(f"no metadata of {name}")


def kernels(text):
    """Name -> figures, of all kernels of an assembly file."""
    note = text[text.index("amdhsa.kernels:"):]
    found = {}
    for name in re.findall(r"^\t\.amdhsa_kernel (\S+)$", text, re.M):
        begin = text.index(f"\n{name}:")
        end = text.index("\n.Lfunc_end", begin)
        figures = _metadata(note, name)
        occupancy = re.search(r"^; Occupancy: (\d+)", text[end:], re.M)
        figures["waves"] = int(occupancy.group(1))
        lines = [line for line in text[begin:end].split("\n")
                 if line.startswith(("\t", ".LBB")) and not line.startswith(("\t.", "\t;"))]
        figures["loop"] = _inner_loop(_blocks(lines))
        found[name] = figures
    return found
