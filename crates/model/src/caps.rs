//! What a machine is able to do, as a value.
//!
//! A policy is checked against it before it starts and never asks for a machine's name.

use crate::id::CoreSet;
use crate::units::{Bytes, Duration};

/// A machine's abilities.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Caps {
    /// The cores that can run threads.
    pub cores: CoreSet,
    /// The finest distance between two timer interrupts that the machine can tell apart.
    pub timer_resolution: Duration,
    /// One-shot timers for each core.
    pub one_shot_timer: bool,
    /// A core can ask another to reschedule.
    pub reschedule_ipi: bool,
    /// Threads can be preempted; without it only FCFS-like policies run.
    pub preemption: bool,
    /// The most threads, idle threads not counted.
    pub threads_max: u32,
    /// Freely programmable event counters of each core.
    pub counters: u8,
    /// Counters can interrupt when they overflow.
    pub counter_overflow: bool,
    /// The size of the pages that memory is handed out in.
    pub page: Bytes,
    /// Page colors of the last-level cache; 1 where coloring has no effect.
    pub colors: u16,
    /// Cache lines or ways can be locked.
    pub cache_lock: bool,
}
