//! libpfm4 as the machine has it: opened when it is there, never linked.
//!
//! The structures are those of its public header (`perfmon/pfmlib.h`, stable since 4.0: each carries its size, and a
//! library that knows a longer one fills what there is).

use libloading::Library;
use perf_event_open_sys::bindings::perf_event_attr;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::sync::Mutex;

/// The names under which the library is found: with its version, as packages without headers install it.
const FILES: [&str; 2] = ["libpfm.so.4", "libpfm.so"];
const SUCCESS: c_int = 0;
/// `PFM_ERR_NOTSUPP`.
const NOT_SUPPORTED: c_int = -1;
/// `PFM_OS_PERF_EVENT`: encodings as `perf_event_open` takes them.
const OS_PERF_EVENT: c_int = 1;
/// `PFM_PLM0 | PFM_PLM3`: both modes; who counts decides later.
const BOTH_MODES: c_int = 0x9;
/// More PMUs than any version has.
const PMUS: c_int = 4096;
/// `PFM_ATTR_UMASK`.
const ATTR_UMASK: c_int = 1;

#[repr(C)]
struct PmuInfo {
    name: *const c_char,
    desc: *const c_char,
    size: usize,
    pmu: c_int,
    kind: c_int,
    nevents: c_int,
    first_event: c_int,
    max_encoding: c_int,
    num_cntrs: c_int,
    num_fixed_cntrs: c_int,
    flags: c_uint,
}

#[repr(C)]
struct EventInfo {
    name: *const c_char,
    desc: *const c_char,
    equiv: *const c_char,
    size: usize,
    code: u64,
    pmu: c_int,
    dtype: c_int,
    idx: c_int,
    nattrs: c_int,
    reserved: c_int,
    flags: c_uint,
}

#[repr(C)]
struct AttrInfo {
    name: *const c_char,
    desc: *const c_char,
    equiv: *const c_char,
    size: usize,
    code: u64,
    kind: c_int,
    idx: c_int,
    ctrl: c_int,
    flags: c_uint,
    default: u64,
}

#[repr(C)]
struct EncodeArguments {
    attr: *mut perf_event_attr,
    text: *mut *mut c_char,
    size: usize,
    idx: c_int,
    cpu: c_int,
    flags: c_int,
    pad: c_int,
}

/// The library, initialized.
pub(crate) struct Pfm {
    /// One caller at a time: the library says nothing of threads.
    library: Mutex<Library>,
    /// Its version, major and minor.
    pub(crate) version: (u32, u32),
}

/// A PMU that the library knows.
#[derive(Clone, Debug)]
pub(crate) struct Pmu {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) present: bool,
    pub(crate) counters: u32,
    pub(crate) fixed_counters: u32,
    first_event: c_int,
    events: c_int,
}

/// An event, or a unit mask of one.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) masks: Vec<(String, String)>,
}

/// Text of the library's.
///
/// # Safety
/// `text` is null or zero-terminated and stays while this runs.
unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Why the library gives an event no code.
pub(crate) struct Refused {
    /// The kernel of this machine lacks what counts it.
    pub(crate) unsupported: bool,
    /// In the library's words.
    pub(crate) why: String,
}

impl Pfm {
    /// Opens and initializes the library; else what was tried and what came of it.
    pub(crate) fn open() -> Result<Self, String> {
        let mut tried = Vec::new();
        for file in FILES {
            // SAFETY: libpfm's initializers do nothing; it is the library that this name stands for on every Linux.
            match unsafe { Library::new(file) } {
                Ok(library) => return Self::initialize(library),
                Err(error) => tried.push(error.to_string()),
            }
        }
        Err(tried.join("; "))
    }

    fn initialize(library: Library) -> Result<Self, String> {
        // SAFETY: the functions have these types in the library's header.
        let (initialized, version) = unsafe {
            let initialize = library.get::<unsafe extern "C" fn() -> c_int>(b"pfm_initialize\0");
            let version = library.get::<unsafe extern "C" fn() -> c_int>(b"pfm_get_version\0");
            match (initialize, version) {
                (Ok(initialize), Ok(version)) => (initialize(), version()),
                (Err(error), _) | (_, Err(error)) => return Err(error.to_string()),
            }
        };
        if initialized != SUCCESS {
            return Err(format!("pfm_initialize gave {initialized}"));
        }
        let version = ((version >> 16) as u32, (version & 0xffff) as u32);
        if version.0 != 4 {
            return Err(format!("expected version 4, found {}.{}", version.0, version.1));
        }
        Ok(Self { library: Mutex::new(library), version })
    }

