//! The manifest: what it takes to know, and to repeat, a run.

use super::carried::CarriedOut;
use crate::outcome::RunEnd;
use serde::{Deserialize, Serialize};
use solo_model::Experiment;
use std::collections::BTreeMap;
use std::fmt;

/// The format of run directories that this version writes and reads.
pub const SCHEMA: u32 = 2;

/// How closely the policy code that ran is the policy code that was written (CAVEATS.md,
/// "Which code ran").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Tier {
    /// The very function, in-line: simulated machine and bare metal.
    A,
    /// The same function outside the kernel, fed by events: the Linux agent.
    B,
    /// A data plane in eBPF whose every decision is replayed through the function.
    C,
    /// None: Linux's own scheduler, told priorities and CPUs.
    #[serde(rename = "none")]
    Native,
}

impl Tier {
    /// One sentence for the reader of a report.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::A => "tier A: the scheduling code under test took every decision itself",
            Self::B => "tier B: the scheduling code ran outside the kernel and was fed with its events",
            Self::C => "tier C: other code decided; each decision was repeated by the scheduling code",
            Self::Native => {
                "no tier: Linux's own scheduler took every decision, by the scenario's priorities and cores"
            }
        }
    }
}

/// What came of repeating decisions through the policy.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Repeated {
    /// Decisions that were compared.
    pub decisions: u64,
    /// Of these, those of which the policy thinks otherwise.
    pub disagreements: u64,
    /// The first of them, by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
    /// Threads that the kernel put on a CPU without being told to.
    pub placed: u64,
    /// What was not told; nothing after it was compared.
    pub lost: u64,
}

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { decisions, disagreements, placed, lost, .. } = self;
        write!(f, "{decisions} decisions repeated, {disagreements} answered otherwise")?;
        if *placed > 0 {
            write!(f, ", {placed} threads placed by the kernel itself")?;
        }
        if *lost > 0 {
            write!(f, ", {lost} not told")?;
        }
        Ok(())
    }
}

/// `manifest.json` of a run directory.
///
/// `started`, `host` and `command` say where and how; everything else is a function of the scenario, the
/// seed and the version.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The format of the directory.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The file the scenario was read from.
    pub scenario_path: String,
    /// BLAKE3 of the scenario's source, in hex.
    pub scenario_hash: String,
    /// The variant's name; empty for the scenario as it stands.
    pub variant: String,
    /// The source of all randomness.
    pub seed: u64,
    /// The platform's name.
    pub platform: String,
    /// The machine: `sim`, `linux`, `rtos` or `rtos-arm64`.
    pub machine: String,
    /// How closely the policy code that ran is the policy code that was written.
    pub tier: Tier,
    /// What came of repeating every decision: where other code took them (tier C), and each change of the order that priorities follow on Linux
    /// (tier B).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated: Option<Repeated>,
    /// What Linux made of decisions that were taken outside of its kernel (tier B), where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried_out: Option<CarriedOut>,
    /// The version of Solocore.
    pub version: String,
    /// The commit it was built from, where known.
    pub commit: Option<String>,
    /// The command line.
    pub command: Vec<String>,
    /// The machine that made the run and its number of cores, in words.
    pub host: String,
    /// What of that machine can change its times, where known.
    #[serde(default)]
    pub system: System,
    /// When the run started. Never part of a hash or a report's figures.
    pub started: Option<jiff::Timestamp>,
    /// How it ended; `None` while it runs, and for ever if it was interrupted.
    pub outcome: Option<RunEnd>,
    /// How many records it wrote.
    pub records: u64,
    /// BLAKE3 of the encoded records, in hex, once the run is complete.
    pub record_hash: Option<String>,
    /// True once every record is on disk.
    pub complete: bool,
    /// BLAKE3 of each file of the directory, in hex, by name: `scenario.toml`, `experiment.json`, `records.solo`,
    /// `report.json`.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// BLAKE3 of all that stands above, in hex. It shows damage, not forgery: who changes the manifest on purpose can
    /// write this anew.
    #[serde(default)]
    pub seal: String,
}

/// What of a machine can change its times. Runs of the simulated machine don't depend on it.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct System {
    /// The processor's model.
    pub processor: Option<String>,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// The governors of the processors' clocks, each once.
    pub governor: Option<String>,
}

impl Manifest {
    /// A manifest with everything that follows from the experiment; machine `sim`, tier A, this version.
    pub fn new(experiment: &Experiment, scenario_path: &str, scenario_source: &str) -> Self {
        Self {
            schema: SCHEMA,
            scenario: experiment.name.clone(),
            scenario_path: scenario_path.into(),
            scenario_hash: source_hash(scenario_source),
            variant: experiment.variant.clone(),
            seed: experiment.seed,
            platform: experiment.platform.name.clone(),
            machine: "sim".into(),
            tier: Tier::A,
            repeated: None,
            carried_out: None,
            version: env!("CARGO_PKG_VERSION").into(),
            commit: None,
            command: Vec::new(),
            host: String::new(),
            system: System::default(),
            started: None,
            outcome: None,
            records: 0,
            record_hash: None,
            complete: false,
            files: BTreeMap::new(),
            seal: String::new(),
        }
    }

    /// Writes the hash of everything else into the manifest.
    pub(crate) fn seal(&mut self) {
        self.seal = self.seal_of();
    }

    /// The seal that fits everything else.
    pub(crate) fn seal_of(&self) -> String {
        let open = Self { seal: String::new(), ..self.clone() };
        // Plain data is written into memory: that can't fail, and an empty seal would fit nothing.
        serde_json::to_vec(&open).map_or_else(|_| String::new(), |text| bytes_hash(&text))
    }
}

/// BLAKE3 of a file's content, in hex.
pub(crate) fn bytes_hash(content: &[u8]) -> String {
    blake3::hash(content).to_hex().to_string()
}

/// BLAKE3 of a scenario's source, in hex.
pub(crate) fn source_hash(source: &str) -> String {
    bytes_hash(source.as_bytes())
}
