//! An event as `solo events` lists it.

use serde::Serialize;

/// An event that is known by name.
#[derive(Serialize, Debug)]
pub(super) struct Known {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) counted_by: String,
    pub(super) meaning: String,
    /// Unit masks, to be written after the name and a colon, with what they pick out.
    pub(super) masks: Vec<Mask>,
}

/// A unit mask.
#[derive(Serialize, Debug)]
pub(super) struct Mask {
    pub(super) name: String,
    pub(super) meaning: String,
}
