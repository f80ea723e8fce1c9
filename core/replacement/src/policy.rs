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
///
/// Tables behind a semicolon remember what they need outside of the sets. They are told of accesses out of line and never
/// [replace quickly](Policy::replace_quickly), so that an access to a cache with one of the others decides among few.
macro_rules! policies {
    ($( $(#[$doc:meta])* $name:ident = $word:literal $(or $short:literal)? :
        $file:ident { $($near:ident),* $(; $($far:ident),+)? } )+) => {
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

        #[derive(Clone, Debug)]
        enum Table {
            $($($near($file::$near),)* $($($far($file::$far),)+)?)+
        }

        $($(impl From<$file::$near> for Table {
            fn from(table: $file::$near) -> Self {
                Self::$near(table)
            }
        })*
        $($(impl From<$file::$far> for Table {
            fn from(table: $file::$far) -> Self {
                Self::$far(table)
            }
        })+)?)+

        fn table(policy: Replacement, sets: usize, ways: usize, seed: u64) -> Table {
            match policy { $(Replacement::$name => $file::new(sets, ways, seed).into(),)+ }
        }

        /// The chosen table answers.
        impl Policy for Table {
            fn beginning(&self) -> u64 {
                match self {
                    $($(Self::$near(table) => table.beginning(),)* $($(Self::$far(table) => table.beginning(),)+)?)+
                }
            }

            #[inline(always)]
            fn touch(&mut self, memory: &mut u64, set: usize, way: usize) {
                match self {
                    $($(Self::$near(table) => table.touch(memory, set, way),)*)+
                    _ => self.touch_far(memory, set, way),
                }
            }

            #[inline]
            fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
                match self {
                    $($(Self::$near(table) => table.fill(memory, set, way),)*
                    $($(Self::$far(table) => table.fill(memory, set, way),)+)?)+
                }
            }

            #[inline(always)]
            fn replace_quickly(&self, memory: &mut u64) -> Option<usize> {
                match self {
                    $($(Self::$near(table) => table.replace_quickly(memory),)*)+
                    _ => None,
                }
            }

            #[inline]
            fn victim(&mut self, memory: u64, set: usize, allowed: Allowed) -> usize {
                match self {
                    $($(Self::$near(table) => table.victim(memory, set, allowed),)*
                    $($(Self::$far(table) => table.victim(memory, set, allowed),)+)?)+
                }
            }
        }

        impl Table {
            #[inline(never)]
            fn touch_far(&mut self, memory: &mut u64, set: usize, way: usize) {
                match self {
                    $($($(Self::$far(table) => table.touch(memory, set, way),)+)?)+
                    // The others have been asked.
                    _ => {}
                }
            }
        }
    };
}
pub(crate) use policies;
