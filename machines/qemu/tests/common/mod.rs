//! What the test programs share: the image, or the reason why there is none.

use libtest_mimic::{Arguments, Failed, Trial};
use solo_qemu::{Host, Image};
use std::process::ExitCode;

/// A test that boots the image.
pub(crate) type Test = Box<dyn FnOnce(&Image) -> Result<(), Failed> + Send>;

/// Builds the image and runs the tests; where that can't be, each is counted as ignored and the reason is printed.
pub(crate) fn run(what: &str, tests: Vec<(String, Test)>) -> ExitCode {
    let arguments = Arguments::from_args();
    let image = if arguments.list { Err(String::from("only listed")) } else { image() };
    if let Err(reason) = &image {
        println!("skipped: {what}: {reason}");
    }
    let trial = |(name, test): (String, Test)| {
        let (missing, image) = (image.is_err(), image.clone());
        let run = move || image.map_err(Failed::from).and_then(|image| test(&image));
        Trial::test(name, run).with_ignored_flag(missing)
    };
    libtest_mimic::run(&arguments, tests.into_iter().map(trial).collect()).exit_code()
}

fn image() -> Result<Image, String> {
    let host = Host::look().map_err(|missing| missing.to_string())?;
    // An image that doesn't build is a failure, not a reason to skip.
    Ok(host.build_image().unwrap_or_else(|error| panic!("{error}")))
}
