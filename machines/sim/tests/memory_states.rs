//! The coherence tables, line by line, as the hierarchy carries them out: protocol x state x event, what becomes of the
//! line, who sends the data, what reaches memory, and what it costs; and which states two caches may have at once.

use proptest::prelude::*;
use solo_model::platform::Protocol;
use solo_model::{CoreId, Picoseconds, Signal};
use solo_sim::memory::coherence::State;
use solo_sim::memory::fixtures::private_only;
use solo_sim::memory::{AccessKind, Answer, Hierarchy, PhysicalAddress};

use Protocol::{Mesi, Mesif, Moesi};
use State::{Exclusive as E, Forward as F, Invalid as I, Modified as M, Owned as O, Shared as S};

/// What happens to the line of core 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum What {
    /// Core 0 loads from it,
    Read,
    /// or stores to it.
    Write,
    /// Core 2, which does not have it, loads from it,
    RemoteRead,
    /// or stores to it.
    RemoteWrite,
    /// Core 0 needs its place.
    Evict,
}

use What::{Evict, Read, RemoteRead, RemoteWrite, Write};

/// Who sends the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Data {
    /// They are at hand, or nobody wants them.
    Own,
    /// A permission is asked for, no data.
    Permission,
    /// Another core's cache,
    Clean,
    /// which had changed them.
    Changed,
    Memory,
}

use Data::{Changed, Clean, Memory, Own, Permission};

/// Protocol, state of core 0 before, what happens; its state after, that of core 2 after, who sends the data, and
/// whether changed data go to memory.
type Row = (Protocol, State, What, State, State, Data, bool);

/// Thesis 2.1.4 (Figs. 9 and 10 and the text on MESIF); hpc-invalidations, Fig. 1.
const TABLE: [Row; 71] = [
    (Mesi, I, Read, E, I, Memory, false),
    (Mesi, I, Write, M, I, Memory, false),
    (Mesi, I, RemoteRead, I, E, Memory, false),
    (Mesi, I, RemoteWrite, I, M, Memory, false),
    (Mesi, S, Read, S, I, Own, false),
    (Mesi, S, Write, M, I, Permission, false),
    (Mesi, S, RemoteRead, S, S, Memory, false),
    (Mesi, S, RemoteWrite, I, M, Memory, false),
    (Mesi, S, Evict, I, I, Own, false),
    (Mesi, E, Read, E, I, Own, false),
    (Mesi, E, Write, M, I, Own, false),
    (Mesi, E, RemoteRead, S, S, Clean, false),
    (Mesi, E, RemoteWrite, I, M, Clean, false),
    (Mesi, E, Evict, I, I, Own, false),
    (Mesi, M, Read, M, I, Own, false),
    (Mesi, M, Write, M, I, Own, false),
    (Mesi, M, RemoteRead, S, S, Changed, true),
    (Mesi, M, RemoteWrite, I, M, Changed, false),
    (Mesi, M, Evict, I, I, Own, true),
    (Mesif, I, Read, E, I, Memory, false),
    (Mesif, I, Write, M, I, Memory, false),
    (Mesif, I, RemoteRead, I, E, Memory, false),
    (Mesif, I, RemoteWrite, I, M, Memory, false),
    (Mesif, S, Read, S, I, Own, false),
    (Mesif, S, Write, M, I, Permission, false),
    // The forwarder has evicted its copy: memory must send the line, and the reader forwards from now on.
    (Mesif, S, RemoteRead, S, F, Memory, false),
    (Mesif, S, RemoteWrite, I, M, Memory, false),
    (Mesif, S, Evict, I, I, Own, false),
    (Mesif, F, Read, F, I, Own, false),
    (Mesif, F, Write, M, I, Permission, false),
    (Mesif, F, RemoteRead, S, F, Clean, false),
    (Mesif, F, RemoteWrite, I, M, Clean, false),
    (Mesif, F, Evict, I, I, Own, false),
    (Mesif, E, Read, E, I, Own, false),
    (Mesif, E, Write, M, I, Own, false),
    (Mesif, E, RemoteRead, S, F, Clean, false),
    (Mesif, E, RemoteWrite, I, M, Clean, false),
    (Mesif, E, Evict, I, I, Own, false),
    (Mesif, M, Read, M, I, Own, false),
    (Mesif, M, Write, M, I, Own, false),
    (Mesif, M, RemoteRead, S, F, Changed, true),
    (Mesif, M, RemoteWrite, I, M, Changed, false),
    (Mesif, M, Evict, I, I, Own, true),
    (Moesi, I, Read, E, I, Memory, false),
    (Moesi, I, Write, M, I, Memory, false),
    (Moesi, I, RemoteRead, I, E, Memory, false),
    (Moesi, I, RemoteWrite, I, M, Memory, false),
    (Moesi, S, Read, S, I, Own, false),
    (Moesi, S, Write, M, I, Permission, false),
    (Moesi, S, RemoteRead, S, S, Memory, false),
    (Moesi, S, RemoteWrite, I, M, Memory, false),
    (Moesi, S, Evict, I, I, Own, false),
    (Moesi, O, Read, O, I, Own, false),
    (Moesi, O, Write, M, I, Permission, false),
    (Moesi, O, RemoteRead, O, S, Changed, false),
    (Moesi, O, RemoteWrite, I, M, Changed, false),
    (Moesi, O, Evict, I, I, Own, true),
    (Moesi, E, Read, E, I, Own, false),
    (Moesi, E, Write, M, I, Own, false),
    (Moesi, E, RemoteRead, S, S, Clean, false),
    (Moesi, E, RemoteWrite, I, M, Clean, false),
    (Moesi, E, Evict, I, I, Own, false),
    (Moesi, M, Read, M, I, Own, false),
    (Moesi, M, Write, M, I, Own, false),
    (Moesi, M, RemoteRead, O, S, Changed, false),
    (Moesi, M, RemoteWrite, I, M, Changed, false),
    (Moesi, M, Evict, I, I, Own, true),
    // Nobody keeps caches coherent: each has what it has, and each writes its own back.
    (Protocol::None, I, Read, E, I, Memory, false),
    (Protocol::None, E, RemoteRead, E, E, Memory, false),
    (Protocol::None, M, RemoteWrite, M, M, Memory, false),
    (Protocol::None, M, Evict, I, I, Own, true),
];

