//! Performance monitoring units of x86-64: Intel's architectural one, versions 1 to 5, and AMD's (thesis 4.1.2;
//! hpc-invalidations, section 3).
//!
//! ```text
//!            general counters               fixed counters        on or off, overflow
//!   v1       PMCx, EVTSELx                  -                     by each EVTSELx; seen from the value's sign
//!   v2       + writes of full width (*)     FIXED_CTRx, _CTR_CTRL GLOBAL_CTRL, GLOBAL_STATUS, GLOBAL_OVF_CTRL
//!   v3       + AnyThread                    the same              the same
//!   v4       the same                       the same              GLOBAL_STATUS_RESET, GLOBAL_STATUS_SET
//!   v5       - AnyThread                    a bit each says which the same
//!   AMD K7   4 counters, C001_0000          -                     by each selection; seen from the value's sign
//!   AMD ext  6 counters, C001_0200          -                     the same
//!   AMD v2   number by CPUID                -                     C000_0300 (status), 0301 (control), 0302 (clear)
//! ```
//!
//! (*) Where `IA32_PERF_CAPABILITIES` says so; else a write takes 32 bits and extends their sign.
//!
//! * [`registers`]: the one way to all registers; [`model`] stands behind it in tests and in measurements
//! * [`diluted`]: what programming and reading come to when counter and event are known
//! * [`describe`]: what CPUID tells
//! * [`unit`]: the counters of a core, as the kernel's mediator wants them
//! * [`events`]: which selection counts an event
//!
//! Sources: Intel's Software Developer's Manual, volume 3B, chapter "Performance Monitoring"; AMD's Architecture
//! Programmer's Manual, volume 2, section 13.2. Event codes: `solo_observe::processors`.

pub mod describe;
pub mod diluted;
pub mod events;
pub mod model;
pub mod registers;
pub mod select;
pub mod unit;

pub use describe::{Description, Kind};
pub use registers::Registers;
pub use select::Select;
pub use solo_observe::processors::Microarchitecture;
pub use unit::Unit;
