//! Scheduling policies: a criterion composed with queues and heads.
//!
//! A *criterion* says which job is more urgent ([`Criterion`], one file each in [`criteria`]). A *domain* is a
//! ready queue and the cores that take threads from it ([`Scheduler`]). EPOS names twelve policies and a queue
//! class for each (thesis 4.2); here a policy is a criterion and a number of domains:
//!
//! ```text
//!   P-EDF   one domain a core         [queue]-core0   [queue]-core1   [queue]-core2   [queue]-core3
//!   C-EDF   one domain a cluster      [queue]-core0,1                 [queue]-core2,3
//!   G-EDF   one domain                [queue]-core0,1,2,3
//! ```
//!
//! so no criterion can lack a queue of its own, and the size of a cluster is a parameter.
//!
//! A *placement* ([`Placement`], one file each in [`placements`]) stands beside the criterion: it hears what happens, asks for
//! metrics and moves or holds tasks. Most policies have none.
//!
//! Everything here is a plain state machine: no clock, no input or output, no lock, no allocation after
//! construction. Time is a parameter, a decision is the result.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod admission;
pub mod criteria;
mod criterion;
mod fastest;
mod job;
pub mod placement;
pub mod placements;
mod places;
mod queue;
mod rank;
mod scheduler;
mod sort;

pub use admission::{PolicyRefusal, WindowRefusal, admit};
pub use criteria::{Visitor, dispatch};
pub use criterion::Criterion;
pub use job::{JobView, Membership, TaskParameters};
pub use placement::{Action, Actions, Hook, KindId, Placed, Placement, PlacementValue, Situation, Whose};
pub use places::Head;
pub use queue::Queue;
pub use rank::Rank;
pub use scheduler::{Choice, Scheduler, Whereabouts};
pub use solo_model::policy::Parameter;
