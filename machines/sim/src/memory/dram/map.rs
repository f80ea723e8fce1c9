//! From a physical address to channel, rank, bank and row.

use super::super::error::DramError;
use solo_model::Bytes;
use solo_model::platform::{Dram as Description, XorBits};

/// The most banks of a channel, over all its ranks: a set of them is a `u64`.
pub(super) const MOST_BANKS: usize = 64;
const MOST_CHANNELS: u64 = 64;

/// Where a line lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) channel: u8,
    /// The bank, counted over all ranks of the channel.
    bank: u8,
    pub(super) row: u32,
    pub(super) line: u32,
}

impl Place {
    #[inline]
    pub(super) fn bank(&self) -> usize {
        usize::from(self.bank)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AddressMap {
    channel: Vec<XorBits>,
    /// Bits of the bank within the rank, then of the rank.
    bank: Vec<XorBits>,
    rank_bits: usize,
    row_shift: u32,
    line_shift: u32,
}

impl AddressMap {
    pub(super) fn new(description: &Description, line: Bytes) -> Result<Self, DramError> {
        let bits = description.bank_bits.len() + description.rank_bits.len();
        limit("banks", bits, MOST_BANKS as u64)?;
        limit("channels", description.channel_bits.len(), MOST_CHANNELS)?;
        Ok(Self {
            channel: description.channel_bits.clone(),
            bank: description.bank_bits.iter().chain(&description.rank_bits).copied().collect(),
            rank_bits: description.rank_bits.len(),
            row_shift: u32::from(description.row_shift).min(63),
            line_shift: line.get().trailing_zeros(),
        })
    }

    pub(super) fn channels(&self) -> usize {
        1 << self.channel.len()
    }
    pub(super) fn ranks(&self) -> usize {
        1 << self.rank_bits
    }
    pub(super) fn banks_per_rank(&self) -> usize {
        1 << (self.bank.len() - self.rank_bits)
    }

    #[inline]
    pub(super) fn place(&self, address: u64) -> Place {
        Place {
            channel: number(&self.channel, address) as u8,
            bank: number(&self.bank, address) as u8,
            row: (address >> self.row_shift) as u32,
            line: (address >> self.line_shift) as u32,
        }
    }
}

fn limit(name: &'static str, bits: usize, most: u64) -> Result<(), DramError> {
    let count = 1_u64 << bits.min(63);
    if count > most { Err(DramError::TooMany { name, count, most }) } else { Ok(()) }
}

#[inline]
fn number(bits: &[XorBits], address: u64) -> usize {
    bits.iter().enumerate().fold(0, |number, (position, bit)| {
        // Most bits are plain: those need no parity.
        let plain = bit.0 & bit.0.wrapping_sub(1) == 0;
        let set = if plain { bit.0 & address != 0 } else { bit.of(address) == 1 };
        number | usize::from(set) << position
    })
}
