//! The report as Markdown (GitHub's, for tickets and repositories).

use super::model::{Client, Grant, Report};
use super::text::{facts, level, parts, people, used};
use crate::limits::Breadth;
use crate::text::escape;
use postern_policy::Decision;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes the report.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# What the agent can do on {}\n", plain(&report.host))?;
    writeln!(out, "| | |\n|---|---|")?;
    for (name, words) in facts(report) {
        writeln!(out, "| {name} | {} |", plain(&words))?;
    }
    let summary = &report.summary;
    let unused = summary.never_used.map_or_else(|| "?".to_owned(), |unused| unused.to_string());
    writeln!(out, "\n| allow | ask | deny | never used | highest risk |\n|---:|---:|---:|---:|---:|")?;
    let (allow, ask, deny, risk) = (summary.allow, summary.ask, summary.deny, summary.highest_risk);
    writeln!(out, "| {allow} | {ask} | {deny} | {unused} | {risk} of 100 |")?;
    for of in &report.overview {
        writeln!(out, "\n## In short: {}\n\n{}\n", plain(&of.client), plain(&of.who))?;
        for (title, lines) in parts(of) {
            let items = lines.iter().map(|line| {
                let rule = line.rule.as_ref().map_or_else(String::new, |rule| format!("{} ", code(rule)));
                format!("{rule}{}", plain(&line.words))
            });
            let items = items.collect::<Vec<_>>();
            let items = if items.is_empty() { "nothing".to_owned() } else { items.join("; ") };
            writeln!(out, "- **{title}** {items}")?;
        }
    }
    writeln!(out, "\n## Look at first\n")?;
    if report.attention.is_empty() {
        writeln!(out, "Nothing needs attention.")?;
    }
    for item in &report.attention {
        let rule = item.rule.as_ref().map_or_else(String::new, |rule| format!("{}: ", code(rule)));
        writeln!(out, "- {rule}{}", plain(&item.words))?;
    }
    report.clients.iter().try_for_each(|of| client(of, out))?;
    if !report.commands.is_empty() {
        writeln!(out, "\n## Commands that rules grant by name\n\n| name | runs | how |\n|---|---|---|")?;
    }
    for command in &report.commands {
        let (name, argv) = (code(&command.name), code(&command.argv.join(" ")));
        writeln!(out, "| {name} | {argv} | {} |", plain(&command.runs))?;
    }
    writeln!(out, "\n## People\n\n| may | who |\n|---|---|")?;
    for (name, words) in people(&report.people) {
        writeln!(out, "| {name} | {} |", plain(&words))?;
    }
    writeln!(out, "\n## Findings of `policy check`\n")?;
    if report.findings.is_empty() {
        writeln!(out, "None.")?;
    }
    report.findings.iter().try_for_each(|finding| writeln!(out, "- {}", plain(&finding.to_string())))
}

fn client(client: &Client, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\n## Client {}: {}", plain(&client.name), plain(&client.who))?;
    if client.groups.is_empty() {
        writeln!(out, "\nNothing is granted.")?;
    }
    for group in &client.groups {
        writeln!(out, "\n### {}\n", group.title)?;
        writeln!(out, "| rule | decision | may | within | risk | used |\n|---|---|---|---|---:|---:|")?;
        group.grants.iter().try_for_each(|of| grant(of, out))?;
    }
    if !client.refused.is_empty() {
        writeln!(out, "\n### Refused\n\n| times | verb | code |\n|---:|---|---|")?;
    }
    for times in &client.refused {
        writeln!(out, "| {} | {} | {} |", times.count, code(&times.what.verb), code(&times.what.code))?;
    }
    Ok(())
}

fn grant(grant: &Grant, out: &mut dyn Write) -> io::Result<()> {
    let mut rule =
        format!("**{}**<br>{}<br>{}", code(&grant.id), plain(&grant.justification), code(&grant.place));
    for accepted in &grant.accepted_risks {
        let _ = write!(rule, "<br>accepts {}: {}", code(&accepted.finding), plain(&accepted.reason));
    }
    let decision = match grant.decision {
        Decision::Allow => "allow".to_owned(),
        Decision::Ask => format!("**ask**<br>{}", plain(grant.approval.as_deref().unwrap_or_default())),
        Decision::Deny => "**deny**".to_owned(),
    };
    let codes = |texts: &[String]| texts.iter().map(|text| code(text)).collect::<Vec<_>>().join(" ");
    let mut may = codes(&grant.verbs);
    for objects in &grant.objects {
        let _ = write!(may, "<br>{} {}", objects.label, codes(&objects.patterns));
    }
    let limit = |limit: &crate::limits::Limit| match limit.reach {
        Breadth::Wide => format!("**{}**", plain(&limit.words)),
        Breadth::Narrow => plain(&limit.words),
    };
    let within = grant.limits.iter().map(limit).collect::<Vec<_>>().join("<br>");
    let risk = grant.risk.map_or_else(String::new, |risk| {
        format!("{risk} {}<br>{}", level(risk), plain(&grant.capabilities.join(", ")))
    });
    let (number, words) = used(grant);
    let used =
        std::iter::once(number).chain(words.iter().map(|word| plain(word))).collect::<Vec<_>>().join("<br>");
    writeln!(out, "| {rule} | {decision} | {may} | {within} | {risk} | {used} |")
}

/// Text that stays text: one line, no markup, no HTML, no cell of its own.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '@' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Text as code. HTML's element, since a backtick and a bar in a table's cell have no sound escape in a code span.
fn code(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}
