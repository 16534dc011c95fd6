//! Plans a batch through dlopen, without a crate: plan_batch PATH/libattnplan.so
//!
//! Built by plain rustc. The structs mirror attnplan.h; a struct may end early, its tail then reads
//! as zero, so only the fields that this program sets are spelt out.

use std::ffi::{c_void, CStr, CString};
use std::mem::{size_of, transmute_copy, zeroed};
use std::os::raw::{c_char, c_int};
use std::ptr::{null, null_mut};

const OK: i32 = 0;
const PLAN_ERROR: i32 = 1;
const ROUTE_EXTEND: i32 = 2;
const CODE_SEQ_SHORTER_THAN_QUERY: i32 = 3;
const REASON_RAGGED: u32 = 0;
const SECTION_REFUSALS: i32 = 2;

#[repr(C)]
struct Int32List {
    data: *const i32,
    count: usize,
}

#[repr(C)]
struct Config {
    struct_size: usize,
    profile: *const c_char,
    contracts: *const c_void,
    num_contracts: usize,
    kv_cache: *const c_void,
    allocator: *const c_void,
    arch: *const c_char,
    sections: u64,
    graph_full: Int32List,
    graph_piecewise: Int32List,
    max_sections_bytes: i64,
    max_model_len: i32,
    max_num_seqs: i32,
    max_num_batched_tokens: i32,
    num_workers: i32,
    num_q_heads: i32,
    num_kv_heads: i32,
    head_size: i32,
    v_head_size: i32,
    decode_threshold: i32,
    mask: i32,
}