/// The line that the tables are about, and two others of its set.
const LINE: PhysicalAddress = PhysicalAddress(0);
const OTHER: PhysicalAddress = PhysicalAddress(1 << 20);
const THIRD: PhysicalAddress = PhysicalAddress(2 << 20);

/// Three cores with a private cache of one way each.
struct Machine {
    memory: Hierarchy,
    now: Picoseconds,
}

impl Machine {
    fn new(protocol: Protocol) -> Self {
        let mut platform = private_only(3, 1, 1);
        platform.coherence.protocol = protocol;
        Self { memory: Hierarchy::new(&platform, 1).unwrap(), now: Picoseconds::ZERO }
    }

    /// An access that is over before the next begins; from the access to the caches' answer, or `None` where memory
    /// sends the data.
    fn access(&mut self, core: u16, address: PhysicalAddress, kind: AccessKind) -> Option<Picoseconds> {
        self.now += Picoseconds::new(10_000_000);
        self.memory.advance(self.now, |_| {});
        match self.memory.access(CoreId(core), self.now, address, kind) {
            Answer::Hit { latency, .. } => Some(latency),
            Answer::Miss { .. } => None,
        }
    }

    /// Core 0 has the line in this state, core 2 does not have it.
    fn with(protocol: Protocol, state: State) -> Self {
        let mut machine = Self::new(protocol);
        match state {
            I => {}
            E => drop(machine.access(0, LINE, AccessKind::Read)),
            M => drop(machine.access(0, LINE, AccessKind::Write)),
            // The other copy is gone again.
            S => {
                machine.access(0, LINE, AccessKind::Read);
                machine.access(1, LINE, AccessKind::Read);
                machine.access(1, OTHER, AccessKind::Read);
            }
            F => {
                machine.access(1, LINE, AccessKind::Read);
                machine.access(0, LINE, AccessKind::Read);
            }
            O => {
                machine.access(0, LINE, AccessKind::Write);
                machine.access(1, LINE, AccessKind::Read);
            }
        }
        assert_eq!([machine.state(0), machine.state(2)], [state, I], "{protocol:?}");
        machine
    }

    fn state(&self, core: usize) -> State {
        self.memory.state(core, LINE)
    }

    fn count(&self, event: Signal) -> u64 {
        (0..3).map(|core| self.memory.counts(CoreId(core))[event]).sum()
    }
}

