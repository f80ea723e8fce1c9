//! The placements, one file each.
//!
//! A new one is a file here and a line in the list below; the line needs a name in [`Reaction`] so that an experiment can say
//! it. A placement outside this crate needs neither: the kernel takes any value that implements [`Placement`](crate::Placement).

use crate::placement::Placed;
use solo_model::Listening;
use solo_model::listening::Reaction;

macro_rules! placements {
    ($($module:ident::$name:ident,)*) => {
        $(mod $module; pub use $module::$name;)*

        /// The policy that an experiment asks for.
        pub fn of(listening: &Listening) -> Placed {
            match listening.reaction {
                $(Reaction::$name => Placed::new($name::new(listening)),)*
            }
        }
    };
}

placements! {
    report::Report,
    r#yield::Yield,
}
