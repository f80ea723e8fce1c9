//! Any bytes as a journal: of a guard, which may put back nothing but settings that have a name; and of a study.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_guard::{Actuator, Identity, JOURNAL, Seen, Setting, restore};
use solo_store::StoreError;
use solo_study::{Overrides, StudyPlan, merge, parse};
use std::path::Path;
use std::sync::LazyLock;

struct Made(Vec<(Setting, String)>);

impl Actuator for Made {
    fn look(&self, _: &Setting) -> Result<Seen, StoreError> {
        Ok(Seen { value: "1".into(), identity: Identity { device: 0, file: 0 } })
    }
    fn set(&mut self, setting: &Setting, value: &str) -> Result<(), StoreError> {
        self.0.push((setting.clone(), value.to_owned()));
        Ok(())
    }
    fn boot(&self) -> Result<String, StoreError> {
        Ok("boot".into())
    }
}

const STUDY: &str = r#"
name = "fuzz"
sets = 2
cores = 2
caps = { from = 1.0, to = 1.0, step = 1.0 }
[[distribution]]
name = "one"
utilization = { uniform = [0.1, 0.4] }
period-ms = [3.0, 33.0]
slack = 0.1
[[curve]]
name = "FFD"
any-of = ["pedf_ffd"]
"#;

static PLAN: LazyLock<Option<StudyPlan>> =
    LazyLock::new(|| parse(STUDY, Path::new("/nowhere/fuzz.toml"), Overrides::default()).ok());

fuzz_target!(|bytes: &[u8]| {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
    std::fs::write(folder.path().join(JOURNAL), bytes).expect("a file");
    let _ = restore(folder.path(), Made(Vec::new()));
    let Some(plan) = &*PLAN else { panic!("the study is no study") };
    // Behind the header of this very study, so that the rows are read.
    let mut text = format!("{{\"study\":\"{}\",\"shard\":\"1/1\"}}\n", plan.hash()).into_bytes();
    text.extend(bytes);
    std::fs::write(folder.path().join("journal.jsonl"), text).expect("a file");
    let _ = merge(plan, &[folder.path().to_path_buf()]);
});
