//! What keeps others away from a stopped CPU.

use crate::cli::BackEnd;
use crate::exit::{Exit, Failure};
use solo_guard::occupier::Gate;
use solo_model::text::Printable;
use solo_perf::files::Host;
use solo_scx::{Ejected, Gates, ScxError, ready};

/// What keeps others away.
pub(super) enum Keeper {
    /// A scheduler in eBPF.
    Gates(Gates),
    /// Real-time threads that compute; where gates were tried first, why there are none.
    Occupier(Option<ScxError>),
}

impl Keeper {
    /// Attaches a scheduler, where one is wanted or can be had. Beside somebody else's scheduler nothing is chosen by itself: an
    /// occupier can make its threads wait for so long that the kernel throws it out.
    pub(super) fn choose(wanted: BackEnd) -> Result<Self, Failure> {
        let cannot =
            |why: ScxError| Failure::Guard { exit: Exit::Cannot, message: Printable(why).to_string() };
        let gates = match wanted {
            // Limits of bandwidth stop nobody, and never come here.
            BackEnd::Occupier | BackEnd::Mba => return Ok(Self::Occupier(taken())),
            BackEnd::SchedExt => Gates::attach(),
            BackEnd::Auto => taken().map_or_else(Gates::attach, Err),
        };
        match gates {
            Ok(gates) => Ok(Self::Gates(gates)),
            Err(why) if wanted == BackEnd::SchedExt || matches!(why, ScxError::Taken { .. }) => {
                Err(cannot(why))
            }
            Err(why) => Ok(Self::Occupier(Some(why))),
        }
    }

    /// The gates, where there are any.
    pub(super) fn gate(&self) -> Option<&dyn Gate> {
        match self {
            Self::Gates(gates) => Some(gates),
            Self::Occupier(_) => None,
        }
    }

    /// What it is called on the command line.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Gates(_) => "sched-ext",
            Self::Occupier(_) => "occupier",
        }
    }

    /// What a stopped CPU does.
    pub(super) const fn stopped(&self) -> &'static str {
        match self {
            Self::Gates(_) => "idles",
            Self::Occupier(_) => "is busy",
        }
    }

    /// Why a stopped CPU can't idle, where that is news: who built the program without it knows.
    pub(super) fn why_not_idle(&self) -> Option<String> {
        match self {
            Self::Occupier(Some(why)) if !matches!(why, ScxError::NotBuilt | ScxError::Absent { .. }) => {
                Some(Printable(why).to_string())
            }
            _ => None,
        }
    }

    /// Why the kernel no longer lets the gates keep anybody away.
    pub(super) fn ejected(&self) -> Option<Ejected> {
        match self {
            Self::Gates(gates) => gates.ejected(),
            Self::Occupier(_) => None,
        }
    }
}

/// Whose scheduler is loaded, if somebody's is.
fn taken() -> Option<ScxError> {
    ready(&Host::new()).err().filter(|why| matches!(why, ScxError::Taken { .. }))
}

/// What would be used, for people; nothing is attached.
pub(super) fn foreseen(wanted: BackEnd) -> String {
    let built = cfg!(feature = "sched-ext");
    let usable = || if built { ready(&Host::new()) } else { Err(ScxError::NotBuilt) };
    match wanted {
        BackEnd::Mba => "mba".to_owned(),
        BackEnd::Occupier => "occupier".to_owned(),
        BackEnd::SchedExt => match usable() {
            Ok(()) => "sched-ext".to_owned(),
            Err(why) => format!("sched-ext, but: {}", Printable(why)),
        },
        BackEnd::Auto if usable().is_ok() => "sched-ext".to_owned(),
        BackEnd::Auto => "occupier".to_owned(),
    }
}
