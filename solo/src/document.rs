//! The JSON documents that this program writes: each with a name, a version and a schema.
//!
//! Answers to `--json`, and most files, are objects that begin with `"format"` and `"schema"`: the document's name and
//! version. A version grows when a field changes its name, its form or its meaning, not when one is added.
//! `tests/schemas.rs` holds what commands write against the schemas in `solo/schema`.

use crate::exit::Failure;
use serde::Serialize;

macro_rules! documents {
    ($($variant:ident $name:literal $version:literal $meaning:literal;)*) => {
        /// A kind of JSON document.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Document {
            $(#[doc = $meaning] $variant,)*
        }

        impl Document {
            /// All of them.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The version.
            pub(crate) const fn version(self) -> u32 {
                match self { $(Self::$variant => $version,)* }
            }

            /// Where it comes from.
            pub(crate) const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }

            /// Its JSON Schema.
            pub(crate) const fn schema(self) -> &'static str {
                match self { $(Self::$variant => include_str!(concat!("../schema/", $name, ".json")),)* }
            }
        }
    };
}

documents! {
    Run "run" 3 "solo run --json, solo report RUN --format json";
    Comparison "comparison" 2 "solo compare --json, solo report COMPARISON --format json; comparison.json";
    Check "check" 2 "solo check --json";
    Plan "plan" 1 "solo plan --json";
    Diff "diff" 2 "solo diff --json";
    Replay "replay" 1 "solo replay --json";
    Folders "folders" 1 "solo list --json";
    Offsets "offsets" 1 "solo io --json";
    Codes "codes" 1 "solo explain --json";
    Figures "figures" 2 "solo plot --json; figures.json";
    Study "study" 2 "solo study --json; summary.json";
    StudyFit "study-fit" 1 "solo study fit --json";
    Tests "tests" 1 "solo prove --list --json";
    Peer "peer" 1 "solo prove --peer CMD --json";
    Recorded "recorded" 1 "solo record --json";
    CacheMisses "trace-cache" 1 "solo trace cache --json";
    Coherence "trace-coherence" 1 "solo trace coherence --json";
    Dram "trace-dram" 1 "solo trace dram --json";
    Reuse "trace-profile" 1 "solo trace profile --json";
    Watch "watch" 1 "solo watch --json";
    Guard "guard" 1 "solo guard --json";
    Limits "guard-limits" 1 "solo guard --back-end mba --json";
    Place "place" 1 "solo place --json";
    PlaceReplay "place-replay" 1 "solo place --replay FILE --json";
    Color "color" 1 "solo color --json";
    Recording "recording" 1 "solo report RECORDING --format json";
    Sweep "sweep" 1 "solo sweep --json; sweep.json";
    Chapter6 "chapter-6" 1 "solo evaluate chapter-6 --json; evaluation.json";
    Chapter7 "chapter-7" 1 "solo evaluate chapter-7 --json; evaluation.json";
    Chapter8 "chapter-8" 1 "solo evaluate chapter-8 --json; evaluation.json";
    Events "events" 1 "solo events --json, solo events --pfm PMU --json";
    EventCodes "event-codes" 1 "solo events --translate EVENTS --json";
    EventStrings "event-strings" 1 "solo events --raw EVENTS --json";
    EventFaults "event-faults" 1 "solo events --validate --json";
    Modules "modules" 1 "solo events --modules --json";
    Bandwidth "bandwidth" 1 "solo measure bandwidth --json";
    Calibration "calibration" 1 "solo measure calibrate --json";
    Counters "counters" 2 "solo measure counters --json";
    BankFunctions "bank-functions" 1 "solo measure map --json";
    Lockdown "lockdown" 1 "solo measure lockdown --json; curve.json";
    Wcet "wcet" 1 "solo measure wcet --json";
    Cpmd "cpmd" 1 "solo measure cpmd --json";
    Overheads "overheads" 1 "solo measure overheads --json; overheads.json";
    Platforms "platforms" 1 "solo platforms --json";
    Platform "platform" 1 "solo platforms NAME --json";
    AddressMap "address-map" 1 "solo platforms NAME --map --json";
    Doctor "doctor" 1 "solo doctor --json";
    Schemas "schemas" 1 "solo schema --json";
    Manifest "manifest" 2 "RUN/manifest.json";
    Experiment "experiment" 2 "RUN/experiment.json";
    Report "report" 3 "RUN/report.json";
    JobRow "jobs" 1 "a line of jobs.jsonl, from solo report --format jsonl";
    SampleRow "samples" 1 "a line of samples.jsonl";
    SwitchRow "switches" 1 "a line of switches.jsonl";
    RegulationRow "regulation" 1 "a line of regulation.jsonl";
    OccupancyRow "occupancy" 1 "a line of occupancy.jsonl";
    EnergyRow "energy" 1 "a line of energy.jsonl";
    WatchRecording "watch-recording" 2 "RECORDING/watch.json, from solo watch --out";
    WatchRow "watch-row" 2 "a line of RECORDING/rows.jsonl";
    WatchName "watch-name" 2 "a line of RECORDING/names.jsonl";
    Stream "stream" 1 "a line of solo watch --format stream";
    Verdict "verdict" 1 "a line of solo prove --jsonl";
}

/// A document with its name and version before its own fields.
#[derive(Serialize)]
struct Enveloped<'v, T> {
    format: &'static str,
    schema: u32,
    #[serde(flatten)]
    value: &'v T,
}

impl Document {
    /// A value of this kind, an object, as indented JSON.
    pub(crate) fn text(self, value: &impl Serialize) -> Result<String, Failure> {
        let (format, schema) = (self.name(), self.version());
        let mut text = serde_json::to_string_pretty(&Enveloped { format, schema, value })?;
        text.push('\n');
        Ok(text)
    }
}
