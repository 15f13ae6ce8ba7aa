//! The red team's table: `tests/data/shell.tsv`, each command with the level and a rule that must apply.

use postern_agent::shell_policy::{Level, Rules};

const TABLE: &str = include_str!("../data/shell.tsv");

struct Row {
    line: usize,
    level: Level,
    rule: &'static str,
    command: String,
}

fn rows() -> Vec<Row> {
    let lines = TABLE.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
    lines
        .map(|(at, line)| {
            let mut cells = line.splitn(3, '\t');
            let level = match cells.next() {
                Some("SAFE") => Level::Safe,
                Some("CONFIRM") => Level::Confirm,
                Some("BLOCK") => Level::Block,
                other => panic!("line {}: {other:?}", at + 1),
            };
            let rule = cells.next().unwrap();
            Row { line: at + 1, level, rule, command: plain(cells.next().unwrap()) }
        })
        .collect()
}

/// The table's escapes.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match rest.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('0') => plain.push('\0'),
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                plain.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
            }
            Some(other) => plain.push(other),
            None => panic!("{text:?} ends in a backslash"),
        }
    }
    plain
}

#[test]
fn every_command_of_the_red_team_gets_its_level_by_its_rule() {
    let rules = Rules::builtin().unwrap();
    let mut wrong = Vec::new();
    for Row { line, level, rule, command } in rows() {
        let decision = rules.judge(&command);
        let applies = rule == "-" || decision.rules.iter().any(|hit| hit.id == rule);
        if decision.level != level || !applies {
            let ids: Vec<&str> = decision.rules.iter().map(|hit| hit.id.as_str()).collect();
            wrong.push(format!(
                "{line}: {command:?} is {:?} by {ids:?}, not {level:?} by {rule}",
                decision.level
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_table_has_enough_of_every_level() {
    let rows = rows();
    for level in [Level::Safe, Level::Confirm, Level::Block] {
        assert!(rows.iter().filter(|row| row.level == level).count() >= 40, "{level:?}");
    }
    assert!(rows.len() >= 150, "{}", rows.len());
}

#[test]
fn a_harmless_beginning_or_end_never_softens_a_level() {
    let rules = Rules::builtin().unwrap();
    for Row { level, command, .. } in rows() {
        // A comment or an open quote swallows what follows it.
        let swallows =
            command.contains(['#', '\'', '"', '\0']) || command.contains("EOF") || command.contains('\u{1b}');
        let around = [
            Some(format!("ls; {command}")),
            (!swallows).then(|| format!("{command}\nls")),
            (!swallows).then(|| format!("true && {command}")),
        ];
        for text in
            around.into_iter().flatten().filter(|_| !command.trim().is_empty() && !command.starts_with('#'))
        {
            assert!(rules.judge(&text).level >= level, "{text:?}");
        }
    }
}
