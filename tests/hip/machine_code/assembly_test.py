#!/usr/bin/env python3
"""assembly.py on loops written by hand."""

import unittest

import assembly
import machine_code

_FILE = """
kernel:
	s_load_dword s0, s[0:1], 0x0
	global_load_dwordx4 v[0:3], v[8:9], off nt
{body}
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel kernel
; Occupancy: {waves}
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .offset:         0
        .size:           8
    .group_segment_fixed_size: 512
    .name:           kernel
    .private_segment_fixed_size: {scratch}
    .sgpr_count:     20
    .sgpr_spill_count: 2
    .vgpr_count:     40
    .vgpr_spill_count: 0
  - .agpr_count:     0
    .name:           other
    .private_segment_fixed_size: 4
    .vgpr_count:     1
"""
_STEP = """.LBB0_1:
	s_waitcnt vmcnt({wait}) lgkmcnt(0)
	v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[4:7]
	global_load_dwordx4 v[0:3], v[8:9], off nt
	s_cbranch_vccnz .LBB0_3
; %bb.2:
{side}
.LBB0_3:
	v_readlane_b32 s4, v20, 0
	s_cbranch_scc1 .LBB0_1
; %bb.4:
	s_waitcnt vmcnt(0)"""


def read(wait=1, side="\tv_nop", body=None, scratch=0, waves=3):
    body = body or _STEP.format(wait=wait, side=side)
    return assembly.kernels(_FILE.format(body=body, scratch=scratch, waves=waves))["kernel"]


class Assembly(unittest.TestCase):
    def test_figures(self):
        figures = read()
        self.assertEqual((figures["vgprs"], figures["sgprs"], figures["sgpr_spills"]), (40, 20, 2))
        self.assertEqual((figures["lds"], figures["scratch"], figures["waves"]), (512, 0, 3))
        self.assertEqual(figures["loop"],
                         {"mfma": 1, "wide_loads": 1, "in_flight": 1, "loop_spills": 1})
        self.assertEqual(list(machine_code.faults(figures)), [])

    def test_a_lost_prefetch_is_a_fault(self):
        self.assertEqual(read(wait=0)["loop"]["in_flight"], 0)
        self.assertEqual(len(list(machine_code.faults(read(wait=0)))), 1)

    def test_waits_count_on_every_way_through_the_loop(self):
        self.assertEqual(read(wait=3, side="\ts_waitcnt vmcnt(2)")["loop"]["in_flight"], 2)
        self.assertEqual(len(list(machine_code.faults(read(side="\ts_waitcnt vmcnt(0)")))), 1)

    def test_loads_and_products_of_side_ways_do_not_count(self):
        side = "\tglobal_load_dwordx4 v[0:3], v[8:9], off\n\tv_mfma_f32_16x16x16_f16 v[4:7], v[0:1]"
        loop = read(side=side)["loop"]
        self.assertEqual((loop["mfma"], loop["wide_loads"]), (1, 1))

    def test_an_outer_loop_is_not_the_inner_one(self):
        body = (".LBB0_9:\n\ts_waitcnt vmcnt(0)\n" + _STEP.format(wait=1, side="\tv_nop") +
                "\n\ts_cbranch_scc0 .LBB0_9")
        self.assertEqual(read(body=body)["loop"]["in_flight"], 1)

    def test_no_loop(self):
        self.assertIsNone(read(body="\tv_nop")["loop"])

    def test_scratch_is_a_fault(self):
        self.assertEqual(len(list(machine_code.faults(read(scratch=16)))), 1)


class Record(unittest.TestCase):
    def complaints(self, now, before):
        return list(machine_code.regressions(now, before))

    def test_worse_is_a_regression(self):
        good = read(wait=1)
        self.assertEqual(self.complaints(good, good), [])
        self.assertEqual(len(self.complaints(read(waves=2), good)), 1)
        self.assertEqual(self.complaints(read(waves=4), good), [])
        self.assertEqual(len(self.complaints(read(wait=0), good)), 1)
        self.assertEqual(len(self.complaints(read(body="\tv_nop"), good)), 1)
        two = _STEP.format(wait=1, side="").replace(
            "\tglobal", "\tv_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[4:7]\n\tglobal")
        self.assertEqual(len(self.complaints(read(body=two), good)), 1)
        spills = read(body=_STEP.format(wait=1, side="").replace(
            "\tv_readlane", "\tv_readlane_b32 s5, v20, 1\n\tv_readlane"))
        self.assertEqual(len(self.complaints(spills, good)), 1)

    def test_a_kernel_must_be_there_for_each_target(self):
        record = {"clang": 22, "kernels": {"kernel": {"gfx90a": read(), "gfx942": read()}}}
        found = machine_code.check({"kernel": {"gfx90a": read()}}, record, True)
        self.assertEqual(found[0], "kernel gfx942: in the record, but not compiled")

    def test_labels(self):
        self.assertEqual(
            machine_code.label("_ZN8attnplan3hip22paged_attention_kernelILNS0_5CacheE3ELi192ELi128"
                               "ELb1ELi1EEEvNS0_13AttentionArgsE"),
            "paged_attention<e4m3fnuz,192,128,1,1>")
        self.assertEqual(machine_code.label("_ZN8attnplan3hipL12merge_kernelENS0_9MergeArgsE"),
                         "merge")


if __name__ == "__main__":
    unittest.main()
