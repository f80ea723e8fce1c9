//! Policies that are tried out before anybody registers them.

use crate::outcome::SimError;
use solo_kernel::KernelConfig;
use solo_observe::monitor::Heard;
use solo_schedule::Placed;

/// Policies that nobody has registered, as values: they stand in for those that an experiment names, so that one can be tried
/// out before it is written for the house.
#[derive(Clone, Default, Debug)]
pub struct StandIns {
    /// Hears and answers instead of the placement. To what it listens, and how often, the experiment says.
    pub placement: Option<Placed>,
    /// Makes metric 0 instead of the monitor. Of which events, the experiment says.
    pub monitor: Option<Heard>,
}

impl StandIns {
    /// Takes the places of what the experiment names.
    pub(crate) fn take_over(self, config: &mut KernelConfig) -> Result<(), SimError> {
        let Self { placement, monitor } = self;
        if placement.is_none() && monitor.is_none() {
            return Ok(());
        }
        let listening = config.listening.as_mut().ok_or(SimError::NothingHeard)?;
        listening.placement = placement.unwrap_or_else(|| listening.placement.clone());
        if let Some(monitor) = monitor {
            listening.monitors = vec![monitor];
        }
        Ok(())
    }
}
