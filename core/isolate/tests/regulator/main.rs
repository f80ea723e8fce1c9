//! The bandwidth regulator: published behaviour, published faults, injected faults, invariants.

mod bench;
mod changes;
mod faults;
mod injected;
mod properties;
mod published;
mod reference;
