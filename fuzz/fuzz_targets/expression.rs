//! Any text as a metric, an event set or the description of a monitoring module, as the command line, modules and the browser give them:
//! never a panic, and a value or none for any numbers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_observe::set::RawLayout;
use solo_observe::{Expression, Fixed, Metric, NoNames, parse_set};

fuzz_target!(|text: &str| {
    let value = |expression: &Expression| {
        let columns = expression.columns();
        for number in ["0", "1", "0.000000000001", "170141183460469231731687303"].map(Fixed::parse) {
            let _ = expression.value(&|name| number.filter(|_| columns.contains(&name)));
            let below = number.and_then(Fixed::negative);
            let _ = expression.value(&|name| below.filter(|_| columns.contains(&name)));
        }
        let _ = expression.value(&|_| None);
    };
    match Expression::parse(text) {
        Ok(expression) => value(&expression),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Ok(metric) = Metric::parse(text) {
        value(&metric.expression);
    }
    for layout in [RawLayout::Plain, RawLayout::X86] {
        let _ = parse_set(text, &NoNames, layout);
    }
    let _ = solo_watch::modules::described::parse(text);
});