/// A cycle of the first level, and what coherence adds to it in cycles of a nanosecond.
fn cost(data: Data) -> Option<Picoseconds> {
    let added = match data {
        Own => 0,
        Permission => 50,
        Clean => 100,
        Changed => 200,
        Memory => return None,
    };
    Some(Picoseconds::new((1 + added) * 1000))
}

#[test]
fn each_line_of_the_tables_is_carried_out() {
    let counted = [Signal::DramRead, Signal::DramWrite, Signal::SnoopHitModified, Signal::Upgrade];
    for (protocol, state, what, next, theirs, data, written) in TABLE {
        let row = format!("{protocol:?}, {state:?}, {what:?}");
        let mut machine = Machine::with(protocol, state);
        let before = counted.map(|event| machine.count(event));
        let (core, address, kind) = match what {
            Read => (0, LINE, AccessKind::Read),
            Write => (0, LINE, AccessKind::Write),
            RemoteRead => (2, LINE, AccessKind::Read),
            RemoteWrite => (2, LINE, AccessKind::Write),
            Evict => (0, THIRD, AccessKind::Read),
        };
        let lost = machine.memory.counts(CoreId(0))[Signal::InvalidationReceived];
        let answer = machine.access(core, address, kind);
        assert_eq!([machine.state(0), machine.state(2)], [next, theirs], "{row}");
        let [read, wrote, changed, asked] = std::array::from_fn(|i| machine.count(counted[i]) - before[i]);
        // What takes the place of an evicted line comes from memory.
        let (expected, fetched) =
            if what == Evict { (None, 1) } else { (cost(data), u64::from(data == Memory)) };
        assert_eq!(answer, expected, "{row}: the caches' answer");
        assert_eq!([read, wrote], [fetched, u64::from(written)], "{row}: lines from and to memory");
        assert_eq!(
            [changed, asked],
            [data == Changed, data == Permission].map(u64::from),
            "{row}: HITM, upgrades"
        );
        let takes = what == RemoteWrite && state != I && protocol != Protocol::None;
        let lost = machine.memory.counts(CoreId(0))[Signal::InvalidationReceived] - lost;
        assert_eq!(lost, u64::from(takes), "{row}: lines lost");
    }
}

/// The states of each protocol, and for each those that another cache may have at the same time: Tables 1 to 3 of the
/// thesis.
fn permitted(protocol: Protocol) -> &'static [(State, &'static [State])] {
    match protocol {
        Protocol::None => &[],
        Mesi => &[(M, &[I]), (E, &[I]), (S, &[S, I]), (I, &[M, E, S, I])],
        Moesi => &[(M, &[I]), (O, &[S, I]), (E, &[I]), (S, &[O, S, I]), (I, &[M, O, E, S, I])],
        Mesif => &[(M, &[I]), (E, &[I]), (S, &[S, I, F]), (I, &[M, E, S, I, F]), (F, &[S, I])],
    }
}

#[test]
fn the_tables_have_a_line_for_every_state_and_event_of_every_protocol() {
    for protocol in [Mesi, Mesif, Moesi] {
        for (state, _) in permitted(protocol) {
            for what in [Read, Write, RemoteRead, RemoteWrite, Evict] {
                let lines = TABLE.iter().filter(|row| (row.0, row.1, row.2) == (protocol, *state, what));
                let expected = usize::from((*state, what) != (I, Evict));
                assert_eq!(lines.count(), expected, "{protocol:?}, {state:?}, {what:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever three cores do, any two caches have a pair of states that the protocol permits, after every access.
    #[test]
    fn any_two_caches_have_permitted_states(
        protocol in prop::sample::select(&[Mesi, Mesif, Moesi][..]),
        stream in prop::collection::vec((0_u16..3, 0_u64..24, any::<bool>()), 1..500),
    ) {
        let mut machine = Machine::new(protocol);
        for (core, line, write) in stream {
            let kind = if write { AccessKind::Write } else { AccessKind::Read };
            machine.access(core, PhysicalAddress(line * 64), kind);
            for line in 0..24 {
                let states = [0, 1, 2].map(|core| machine.memory.state(core, PhysicalAddress(line * 64)));
                for (one, other) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
                    let row = permitted(protocol).iter().find(|row| row.0 == states[one]);
                    let allowed = row.is_some_and(|(_, others)| others.contains(&states[other]));
                    prop_assert!(allowed, "{:?}: {:?} beside {:?}", protocol, states[one], states[other]);
                }
            }
        }
    }
}
