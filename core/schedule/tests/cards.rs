//! Each criterion, placement and monitor has a card among `docs/policies`, and no card is of something that is not there.

use solo_model::Criterion;
use solo_model::listening::{MonitorKind, Reaction};
use std::collections::BTreeSet;

fn page(name: &str) -> String {
    let path = format!("../../docs/policies/{name}");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The rows of the table in `page` whose heading begins with `first`, cell by cell.
fn rows(page: &str, first: &str) -> Vec<Vec<String>> {
    let heading = format!("| {first} |");
    let table = page.lines().skip_while(|line| !line.starts_with(&heading)).skip(2);
    let cells = |line: &str| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect();
    table.take_while(|line| line.starts_with('|')).map(cells).collect()
}

/// What the first cells of `rows` name in code letters, each once.
fn named(rows: &[Vec<String>]) -> BTreeSet<String> {
    let names: BTreeSet<String> = rows.iter().map(|row| row[0].trim_matches('`').to_owned()).collect();
    assert_eq!(names.len(), rows.len(), "a name has two rows: {rows:?}");
    names
}

/// The entries `- **`name`** ...` under `heading`, each with all of its lines.
fn entries(page: &str, heading: &str) -> Vec<(String, String)> {
    let section = page.split("\n## ").find(|section| section.starts_with(heading));
    let section = section.unwrap_or_else(|| panic!("no section {heading:?}"));
    let entries = section.split("\n- **`").skip(1).filter_map(|entry| entry.split_once("`**"));
    entries
        .map(|(name, words)| (name.to_owned(), words.split("\n\n").next().unwrap_or("").to_owned()))
        .collect()
}

fn words<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

#[test]
fn every_criterion_has_a_card_that_says_its_rule_its_source_and_its_needs() {
    let rows = rows(&page("README.md"), "criterion");
    assert_eq!(named(&rows), words(Criterion::ALL.map(Criterion::name)));
    for row in rows {
        let name = row[0].trim_matches('`');
        let link = row.last().and_then(|cell| cell.split_once("](")).map(|(_, file)| file.trim_matches(')'));
        let card = page(link.unwrap_or_else(|| panic!("{name} links to no card")));
        assert!(card.starts_with(&format!("# {name}: ")), "the card of {name} is headed otherwise");
        for part in ["Rule", "Source", "Needs"] {
            assert!(card.contains(&format!("* **{part}**: ")), "{name} has no {part}");
        }
    }
}

#[test]
fn every_placement_and_every_monitor_has_a_card_and_a_row() {
    let (overview, cards) = (page("README.md"), page("listening.md"));
    let placements = words(Reaction::ALL.map(Reaction::name));
    let monitors = words(MonitorKind::ALL.map(MonitorKind::name));
    for (table, section, known) in [("placement", "Actions", placements), ("monitor", "Monitors", monitors)] {
        let rows = rows(&overview, table);
        assert_eq!(named(&rows), known, "the rows of {table}s");
        assert!(
            rows.iter().all(|row| row.len() == 3 && !row[1].is_empty() && !row[2].is_empty()),
            "{rows:?}"
        );
        let entries = entries(&cards, section);
        assert_eq!(entries.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>(), known, "{section}");
        for (name, words) in entries {
            assert!(words.split_whitespace().count() >= 10, "the card of {name} says {words:?}");
        }
    }
}
