//! Registers of devices that lie among memory.

use core::ptr::with_exposed_provenance_mut;

/// The registers of a device, 32 bits each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registers(u64);

impl Registers {
    /// Those that begin at `base`.
    ///
    /// # Safety
    /// The registers that are read and written by what this is given to must be mapped there, as a device. Reading and writing them may
    /// make the device touch no memory that somebody else uses.
    pub const unsafe fn at(base: u64) -> Self {
        Self(base)
    }

    /// The register `offset` bytes behind the first.
    #[inline(always)]
    pub fn read(self, offset: u64) -> u32 {
        // SAFETY: whoever made this vouched for the registers.
        unsafe { with_exposed_provenance_mut::<u32>((self.0 + offset) as usize).read_volatile() }
    }

    /// The byte `offset` bytes behind the first register, of those that are read so.
    #[cfg_attr(test, expect(dead_code, reason = "virtio's registers are not there in tests"))]
    pub(crate) fn read_byte(self, offset: u64) -> u8 {
        // SAFETY: as above.
        unsafe { with_exposed_provenance_mut::<u8>((self.0 + offset) as usize).read_volatile() }
    }

    /// Writes the register `offset` bytes behind the first.
    #[inline(always)]
    pub fn write(self, offset: u64, value: u32) {
        // SAFETY: as above.
        unsafe { with_exposed_provenance_mut::<u32>((self.0 + offset) as usize).write_volatile(value) };
    }
}
