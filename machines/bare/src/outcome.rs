//! How the image says goodbye to an emulator.

/// What the image writes to QEMU's debug-exit device, and what QEMU makes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ImageExit {
    /// The run went to its end.
    Done = 0x10,
    /// The kernel panicked.
    Panicked = 0x11,
    /// The boot module was refused.
    Refused = 0x12,
    /// The processor reported a fault of the kernel.
    Faulted = 0x13,
}

impl ImageExit {
    const ALL: [Self; 4] = [Self::Done, Self::Panicked, Self::Refused, Self::Faulted];

    /// The emulator's exit status: the device shifts the value left and sets the lowest bit, so that 0, the
    /// status of a machine that reset itself, stands for no outcome.
    pub const fn exit_status(self) -> i32 {
        (self as i32) << 1 | 1
    }

    /// The outcome behind an exit status.
    pub fn of_exit_status(status: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.exit_status() == status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_no_outcome() {
        assert_eq!(ImageExit::of_exit_status(0), None);
        assert_eq!(ImageExit::of_exit_status(33), Some(ImageExit::Done));
        for outcome in ImageExit::ALL {
            assert_eq!(ImageExit::of_exit_status(outcome.exit_status()), Some(outcome));
        }
    }
}
