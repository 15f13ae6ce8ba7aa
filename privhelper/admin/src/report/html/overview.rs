//! The page's first screen.

use crate::report::model::{Line, Overview};
use maud::{Markup, html};

/// A row of three lists for each client.
pub fn overview(clients: &[Overview]) -> Markup {
    html! {
        section.overview #overview aria-label="In short" {
            @for of in clients {
                h2 { "In short: " (of.client) " " span.quiet { (of.who) } }
                div.columns {
                    (list("allow", "May, without asking", &of.may, "Nothing."))
                    (list("ask", "Needs a person", &of.asks, "Nothing."))
                    (list("root", "Amounts to root", &of.root, "Nothing that the check knows of."))
                }
            }
        }
    }
}

fn list(class: &str, title: &str, lines: &[Line], none: &str) -> Markup {
    html! {
        div.(class) {
            h3 { (title) }
            @if lines.is_empty() { p.quiet { (none) } }
            ul {
                @for line in lines {
                    li {
                        @if let Some(rule) = &line.rule { a href=(format!("#rule-{rule}")) { code { (rule) } } " " }
                        (line.words)
                    }
                }
            }
        }
    }
}
