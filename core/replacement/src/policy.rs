//! What a policy must say, and the table of all policies.

use crate::Allowed;

/// A replacement policy for the sets of one cache. Of a set's past accesses it remembers 64 bits in the set itself,
/// its *memory*, or what it needs of its own. Nothing has a default: what is forgotten does not compile.
pub(crate) trait Policy {
    /// The memory of a set at the beginning.
    fn beginning(&self) -> u64;

    /// The line in `way` of `set` was accessed.
    fn touch(&mut self, memory: &mut u64, set: usize, way: usize);

    /// A new line came into `way` of `set`.
    fn fill(&mut self, memory: &mut u64, set: usize, way: usize);

    /// [`victim`](Self::victim) and [`fill`](Self::fill) at once where all ways are allowed and the policy needs nothing
    /// but the set's memory; else nothing.
    fn replace_quickly(&self, memory: &mut u64) -> Option<usize>;

    /// The way of the full `set` whose line leaves; one of the `allowed` ways.
    fn victim(&mut self, memory: u64, set: usize, allowed: Allowed) -> usize;
}

/// Registers the policies: the name in Rust, the name in files and perhaps a short one, the file, and the tables that it
/// has for different numbers of ways. A file's `new(sets, ways, seed)` chooses among its tables.
macro_rules! policies {
    ($( $(#[$doc:meta])* $name:ident = $word:literal $(or $short:literal)? : $file:ident { $($table:ident),+ } )+) => {
        $(mod $file;)+

        /// Which line leaves a full set.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Replacement {
            $( $(#[$doc])* #[cfg_attr(feature = "serde", serde(rename = $word))] $name, )+
        }

        impl Replacement {
            /// Every policy.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Its name in files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// Each name that a policy has in files, short ones included.
            pub const NAMES: &[(&str, Self)] = &[$(($word, Self::$name), $(($short, Self::$name),)?)+];
        }

        /// What one cache remembers of its accesses to decide which line leaves.
        #[derive(Clone, Debug)]
        pub struct Replacer(Table);

        #[derive(Clone, Debug)]
        enum Table {
            $($($table($file::$table),)+)+
        }

        $($(impl From<$file::$table> for Table {
            fn from(table: $file::$table) -> Self {
                Self::$table(table)
            }
        })+)+

        impl Replacer {
            /// For a cache of so many `sets` and `ways`; policies that draw begin with `seed`.
            pub fn new(policy: Replacement, sets: usize, ways: usize, seed: u64) -> Self {
                match policy { $(Replacement::$name => Self($file::new(sets, ways, seed).into()),)+ }
            }

            /// The memory of a set at the beginning: a cache keeps it beside the set and hands it in again.
            pub fn beginning(&self) -> u64 {
                match &self.0 { $($(Table::$table(table) => table.beginning(),)+)+ }
            }

            /// The line in `way` of `set` was accessed.
            #[inline(always)]
            pub fn touch(&mut self, memory: &mut u64, set: usize, way: usize) {
                match &mut self.0 { $($(Table::$table(table) => table.touch(memory, set, way),)+)+ }
            }

            /// A new line came into `way` of `set`, which was empty.
            #[inline]
            pub fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
                match &mut self.0 { $($(Table::$table(table) => table.fill(memory, set, way),)+)+ }
            }

            /// The way of a full set whose line leaves, and into which a new one comes, where all ways are allowed and
            /// the policy needs nothing but the set's memory.
            #[inline(always)]
            pub fn replace_quickly(&self, memory: &mut u64) -> Option<usize> {
                match &self.0 { $($(Table::$table(table) => table.replace_quickly(memory),)+)+ }
            }

            /// The way of the full `set` whose line leaves, and into which a new one comes.
            #[inline]
            pub fn replace(&mut self, memory: &mut u64, set: usize, allowed: Allowed) -> usize {
                if allowed == Allowed::All && let Some(way) = self.replace_quickly(memory) {
                    return way;
                }
                let way = match &mut self.0 {
                    $($(Table::$table(table) => table.victim(*memory, set, allowed),)+)+
                };
                self.fill(memory, set, way);
                way
            }
        }
    };
}
pub(crate) use policies;
