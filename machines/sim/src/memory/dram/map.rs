//! From a physical address to channel, rank, bank and row.

use super::super::error::DramError;
use solo_model::Bytes;
use solo_model::platform::{Dram as Description, XorBits};

/// The most banks of a channel, over all its ranks: a set of them is a `u64`.
pub(super) const MOST_BANKS: usize = 64;
const MOST_CHANNELS: u64 = 64;
/// The bits of a channel's number in a table.
const CHANNEL_FIELD: u32 = 8;

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
    /// Stands where there is no request.
    pub(super) const NONE: Self = Self { channel: 0, bank: 0, row: 0, line: 0 };

    #[inline]
    pub(super) fn bank(&self) -> usize {
        usize::from(self.bank)
    }
}

/// Channel and bank are parities of address bits, so that what each byte of an address adds to them can be looked up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct AddressMap {
    channel_bits: usize,
    /// Bits of the bank within the rank.
    bank_bits: usize,
    rank_bits: usize,
    /// By byte of the address, the lowest first, as far as any parity reaches: the channel, and above
    /// [`CHANNEL_FIELD`] the bank.
    tables: Box<[[u16; 256]]>,
    row_shift: u32,
    line_shift: u32,
}

impl AddressMap {
    pub(super) fn new(description: &Description, line: Bytes) -> Result<Self, DramError> {
        let bits = description.bank_bits.len() + description.rank_bits.len();
        limit("banks", bits, MOST_BANKS as u64)?;
        limit("channels", description.channel_bits.len(), MOST_CHANNELS)?;
        let bank: Vec<XorBits> =
            description.bank_bits.iter().chain(&description.rank_bits).copied().collect();
        let channel = &description.channel_bits;
        let used = bank.iter().chain(channel).fold(0, |used, bits| used | bits.0);
        let bytes = (64 - used.leading_zeros()).div_ceil(8);
        let entry = |byte: u32, value: usize| {
            let address = (value as u64) << (8 * byte);
            (number(channel, address) | number(&bank, address) << CHANNEL_FIELD) as u16
        };
        Ok(Self {
            channel_bits: channel.len(),
            bank_bits: description.bank_bits.len(),
            rank_bits: description.rank_bits.len(),
            tables: (0..bytes).map(|byte| core::array::from_fn(|value| entry(byte, value))).collect(),
            row_shift: u32::from(description.row_shift).min(63),
            line_shift: line.get().trailing_zeros(),
        })
    }

    pub(super) fn channels(&self) -> usize {
        1 << self.channel_bits
    }
    pub(super) fn ranks(&self) -> usize {
        1 << self.rank_bits
    }
    /// The banks of a rank, as a power of two.
    pub(super) fn bank_bits(&self) -> usize {
        self.bank_bits
    }

    #[inline]
    pub(super) fn place(&self, address: u64) -> Place {
        let (mut numbers, mut rest) = (0, address);
        for table in &*self.tables {
            numbers ^= table[usize::from(rest as u8)];
            rest >>= 8;
        }
        let (channel, bank) = (numbers as u8, (numbers >> CHANNEL_FIELD) as u8);
        let (row, line) = ((address >> self.row_shift) as u32, (address >> self.line_shift) as u32);
        Place { channel, bank, row, line }
    }
}

fn limit(name: &'static str, bits: usize, most: u64) -> Result<(), DramError> {
    let count = 1_u64 << bits.min(63);
    if count > most { Err(DramError::TooMany { name, count, most }) } else { Ok(()) }
}

fn number(bits: &[XorBits], address: u64) -> usize {
    bits.iter()
        .enumerate()
        .fold(0, |number, (position, bit)| number | usize::from(bit.of(address) == 1) << position)
}
