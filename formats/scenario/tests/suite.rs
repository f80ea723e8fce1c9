//! All tests of the files that people write, in one program.

#[path = "suite/codes.rs"]
mod codes;
#[path = "suite/devices.rs"]
mod devices;
#[path = "suite/docs.rs"]
mod docs;
#[path = "suite/enforcers.rs"]
mod enforcers;
#[path = "suite/files.rs"]
mod files;
#[path = "suite/mends.rs"]
mod mends;
#[path = "suite/mutated.rs"]
mod mutated;
#[path = "suite/overrides.rs"]
mod overrides;
#[path = "suite/processes.rs"]
mod processes;
#[path = "suite/rt_app.rs"]
mod rt_app;
#[path = "suite/shipped.rs"]
mod shipped;
#[path = "suite/sound.rs"]
mod sound;
#[path = "suite/variants.rs"]
mod variants;
#[path = "suite/written.rs"]
mod written;
#[path = "suite/wrong.rs"]
mod wrong;
