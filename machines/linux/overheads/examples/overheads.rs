//! The tables of `solo measure overheads`, without the rest of the program.
//!
//! ```text
//! cargo run --release -p solo-overheads --example overheads [-- quick]
//! ```

use solo_overheads::{MeasurementPlan, measure, text};

fn main() {
    let quick = std::env::args().nth(1).is_some_and(|word| word == "quick");
    let plan = if quick { MeasurementPlan::quick() } else { MeasurementPlan::full() };
    match measure(&plan, &mut |next| eprintln!("{next} ...")) {
        Ok(found) => print!("{}", text::report(&found)),
        Err(refusal) => eprintln!("the kernel refuses: {refusal}"),
    }
}
