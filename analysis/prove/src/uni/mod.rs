//! One core: earliest deadline first and fixed priorities.

pub mod ceiling;
pub mod density;
pub mod edf;
pub mod edf_u;
pub mod fp;
pub mod fp_dm;
pub mod fp_rm;
pub mod hyperbolic;
pub mod qpa;
pub mod rm_ll;
pub mod srp;
