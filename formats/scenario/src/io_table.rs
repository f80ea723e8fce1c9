//! Files of avionics partitions: what `solo io` finds offsets for.

use crate::code::Code;
use crate::diagnostic::Diagnostics;
use crate::fields::{At, Fields, Problems};
use crate::kind::{FileKind, or_other};
use crate::source::Source;
use crate::tree::{self, Table};
use solo_ima::{Device, Error, Partition, Problem, Step, Transfer};
use solo_model::{CoreId, Duration};
use std::ops::Range;

/// More partitions than this are refused.
const PARTITIONS_MAX: usize = 1024;

/// A file of partitions, read and checked.
#[derive(Clone, Debug)]
pub struct IoTable {
    /// The file's name for it.
    pub name: String,
    /// The partitions' names, in the order of the problem.
    pub partitions: Vec<String>,
    /// The devices' names, by their numbers in the problem.
    pub devices: Vec<String>,
    /// What offsets are to be found for.
    pub problem: Problem,
}

/// Reads a file of partitions from a text, under the file name that messages show.
///
/// # Errors
/// If anything in the text is wrong.
pub(crate) fn parse_io_table(text: &str, name: &str) -> Result<IoTable, Diagnostics> {
    let source = Source::new(name, text);
    table(&source).map_err(|report| or_other(report, &source, &FileKind::IoTable))
}

fn table(source: &Source) -> Result<IoTable, Diagnostics> {
    let tree = tree::read(source)?;
    let problems = Problems::new(source);
    let read = read(&problems, &tree);
    let (errors, _) = problems.finish();
    match read {
        Some(table) if errors.is_empty() => Ok(table),
        _ => Err(Diagnostics::new(errors)),
    }
}

fn read(problems: &Problems, tree: &Table) -> Option<IoTable> {
    let top = Fields::new(problems, tree, 0..0, "the file");
    let name =
        top.required_string("name", "name = \"cameras and displays\"").map(|name| name.value.to_owned());
    if !top.has("partition") {
        top.missing("partition", "[[partition]]");
    }
    let tables = top.tables("partition", "[[partition]]");
    top.finish();
    if let Some(beyond) = tables.get(PARTITIONS_MAX) {
        let text = format!("{} partitions", tables.len());
        let problem = problems.error(Code::TooLarge, text, &beyond.span).label("one too many");
        problems.push(problem.expected(format!("at most {PARTITIONS_MAX}")));
        return None;
    }
    let mut devices = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut partitions = Vec::new();
    for table in &tables {
        let (name, partition) = partition(problems, table, &mut devices)?;
        if names.contains(&name) {
            let text = format!("two partitions are called `{name}`");
            problems.push(problems.error(Code::Duplicate, text, &table.span).label("the second one"));
        }
        names.push(name);
        partitions.push(partition);
    }
    let spans: Vec<Range<usize>> = tables.into_iter().map(|table| table.span).collect();
    match Problem::new(partitions) {
        Ok(problem) => Some(IoTable { name: name?, partitions: names, devices, problem }),
        Err(error) => {
            complain(problems, error, &names, &spans);
            None
        }
    }
}

/// What the single values do not show.
fn complain(problems: &Problems, error: Error, names: &[String], spans: &[Range<usize>]) {
    let (at, code, text) = match error {
        Error::Zero { partition, what } => (partition, Code::Zero, format!("its {what} is zero")),
        Error::Beyond { partition, step, begin, period } => {
            let (step, begin, period) = (step_name(step), time(begin), time(period));
            (
                partition,
                Code::OutOfRange,
                format!("its {step} is to begin at {begin}, which is not below its period of {period}"),
            )
        }
        Error::TooFine { partition, units, unit } => (
            partition,
            Code::TooLarge,
            format!(
                "it has {units} units of {}, which all times are multiples of; at most {} can be worked with",
                time(unit),
                solo_ima::UNITS_MAX
            ),
        ),
    };
    let (Some(name), Some(span)) = (names.get(at), spans.get(at)) else { return };
    problems.push(problems.error(code, format!("partition `{name}`: {text}"), span));
}

fn time(duration: Duration) -> String {
    crate::units::TIME.print(duration.get())
}

/// The step's name in files and tables.
pub const fn step_name(step: Step) -> &'static str {
    match step {
        Step::PhysicalInput => "physical input",
        Step::DeviceInput => "device input",
        Step::Processing => "processing",
        Step::DeviceOutput => "device output",
        Step::PhysicalOutput => "physical output",
    }
}

/// The keys of `begins`, in the order of the steps.
const BEGINS: [&str; 5] =
    ["physical_input", "device_input", "processing", "device_output", "physical_output"];

