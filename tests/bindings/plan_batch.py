#!/usr/bin/env python3
"""Plans a batch through ctypes: plan_batch.py PATH/libattnplan.so"""

import ctypes
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from ctypes import c_uint64

OK, PLAN_ERROR = 0, 1
ROUTE_EXTEND = 2
CODE_SEQ_SHORTER_THAN_QUERY = 3
REASON_RAGGED = 0


class Sized(ctypes.Structure):
    """A struct that may grow: it knows its own size, everything else starts as zero."""

    def __init__(self, **fields):
        super().__init__(struct_size=ctypes.sizeof(self), **fields)


class Int32List(ctypes.Structure):
    _fields_ = [("data", POINTER(c_int32)), ("count", c_size_t)]


class Refusal(ctypes.Structure):
    _fields_ = [("kernel", c_int32), ("reasons", c_uint32)]


class Error(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("status", c_int32),
        ("code", c_int32),
        ("request", c_int32),
        ("reserved0", c_int32),
        ("value", c_int64),
        ("limit", c_int64),
        ("refusals", POINTER(Refusal)),
        ("requests", POINTER(c_int32)),
        ("refusals_capacity", c_int32),
        ("requests_capacity", c_int32),
        ("num_refusals", c_int32),
        ("num_requests", c_int32),
        ("message", c_char * 512),
    ]


class Config(Sized):
    # Everything behind `mask` keeps its default: a shorter struct reads as zeros.
    _fields_ = [
        ("struct_size", c_size_t),
        ("profile", c_char_p),
        ("contracts", c_void_p),
        ("num_contracts", c_size_t),
        ("kv_cache", c_void_p),
        ("allocator", c_void_p),
        ("arch", c_char_p),
        ("sections", c_uint64),
        ("graph_full", Int32List),
        ("graph_piecewise", Int32List),
        ("max_sections_bytes", c_int64),
        ("max_model_len", c_int32),
        ("max_num_seqs", c_int32),
        ("max_num_batched_tokens", c_int32),
        ("num_workers", c_int32),
        ("num_q_heads", c_int32),
        ("num_kv_heads", c_int32),
        ("head_size", c_int32),
        ("v_head_size", c_int32),
        ("decode_threshold", c_int32),
        ("mask", c_int32),
    ]


class Step(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("query_lens", POINTER(c_int32)),
        ("query_start_loc", POINTER(c_int32)),
        ("seq_lens", POINTER(c_int32)),
        ("num_computed_tokens", POINTER(c_int32)),
        ("num_prompt_tokens", POINTER(c_int32)),
        ("num_known_tokens", POINTER(c_int32)),
        ("num_draft_tokens", POINTER(c_int32)),
        ("is_prefilling", c_void_p),
        ("seq_len_exact", c_void_p),
        ("num_reqs", c_int32),
        ("phase", c_int32),
        ("flags", c_uint32),
        ("num_tokens", c_int32),
        ("max_query_len", c_int32),
        ("num_reqs_padded", c_int32),
        ("num_tokens_padded", c_int32),
        ("graph_allow", c_int32),
    ]


class Segment(ctypes.Structure):
    _fields_ = [(name, c_int32) for name in (
        "route", "kernel", "req_begin", "req_end", "row_begin", "row_end", "width", "max_query_len",
        "min_query_len", "max_seq_len", "min_seq_len", "max_context_len", "min_context_len",
        "num_live", "page_size", "label", "flags", "refusal_begin", "refusal_end",
        "query_start_loc_begin")] + [("sum_seq_lens", c_int64), ("sum_context_lens", c_int64)]


class SectionView(Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("data", c_void_p),
        ("count", c_int64),
        ("capacity", c_int64),
        ("type", c_int32),
        ("extent", c_int32),
        ("validity", c_int32),
        ("reserved0", c_int32),
    ]


SECTION_SEGMENTS, SECTION_REFUSALS = 1, 2


class PlanError(Exception):
    def __init__(self, status, error):
        super().__init__(error.message.decode())
        self.status, self.code, self.request = status, error.code, error.request


