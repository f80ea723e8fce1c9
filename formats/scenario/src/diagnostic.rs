//! What is wrong with a file: where, what was found, what was expected, what to do.

use crate::code::Code;
use crate::source::Source;
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, ThemeCharacters, ThemeStyles};
use serde::Serialize;
use solo_model::text::Printable;
use std::error::Error;
use std::fmt;
use std::ops::Range;

/// A message shows at most this many problems; the rest is counted.
const MOST_SHOWN: usize = 8;

/// How much a problem weighs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The file can't be used.
    Error,
    /// The file can be used, but probably says something else than was meant.
    Warning,
}

/// One problem of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    pub(crate) code: Code,
    pub(crate) severity: Severity,
    pub(crate) headline: String,
    pub(crate) source: Source,
    pub(crate) span: Range<usize>,
    pub(crate) label: String,
    pub(crate) related: Vec<(Range<usize>, String)>,
    pub(crate) expected: Option<String>,
    pub(crate) help: Option<String>,
}

impl Diagnostic {
    /// An error of `code` at a span.
    pub(crate) fn error(
        code: Code,
        headline: impl Into<String>,
        source: &Source,
        span: Range<usize>,
    ) -> Self {
        Self {
            code,
            severity: Severity::Error,
            headline: shown(&headline.into()),
            source: source.clone(),
            span: source.clamp(span),
            label: String::from("here"),
            related: Vec::new(),
            expected: None,
            help: None,
        }
    }

    /// The words under the offending text.
    #[must_use]
    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = shown(&label.into());
        self
    }

    /// Another place that matters.
    #[must_use]
    pub(crate) fn also(mut self, span: Range<usize>, label: impl Into<String>) -> Self {
        self.related.push((self.source.clamp(span), shown(&label.into())));
        self
    }

    /// What would have been right.
    #[must_use]
    pub(crate) fn expected(mut self, expected: impl Into<String>) -> Self {
        self.expected = Some(shown(&expected.into()));
        self
    }

    /// What to do.
    #[must_use]
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(shown(&help.into()));
        self
    }

    /// The same as a warning.
    #[must_use]
    pub(crate) fn into_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// What kind of problem it is.
    pub fn code(&self) -> Code {
        self.code
    }

    /// What is wrong, in a line.
    pub fn headline(&self) -> &str {
        &self.headline
    }

    /// Error or warning.
    pub fn severity(&self) -> Severity {
        self.severity
    }

    /// The file that the problem lies in.
    pub fn file(&self) -> &Source {
        &self.source
    }

    /// The bytes of the file that the problem is about; lies inside the file.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The problem for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let position = self.source.position(self.span.start);
        serde_json::json!({
            "code": self.code,
            "severity": self.severity,
            "message": self.headline,
            "file": self.source.name(),
            "line": position.line,
            "column": position.column,
            "offset": self.span.start,
            "length": self.span.len(),
            "text": clip(self.source.slice(self.span.clone())),
            "label": self.label,
            "expected": self.expected,
            "help": self.help,
        })
    }
}

/// A message with all but its own line breaks written out: it may quote what comes from elsewhere.
fn shown(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| Printable(line).to_string()).collect();
    lines.join("\n")
}

/// The beginning of a text that may be long.
pub(crate) fn clip(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.is_quotable() {
            return f.write_str(&self.headline);
        }
        let at = self.source.position(self.span.start);
        write!(f, "{} ({}, line {}, column {})", self.headline, self.source.name(), at.line, at.column)
    }
}

impl Error for Diagnostic {}

impl miette::Diagnostic for Diagnostic {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code))
    }
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
        })
    }
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let lines: Vec<String> =
            [self.expected.as_ref().map(|expected| format!("expected {expected}")), self.help.clone()]
                .into_iter()
                .flatten()
                .collect();
        if lines.is_empty() { None } else { Some(Box::new(lines.join("\n"))) }
    }
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.is_quotable().then_some(&self.source as &dyn miette::SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let primary = LabeledSpan::new_primary_with_span(Some(self.label.clone()), self.span.clone());
        let others = self
            .related
            .iter()
            .map(|(span, label)| LabeledSpan::new_with_span(Some(label.clone()), span.clone()));
        Some(Box::new(std::iter::once(primary).chain(others)))
    }
}

impl miette::SourceCode for Source {
    fn read_span<'a>(
        &'a self,
        span: &miette::SourceSpan,
        context_lines_before: usize,
        context_lines_after: usize,
    ) -> Result<Box<dyn miette::SpanContents<'a> + 'a>, miette::MietteError> {
        let contents = self.shown().read_span(span, context_lines_before, context_lines_after)?;
        Ok(Box::new(miette::MietteSpanContents::new_named(
            self.name().to_owned(),
            contents.data(),
            *contents.span(),
            contents.line(),
            contents.column(),
            contents.line_count(),
        )))
    }
}

/// How a report is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Colors and box characters: a terminal.
    Fancy,
    /// Box characters without colors: a terminal with `NO_COLOR`.
    Monochrome,
    /// ASCII only: a file, a pipe, a log.
    Plain,
}

impl Style {
    fn theme(self) -> GraphicalTheme {
        match self {
            Self::Fancy => GraphicalTheme::unicode(),
            Self::Monochrome => GraphicalTheme::unicode_nocolor(),
            Self::Plain => {
                let mut characters = ThemeCharacters::ascii();
                characters.error = String::from("error:");
                characters.warning = String::from("warning:");
                GraphicalTheme { characters, styles: ThemeStyles::none() }
            }
        }
    }
}

/// Why a file can't be used: one or more problems, file by file, in the order of each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostics {
    problems: Vec<Diagnostic>,
}

impl Diagnostics {
    /// A report of these problems.
    pub(crate) fn new(mut problems: Vec<Diagnostic>) -> Self {
        let of_file = |problem: &Diagnostic| (problem.source.name().to_owned(), problem.span.start);
        problems.sort_by_cached_key(of_file);
        Self { problems }
    }

    /// The problems, at least one.
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// The report for people, for a terminal `width` columns wide.
    pub fn render(&self, style: Style, width: usize) -> String {
        render(&self.problems, style, width)
    }

    /// The report for programs: a list of objects with `code`, `severity`, `message`, `file`, `line`,
    /// `column`, `offset`, `length`, `text` (what was found), `label`, `expected` and `help`.
    pub fn to_json(&self) -> serde_json::Value {
        self.problems.iter().map(Diagnostic::to_json).collect()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(problem: Diagnostic) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain, 100))
    }
}

impl Error for Diagnostics {}

/// Draws problems (or warnings) for people.
pub fn render(problems: &[Diagnostic], style: Style, width: usize) -> String {
    let handler = GraphicalReportHandler::new_themed(style.theme())
        .with_width(width.max(40))
        .with_links(false)
        .without_cause_chain();
    let mut text = String::new();
    for problem in problems.iter().take(MOST_SHOWN) {
        // Writing to a string fails only where the source can't be read: then the headline has to do.
        if handler.render_report(&mut text, problem).is_err() {
            text.push_str(&format!("{problem}\n"));
        }
        text.push('\n');
    }
    let more = problems.len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        text.push_str(&format!("and {more} more of this kind or another\n"));
    }
    text
}
