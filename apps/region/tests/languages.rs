//! libsolo from C, linked both ways, and from Python.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = r#"
#include <solo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    if (solo_regions_open("frobs") || !strstr(solo_error(), "frobs")) return 2;
    solo_regions *regions = solo_regions_open("page_faults");
    if (!regions) { fprintf(stderr, "%s\n", solo_error()); return 3; }
    if (solo_region_stop(regions, "early") != -1) return 4;
    for (int i = 0; i < 3; i++) {
        solo_region_start(regions);
        solo_region_start(regions);
        char *memory = malloc(64 * 4096);
        for (int page = 0; page < 64; page++) memory[page * 4096] = 1;
        solo_region_stop(regions, "inner");
        solo_region_stop(regions, "outer");
    }
    if (solo_region_passes(regions, "inner") != 3 || solo_region_time_ns(regions, "outer") == 0) return 5;
    long faults = solo_region_count(regions, "inner", "page_faults");
    if (faults >= 0 && (faults < 150 || faults > 300)) { fprintf(stderr, "%ld\n", faults); return 6; }
    if (solo_region_count(regions, "inner", "frobs") != -1) return 7;
    if (solo_regions_events(regions, "frobs") != -1 || solo_regions_every(regions, 5) != -1) return 8;
    if (solo_regions_virtual(regions, "frobs") != -1 || !strstr(solo_error(), "frobs")) return 9;
    if (solo_regions_virtual(regions, "faults") != 0) return 10;
    if (solo_regions_events(regions, "page_faults:uk:ebs=8,minor_faults:uk") != 0) { fprintf(stderr, "%s\n", solo_error()); return 11; }
    solo_region_start(regions);
    if (solo_regions_events(regions, "page_faults") != -1 || !strstr(solo_error(), "open")) return 12;
    char *more = malloc(256 * 4096);
    for (int page = 0; page < 256; page++) more[page * 4096] = 1;
    solo_region_stop(regions, "sampled");
    unsigned long samples = solo_region_samples(regions, "sampled");
    if (faults >= 0 && (samples < 10 || samples > 80 || solo_region_lost(regions, "sampled") != 0)) { fprintf(stderr, "%lu samples\n", samples); return 13; }
    long sum = 0;
    for (unsigned long at = 0; at < samples; at++) sum += solo_region_sample_count(regions, "sampled", at, "page_faults");
    if (sum > solo_region_count(regions, "sampled", "page_faults")) { fprintf(stderr, "%ld\n", sum); return 14; }
    if (solo_region_sample_count(regions, "sampled", samples, "page_faults") != -1) return 15;
    if (solo_region_virtual(regions, "sampled", "machine_page_faults") < 50) return 16;
    if (solo_region_virtual(regions, "sampled", "frobs") != INT64_MIN) return 17;
    solo_regions *other = solo_regions_clone(regions);
    if (!other) { fprintf(stderr, "%s\n", solo_error()); return 18; }
    solo_region_start(other);
    solo_region_stop(other, "sampled");
    if (solo_region_passes(other, "sampled") != 1 || solo_regions_merge(regions, regions) != -1) return 19;
    if (solo_regions_merge(regions, other) != 0 || solo_region_passes(regions, "sampled") != 2) return 20;
    if (solo_regions_events(other, "context_switches") != 0) return 21;
    if (solo_regions_merge(regions, other) != -1 || !strstr(solo_error(), "other events")) return 22;
    solo_regions_close(other);
    char *table = solo_regions_table(regions);
    fputs(table, stdout);
    solo_text_free(table);
    solo_regions_close(regions);
    return 0;
}
"#;

const SCRIPT: &str = r#"
from solo_regions import Regions
try:
    Regions("frobs")
    raise SystemExit(2)
except ValueError as error:
    assert "frobs" in str(error), error
with Regions("page_faults,task_clock") as regions:
    for i in range(5):
        try:
            with regions("work"):
                bytearray(1 << 20)
                if i == 3:
                    raise KeyError
        except KeyError:
            pass
    assert regions.passes("work") == 5
    assert regions.time_ns("work") > 0 and regions.cost_ns() > 0
    assert regions.count("work", "frobs") is None
    print(regions.table())
import threading
with Regions("page_faults", virtual="faults") as regions:
    def other(found):
        with regions.clone() as own:
            with own("work"):
                bytearray(1 << 20)
            regions.merge(own)
            found.append(own.virtual("work", "machine_page_faults"))
    found = []
    thread = threading.Thread(target=other, args=(found,))
    thread.start()
    thread.join()
    assert regions.passes("work") == 1 and found[0] is not None, found
    assert regions.virtual("work", "machine_page_faults") is None
    regions.change("context_switches")
    with regions("more"):
        pass
    assert regions.count("more", "page_faults") is None
with Regions("page_faults:uk:ebs=16") as regions:
    with regions("fill"):
        [bytearray(1 << 16) for _ in range(64)]
    times = [at for at, _ in regions.samples("fill", "page_faults")]
    assert times == sorted(times) and regions.lost("fill") == 0
try:
    Regions("page_faults", every_ns=7)
    raise SystemExit(3)
except ValueError as error:
    assert "100 us or more" in str(error), error
"#;

/// Where cargo has put the libraries: beside this test or one folder up.
fn libraries() -> PathBuf {
    let program = std::env::current_exe().expect("a test program has a path");
    let near = program.ancestors().skip(1).take(2).find(|folder| folder.join("libsolo.a").exists());
    near.expect("the libraries were built with this test").to_owned()
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(output: &Output) -> String {
    format!(
        "{:?}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn c_programs_link_both_libraries() {
    if Command::new("cc").arg("--version").output().is_err() {
        println!("skipped: libsolo from C: no C compiler");
        return;
    }
    let folder = std::env::temp_dir().join(format!("libsolo-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("program.c");
    std::fs::write(&source, PROGRAM).unwrap();
    let libraries = libraries();
    for link in ["-l:libsolo.so", "-l:libsolo.a"] {
        let program = folder.join("program");
        let compiled = Command::new("cc")
            .args(["-Wall", "-Wextra", "-Werror", "-O0", "-I"])
            .arg(here().join("include"))
            .arg(&source)
            .arg("-o")
            .arg(&program)
            .arg("-L")
            .arg(&libraries)
            .args([link, "-lpthread", "-ldl", "-lm"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{link}: {}", text(&compiled));
        let output = Command::new(&program).env("LD_LIBRARY_PATH", &libraries).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{link}: {}", text(&output));
        assert!(text(&output).contains("inner"), "{}", text(&output));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn python_programs_use_a_context_manager() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: libsolo from Python: no python3");
        return;
    }
    let output = Command::new("python3")
        .args(["-c", SCRIPT])
        .env("PYTHONPATH", here().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("LIBSOLO", libraries().join("libsolo.so"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}
