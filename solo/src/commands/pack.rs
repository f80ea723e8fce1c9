//! `solo pack`: a scenario on a medium that a PC or a board boots from.

use crate::cli::{Pack, PackFor};
use crate::commands::run::chosen;
use crate::exit::{Exit, Failure};
use solo_lab::metal;
use solo_model::text::Printable;
use solo_store::Replace;

/// Writes the medium.
pub(crate) fn run(options: &Pack) -> Result<Exit, Failure> {
    let (_, experiment) =
        chosen(&options.scenario, options.variant.as_deref(), &options.instead, options.quiet)?;
    let name = &experiment.name;
    match options.machine {
        PackFor::Pc => {
            let packed = metal::pack(&experiment, options.small, &options.out)?;
            say(options, "rtos", name);
            if !packed.has_uefi && !options.quiet {
                eprintln!(
                    "note: it boots by BIOS alone; for PCs with UEFI install GRUB's parts for it and pack again (Debian: apt-get install grub-efi-amd64-bin)"
                );
            }
        }
        PackFor::RaspberryPi4 => {
            let replace = if options.force { Replace::Ours } else { Replace::Never };
            metal::pack_for_pi(&experiment, options.small, &options.out, replace)?;
            say(options, "rtos-arm64", name);
            if !options.quiet {
                eprintln!(
                    "note: copy its files onto the first partition of a card (FAT), with the board's firmware: {}; no real board has booted it yet (docs/bare-metal.md)",
                    metal::FIRMWARE.join(", ")
                );
            }
        }
    }
    Ok(Exit::Held)
}

/// What to do with what was written.
fn say(options: &Pack, machine: &str, name: &str) {
    if !options.quiet {
        eprintln!(
            "{} boots `{name}`; keep what the first serial line says (115200 baud) and give it to solo run --on {machine} --serial",
            Printable(options.out.display()),
        );
    }
}
