//! Grants that amount to root: who becomes root, how, and by which rules.
//!
//! Everything here is a pure function of the accepted form, of what its rules
//! accept, and of facts about a host. Nothing here reads a file; [`gather`] alone
//! asks the host.

mod acceptance;
mod agents;
mod catalog;
mod clients;
pub mod command;
mod commands;
mod compose;
pub mod facts;
mod files;
pub mod gather;
pub mod glob;
mod grant;
mod input;
mod lines;
mod names;
mod never_works;
mod packages;
pub mod reach;
mod sarif;
mod table;
mod unit_paths;
mod units;

pub use agents::powers;
pub use catalog::{Kind, kind, kinds};
pub use grant::{LintFinding, how_to_accept};
pub use input::{Acceptance, Input, RuleText};

/// All findings, in no order.
#[must_use]
pub fn run(input: &Input<'_>) -> Vec<LintFinding> {
    let rules = input.grants();
    let mut found = Vec::new();
    for rule in &rules {
        files::check(input, rule, &mut found);
        never_works::check(input, rule, &mut found);
        units::check(rule, &mut found);
        units::aliases(rule, input.facts, &mut found);
        packages::check(rule, input.facts, &mut found);
    }
    files::published(&rules, &mut found);
    files::mounts(&rules, &mut found);
    commands::check(input, &rules, &mut found);
    clients::check(input, &mut found);
    if let Some(facts) = input.facts {
        compose::check(&rules, facts, &mut found);
        agents::check(input, facts, &mut found);
    }
    acceptance::apply(input, &mut found);
    found
}
