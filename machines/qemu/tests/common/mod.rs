//! What the test programs share: the images, or the reason why there is none.

use libtest_mimic::{Arguments, Failed, Trial};
use solo_qemu::{Host, Image, InstructionSet};
use std::process::ExitCode;

/// A test that boots an image.
pub(crate) type Test = Box<dyn FnOnce(&Image) -> Result<(), Failed> + Send>;

/// Builds the images for all instruction sets and runs the tests, of which `tests` makes those of one; where that can't be, each is
/// counted as ignored and the reason is printed. Each has the instruction set in its name.
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
    // An image takes minutes to build: only where a test is asked for.
    let asked = |(name, _): &(String, Test)| match &arguments.filter {
        Some(filter) if arguments.exact => name == filter,
        Some(filter) => name.contains(filter.as_str()),
        None => true,
    };
    let needed = !arguments.list && tests.iter().any(asked);
    let image = if needed { image(instruction_set) } else { Err(String::from("not asked for")) };
    if let Err(reason) = &image
        && needed
    {
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
