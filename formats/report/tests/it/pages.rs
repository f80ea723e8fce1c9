//! HTML pages: small, self-contained, the same every time.
//!
//! `SOLO_KEEP_PAGES=DIR cargo test -p solo-report pages` keeps the pages, to be looked at.

use crate::fabricate::*;
use crate::summary::summarise;
use crate::tables::report_of;
use solo_model::*;
use solo_report::html::{self, Provenance};
use solo_report::{Manifest, Report};

const MEGABYTE: usize = 1_000_000;

fn provenance(what: &(Experiment, Vec<Load>)) -> Provenance {
    let mut manifest = Manifest::new(&what.0, "scenarios/video-and-screen.toml", "name = \"video\"");
    manifest.command = vec!["solo".into(), "run".into(), "scenarios/video-and-screen.toml".into()];
    manifest.record_hash = Some("0".repeat(64));
    Provenance::from(&manifest)
}

fn keep(name: &str, page: &str) {
    if let Some(dir) = std::env::var_os("SOLO_KEEP_PAGES") {
        std::fs::write(std::path::Path::new(&dir).join(name), page).unwrap();
    }
}

/// Nothing that a browser would fetch.
fn assert_self_contained(page: &str) {
    for reference in ["http:", "https:", " src=", "@import", "<link", "<iframe", "url(//"] {
        assert!(!page.contains(reference), "the page refers to {reference}");
    }
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"));
    assert!(!page.contains("NaN") && !page.contains("inf "));
}

/// Every element that is opened is closed, in order.
fn assert_balanced(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        let tag = &rest[start + 1..];
        let end = tag.find('>').expect("a tag ends");
        let (tag, after) = (&tag[..end], &tag[end + 1..]);
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        rest = after;
        match name {
            "!DOCTYPE" | "meta" => {}
            _ if tag.starts_with('/') => assert_eq!(open.pop(), Some(name), "</{name}>"),
            "style" | "script" => {
                rest = &after[after.find(&format!("</{name}>")).unwrap() + name.len() + 3..]
            }
            _ => open.push(name),
        }
    }
    assert!(open.is_empty(), "never closed: {open:?}");
}

#[test]
fn the_page_of_a_run_is_whole_and_offline() {
    let (solo_report, corun_report) = (report_of(solo(), 1), report_of(corun(), 1));
    let page = html::run(&corun_report, Some(&solo_report), &provenance(&corun()));
    keep("run.html", &page);
    assert_self_contained(&page);
    assert_balanced(&page);
    assert!(page.len() < MEGABYTE, "{}", page.len());
    let verdict = page.find("frame misses 297 of 1000 deadlines").expect("the verdict");
    let positions =
        ["<h2>Tasks", "doubts:", "<h2>Response times", "<h2>The worst job", "<h2>Over time", "Repeat it"]
            .map(|part| page.find(part).unwrap_or_else(|| panic!("no {part}")));
    assert!(verdict < positions[0] && positions.is_sorted(), "{positions:?}");
    assert_eq!(page, html::run(&corun_report, Some(&solo_report), &provenance(&corun())));
}

#[test]
fn the_page_of_a_comparison_is_whole_and_offline() {
    let reports = [("solo", solo()), ("corun", corun()), ("isolated", isolated())];
    let reports: Vec<(&str, Report)> =
        reports.into_iter().map(|(name, what)| (name, report_of(what, 1))).collect();
    let page = html::comparison(&reports, &[], &provenance(&corun()));
    keep("comparison.html", &page);
    assert_self_contained(&page);
    assert_balanced(&page);
    assert!(page.len() < MEGABYTE, "{}", page.len());
}

#[test]
fn a_million_records_still_make_a_page_below_a_megabyte() {
    let what = mix();
    for records in [100_000, 1_000_000] {
        let report = summarise(&what.0, Stream::new(&what, 1).take(records), Instant::ZERO);
        let page = html::run(&report, None, &provenance(&what));
        keep(&format!("mix-{records}.html"), &page);
        assert_self_contained(&page);
        assert_balanced(&page);
        assert!(page.len() < MEGABYTE, "{records} records: {} bytes", page.len());
    }
}

#[test]
fn many_variants_of_many_tasks_still_make_a_page_below_a_megabyte() {
    let names = ["P-EDF", "C-EDF", "G-EDF", "P-RM", "C-RM", "G-RM", "P-DM", "P-LLF"];
    let reports: Vec<(&str, Report)> =
        (0_u64..).zip(names).map(|(seed, name)| (name, report_of(mix(), seed))).collect();
    let page = html::comparison(&reports, &[], &provenance(&mix()));
    keep("variants.html", &page);
    assert_self_contained(&page);
    assert_balanced(&page);
    assert!(page.len() < MEGABYTE, "{}", page.len());
}

#[test]
fn a_page_of_nothing_is_still_a_page() {
    let what = solo();
    let report = summarise(&what.0, [], Instant::ZERO);
    let page = html::run(&report, Some(&report), &provenance(&what));
    assert_self_contained(&page);
    assert_balanced(&page);
    assert!(page.contains("the run shows nothing"));
    assert_balanced(&html::comparison::<&str, Report>(&[], &[], &provenance(&what)));
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let (mut experiment, loads) = solo();
    experiment.tasks[0].name = "<script>alert(1)</script>".into();
    experiment.name = "\"><img onerror=x>".into();
    let what = (experiment, loads);
    let report = summarise(&what.0, Stream::new(&what, 1).take(2000), Instant::ZERO);
    let page = html::run(&report, None, &provenance(&what));
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    assert_balanced(&page);
}
