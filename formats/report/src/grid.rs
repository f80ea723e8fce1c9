//! Rows and columns in a terminal: as wide as the terminal at most.
//!
//! A table with more columns than fit is told in several parts, one below the other, each of which begins with the
//! columns that say what a row is about. A terminal that breaks lines by itself leaves nothing that can be read.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle};

/// How to write to a terminal or a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Escape sequences for color and weight.
    pub color: bool,
    /// So many characters fit into a line: tables with more columns are told in parts.
    pub width: usize,
    /// Break sentences at `width` too: a file or a pipe gets each on one line.
    pub wrap: bool,
}

impl Style {
    /// What every terminal can show.
    pub const WIDTH: usize = 80;

    /// No escape sequences, each sentence on one line.
    pub const PLAIN: Self = Self { color: false, width: Self::WIDTH, wrap: false };

    /// Color on a terminal unless `NO_COLOR` is set to anything but nothing (no-color.org); tables as wide as the
    /// terminal, or as every terminal is where there is none.
    pub fn detect(is_terminal: bool, no_color: Option<&std::ffi::OsStr>, width: Option<usize>) -> Self {
        let width = width.filter(|_| is_terminal).unwrap_or(Self::WIDTH).max(40);
        let color = is_terminal && no_color.is_none_or(std::ffi::OsStr::is_empty);
        Self { color, width, wrap: is_terminal }
    }

    pub(crate) fn sentence(self, sentence: &str) -> String {
        if self.wrap { wrapped(sentence, self.width.saturating_sub(2)) } else { sentence.to_owned() }
    }
}

/// A name is cut to this many characters where the table would be too wide with it.
const NAME: usize = 28;

/// What stands in a row and a column.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) text: String,
    /// A miss: red where there is color, and words say it too.
    pub(crate) bad: bool,
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Self { text, bad: false }
    }
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// A table.
pub(crate) struct Grid {
    header: Vec<String>,
    /// So many columns say what a row is about.
    keys: usize,
    /// So many columns, the keys among them, hold text; the others hold numbers.
    texts: usize,
    rows: Vec<Vec<Entry>>,
}

