//! libsolo: `solo_perf::region` for C, and through it for Python. The contract is in `include/solo.h`.
#![allow(unsafe_code)]

use solo_perf::region::{Mark, Regions};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};

/// Regions that are open at the same time, at most.
const OPEN_MAX: usize = 64;

/// What C holds a pointer to.
pub struct SoloRegions {
    regions: Regions,
    open: Vec<Mark>,
}

thread_local! {
    static ERROR: RefCell<CString> = RefCell::default();
}

fn fail(message: &str) {
    // A zero byte would end the message early; there is none in ours.
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    ERROR.with(|error| *error.borrow_mut() = message);
}

/// The text that C points to; `None` for null or what is no UTF-8.
///
/// # Safety
/// `text` is null or points to a zero-terminated string that lives as long as the result is used.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

/// See `solo.h`.
///
/// # Safety
/// `events` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_open(events: *const c_char) -> *mut SoloRegions {
    // SAFETY: the caller's.
    let Some(events) = (unsafe { text(events) }) else {
        fail("expected the names of events as UTF-8 text");
        return std::ptr::null_mut();
    };
    match Regions::open(events) {
        Ok(regions) => Box::into_raw(Box::new(SoloRegions { regions, open: Vec::with_capacity(OPEN_MAX) })),
        Err(error) => {
            fail(&error.to_string());
            std::ptr::null_mut()
        }
    }
}

/// See `solo.h`.
#[unsafe(no_mangle)]
pub extern "C" fn solo_error() -> *const c_char {
    ERROR.with(|error| error.borrow().as_ptr())
}

/// See `solo.h`.
///
/// # Safety
/// `regions` is null or comes from `solo_regions_open` on this thread and is not closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_start(regions: *mut SoloRegions) -> c_int {
    // SAFETY: the caller's.
    let Some(regions) = (unsafe { regions.as_mut() }) else { return refuse("no regions") };
    if regions.open.len() == OPEN_MAX {
        return refuse("64 regions are open already");
    }
    let mark = regions.regions.start();
    regions.open.push(mark);
    0
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_start`; `name` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_stop(regions: *mut SoloRegions, name: *const c_char) -> c_int {
    // SAFETY: the caller's.
    let (regions, name) = unsafe { (regions.as_mut(), text(name)) };
    let (Some(regions), Some(name)) = (regions, name) else { return refuse("no regions or no name") };
    match regions.open.pop() {
        Some(mark) => {
            regions.regions.stop(name, mark);
            0
        }
        None => refuse("no region is open"),
    }
}

fn refuse(why: &str) -> c_int {
    fail(why);
    -1
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_stop`; `event` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_count(
    regions: *const SoloRegions,
    name: *const c_char,
    event: *const c_char,
) -> i64 {
    // SAFETY: the caller's.
    let (regions, name, event) = unsafe { (regions.as_ref(), text(name), text(event)) };
    let count = || {
        let regions = &regions?.regions;
        let event = event?;
        let place = regions.events().iter().position(|known| *known == event)?;
        let count = regions.totals().get(name?)?.counts.get(place).copied().flatten()?;
        i64::try_from(count).ok()
    };
    count().unwrap_or(-1)
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_passes(regions: *const SoloRegions, name: *const c_char) -> u64 {
    // SAFETY: the caller's.
    let (regions, name) = unsafe { (regions.as_ref(), text(name)) };
    let total = regions.zip(name).and_then(|(regions, name)| regions.regions.totals().get(name));
    total.map_or(0, |total| total.passes)
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_time_ns(regions: *const SoloRegions, name: *const c_char) -> u64 {
    // SAFETY: the caller's.
    let (regions, name) = unsafe { (regions.as_ref(), text(name)) };
    let total = regions.zip(name).and_then(|(regions, name)| regions.regions.totals().get(name));
    total.map_or(0, |total| total.time.get())
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_cost_ns(regions: *mut SoloRegions) -> u64 {
    // SAFETY: the caller's.
    unsafe { regions.as_mut() }.map_or(0, |regions| regions.regions.cost().get())
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_table(regions: *const SoloRegions) -> *mut c_char {
    // SAFETY: the caller's.
    let table = unsafe { regions.as_ref() }.map(|regions| regions.regions.table());
    table.and_then(|table| CString::new(table).ok()).map_or(std::ptr::null_mut(), CString::into_raw)
}

/// See `solo.h`.
///
/// # Safety
/// `text` is null or comes from `solo_regions_table` and was not given back yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_text_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the caller's.
        drop(unsafe { CString::from_raw(text) });
    }
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_start`; the pointer is not used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_close(regions: *mut SoloRegions) {
    if !regions.is_null() {
        // SAFETY: the caller's.
        drop(unsafe { Box::from_raw(regions) });
    }
}
