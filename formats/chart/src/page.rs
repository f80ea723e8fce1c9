//! What pages with charts have in common: their head, and colors for light and dark.

use crate::Chart;
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Colors that color-blind readers can tell apart, as they are on white paper; `page.css` has them for dark paper, too.
pub(crate) const LIGHT: [&str; 8] =
    ["#0065a3", "#b86e00", "#00795a", "#a8477f", "#6b4fb0", "#2f8bc0", "#7d7300", "#6a6f76"];

/// The colors `--paper`, `--ink`, `--soft`, `--rule` and `--t0` to `--t7`.
const STYLE: &str = include_str!("page.css");

/// The color of the `index`-th thing on a page, as a CSS value.
pub fn color(index: usize) -> String {
    format!("var(--t{})", index % LIGHT.len())
}

/// A page that needs nothing else, with `style` after what all pages share.
pub fn document(title: &str, style: &str, body: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// A page of charts with a text before each.
pub fn charts(title: &str, charts: &[(String, Chart)]) -> String {
    let style = "body{max-width:60rem;margin:2rem auto;padding:0 1rem}figure{margin:1.5rem 0}";
    let body = html! {
        h1 { (title) }
        @for (text, chart) in charts {
            figure { p { (text) } (chart.markup()) }
        }
    };
    document(title, style, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chart in a file and the same in a page on white paper look alike.
    #[test]
    fn the_style_has_the_colors_of_files_and_others_for_dark_paper() {
        for (index, light) in LIGHT.iter().enumerate() {
            let given: Vec<&str> = STYLE
                .split([';', '{', '}'])
                .filter_map(|rule| rule.trim().strip_prefix(&format!("--t{index}: ")))
                .collect();
            assert_eq!(given.len(), 2, "--t{index}");
            assert!(given[0] == *light && given[1] != *light, "--t{index}: {given:?}");
        }
    }
}