impl Grid {
    pub(crate) fn new<S: Into<String>>(
        header: impl IntoIterator<Item = S>,
        keys: usize,
        texts: usize,
    ) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), keys, texts, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, row: Vec<Entry>) {
        self.rows.push(row);
    }

    /// Leaves out columns in which every row has a dash.
    pub(crate) fn without_dashes(mut self) -> Self {
        let said = |column: usize| {
            self.rows.iter().any(|row| row.get(column).is_some_and(|entry| entry.text != "-"))
        };
        let stays: Vec<bool> = (0..self.header.len())
            .map(|column| column < self.keys || self.rows.is_empty() || said(column))
            .collect();
        fn keep<T>(items: &mut Vec<T>, stays: &[bool]) {
            let mut stay = stays.iter();
            items.retain(|_| stay.next().copied().unwrap_or(true));
        }
        self.texts = (0..self.texts).filter(|column| stays[*column]).count();
        keep(&mut self.header, &stays);
        self.rows.iter_mut().for_each(|row| keep(row, &stays));
        self
    }

    /// The table as lines.
    pub(crate) fn text(mut self, style: Style) -> String {
        let wide: usize = (0..self.header.len()).map(|column| self.width(column)).sum();
        if wide > style.width {
            for row in &mut self.rows {
                row.iter_mut().take(self.keys).for_each(|entry| entry.text = shortened(&entry.text, NAME));
            }
            self.header.iter_mut().skip(self.keys).for_each(|name| *name = shortened(name, NAME));
        }
        let parts = self.parts(style.width);
        parts.iter().map(|columns| self.part(columns, style)).collect::<Vec<_>>().join("\n")
    }

    /// The columns of each part.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let keys: Vec<usize> = (0..self.keys).collect();
        let fixed: usize = keys.iter().map(|key| self.width(*key)).sum();
        let mut parts = vec![keys.clone()];
        let mut used = fixed;
        for column in self.keys..self.header.len() {
            let wide = self.width(column);
            if used + wide > width && parts.last().is_some_and(|part| part.len() > keys.len()) {
                parts.push(keys.clone());
                used = fixed;
            }
            used += wide;
            if let Some(part) = parts.last_mut() {
                part.push(column);
            }
        }
        parts
    }

    /// Of a column, with the space around it.
    fn width(&self, column: usize) -> usize {
        let entries =
            self.rows.iter().filter_map(|row| row.get(column)).map(|entry| entry.text.chars().count());
        entries.chain([self.header[column].chars().count()]).max().unwrap_or(0) + 2
    }

    fn part(&self, columns: &[usize], style: Style) -> String {
        let mut table = Table::new();
        table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─')));
        table.set_content_arrangement(ContentArrangement::Disabled);
        if style.color {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        let aligned = |column: usize, cell: Cell| match column < self.texts {
            true => cell,
            false => cell.set_alignment(CellAlignment::Right),
        };
        table.set_header(columns.iter().map(|&column| {
            let cell = aligned(column, Cell::new(&self.header[column]));
            if style.color { cell.add_attribute(Attribute::Bold) } else { cell }
        }));
        for row in &self.rows {
            table.add_row(columns.iter().filter_map(|&column| Some((column, row.get(column)?))).map(
                |(column, entry)| {
                    let cell = aligned(column, Cell::new(&entry.text));
                    match style.color && entry.bad {
                        true => cell.fg(Color::Red).add_attribute(Attribute::Bold),
                        false => cell,
                    }
                },
            ));
        }
        table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

/// A name with its beginning and its end: what differs is often at one of them.
fn shortened(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    let (first, last) = (most / 2, most - most / 2 - 1);
    name.chars().take(first).chain(['…']).chain(name.chars().skip(length - last)).collect()
}

/// A sentence as lines of at most `width` characters; those after the first are indented.
fn wrapped(sentence: &str, width: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if used == 0 {
            text += word;
            used = length;
        } else if used + 1 + length <= width {
            text += " ";
            text += word;
            used += 1 + length;
        } else {
            text += "\n    ";
            text += word;
            used = 4 + length;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(columns: usize, name: &str, cell: &str) -> Grid {
        let header = (0..columns).map(|column| format!("column {column}"));
        let mut grid = Grid::new(std::iter::once("task".to_owned()).chain(header), 1, 1);
        let mut row: Vec<Entry> = vec![name.into()];
        row.extend((0..columns).map(|column| format!("{cell}{column}").into()));
        grid.row(row);
        grid
    }

    proptest! {
        /// Whatever stands in it, no line is wider than the terminal, and every column is told once.
        #[test]
        fn no_line_is_too_wide(columns in 1_usize..30, name in "[a-zä-]{1,90}", cell in "[0-9]{1,12}", width in 60_usize..140) {
            let text = grid(columns, &name, &cell).text(Style { width, ..Style::PLAIN });
            for line in text.lines() {
                prop_assert!(line.chars().count() <= width, "{} columns: {line}", line.chars().count());
            }
            for column in 0..columns {
                let title = format!("column {column}");
                let found = text.split([' ', '\n']).collect::<Vec<_>>().join(" ");
                prop_assert!(found.contains(&title), "{title} is missing in\n{text}");
            }
        }

        #[test]
        fn wrapped_words_are_the_same_words(sentence in "[a-z]{1,9}( [a-z]{1,9}){0,40}", width in 20_usize..100) {
            let text = wrapped(&sentence, width);
            prop_assert_eq!(text.split_whitespace().collect::<Vec<_>>().join(" "), sentence);
            prop_assert!(text.lines().all(|line| line.chars().count() <= width));
        }
    }

    #[test]
    fn columns_of_dashes_are_left_out() {
        let mut grid = Grid::new(["task", "p50", "bound", "misses"], 1, 1);
        grid.row(vec!["a".into(), "1 ms".into(), "-".into(), "-".into()]);
        grid.row(vec!["b".into(), "-".into(), "-".into(), "3".into()]);
        let text = grid.without_dashes().text(Style::PLAIN);
        assert!(text.contains("p50") && text.contains("misses") && !text.contains("bound"), "{text}");
    }
}
