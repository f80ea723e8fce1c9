//! Programs of real-time threads in C: what [`solo_app`] is for Rust.
//!
//! `include/solo_app.h` says what there is. A program is a package of Cargo whose `src/main.rs` is
//!
//! ```ignore
//! #![cfg_attr(target_os = "none", no_std, no_main)]
//! solo_app_c::program!();
//! ```
//!
//! and whose build script compiles the C source, which defines `solo_declare`. `solo new NAME --language c` writes one.
//!
//! As a process of Linux a thread that makes a mistake ends by unwinding, through its frames of C. On bare metal nothing unwinds, and
//! calls into C must not say so: they would ask for a part of the standard library that is not there.
#![cfg_attr(target_os = "none", no_std)]
#![allow(unsafe_code)] // pointers from C; the header says what they must be

extern crate alloc;

mod counters;
mod declare;
mod memory;
mod pointers;
mod run;

#[doc(hidden)]
pub mod internal {
    //! What [`program!`](crate::program) stands on.
    pub use solo_app::{Program, program};
}

/// Makes a program of the `solo_declare` that C defines. In the root of the program's crate.
#[macro_export]
macro_rules! program {
    () => {
        fn declared_in_c(program: &mut $crate::internal::Program) {
            #[cfg(not(target_os = "none"))]
            unsafe extern "C-unwind" {
                fn solo_declare(program: *mut $crate::internal::Program);
            }
            #[cfg(target_os = "none")]
            unsafe extern "C" {
                fn solo_declare(program: *mut $crate::internal::Program);
            }
            // SAFETY: the header says what it may do with the program, which lives until it returns.
            unsafe { solo_declare(program) };
        }

        $crate::internal::program!(declared_in_c);
    };
}
