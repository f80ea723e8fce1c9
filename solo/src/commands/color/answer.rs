//! Where the pages of a program were, for people and programs.

use super::wish::Chosen;
use serde::Serialize;
use solo_color::Outcome;
use solo_model::text::Printable;
use solo_report::table::{self, Style};
use std::collections::BTreeMap;

/// Which frames were wanted.
#[derive(Serialize)]
struct Wanted {
    map: String,
    colors_of_map: u16,
    banks_of_map: u16,
    colors: Vec<u16>,
    banks: Vec<u16>,
}

impl Wanted {
    fn of(chosen: &Chosen) -> Self {
        let wish = &chosen.wish;
        Self {
            map: chosen.source.clone(),
            colors_of_map: wish.map().colors().count(),
            banks_of_map: wish.map().banks().count(),
            colors: wish.colors().iter().map(|color| color.0).collect(),
            banks: wish.banks().iter().map(|bank| bank.0).collect(),
        }
    }

    fn text(&self) -> String {
        let of = |name: &str, chosen: &[u16], all: u16| {
            if chosen.is_empty() {
                format!("any of {all} {name}")
            } else {
                format!("{} of {all} {name}: {}", chosen.len(), ranges(chosen))
            }
        };
        let mut text = of("colors", &self.colors, self.colors_of_map);
        if self.banks_of_map > 1 {
            text += &format!("; {}", of("banks", &self.banks, self.banks_of_map));
        }
        format!("{text} (map of {})\n", self.map)
    }
}

/// Numbers in ascending order as people list them.
fn ranges(numbers: &[u16]) -> String {
    let runs = numbers.chunk_by(|one, next| u32::from(*one) + 1 == u32::from(*next));
    let words = runs.filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        Some(if first == last { first.to_string() } else { format!("{first}-{last}") })
    });
    words.collect::<Vec<_>>().join(",")
}

/// What became of a program.
#[derive(Serialize)]
pub(super) struct Answer {
    wanted: Wanted,
    /// Every page that is to be colored was right at the end of its program; none without a program.
    right: Option<bool>,
    programs: Vec<Row>,
    pages_without_frame: u64,
    frames_searched: u64,
    frames_right: u64,
    doubts: Vec<String>,
}

/// Pages of a kind that is never colored.
#[derive(Serialize)]
struct NotColored {
    name: String,
    pages: u64,
}

#[derive(Serialize)]
struct Row {
    process: u32,
    name: String,
    right_pages: u64,
    wrong_pages: u64,
    not_colored: Vec<NotColored>,
    placed_pages: u64,
    misplaced_pages: u64,
}

impl Answer {
    pub(super) fn of(chosen: &Chosen, outcome: &Outcome) -> Self {
        let rows = outcome.programs.iter().map(|program| Row {
            process: program.process,
            name: program.name.clone(),
            right_pages: program.pages.right,
            wrong_pages: program.pages.wrong,
            not_colored: program
                .pages
                .not_colored
                .iter()
                .map(|(name, pages)| NotColored { name: name.clone(), pages: *pages })
                .collect(),
            placed_pages: program.placed,
            misplaced_pages: program.misplaced,
        });
        let mut doubts = chosen.doubts.clone();
        if outcome.without_frame > 0 {
            doubts.push(format!(
                "pages for which no right frame was found: {}; half of the free memory was searched. More colors or smaller programs help",
                outcome.without_frame
            ));
        }
        let (frames_right, frames_searched) = outcome.searched;
        Self {
            wanted: Wanted::of(chosen),
            right: Some(outcome.is_right()),
            programs: rows.collect(),
            pages_without_frame: outcome.without_frame,
            frames_searched,
            frames_right,
            doubts,
        }
    }

    /// Of a search without a program.
    pub(super) fn searched(chosen: &Chosen, (frames_right, frames_searched): (u64, u64)) -> Self {
        Self {
            wanted: Wanted::of(chosen),
            right: None,
            programs: Vec::new(),
            pages_without_frame: 0,
            frames_searched,
            frames_right,
            doubts: chosen.doubts.clone(),
        }
    }

    /// For people: programs of one name in one row.
    pub(super) fn text(&self, style: Style) -> String {
        let mut text = self.wanted.text();
        match self.right {
            Some(right) => {
                let verdict = if right { "all right" } else { "NOT all right" };
                text += &format!("pages at the end of each program: {verdict}\n\n{}", self.table(style));
                if let Some(names) = not_colored(&self.programs) {
                    text += &table::sentence(&format!("not colored: {names}"), style);
                }
            }
            None => {
                let (right, searched) = (self.frames_right, self.frames_searched);
                text += &format!("{right} of {searched} free frames that were looked at are right\n");
            }
        }
        for doubt in &self.doubts {
            text += &table::sentence(&format!("doubt: {}", Printable(doubt)), style);
        }
        text
    }

    fn table(&self, style: Style) -> String {
        let mut by_name: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in &self.programs {
            by_name.entry(&row.name).or_default().push(row);
        }
        let rows: Vec<_> = by_name.iter().map(|(name, rows)| cells(name, rows)).collect();
        let header = ["program", "runs", "right", "wrong", "not colored", "placed", "misplaced"];
        table::plain(&header, 1, &rows, style)
    }
}

fn cells(name: &str, rows: &[&Row]) -> Vec<String> {
    let sum = |of: fn(&Row) -> u64| rows.iter().map(|row| of(row)).sum::<u64>().to_string();
    vec![
        Printable(name).to_string(),
        rows.len().to_string(),
        sum(|row| row.right_pages),
        sum(|row| row.wrong_pages),
        sum(|row| row.not_colored.iter().map(|kind| kind.pages).sum()),
        sum(|row| row.placed_pages),
        sum(|row| row.misplaced_pages),
    ]
}

/// What was not colored, the largest first.
fn not_colored(programs: &[Row]) -> Option<String> {
    /// More names than this help nobody.
    const NAMES: usize = 4;
    let mut pages: BTreeMap<&str, u64> = BTreeMap::new();
    for kind in programs.iter().flat_map(|row| &row.not_colored) {
        *pages.entry(&kind.name).or_default() += kind.pages;
    }
    let mut pages: Vec<_> = pages.into_iter().collect();
    pages.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let names = pages.iter().take(NAMES).map(|(name, count)| format!("{} ({count})", Printable(name)));
    let names = names.collect::<Vec<_>>().join(", ");
    let more = if pages.len() > NAMES { ", and others" } else { "" };
    (!names.is_empty()).then(|| format!("shared memory and the kernel's own, by pages: {names}{more}"))
}
