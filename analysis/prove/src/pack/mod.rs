//! Bin packing by utilisation, with exact comparisons (thesis 2.4.2.1).

pub mod cedf;
pub mod pedf;
pub mod pfp;

mod bins;
mod clustered;
mod items;
mod place;
mod quick;

pub use bins::{Fit, Order, pack};
pub(crate) use bins::{Packer, Stuck, pack_items};
pub(crate) use items::Items;
pub use items::Share;
pub use place::{Capacity, Full, Sizes, Unplaced, place, place_among};
