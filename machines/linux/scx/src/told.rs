//! What the scheduler with ranks tells: everything that it took in and decided, each with a number (bpf/ranks.h).

/// One thing that was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Told {
    /// Its place in the order of all.
    pub number: u64,
    /// The rank that it speaks of, as [`key_of`](crate::key_of) makes it.
    pub key: u64,
    /// What it is.
    pub kind: Kind,
    /// The thread, by the number of its task.
    pub seat: Option<u32>,
    /// The CPU.
    pub cpu: Option<u32>,
    /// The CPU that was asked to choose because of it.
    pub asked: Option<u32>,
}

/// What is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A thread is ready.
    Ready,
    /// A CPU takes a thread, or nobody.
    Chosen,
    /// A thread sleeps or ends, or is the kernel's to place.
    Gone,
    /// A thread goes on with another rank.
    Rank,
    /// The kernel has put a thread on a CPU by itself.
    Placed,
    /// A real-time thread has a CPU.
    Taken,
    /// And gives it back.
    Given,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::Ready, Self::Chosen, Self::Gone, Self::Rank, Self::Placed, Self::Taken, Self::Given];
}

/// The number that stands for nobody.
const NOBODY: u32 = u32::MAX;

impl Told {
    /// Reads one; `None` where it is none.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let somebody = |at: usize| Some(Some(word(at)?).filter(|found| *found != NOBODY));
        let kind = *Kind::ALL.get(word(16)? as usize)?;
        let (number, key) = (long(0)?, long(8)?);
        Some(Self { number, key, kind, seat: somebody(20)?, cpu: somebody(24)?, asked: somebody(28)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_read_as_the_kernel_writes_it() {
        let longs = [7_u64, 99].map(u64::to_ne_bytes).concat();
        let words = |kind: u32| [kind, 3, NOBODY, 1].map(u32::to_ne_bytes).concat();
        let told = Told::read(&[longs.clone(), words(0)].concat()).expect("it is whole");
        let (seat, asked) = (Some(3), Some(1));
        assert_eq!(told, Told { number: 7, key: 99, kind: Kind::Ready, seat, cpu: None, asked });
        assert_eq!(Told::read(&[longs.clone(), words(7)].concat()), None, "of no kind");
        assert_eq!(Told::read(&[longs, words(0)].concat()[..31]), None, "cut off");
    }
}
