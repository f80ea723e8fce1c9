//! What the test programs share: the images, or the reason why there is none.

use libtest_mimic::{Arguments, Failed, Trial};
use solo_qemu::{Host, Image, InstructionSet};
use std::process::ExitCode;

/// A test that boots an image.
pub(crate) type Test = Box<dyn FnOnce(&Image) -> Result<(), Failed> + Send>;

/// Builds the image for x86-64 and runs the tests; where that can't be, each is counted as ignored and the reason is printed.
#[allow(dead_code, reason = "not every test program has tests of one instruction set alone")]
pub(crate) fn run(what: &str, tests: Vec<(String, Test)>) -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = trials(what, InstructionSet::X86_64, &arguments, tests);
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The same with the images for all instruction sets; `tests` makes those of one. Each has the instruction set in its name.
#[allow(dead_code, reason = "not every test program runs everywhere")]
pub(crate) fn run_everywhere(
    what: &str,
    mut tests: impl FnMut(InstructionSet) -> Vec<(String, Test)>,
) -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = InstructionSet::ALL.into_iter().flat_map(|set| {
        let named = tests(set).into_iter().map(|(name, test)| (format!("{set}::{name}"), test)).collect();
        trials(what, set, &arguments, named)
    });
    let trials = trials.collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn trials(
    what: &str,
    instruction_set: InstructionSet,
    arguments: &Arguments,
    tests: Vec<(String, Test)>,
) -> Vec<Trial> {
    let image = if arguments.list { Err(String::from("only listed")) } else { image(instruction_set) };
    if let Err(reason) = &image {
        println!("skipped: {what}, {instruction_set}: {reason}");
    }
    let trial = |(name, test): (String, Test)| {
        let (missing, image) = (image.is_err(), image.clone());
        let run = move || image.map_err(Failed::from).and_then(|image| test(&image));
        Trial::test(name, run).with_ignored_flag(missing)
    };
    tests.into_iter().map(trial).collect()
}

fn image(instruction_set: InstructionSet) -> Result<Image, String> {
    let host = Host::look_for(instruction_set).map_err(|missing| missing.to_string())?;
    // An image that doesn't build is a failure, not a reason to skip.
    Ok(host.build_image().unwrap_or_else(|error| panic!("{error}")))
}
