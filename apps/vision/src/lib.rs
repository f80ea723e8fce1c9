//! Seven vision kernels of the shape that single-core equivalence was tried on (SCE, Table 1), to be recorded by `solo record` and
//! replayed as tasks.
//!
//! The paper runs the San Diego Vision Benchmark Suite. Here each kernel is written anew from the definition of its algorithm, with
//! inputs that it draws itself, so that what it should find is known. Sizes of inputs were chosen for memory alone: the
//! footprint and the pages of the profile are within a fifth of Table 1's. They are not to be changed for any time's sake.
//! Only arithmetic and square roots are used: a kernel does the same on every machine.

pub mod disparity;
pub mod localization;
pub mod math;
pub mod mser;
pub mod ncut;
pub mod plane;
pub mod random;
pub mod sift;
pub mod texture;
pub mod tracking;

/// A kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    /// How far apart the same things are in two pictures of a stereo camera.
    Disparity,
    /// Where a robot is, from distances to landmarks.
    Localization,
    /// Regions that stay the same over many thresholds.
    Mser,
    /// Where corners of one picture are in the next.
    Tracking,
    /// A picture cut where it costs least.
    MultiNcut,
    /// Points that are found again after turns and at other sizes.
    Sift,
    /// A large picture that looks like a small one everywhere.
    Texture,
}

impl Kernel {
    /// All, in the order of Table 1.
    pub const ALL: [Self; 7] = [
        Self::Disparity,
        Self::Localization,
        Self::Mser,
        Self::Tracking,
        Self::MultiNcut,
        Self::Sift,
        Self::Texture,
    ];

    /// The name, as in Table 1.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disparity => "disparity",
            Self::Localization => "localization",
            Self::Mser => "mser",
            Self::Tracking => "tracking",
            Self::MultiNcut => "multi-ncut",
            Self::Sift => "sift",
            Self::Texture => "texture",
        }
    }

    /// The kernel of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == name)
    }

    /// Does a job: draws the input, looks, and says in a few words what was found.
    pub fn job(self) -> String {
        match self {
            Self::Disparity => disparity::job(),
            Self::Localization => localization::job(),
            Self::Mser => mser::job(),
            Self::Tracking => tracking::job(),
            Self::MultiNcut => ncut::job(),
            Self::Sift => sift::job(),
            Self::Texture => texture::job(),
        }
    }
}