def load(path):
    lib = ctypes.CDLL(path)
    lib.attnplan_abi_version.restype = c_uint32
    assert lib.attnplan_abi_version() >> 16 == 0, "another major version"
    lib.attnplan_planner_create.argtypes = [POINTER(Config), POINTER(c_void_p), POINTER(Error)]
    lib.attnplan_planner_destroy.argtypes = [c_void_p]
    lib.attnplan_planner_destroy.restype = None
    lib.attnplan_planner_kernel_name.argtypes = [c_void_p, c_int32]
    lib.attnplan_planner_kernel_name.restype = c_char_p
    lib.attnplan_scratch_create.argtypes = [c_void_p, POINTER(c_void_p), POINTER(Error)]
    lib.attnplan_scratch_destroy.argtypes = [c_void_p]
    lib.attnplan_scratch_destroy.restype = None
    lib.attnplan_plan_build.argtypes = [c_void_p, c_void_p, POINTER(Step), c_void_p, c_void_p,
                                        c_size_t, POINTER(c_size_t), POINTER(Error)]
    lib.attnplan_plan_get_section.argtypes = [c_void_p, c_size_t, c_int32, POINTER(SectionView),
                                              POINTER(Error)]
    lib.attnplan_reason_name.restype = c_char_p
    lib.attnplan_route_name.restype = c_char_p
    return lib


def check(status, error):
    if status != OK:
        raise PlanError(status, error)


class Planner:
    """The smallest wrapper that is still comfortable: lists in, structs of the plan out."""

    def __init__(self, lib, profile, threshold):
        self.lib, self.planner, self.scratch = lib, c_void_p(), c_void_p()
        error = Error()
        config = Config(profile=profile.encode(), decode_threshold=threshold)
        check(lib.attnplan_planner_create(byref(config), byref(self.planner), byref(error)), error)
        check(lib.attnplan_scratch_create(None, byref(self.scratch), byref(error)), error)
        room = ctypes.create_string_buffer((1 << 16) + 64)
        self.room = room
        self.buffer = (ctypes.addressof(room) + 63) // 64 * 64

    def close(self):
        self.lib.attnplan_scratch_destroy(self.scratch)
        self.lib.attnplan_planner_destroy(self.planner)

    def kernel(self, index):
        return self.lib.attnplan_planner_kernel_name(self.planner, index).decode()

    def plan(self, query_lens, seq_lens):
        array = c_int32 * len(query_lens)
        step = Step(query_lens=array(*query_lens), seq_lens=array(*seq_lens),
                    num_reqs=len(query_lens))
        error, size = Error(), c_size_t()
        check(self.lib.attnplan_plan_build(self.planner, self.scratch, byref(step), None,
                                           self.buffer, 1 << 16, byref(size), byref(error)), error)
        return self.section(size, SECTION_SEGMENTS, Segment), \
            self.section(size, SECTION_REFUSALS, Refusal)

    def section(self, size, section, kind):
        view, error = SectionView(), Error()
        check(self.lib.attnplan_plan_get_section(self.buffer, size, section, byref(view),
                                                 byref(error)), error)
        if view.count == 0:
            return []
        return list((kind * view.count).from_buffer_copy(
            ctypes.string_at(view.data, view.count * ctypes.sizeof(kind))))


def main():
    assert ctypes.sizeof(Segment) == 96 and ctypes.sizeof(Error) == 584
    assert ctypes.sizeof(Step) == 112 and Config.decode_threshold.offset == 136
    planner = Planner(load(sys.argv[1]), "aiter_mha", 4)

    # The verify step of 30 requests with three drafts each, and one newcomer without drafts.
    segments, refusals = planner.plan([4] * 30 + [1], [1004] * 30 + [1001])
    for segment in segments:
        print(planner.lib.attnplan_route_name(segment.route).decode(),
              planner.kernel(segment.kernel),
              f"requests [{segment.req_begin}, {segment.req_end})",
              f"rows [{segment.row_begin}, {segment.row_end}) width {segment.width}")
    assert len(segments) == 1 and segments[0].route == ROUTE_EXTEND
    assert planner.kernel(segments[0].kernel) == "gather_varlen_merge"
    assert (segments[0].row_end, segments[0].width, segments[0].max_query_len) == (121, 0, 4)
    assert segments[0].sum_seq_lens == 30 * 1004 + 1001
    assert [(planner.kernel(r.kernel), r.reasons) for r in refusals] == \
        [("pa_decode_gluon", 1 << REASON_RAGGED)]

    try:
        planner.plan([1, 4], [5, 3])
    except PlanError as error:
        print(error)
        assert (error.status, error.code) == (PLAN_ERROR, CODE_SEQ_SHORTER_THAN_QUERY)
        assert error.request == 1 and "request 1" in str(error)
    else:
        raise AssertionError("a sequence shorter than its query was planned")
    planner.close()


main()