fn partition(
    problems: &Problems,
    table: &At<&Table>,
    devices: &mut Vec<String>,
) -> Option<(String, Partition)> {
    let fields = Fields::new(problems, table.value, table.span.clone(), "a partition");
    let name = fields.required_string("name", "name = \"P1\"").map(|name| name.value.to_owned());
    let needed = |key: &'static str, example: &str| {
        if !fields.has(key) {
            fields.missing(key, example);
        }
        fields.positive::<Duration>(key)
    };
    if !fields.has("core") {
        fields.missing("core", "core = 0");
    }
    let core = fields.integer("core", 0, u64::from(u16::MAX));
    let (period, processing) =
        (needed("period", "period = \"20ms\""), needed("processing", "processing = \"4ms\""));
    let latency = fields.positive::<Duration>("latency");
    let mut side = |key: &'static str| {
        let table = fields.table(key, "{ device = \"camera\", physical = \"2ms\", transfer = \"1ms\" }")?;
        transfer(problems, &table, key, devices)
    };
    let (input, output) = (side("input"), side("output"));
    let begins = fields.table("begins", "{ processing = \"6ms\" }");
    let begins = begins.map_or([const { None }; 5], |begins| {
        let fields = Fields::new(problems, begins.value, begins.span, "begins");
        let begins = BEGINS.map(|key| fields.quantity::<Duration>(key));
        fields.finish();
        begins
    });
    fields.finish();
    let core = CoreId(u16::try_from(core?.value).ok()?);
    let plain = Partition::new(core, period?.value, processing?.value);
    let latency = latency.map_or(plain.latency, |latency| latency.value);
    let fixed = begins.each_ref().map(|begin| begin.as_ref().map(|begin| begin.value));
    let partition = Partition { input, output, latency, fixed, ..plain };
    without_step(problems, &partition, &begins);
    Some((name?, partition))
}

/// Complains about begins of steps that the partition does not have.
fn without_step(problems: &Problems, partition: &Partition, begins: &[Option<At<Duration>>; 5]) {
    for ((step, key), begin) in Step::ALL.into_iter().zip(BEGINS).zip(begins) {
        if let Some(begin) = begin.as_ref().filter(|_| partition.duration(step).is_zero()) {
            let what = format!("`{key}` has no effect: the partition has no {}", step_name(step));
            problems.push(problems.error(Code::UnusedKey, what, &begin.span).label("nothing begins then"));
        }
    }
}

fn transfer(
    problems: &Problems,
    table: &At<&Table>,
    key: &str,
    devices: &mut Vec<String>,
) -> Option<Transfer> {
    let fields = Fields::new(problems, table.value, table.span.clone(), key);
    let device = fields.required_string("device", "device = \"camera\"").map(|name| name.value);
    if !fields.has("transfer") {
        fields.missing("transfer", "transfer = \"1ms\"");
    }
    let transfer = fields.positive::<Duration>("transfer");
    let physical = fields.quantity::<Duration>("physical").map_or(Duration::ZERO, |found| found.value);
    fields.finish();
    let (device, transfer) = (device?, transfer?.value);
    let known = devices.iter().position(|known| known == device);
    let at = known.unwrap_or(devices.len());
    if known.is_none() {
        devices.push(device.to_owned());
    }
    Some(Transfer { device: Device(u16::try_from(at).ok()?), physical, transfer })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = r#"
name = "two"
[[partition]]
name = "P1"
core = 1
period = "18ms"
processing = "6ms"
input = { device = "camera", transfer = "1ms" }
[[partition]]
name = "P2"
core = 1
period = "36ms"
latency = "30ms"
processing = "12ms"
begins = { processing = "6ms" }
output = { device = "camera", physical = "2ms", transfer = "1ms" }
"#;

    #[test]
    fn partitions_are_read_as_they_are_written() {
        let table = parse_io_table(TWO, "two.toml").unwrap();
        assert_eq!(
            (table.partitions, table.devices),
            (vec!["P1".into(), "P2".into()], vec!["camera".to_owned()])
        );
        let [first, second] = table.problem.partitions() else { panic!("two") };
        let ms = Duration::from_millis;
        let input = Transfer { device: Device(0), physical: Duration::ZERO, transfer: ms(1) };
        assert_eq!(*first, Partition { input: Some(input), ..Partition::new(CoreId(1), ms(18), ms(6)) });
        assert_eq!(
            (second.latency, second.fixed[2], second.output.unwrap().physical),
            (ms(30), Some(ms(6)), ms(2))
        );
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let wrong = |from: &str, to: &str| {
            let text = TWO.replacen(from, to, 1);
            assert_ne!(text, TWO);
            let report = parse_io_table(&text, "two.toml").unwrap_err();
            report.problems().iter().map(|problem| problem.code).collect::<Vec<_>>()
        };
        assert_eq!(wrong("name = \"P2\"", "name = \"P1\""), [Code::Duplicate]);
        // It has no input, and so nothing that could begin then.
        assert_eq!(wrong("{ processing =", "{ device_input = \"1ms\", processing ="), [Code::UnusedKey]);
        assert_eq!(wrong("\"18ms\"", "\"0ms\""), [Code::Zero]);
        assert_eq!(wrong("\"18ms\"", "\"18 minutes\""), [Code::UnknownUnit]);
        assert_eq!(wrong("\"18ms\"", "\"30000000.000000001s\""), [Code::TooLarge]);
        assert_eq!(wrong("latency = \"30ms\"", "latncy = \"30ms\""), [Code::UnknownKey]);
        assert_eq!(wrong("{ processing = \"6ms\" }", "{ processing = \"36ms\" }"), [Code::OutOfRange]);
        assert_eq!(wrong("core = 1\n", ""), [Code::MissingKey]);
    }
}
