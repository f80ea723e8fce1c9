//! What a general counter counts, when, and whether it interrupts: the value of a selection register.

/// The value of a selection register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Select(u64);

impl Select {
    /// Counts outside of ring 0.
    pub const USER: u64 = 1 << 16;
    /// Counts in ring 0.
    pub const SYSTEM: u64 = 1 << 17;
    /// Interrupts on overflow.
    pub const INTERRUPT: u64 = 1 << 20;
    /// Counts at all.
    pub const ENABLE: u64 = 1 << 22;

    /// `event` with `mask`, in all rings, without interrupt, stopped. AMD's events have 12 bits, Intel's 8.
    pub const fn new(event: u16, mask: u8) -> Self {
        let event = event as u64;
        Self(event & 0xff | (event >> 8 & 0xf) << 32 | (mask as u64) << 8 | Self::USER | Self::SYSTEM)
    }

    /// Running.
    #[must_use]
    pub const fn enabled(self) -> Self {
        Self(self.0 | Self::ENABLE)
    }

    /// Stopped.
    #[must_use]
    pub const fn stopped(self) -> Self {
        Self(self.0 & !Self::ENABLE)
    }

    /// With or without an interrupt on overflow.
    #[must_use]
    pub const fn interrupting(self, yes: bool) -> Self {
        if yes { Self(self.0 | Self::INTERRUPT) } else { Self(self.0 & !Self::INTERRUPT) }
    }

    /// The register's value.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The event's number.
    pub const fn event(self) -> u16 {
        (self.0 & 0xff | (self.0 >> 32 & 0xf) << 8) as u16
    }

    /// The event's mask.
    pub const fn mask(self) -> u8 {
        (self.0 >> 8) as u8
    }
}
