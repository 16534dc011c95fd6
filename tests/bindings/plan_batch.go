// Plans a batch through cgo. Go forbids C to see a Go struct that holds Go pointers, so the shim in
// the preamble takes the arrays as flat arguments and fills the C structs itself.
package main

/*
#cgo LDFLAGS: -lattnplan
#include <stdlib.h>
#include "attnplan.h"

static attnplan_status create(const char* profile, int32_t threshold, attnplan_planner** planner,
                              attnplan_scratch** scratch, attnplan_error* error) {
  attnplan_config config = ATTNPLAN_CONFIG_INIT;
  attnplan_status status;
  config.profile = profile;
  config.decode_threshold = threshold;
  status = attnplan_planner_create(&config, planner, error);
  return status != ATTNPLAN_OK ? status : attnplan_scratch_create(NULL, scratch, error);
}

static attnplan_status build(const attnplan_planner* planner, attnplan_scratch* scratch,
                             const int32_t* query_lens, const int32_t* seq_lens, int32_t num_reqs,
                             void* buffer, size_t capacity, size_t* bytes, attnplan_error* error) {
  attnplan_step step = ATTNPLAN_STEP_INIT;
  step.query_lens = query_lens;
  step.seq_lens = seq_lens;
  step.num_reqs = num_reqs;
  return attnplan_plan_build(planner, scratch, &step, NULL, buffer, capacity, bytes, error);
}

static attnplan_error no_error(void) {
  attnplan_error error = ATTNPLAN_ERROR_INIT;
  return error;
}

static attnplan_section_view no_section(void) {
  attnplan_section_view view = ATTNPLAN_SECTION_VIEW_INIT;
  return view;
}
*/
import "C"

import (
	"fmt"
	"log"
	"strings"
	"unsafe"
)

const room = 1 << 16

// PlanError is what the library said about a batch it cannot plan.
type PlanError struct {
	Status, Code, Request int
	Message               string
}

func (e *PlanError) Error() string { return e.Message }

func checked(status C.attnplan_status, e *C.attnplan_error) error {
	if status == C.ATTNPLAN_OK {
		return nil
	}
	return &PlanError{int(status), int(e.code), int(e.request), C.GoString(&e.message[0])}
}

// Planner owns a planner, a scratch and a buffer in C memory, where a plan may keep its alignment.
type Planner struct {
	planner *C.attnplan_planner
	scratch *C.attnplan_scratch
	memory  unsafe.Pointer
	buffer  unsafe.Pointer
	bytes   C.size_t
}

func newPlanner(profile string, threshold int) (*Planner, error) {
	p := &Planner{}
	name := C.CString(profile)
	defer C.free(unsafe.Pointer(name))
	var planner *C.attnplan_planner
	var scratch *C.attnplan_scratch
	e := C.no_error()
	if err := checked(C.create(name, C.int32_t(threshold), &planner, &scratch, &e), &e); err != nil {
		return nil, err
	}
	p.planner, p.scratch = planner, scratch
	p.memory = C.malloc(room + C.ATTNPLAN_PLAN_ALIGNMENT)
	past := uintptr(p.memory) % C.ATTNPLAN_PLAN_ALIGNMENT
	p.buffer = unsafe.Add(p.memory, C.ATTNPLAN_PLAN_ALIGNMENT-int(past))
	return p, nil
}

func (p *Planner) close() {
	C.attnplan_scratch_destroy(p.scratch)
	C.attnplan_planner_destroy(p.planner)
	C.free(p.memory)
}

func (p *Planner) build(queryLens, seqLens []int32) error {
	e := C.no_error()
	var bytes C.size_t
	status := C.build(p.planner, p.scratch, (*C.int32_t)(&queryLens[0]), (*C.int32_t)(&seqLens[0]),
		C.int32_t(len(queryLens)), p.buffer, room, &bytes, &e)
	if err := checked(status, &e); err != nil {
		return err
	}
	p.bytes = bytes
	return nil
}

func (p *Planner) segments() ([]C.attnplan_segment, error) {
	view, err := p.section(C.ATTNPLAN_SECTION_SEGMENTS)
	return unsafe.Slice((*C.attnplan_segment)(view.data), int(view.count)), err
}

func (p *Planner) refusals() ([]C.attnplan_refusal, error) {
	view, err := p.section(C.ATTNPLAN_SECTION_REFUSALS)
	return unsafe.Slice((*C.attnplan_refusal)(view.data), int(view.count)), err
}

func (p *Planner) section(id C.int32_t) (C.attnplan_section_view, error) {
	view, e := C.no_section(), C.no_error()
	status := C.attnplan_plan_get_section(p.buffer, p.bytes, id, &view, &e)
	return view, checked(status, &e)
}

func (p *Planner) kernel(index C.int32_t) string {
	return C.GoString(C.attnplan_planner_kernel_name(p.planner, index))
}

func must(ok bool, what ...any) {
	if !ok {
		log.Fatalln(what...)
	}
}

func main() {
	must(C.attnplan_abi_version()>>16 == 0, "another major version")
	p, err := newPlanner("aiter_mha", 4)
	must(err == nil, err)
	defer p.close()

	// The verify step of 30 requests with three drafts each, and one newcomer without drafts.
	var queryLens, seqLens []int32
	for i := 0; i < 31; i++ {
		rows := int32(4)
		if i == 30 {
			rows = 1
		}
		queryLens, seqLens = append(queryLens, rows), append(seqLens, 1000+rows)
	}
	err = p.build(queryLens, seqLens)
	must(err == nil, err)
	segments, err := p.segments()
	must(err == nil, err)
	for _, s := range segments {
		fmt.Printf("%s %s requests [%d, %d) rows [%d, %d) width %d\n",
			C.GoString(C.attnplan_route_name(s.route)), p.kernel(s.kernel),
			s.req_begin, s.req_end, s.row_begin, s.row_end, s.width)
	}
	must(len(segments) == 1, "segments:", len(segments))
	s := segments[0]
	must(s.route == C.ATTNPLAN_ROUTE_EXTEND, "route", s.route)
	must(p.kernel(s.kernel) == "gather_varlen_merge", "kernel", p.kernel(s.kernel))
	must(s.row_end == 121 && s.width == 0 && s.max_query_len == 4, "segment", s)
	must(s.sum_seq_lens == 30*1004+1001, "sum", s.sum_seq_lens)
	refusals, err := p.refusals()
	must(err == nil && len(refusals) == 1, "refusals", refusals, err)
	must(p.kernel(refusals[0].kernel) == "pa_decode_gluon", "refused", refusals[0])
	must(refusals[0].reasons == 1<<C.ATTNPLAN_REASON_RAGGED, "reasons", refusals[0].reasons)

	err = p.build([]int32{1, 4}, []int32{5, 3})
	must(err != nil, "a sequence shorter than its query was planned")
	fmt.Println(err)
	failure := err.(*PlanError)
	must(failure.Status == C.ATTNPLAN_PLAN_ERROR, "status", failure.Status)
	must(failure.Code == C.ATTNPLAN_CODE_SEQ_SHORTER_THAN_QUERY, "code", failure.Code)
	must(failure.Request == 1 && strings.Contains(failure.Message, "request 1"), failure.Message)
}
