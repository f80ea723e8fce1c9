//! Page coloring on stock Linux: unmodified programs in page frames of chosen colors and banks, each frame verified.
//!
//! No kernel module, no patched kernel. A program is started under `ptrace`; the kernel is asked to hand its page faults to
//! this process (`userfaultfd`), which answers each with a frame of the right color:
//!
//! ```text
//!   pool of right frames ── one given back to the kernel ──▶ head of this CPU's free list
//!   page fault of the program ─▶ userfaultfd ─▶ a page copied in (takes that head) ─▶ /proc/PID/pagemap: is it the one?
//! ```
//!
//! The kernel hands out the frame that was freed last on the CPU. That is how it is built, not what it promises; therefore
//! every frame is looked up afterwards, and what is not right is counted and told.
//!
//! * [`Wish`]: which frames are right, by a [`solo_isolate::map::MemoryMap`]
//! * [`Pool`]: frames that are right, kept until they are wanted
//! * [`run`]: a program in such frames; [`Outcome`] says where its pages were
//! * [`Painted`]: memory of this process in such frames, for programs that know what they want colored
//!
//! What is colored: anonymous memory, and private mappings of files (program text and data, libraries), of which the program
//! gets copies of its own. What is not: memory shared with others, huge pages, what the kernel itself keeps for a
//! process (page tables, buffers). Those pages are counted by name.

mod adopt;
mod error;
mod follow;
mod machine;
mod maps;
mod outcome;
mod painted;
mod pool;
mod registers;
mod space;
mod sys;
mod tracee;
mod wish;

pub use error::ColorError;
pub use follow::run;
pub use machine::LastLevel;
pub use outcome::{Ended, Outcome, Pages, Program};
pub use painted::Painted;
pub use pool::Pool;
pub use wish::Wish;
