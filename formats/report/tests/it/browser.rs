//! Pages in a real browser: no word covers another or a plot, none leaves the page, all can be read; on a telephone,
//! on a screen, in the dark and on paper.
//!
//! `SOLO_KEEP_PAGES=DIR cargo test -p solo-report browser` keeps pages and pictures, to be looked at.

use crate::fabricate::*;
use crate::summary::summarise;
use crate::tables::report_of;
use serde_json::Value;
use solo_model::*;
use solo_report::html::{self, Provenance};
use solo_report::{Bound, Manifest, Report};
use std::path::Path;
use std::process::{Command, Stdio};

fn chromium() -> Option<&'static str> {
    let there = |name: &&str| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    };
    let found = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(there);
    if found.is_none() {
        println!("skipped: report pages in a browser: no chromium; apt-get install chromium");
    }
    found
}

/// A page as it is looked at: its name, its text, its width in pixels.
struct Sight {
    name: String,
    page: String,
    width: u32,
}

/// What a browser finds wrong with pages, in its light or its dark colors. One start of a browser sees all of them.
fn look(browser: &str, folder: &Path, sights: &[Sight], dark: bool) -> Vec<Value> {
    let frame = |Sight { name, page, width }: &Sight| {
        let source = page.replace('&', "&amp;").replace('"', "&quot;");
        format!(
            "<iframe title='{name}' style='width:{width}px;height:2000px;border:0' srcdoc=\"{source}\"></iframe>"
        )
    };
    let run = |name: &str, frames: &str, task: &str| {
        let file = folder.join(format!("{name}.html"));
        let script = include_str!("browser.js");
        let text = format!(
            "<!DOCTYPE html><meta charset=utf-8><body style='margin:0'>{frames}<script>{script}</script>"
        );
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(browser);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--window-size=1240,3200",
        ]);
        command.arg(format!("--user-data-dir={}", folder.join("profile").display()));
        command.arg(format!("--blink-settings=preferredColorScheme={}", i32::from(!dark)));
        command.args([task, &format!("file://{}", file.display())]).stderr(Stdio::null()).output().unwrap()
    };
    if let Some(keep) = std::env::var_os("SOLO_KEEP_PAGES").filter(|keep| !keep.is_empty()) {
        for sight in sights {
            let picture = Path::new(&keep).join(format!("{}.png", sight.name));
            run(&sight.name, &frame(sight), &format!("--screenshot={}", picture.display()));
        }
    }
    let frames: String = sights.iter().map(frame).collect();
    let output = run("all", &frames, "--dump-dom");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = text.split("<pre id=\"found\">").nth(1).and_then(|rest| rest.split("</pre>").next());
    let found = found.unwrap_or_else(|| panic!("the browser says nothing: {} bytes", text.len()));
    serde_json::from_str(&found.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")).unwrap()
}

fn provenance(experiment: &Experiment) -> Provenance {
    let mut manifest =
        Manifest::new(experiment, "scenarios/a-rather-long-name-of-a-scenario-file.toml", "name = \"x\"");
    manifest.command = vec!["solo".into(), "compare".into(), "scenarios/video-and-screen.toml".into()];
    Provenance::from(&manifest)
        .in_folder("runs/twelve tasks with long names")
        .with_scenario("name = \"x\"\n".repeat(20))
}

/// Twelve tasks with names that no one would choose, and bounds that some exceed.
fn long_names(mut what: (Experiment, Vec<Load>)) -> (Experiment, Report) {
    for (index, task) in what.0.tasks.iter_mut().enumerate() {
        task.name = format!("{}-with-a-name-that-is-much-too-long-{index}", task.name);
    }
    let end = Duration::from_secs(4);
    let report = summarise(&what.0, Stream::new(&what, 3).until(end), Instant::ZERO + end);
    let bound = |task: &solo_report::TaskReport| {
        let response = Duration::new(task.response.p50()?.get());
        Some(Bound { response, occupied: Duration::from_secs(1), misses: None })
    };
    let bounds: Vec<Option<Bound>> = report.tasks.iter().map(bound).collect();
    (what.0, report.with_bounds(&bounds))
}

fn pages() -> Vec<(&'static str, String)> {
    let (experiment, many) = long_names(mix());
    let base = report_of(solo(), 1);
    let few: Vec<(&str, Report)> = vec![
        ("solo", base.clone()),
        ("corun", report_of(corun(), 1)),
        ("budgets and reclaim of what is left over", report_of(isolated(), 1)),
    ];
    let late = {
        let mut what = corun();
        what.1[0].cost_us = 16_000;
        report_of(what, 1)
    };
    let (_, again) = long_names(mix());
    let all = vec![("P-EDF with budgets and reclaim", many.clone()), ("C-EDF", again)];
    vec![
        ("run", html::run(&report_of(corun(), 1), Some(&base), &provenance(&corun().0))),
        ("late", html::run(&late, None, &provenance(&corun().0))),
        ("twelve", html::run(&many, None, &provenance(&experiment))),
        ("comparison", html::comparison(&few, &[], &provenance(&corun().0))),
        ("variants", html::comparison(&all, &[], &provenance(&experiment))),
    ]
}

#[test]
fn nothing_collides_at_any_width_in_the_dark_and_on_paper() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pages = pages();
    // Paper is what the rules for print make of a page as wide as a sheet.
    let paper = |page: &str| page.replace("@media print", "@media all");
    let sight = |name: &str, how: &str, page: String, width| Sight {
        name: format!("{name}-{width}-{how}"),
        page,
        width,
    };
    let light = pages.iter().flat_map(|(name, page)| {
        let screen = [480, 1200].map(|width| sight(name, "light", page.clone(), width));
        screen.into_iter().chain([sight(name, "paper", paper(page), 700)])
    });
    let dark = pages.iter().map(|(name, page)| sight(name, "dark", page.clone(), 1200));
    let mut problems = Vec::new();
    for (sights, dark) in [(light.collect::<Vec<_>>(), false), (dark.collect(), true)] {
        let found = look(browser, folder.path(), &sights, dark);
        assert_eq!(found.len(), sights.len());
        for (found, sight) in found.iter().zip(&sights) {
            let name = &sight.name;
            assert_eq!(found["width"], sight.width, "{name}: the page is as wide as it is meant to be");
            assert_eq!(found["dark"], dark, "{name}");
            assert!(found["texts"].as_u64().unwrap() > 60, "{name}: {found}");
            let wrong = found["problems"].as_array().unwrap();
            problems.extend(wrong.iter().map(|problem| format!("{name}: {problem}")));
        }
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// The look itself finds what it is meant to find.
#[test]
fn a_page_with_faults_is_found_out() {
    let Some(browser) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = "<!DOCTYPE html><html style='background:#fff'><body style='color:#ccc'><p>faint</p>\
                <p style='position:absolute;top:200px;left:10px'>one label</p>\
                <p style='position:absolute;top:203px;left:20px'>other label</p>\
                <p style='position:absolute;top:300px;left:440px;white-space:nowrap'>far too long for its place</p></body></html>";
    let sight = Sight { name: "faults".into(), page: page.into(), width: 480 };
    let found = look(browser, folder.path(), &[sight], false);
    let said = found[0]["problems"].to_string();
    for word in ["covers", "leaves the page on the right", "contrast"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}
