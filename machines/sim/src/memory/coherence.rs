//! Coherence protocols as tables: what a line's state becomes, and what its cache does, at each event.
//!
//! The states are those of MESI, MESIF and MOESI (thesis 2.1.4, Tables 1 to 3). A protocol is one table;
//! the hierarchy knows no protocol by name.

use solo_model::platform::Protocol;

/// The state of a line in a cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[repr(u8)]
pub enum State {
    /// Not there.
    #[default]
    Invalid,
    /// Clean; others may hold it too.
    Shared,
    /// Clean; nobody else holds it.
    Exclusive,
    /// Changed; nobody else holds it.
    Modified,
    /// Clean; others may hold it too; this copy answers for all (MESIF).
    Forward,
    /// Changed; others may hold it too; this copy answers and is written back when it leaves (MOESI).
    Owned,
}

/// What another cache's access does to a line held here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reaction {
    /// The state afterwards.
    pub next: State,
    /// This copy supplies the data.
    pub supplies: bool,
    /// The changed data go to the next common level (or memory) on this occasion.
    pub writes_back: bool,
}

const fn reaction(next: State, supplies: bool, writes_back: bool) -> Reaction {
    Reaction { next, supplies, writes_back }
}

impl State {
    /// All states, in the order of the tables.
    pub const ALL: [Self; 6] =
        [Self::Invalid, Self::Shared, Self::Exclusive, Self::Modified, Self::Forward, Self::Owned];

    /// The state whose number is in the low three bits.
    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        match bits & 7 {
            1 => Self::Shared,
            2 => Self::Exclusive,
            3 => Self::Modified,
            4 => Self::Forward,
            5 => Self::Owned,
            _ => Self::Invalid,
        }
    }
    /// The owner may write without telling anybody.
    #[inline]
    pub const fn is_writable(self) -> bool {
        matches!(self, Self::Exclusive | Self::Modified)
    }
    /// Memory's copy is stale.
    #[inline]
    pub const fn is_dirty(self) -> bool {
        matches!(self, Self::Modified | Self::Owned)
    }
    /// The same line when memory's copy has caught up.
    #[must_use]
    pub(crate) const fn cleaned(self) -> Self {
        match self {
            Self::Modified => Self::Exclusive,
            Self::Owned => Self::Shared,
            other => other,
        }
    }
    /// The same rights, with data that differ from memory's.
    #[must_use]
    pub(crate) const fn dirtied(self) -> Self {
        if self.is_writable() { Self::Modified } else { Self::Owned }
    }
}

/// A protocol's table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// The reaction to another cache's read, by [`State`].
    on_remote_read: [Reaction; 6],
    /// The state of a line read while others hold it.
    pub read_shared: State,
}

const INVALID: Reaction = reaction(State::Invalid, false, false);

/// Modified, exclusive, shared, invalid: a modified line is written back when another cache reads it, and
/// among sharers none is appointed to answer, so the next level does.
pub const MESI: Rules = Rules {
    on_remote_read: [
        INVALID,
        reaction(State::Shared, false, false),
        reaction(State::Shared, true, false),
        reaction(State::Shared, true, true),
        INVALID,
        INVALID,
    ],
    read_shared: State::Shared,
};

/// MESI with a forwarder: the last reader answers for all sharers.
pub const MESIF: Rules = Rules {
    on_remote_read: [
        INVALID,
        reaction(State::Shared, false, false),
        reaction(State::Shared, true, false),
        reaction(State::Shared, true, true),
        reaction(State::Shared, true, false),
        INVALID,
    ],
    read_shared: State::Forward,
};

/// MESI with an owner: a modified line stays where it is, and is not written back, when others read it.
pub const MOESI: Rules = Rules {
    on_remote_read: [
        INVALID,
        reaction(State::Shared, false, false),
        reaction(State::Shared, true, false),
        reaction(State::Owned, true, false),
        INVALID,
        reaction(State::Owned, true, false),
    ],
    read_shared: State::Shared,
};

impl Rules {
    /// The table of a protocol; `None` where caches are not kept coherent.
    pub const fn of(protocol: Protocol) -> Option<Self> {
        match protocol {
            Protocol::None => None,
            Protocol::Mesi => Some(MESI),
            Protocol::Mesif => Some(MESIF),
            Protocol::Moesi => Some(MOESI),
        }
    }

    /// Another cache reads a line held here in `state`.
    #[inline]
    pub const fn remote_read(&self, state: State) -> Reaction {
        self.on_remote_read[state as usize]
    }

    /// Another cache writes a line held here in `state`: every protocol gives the line up, and a changed or
    /// exclusive copy hands its data, and the duty to write them back, to the writer.
    #[inline]
    pub const fn remote_write(&self, state: State) -> Reaction {
        let supplies = !matches!(state, State::Invalid | State::Shared);
        reaction(State::Invalid, supplies, false)
    }
}
