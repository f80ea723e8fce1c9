//! libsolo: `solo_perf::region` for C, and through it for Python. The contract is in `include/solo.h`.
#![allow(unsafe_code)]

mod virtuals;

use solo_model::Duration;
use solo_perf::region::{Mark, RegionError, Regions, Settings, Total};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use virtuals::Virtuals;

/// Regions that are open at the same time, at most.
const OPEN_MAX: usize = 64;

/// What C holds a pointer to.
pub struct SoloRegions {
    regions: Regions,
    open: Vec<Mark>,
    virtuals: Virtuals,
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
    give(Regions::open(events), Virtuals::default())
}

/// Regions for C, or null and the reason.
fn give(regions: Result<Regions, RegionError>, virtuals: Virtuals) -> *mut SoloRegions {
    match regions {
        Ok(regions) => {
            let open = Vec::with_capacity(OPEN_MAX);
            Box::into_raw(Box::new(SoloRegions { regions, open, virtuals }))
        }
        Err(error) => {
            fail(&error.to_string());
            std::ptr::null_mut()
        }
    }
}

/// See `solo.h`.
///
/// # Safety
/// `events` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_open_machine(events: *const c_char) -> *mut SoloRegions {
    // SAFETY: the caller's.
    let Some(events) = (unsafe { text(events) }) else {
        fail("expected the names of events as UTF-8 text");
        return std::ptr::null_mut();
    };
    give(Regions::with(&Settings { machine: true, ..Settings::of(events) }), Virtuals::default())
}

/// See `solo.h`.
///
/// # Safety
/// `regions` is null or open, and its thread does not use it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_clone(regions: *const SoloRegions) -> *mut SoloRegions {
    // SAFETY: the caller's.
    let Some(regions) = (unsafe { regions.as_ref() }) else {
        fail("no regions");
        return std::ptr::null_mut();
    };
    match regions.virtuals.again() {
        Ok(virtuals) => give(Regions::with(regions.regions.settings()), virtuals),
        Err(why) => {
            fail(&why);
            std::ptr::null_mut()
        }
    }
}

/// Other settings, where no region is open.
///
/// # Safety
/// As for `solo_region_start`.
unsafe fn reset(regions: *mut SoloRegions, change: impl FnOnce(&mut Settings)) -> c_int {
    // SAFETY: the caller's.
    let Some(regions) = (unsafe { regions.as_mut() }) else { return refuse("no regions") };
    if !regions.open.is_empty() {
        return refuse("a region is open");
    }
    let mut settings = regions.regions.settings().clone();
    change(&mut settings);
    match regions.regions.configure(&settings) {
        Ok(()) => 0,
        Err(error) => refuse(&error.to_string()),
    }
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_start`; `events` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_events(regions: *mut SoloRegions, events: *const c_char) -> c_int {
    // SAFETY: the caller's.
    let Some(events) = (unsafe { text(events) }) else {
        return refuse("expected the names of events as UTF-8 text");
    };
    // SAFETY: the caller's.
    unsafe { reset(regions, |settings| settings.events = events.to_owned()) }
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_start`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_every(regions: *mut SoloRegions, period_ns: u64) -> c_int {
    let every = (period_ns > 0).then(|| Duration::new(period_ns));
    // SAFETY: the caller's.
    unsafe { reset(regions, |settings| settings.every = every) }
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_start`; `modules` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_virtual(regions: *mut SoloRegions, modules: *const c_char) -> c_int {
    // SAFETY: the caller's.
    let (regions, modules) = unsafe { (regions.as_mut(), text(modules)) };
    let (Some(regions), Some(modules)) = (regions, modules) else {
        return refuse("no regions, or no names of modules");
    };
    if !regions.open.is_empty() {
        return refuse("a region is open");
    }
    match Virtuals::of(modules) {
        Ok(virtuals) => {
            regions.virtuals = virtuals;
            0
        }
        Err(why) => refuse(&why),
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
    // Files are read outside of what is counted.
    regions.virtuals.start(regions.open.len());
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
            regions.virtuals.stop(regions.open.len(), name);
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
/// As for `solo_region_stop`; `counter` is null or a zero-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_virtual(
    regions: *const SoloRegions,
    name: *const c_char,
    counter: *const c_char,
) -> i64 {
    // SAFETY: the caller's.
    let (regions, name, counter) = unsafe { (regions.as_ref(), text(name), text(counter)) };
    let value = || regions?.virtuals.value(name?, counter?);
    value().unwrap_or(i64::MIN)
}

/// What a region came to.
///
/// # Safety
/// As for `solo_region_stop`.
unsafe fn total<'a>(regions: *const SoloRegions, name: *const c_char) -> Option<&'a Total> {
    // SAFETY: the caller's.
    let (regions, name) = unsafe { (regions.as_ref(), text(name)) };
    regions?.regions.totals().get(name?)
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_samples(regions: *const SoloRegions, name: *const c_char) -> u64 {
    // SAFETY: the caller's.
    unsafe { total(regions, name) }.map_or(0, |total| total.samples.len() as u64)
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_lost(regions: *const SoloRegions, name: *const c_char) -> u64 {
    // SAFETY: the caller's.
    unsafe { total(regions, name) }.map_or(0, |total| total.lost)
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_stop`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_sample_at_ns(
    regions: *const SoloRegions,
    name: *const c_char,
    sample: u64,
) -> u64 {
    // SAFETY: the caller's.
    let total = unsafe { total(regions, name) };
    let sample = total.and_then(|total| total.samples.get(usize::try_from(sample).ok()?));
    sample.map_or(0, |sample| sample.at.get())
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_count`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_region_sample_count(
    regions: *const SoloRegions,
    name: *const c_char,
    sample: u64,
    event: *const c_char,
) -> i64 {
    // SAFETY: the caller's.
    let (total, regions, event) = unsafe { (total(regions, name), regions.as_ref(), text(event)) };
    let count = || {
        let event = event?;
        let place = regions?.regions.events().iter().position(|known| *known == event)?;
        let sample = total?.samples.get(usize::try_from(sample).ok()?)?;
        i64::try_from(sample.counts.get(place).copied().flatten()?).ok()
    };
    count().unwrap_or(-1)
}

/// See `solo.h`.
///
/// # Safety
/// As for `solo_region_start`; `others` is open or null, and its thread does not use it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solo_regions_merge(regions: *mut SoloRegions, others: *const SoloRegions) -> c_int {
    if std::ptr::eq(regions, others) {
        return refuse("regions can't be added to themselves");
    }
    // SAFETY: the caller's; they are two.
    let (regions, others) = unsafe { (regions.as_mut(), others.as_ref()) };
    let (Some(regions), Some(others)) = (regions, others) else { return refuse("no regions") };
    if regions.regions.events() != others.regions.events() {
        return refuse("the other regions count other events");
    }
    regions.regions.merge(others.regions.totals());
    0
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
    let regions = unsafe { regions.as_ref() };
    let table = regions.map(|regions| regions.regions.table() + &regions.virtuals.table());
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
