//! The placements, one file each.
//!
//! A new one is a file here and a line in [`solo_model::placements!`], which is what the list below is made of. A placement
//! outside this crate needs neither: the kernel takes any value that implements [`Placement`](crate::Placement).

use crate::placement::Placed;
use solo_model::listening::Reaction;
use solo_model::{Listening, Platform};

mod alert;

macro_rules! list {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $file:ident: $facts:expr;)+) => {
        $(mod $file; pub use $file::$name;)+

        /// The policy that an experiment asks for, on the cores of `platform`.
        pub fn of(listening: &Listening, platform: &Platform) -> Placed {
            match listening.reaction {
                $(Reaction::$name => Placed::new($name::new(listening, platform)),)+
            }
        }
    };
}

solo_model::placements!(list);

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::listening::Observed;
    use solo_model::{Duration, EventId, fixtures};

    #[test]
    fn every_placement_has_the_name_of_the_model_and_settings_within_their_bounds() {
        let platform = fixtures::chip(4);
        for reaction in Reaction::ALL {
            let observed = Observed::count_of(EventId::SNOOP_HITM);
            let listening = Listening::new(observed, Duration::from_millis(1), reaction);
            assert_eq!(of(&listening, &platform).name(), reaction.name());
            for setting in reaction.facts().settings {
                assert!((setting.least..=setting.most).contains(&setting.default), "{}", setting.name);
                assert_eq!(listening.setting(setting.name), setting.default);
            }
        }
    }
}
