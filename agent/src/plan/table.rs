//! A plan as people read it.

use crate::protocol::plan::{Check, CommandPlan, FilePatchPlan, Plan, Step};
use crate::render::Table;
use std::fmt::Write;

/// A plan as lines, cut to `width` columns; a diff as it is.
#[must_use]
pub fn table(plan: &Plan, width: Option<usize>) -> String {
    match plan {
        Plan::CommandPlan(plan) => commands(plan, width),
        Plan::FilePatch(plan) => patch(plan, width),
        Plan::DirectAnswer(answer) => format!("nothing to do: {}\n", answer.answer),
        Plan::NoChange(same) => {
            let lines = same.evidence.iter().flat_map(|line| ["\n  ", line.as_str()]);
            format!("no change is needed:{}\n", lines.collect::<String>())
        }
        Plan::UserInput(input) => format!("first say: {}\n", input.question),
    }
}

fn commands(plan: &CommandPlan, width: Option<usize>) -> String {
    let mut text = format!("{}\n", plan.goal);
    checks("before:", &plan.preflight_checks, width, &mut text);
    let mut table = Table::default();
    for (step, number) in plan.commands.iter().zip(1..) {
        let number = format!("{number}.");
        match step {
            Step::Command(command) => {
                let what = if command.read_only { "looks" } else { "changes" };
                table.row([&number, &command.command, what, &command.purpose]);
            }
            Step::Call(call) => {
                let what = if super::changes(&call.tool) { "changes" } else { "looks" };
                let words = call.tool.describe();
                // A purpose that says the same again is none.
                let purpose = if call.purpose == words { "" } else { &call.purpose };
                table.row([&number, &words, what, purpose]);
            }
        }
    }
    text.push_str(&table.render("  ", width));
    checks("then it must be so:", &plan.verification_commands, width, &mut text);
    checks("taken back, if you say so, by:", &plan.rollback_commands, width, &mut text);
    notes(&plan.risk_summary, &plan.expected_side_effects, &mut text);
    text
}

fn patch(plan: &FilePatchPlan, width: Option<usize>) -> String {
    let mut text = format!("{}\n", plan.goal);
    text.push_str(&plan.unified_diff);
    if !plan.unified_diff.ends_with('\n') {
        text.push('\n');
    }
    for change in &plan.permission_changes {
        let _ = writeln!(text, "  the mode of {} becomes {}: {}", change.path, change.mode, change.reason);
    }
    checks("then it must be so:", &plan.verification_commands, width, &mut text);
    notes(&plan.risk_summary, &plan.expected_side_effects, &mut text);
    text
}

fn checks(head: &str, checks: &[Check], width: Option<usize>, text: &mut String) {
    if checks.is_empty() {
        return;
    }
    let _ = writeln!(text, "{head}");
    let mut table = Table::default();
    for check in checks {
        let expect = match check {
            Check::Call(call) => call.expect.as_deref(),
            Check::Command(_) => None,
        };
        table.row([&check.describe(), &expect.map_or_else(String::new, |words| format!("says {words:?}"))]);
    }
    text.push_str(&table.render("  ", width));
}

fn notes(risk: &str, effects: &[String], text: &mut String) {
    if !risk.is_empty() {
        let _ = writeln!(text, "risk: {risk}");
    }
    for effect in effects {
        let _ = writeln!(text, "besides: {effect}");
    }
}