    fn with<T>(&self, run: impl FnOnce(&Library) -> Option<T>) -> Option<T> {
        run(&self.library.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Every PMU of its tables.
    pub(crate) fn pmus(&self) -> Vec<Pmu> {
        let pmu = |number| {
            self.with(|library| {
                // SAFETY: the function has this type; the structure is whole, says its size, and lives through the
                // call. What it points to is the library's and is copied.
                unsafe {
                    let get = library
                        .get::<unsafe extern "C" fn(c_int, *mut PmuInfo) -> c_int>(b"pfm_get_pmu_info\0")
                        .ok()?;
                    let mut info: PmuInfo = std::mem::zeroed();
                    info.size = size_of::<PmuInfo>();
                    if get(number, &raw mut info) != SUCCESS {
                        return None;
                    }
                    Some(Pmu {
                        name: text(info.name),
                        description: text(info.desc),
                        present: info.flags & 1 != 0,
                        counters: info.num_cntrs.max(0) as u32,
                        fixed_counters: info.num_fixed_cntrs.max(0) as u32,
                        first_event: info.first_event,
                        events: info.nevents,
                    })
                }
            })
        };
        (0..PMUS).filter_map(pmu).collect()
    }

    /// The events of a PMU with their unit masks.
    pub(crate) fn events(&self, pmu: &Pmu) -> Vec<Described> {
        let mut events = Vec::new();
        let mut at = pmu.first_event;
        for _ in 0..pmu.events.max(0) {
            if at < 0 {
                break;
            }
            events.extend(self.event(at));
            at = self.next(at).unwrap_or(-1);
        }
        events
    }

    fn next(&self, event: c_int) -> Option<c_int> {
        self.with(|library| {
            // SAFETY: the function has this type and takes no pointer.
            unsafe {
                let next =
                    library.get::<unsafe extern "C" fn(c_int) -> c_int>(b"pfm_get_event_next\0").ok()?;
                Some(next(event))
            }
        })
    }

    fn event(&self, number: c_int) -> Option<Described> {
        self.with(|library| {
            // SAFETY: as in `pmus`.
            unsafe {
                let get = library
                    .get::<unsafe extern "C" fn(c_int, c_int, *mut EventInfo) -> c_int>(
                        b"pfm_get_event_info\0",
                    )
                    .ok()?;
                let attribute = library
                    .get::<unsafe extern "C" fn(c_int, c_int, c_int, *mut AttrInfo) -> c_int>(
                        b"pfm_get_event_attr_info\0",
                    )
                    .ok()?;
                let mut info: EventInfo = std::mem::zeroed();
                info.size = size_of::<EventInfo>();
                if get(number, OS_PERF_EVENT, &raw mut info) != SUCCESS {
                    return None;
                }
                let mut masks = Vec::new();
                for i in 0..info.nattrs {
                    let mut mask: AttrInfo = std::mem::zeroed();
                    mask.size = size_of::<AttrInfo>();
                    if attribute(number, i, OS_PERF_EVENT, &raw mut mask) == SUCCESS
                        && mask.kind == ATTR_UMASK
                    {
                        masks.push((text(mask.name), text(mask.desc)));
                    }
                }
                Some(Described { name: text(info.name), description: text(info.desc), masks })
            }
        })
    }

    /// What `perf_event_open` takes for a name with unit masks and modifiers: type and configuration words; else what
    /// the library says.
    pub(crate) fn encode(&self, name: &str) -> Result<(u32, [u64; 3]), Refused> {
        let other = |why: &str| Refused { unsupported: false, why: why.to_owned() };
        let name = CString::new(name).map_err(|_| other("a zero byte in a name"))?;
        let encoded = self.with(|library| {
            // SAFETY: as in `pmus`; the name is zero-terminated and lives through the call, and the attributes are
            // larger than what any version of the library writes. The text of an error is the library's constant.
            unsafe {
                let encode = library
                    .get::<unsafe extern "C" fn(*const c_char, c_int, c_int, *mut c_void) -> c_int>(
                        b"pfm_get_os_event_encoding\0",
                    )
                    .ok()?;
                let explain =
                    library.get::<unsafe extern "C" fn(c_int) -> *const c_char>(b"pfm_strerror\0").ok()?;
                let mut attr: perf_event_attr = std::mem::zeroed();
                let mut arguments: EncodeArguments = std::mem::zeroed();
                arguments.attr = &raw mut attr;
                arguments.size = size_of::<EncodeArguments>();
                let code = encode(name.as_ptr(), BOTH_MODES, OS_PERF_EVENT, (&raw mut arguments).cast());
                if code != SUCCESS {
                    return Some(Err(Refused {
                        unsupported: code == NOT_SUPPORTED,
                        why: text(explain(code)),
                    }));
                }
                let words = [attr.config, attr.__bindgen_anon_3.config1, attr.__bindgen_anon_4.config2];
                Some(Ok((attr.type_, words)))
            }
        });
        encoded.unwrap_or_else(|| Err(other("the library lacks a function of version 4")))
    }
}
