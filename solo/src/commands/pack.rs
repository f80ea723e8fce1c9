//! `solo pack`: a scenario on a medium that a PC boots from.

use crate::cli::Pack;
use crate::commands::run::chosen;
use crate::exit::{Exit, Failure};
use solo_model::text::Printable;

/// Writes the medium.
pub(crate) fn run(options: &Pack) -> Result<Exit, Failure> {
    let (_, experiment) =
        chosen(&options.scenario, options.variant.as_deref(), &options.instead, options.quiet)?;
    let packed = solo_lab::metal::pack(&experiment, options.small, &options.out)?;
    if !options.quiet {
        eprintln!(
            "{} boots `{}`; keep what the first serial line says (115200 baud) and give it to solo run --on rtos --serial",
            Printable(options.out.display()),
            experiment.name
        );
    }
    if !packed.has_uefi && !options.quiet {
        eprintln!(
            "note: it boots by BIOS alone; for PCs with UEFI install GRUB's parts for it and pack again (Debian: apt-get install grub-efi-amd64-bin)"
        );
    }
    Ok(Exit::Held)
}
