//! Programs recorded into compact files.

pub(crate) mod capture;
pub(crate) mod writer;