#[repr(C)]
struct Step {
    struct_size: usize,
    query_lens: *const i32,
    query_start_loc: *const i32,
    seq_lens: *const i32,
    num_computed_tokens: *const i32,
    num_prompt_tokens: *const i32,
    num_known_tokens: *const i32,
    num_draft_tokens: *const i32,
    is_prefilling: *const u8,
    seq_len_exact: *const u8,
    num_reqs: i32,
    phase: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Segment {
    route: i32,
    kernel: i32,
    req_begin: i32,
    req_end: i32,
    row_begin: i32,
    row_end: i32,
    width: i32,
    max_query_len: i32,
    min_query_len: i32,
    max_seq_len: i32,
    min_seq_len: i32,
    max_context_len: i32,
    min_context_len: i32,
    num_live: i32,
    page_size: i32,
    label: i32,
    flags: u32,
    refusal_begin: i32,
    refusal_end: i32,
    query_start_loc_begin: i32,
    sum_seq_lens: i64,
    sum_context_lens: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Refusal {
    kernel: i32,
    reasons: u32,
}

#[repr(C)]
struct SectionView {
    struct_size: usize,
    data: *const c_void,
    count: i64,
    capacity: i64,
    kind: i32,
    extent: i32,
    validity: i32,
    reserved0: i32,
}

#[repr(C)]
struct RawError {
    struct_size: usize,
    status: i32,
    code: i32,
    request: i32,
    reserved0: i32,
    value: i64,
    limit: i64,
    refusals: *mut Refusal,
    requests: *mut i32,
    refusals_capacity: i32,
    requests_capacity: i32,
    num_refusals: i32,
    num_requests: i32,
    message: [c_char; 512],
}

impl RawError {
    fn new() -> RawError {
        let mut error: RawError = unsafe { zeroed() };
        error.struct_size = size_of::<RawError>();
        error.request = -1;
        error
    }
}

#[derive(Debug)]
struct PlanError {
    status: i32,
    code: i32,
    request: i32,
    message: String,
}

fn checked(status: i32, error: &RawError) -> Result<(), PlanError> {
    if status == OK {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    let message = message.to_string_lossy().into_owned();
    Err(PlanError { status, code: error.code, request: error.request, message })
}

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
}
const RTLD_NOW: c_int = 2;

/// A function of the library as the function pointer type `F`.
unsafe fn symbol<F>(library: *mut c_void, name: &str) -> F {
    let text = CString::new(name).unwrap();
    let address = dlsym(library, text.as_ptr());
    assert!(!address.is_null(), "the library lacks {}", name);
    transmute_copy(&address)
}

type Status = i32;
type Handle = *mut c_void;

struct Library {
    create_planner: unsafe extern "C" fn(*const Config, *mut Handle, *mut RawError) -> Status,
    destroy_planner: unsafe extern "C" fn(Handle),
    kernel_name: unsafe extern "C" fn(Handle, i32) -> *const c_char,
    create_scratch: unsafe extern "C" fn(*const c_void, *mut Handle, *mut RawError) -> Status,
    destroy_scratch: unsafe extern "C" fn(Handle),
    build: unsafe extern "C" fn(
        Handle,
        Handle,
        *const Step,
        *const c_void,
        *mut c_void,
        usize,
        *mut usize,
        *mut RawError,
    ) -> Status,
    section: unsafe extern "C" fn(
        *const c_void,
        usize,
        i32,
        *mut SectionView,
        *mut RawError,
    ) -> Status,
}

impl Library {
    fn load(path: &str) -> Library {
        let path = CString::new(path).unwrap();
        unsafe {
            let library = dlopen(path.as_ptr(), RTLD_NOW);
            assert!(!library.is_null(), "cannot load {:?}", path);
            let abi: unsafe extern "C" fn() -> u32 = symbol(library, "attnplan_abi_version");
            assert_eq!(abi() >> 16, 0, "another major version");
            Library {
                create_planner: symbol(library, "attnplan_planner_create"),
                destroy_planner: symbol(library, "attnplan_planner_destroy"),
                kernel_name: symbol(library, "attnplan_planner_kernel_name"),
                create_scratch: symbol(library, "attnplan_scratch_create"),
                destroy_scratch: symbol(library, "attnplan_scratch_destroy"),
                build: symbol(library, "attnplan_plan_build"),
                section: symbol(library, "attnplan_plan_get_section"),
            }
        }
    }
}

/// A plan has to start on a multiple of 64 bytes.
#[allow(dead_code)] // only its place matters here
#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

struct Planner<'a> {
    library: &'a Library,
    planner: Handle,
    scratch: Handle,
    buffer: Vec<Line>,
    bytes: usize,
}

impl<'a> Planner<'a> {
    fn new(library: &'a Library, profile: &str, threshold: i32) -> Result<Planner<'a>, PlanError> {
        let profile = CString::new(profile).unwrap();
        let mut config: Config = unsafe { zeroed() };
        config.struct_size = size_of::<Config>();
        config.profile = profile.as_ptr();
        config.decode_threshold = threshold;
        let mut error = RawError::new();
        let (mut planner, mut scratch) = (null_mut(), null_mut());
        unsafe {
            checked((library.create_planner)(&config, &mut planner, &mut error), &error)?;
            checked((library.create_scratch)(null(), &mut scratch, &mut error), &error)?;
        }
        Ok(Planner { library, planner, scratch, buffer: vec![Line([0; 64]); 1024], bytes: 0 })
    }

    fn build(&mut self, query_lens: &[i32], seq_lens: &[i32]) -> Result<(), PlanError> {
        let mut step: Step = unsafe { zeroed() };
        step.struct_size = size_of::<Step>();
        step.query_lens = query_lens.as_ptr();
        step.seq_lens = seq_lens.as_ptr();
        step.num_reqs = query_lens.len() as i32;
        let mut error = RawError::new();
        let status = unsafe {
            (self.library.build)(
                self.planner,
                self.scratch,
                &step,
                null(),
                self.buffer.as_mut_ptr() as *mut c_void,
                self.buffer.len() * size_of::<Line>(),
                &mut self.bytes,
                &mut error,
            )
        };
        checked(status, &error)
    }

    fn section<T: Copy>(&self, section: i32) -> Result<&[T], PlanError> {
        let mut view: SectionView = unsafe { zeroed() };
        view.struct_size = size_of::<SectionView>();
        let mut error = RawError::new();
        let plan = self.buffer.as_ptr() as *const c_void;
        let status =
            unsafe { (self.library.section)(plan, self.bytes, section, &mut view, &mut error) };
        checked(status, &error)?;
        if view.count == 0 {
            return Ok(&[]);
        }
        Ok(unsafe { std::slice::from_raw_parts(view.data as *const T, view.count as usize) })
    }

    fn kernel(&self, index: i32) -> &str {
        let name = unsafe { CStr::from_ptr((self.library.kernel_name)(self.planner, index)) };
        name.to_str().unwrap()
    }
}

impl Drop for Planner<'_> {
    fn drop(&mut self) {
        unsafe {
            (self.library.destroy_scratch)(self.scratch);
            (self.library.destroy_planner)(self.planner);
        }
    }
}

fn main() {
    assert_eq!((size_of::<Segment>(), size_of::<RawError>()), (96, 584));
    let path = std::env::args().nth(1).expect("usage: plan_batch LIBRARY");
    let library = Library::load(&path);
    let mut planner = Planner::new(&library, "aiter_mha", 4).unwrap();

    // The verify step of 30 requests with three drafts each, and one newcomer without drafts.
    let mut query_lens = vec![4; 30];
    query_lens.push(1);
    let seq_lens: Vec<i32> = query_lens.iter().map(|rows| 1000 + rows).collect();
    planner.build(&query_lens, &seq_lens).unwrap();
    let segments: &[Segment] = planner.section(1).unwrap();
    for s in segments {
        println!(
            "{} requests [{}, {}) rows [{}, {}) width {}",
            planner.kernel(s.kernel), s.req_begin, s.req_end, s.row_begin, s.row_end, s.width
        );
    }
    assert_eq!(segments.len(), 1);
    let segment = &segments[0];
    assert_eq!(segment.route, ROUTE_EXTEND);
    assert_eq!(planner.kernel(segment.kernel), "gather_varlen_merge");
    assert_eq!((segment.row_end, segment.width, segment.max_query_len), (121, 0, 4));
    assert_eq!(segment.sum_seq_lens, 30 * 1004 + 1001);
    let refusals: &[Refusal] = planner.section(SECTION_REFUSALS).unwrap();
    assert_eq!(refusals.len(), 1);
    assert_eq!(planner.kernel(refusals[0].kernel), "pa_decode_gluon");
    assert_eq!(refusals[0].reasons, 1 << REASON_RAGGED);

    let error = planner.build(&[1, 4], &[5, 3]).expect_err("shorter than its query");
    println!("{}", error.message);
    assert_eq!((error.status, error.code), (PLAN_ERROR, CODE_SEQ_SHORTER_THAN_QUERY));
    assert_eq!(error.request, 1);
    assert!(error.message.contains("request 1"), "{}", error.message);
}
