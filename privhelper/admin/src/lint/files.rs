//! Findings about files that a rule may write or read, by the table of paths.

use super::grant::{Grant, LintFinding, how_to_accept, shorten};
use super::input::Input;
use super::lines::{is_bounded, is_plain};
use super::reach::{self, HARMLESS, is_below};
use super::table::{self, Row};
use crate::finding::{Class, Severity};
use postern_policy::VerbId;
use postern_policy::rules::protect::{DIRECTORIES, FILES};
use postern_proto::root::v1 as root;
use std::collections::BTreeMap;

/// The finding of a rule that writes where it may matter to the whole host, and the table does not know how.
pub(super) const OUTSIDE: &str = "write-outside-harmless";
/// Most directories that postern-files mounts without a remark: 500 cost half a second at each start.
const MOUNTS_MAX: usize = 64;
/// Directories that web and file servers show to everybody.
const PUBLISHED: [&str; 7] =
    ["/var/www", "/srv/www", "/srv/http", "/srv/ftp", "/var/ftp", "/usr/share/nginx", "/home/*/public_html"];

pub(super) fn check(input: &Input<'_>, rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    if rule.writes() {
        let hits = Hits::of(rule.rule);
        for (row, places) in &hits.rows {
            let what = format!("write {}", shorten(&places.iter().map(Hit::show).collect::<Vec<_>>()));
            let directory = places.first().map_or("", |hit| hit.directory);
            found.push(rule.finding(row.id, row.class, directory, &what, row.how));
        }
        outside(rule, &hits, found);
        protected(input, rule, found);
        modes(rule, found);
        owners(input, rule, found);
        wildcards(rule, found);
    }
    if rule.has_verb(&[VerbId::FileRead]) {
        for row in table::SECRETS {
            let places = places(rule.rule, row);
            if let Some(first) = places.first() {
                let what = format!("read {}", shorten(&places.iter().map(Hit::show).collect::<Vec<_>>()));
                found.push(rule.finding(row.id, row.class, first.directory, &what, row.how));
                // One finding about secrets is enough: the first row is the most certain.
                break;
            }
        }
    }
}

/// An entry that is reached, and from where.
struct Hit<'a> {
    entry: &'static str,
    directory: &'a str,
}

impl Hit<'_> {
    fn show(&self) -> String {
        let Self { entry, directory } = self;
        let levels = |path: &str| path.trim_end_matches("/**").matches('/').count();
        if levels(entry) > levels(directory) {
            format!("{entry} below {directory}")
        } else {
            format!("below {directory}, which is in {entry}")
        }
    }
}

fn places<'a>(rule: &'a root::Rule, row: &'static Row) -> Vec<Hit<'a>> {
    let each = |directory: &'a String| {
        let reached = move |entry: &&&'static str| reach::reaches(directory, rule.depth, &rule.files, entry);
        row.paths.iter().filter(reached).map(move |entry| Hit { entry, directory })
    };
    rule.directories.iter().flat_map(each).collect()
}

/// The paths of the table that a rule can write, without the rows that its `lines` exclude.
struct Hits<'a> {
    rows: Vec<(&'static Row, Vec<Hit<'a>>)>,
    /// Directories in which only harmless lines can be written.
    bounded: Vec<&'a str>,
}

impl<'a> Hits<'a> {
    fn of(rule: &'a root::Rule) -> Self {
        let mut hits = Self { rows: Vec::new(), bounded: Vec::new() };
        for row in table::writes() {
            let places = places(rule, row);
            if places.is_empty() {
            } else if is_bounded(rule, row) {
                hits.bounded.extend(places.iter().map(|hit| hit.directory));
            } else {
                hits.rows.push((row, places));
            }
        }
        hits
    }

    fn of_directory(&self, directory: &str) -> impl Iterator<Item = &'static Row> {
        let is_here =
            move |(_, places): &&(_, Vec<Hit<'_>>)| places.iter().any(|hit| hit.directory == directory);
        self.rows.iter().filter(is_here).map(|(row, _)| *row)
    }
}

/// A directory outside the harmless ones needs a reason: for what the table knows of it, or for itself.
fn outside(rule: &Grant<'_>, hits: &Hits<'_>, found: &mut Vec<LintFinding>) {
    let mut first = None;
    for directory in &rule.rule.directories {
        let is_known = hits.bounded.contains(&directory.as_str())
            || hits
                .of_directory(directory)
                .any(|row| row.class.severity() == Severity::Error || rule.accepts(row.id));
        let is_plain = !is_known && is_plain(rule.rule, &rule.verbs);
        if !is_below(directory, &HARMLESS) && !is_plain && (!is_known || rule.accepts(OUTSIDE)) {
            first.get_or_insert(directory);
        }
    }
    if let Some(directory) = first {
        let message = format!(
            "{} may write where programs of the host look for what they are to do: rule {} writes below {directory:?}, outside {}{}",
            rule.rule.client,
            rule.rule.id,
            HARMLESS.join(" "),
            how_to_accept(OUTSIDE)
        );
        let remark = rule.remark(OUTSIDE, Severity::Error, directory, message);
        found.push(LintFinding { class: Some(Class::Combined), ..remark });
    }
}

/// A directory is granted to postern-files as a whole, by mount and by Landlock: what is protected in it is kept by the checks of
/// paths alone. The process of a rule with `as` has its user's power in place of that.
fn protected(input: &Input<'_>, rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    if !rule.rule.as_user.is_empty() {
        return;
    }
    let own = input.rules.protect.iter().flat_map(|protect| protect.paths.iter().map(String::as_str));
    let all = FILES.into_iter().chain(DIRECTORIES).chain(own).collect::<Vec<_>>();
    let is_in = |entry: &str, directory: &str| {
        let rest = entry.strip_prefix(directory.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
    };
    for directory in &rule.rule.directories {
        let kept = all.iter().filter(|entry| is_in(entry, directory));
        let kept = kept.map(|entry| entry.trim_end_matches('/').to_owned()).collect::<Vec<_>>();
        if !kept.is_empty() {
            let what = format!("change files in {directory}");
            let how = format!(
                "postern-files can then write all of it: only its own checks protect {}",
                shorten(&kept)
            );
            found.push(rule.finding(
                "directory-with-protected-names",
                Class::Combined,
                directory,
                &what,
                &how,
            ));
            // One finding a rule, since its reason is given for the rule.
            break;
        }
    }
}

/// A star in `lines` takes more than a value: operators read `listen *;` as one port.
fn wildcards(rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    let is_open = |line: &&String| line.contains('*') && *line != "*";
    let outside = rule.rule.directories.iter().find(|directory| !is_below(directory, &HARMLESS));
    if let (Some(line), Some(_)) = (rule.rule.lines.iter().find(is_open), outside) {
        let message = format!(
            "`*` in {line:?} takes any printable characters, `;`, blanks and paths too: where a line may hold several settings, it lets all of them through"
        );
        found.push(rule.remark("lines-wildcard", Severity::Note, line, message));
    }
}

/// Each directory in which a rule changes files is a mount of postern-files, unless it is below another one.
pub(super) fn mounts(rules: &[Grant<'_>], found: &mut Vec<LintFinding>) {
    let writers = rules.iter().filter(|rule| rule.writes());
    let all = writers.flat_map(|rule| rule.rule.directories.iter().map(move |directory| (directory, rule)));
    let all = all.collect::<BTreeMap<_, _>>();
    let is_below_another =
        |one: &str| all.keys().any(|other| *other != one && is_below(one, &[other.as_str()]));
    let mut mounts = all.iter().filter(|(directory, _)| !is_below_another(directory));
    let count = mounts.clone().count();
    if let Some((directory, rule)) = mounts.nth(MOUNTS_MAX) {
        let message = format!(
            "rules change files in {count} directories, which slows each start of postern-files: grant a common parent of some"
        );
        found.push(rule.remark("many-directories", Severity::Note, directory, message));
    }
}

fn modes(rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    // Of a directory, x means that it may be entered.
    if rule.verbs.iter().all(|verb| *verb == VerbId::FileMkdir) {
        return;
    }
    let Some(directory) = rule.rule.directories.first() else {
        return;
    };
    let has = |mode: &&String, bits| u32::from_str_radix(mode, 8).is_ok_and(|number| number & bits != 0);
    let is_outside = rule.rule.directories.iter().any(|directory| !is_below(directory, &HARMLESS));
    if let Some(mode) = rule.rule.modes.iter().find(|mode| has(mode, 0o111)).filter(|_| is_outside) {
        let what = format!("write executable files (mode {mode}) below {directory}");
        let how = "whatever runs programs from there runs what the agent wrote";
        found.push(rule.finding("executable-mode", Class::Combined, mode, &what, how));
    }
    let shares = rule.rule.groups.iter().any(|group| group != "root");
    let open = if shares { 0o022 } else { 0o002 };
    if let Some(mode) = rule.rule.modes.iter().find(|mode| has(mode, open)) {
        let what = format!("write files that others may change (mode {mode}) below {directory}");
        let how = "those others then change them without any rule";
        found.push(rule.finding("writable-by-others", Class::Combined, mode, &what, how));
    }
}

fn owners(input: &Input<'_>, rule: &Grant<'_>, found: &mut Vec<LintFinding>) {
    let outside = rule.rule.directories.iter().find(|directory| !is_below(directory, &HARMLESS));
    let Some(directory) = outside else {
        return;
    };
    let is_client = |name: &str| input.rules.clients.iter().any(|client| client.user == name);
    if let Some(owner) = rule.rule.owners.iter().find(|owner| *owner != "root") {
        let what = format!("give files below {directory} to user {owner}");
        let how = if is_client(owner) {
            "that is the agent itself, which then changes them without any rule"
        } else {
            "whoever runs as that user then changes them without any rule"
        };
        found.push(rule.finding("gives-files-away", Class::Combined, owner, &what, how));
    }
}

/// Secrets that one rule reads and another can put where everybody sees them.
pub(super) fn published(rules: &[Grant<'_>], found: &mut Vec<LintFinding>) {
    let shows = |rule: &Grant<'_>| {
        let is_shown = |directory: &&String| {
            PUBLISHED.iter().any(|place| {
                let everything = format!("{place}/**");
                reach::reaches(directory, rule.rule.depth, &rule.rule.files, &everything)
            })
        };
        rule.rule.directories.iter().find(is_shown).cloned().filter(|_| rule.writes())
    };
    let publishers: Vec<_> = rules.iter().filter_map(|rule| Some((rule, shows(rule)?))).collect();
    if publishers.is_empty() {
        return;
    }
    for rule in rules.iter().filter(|rule| rule.has_verb(&[VerbId::FileRead])) {
        // Paths that are secret only by their name are reported where they are read.
        let known = table::SECRETS.iter().filter(|row| row.class == Class::Trust);
        let secret = known.flat_map(|row| places(rule.rule, row)).next();
        let other = publishers.iter().find(|(other, _)| other.rule.client == rule.rule.client);
        if let (Some(secret), Some((other, directory))) = (secret, other) {
            let what = format!("read {}", secret.show());
            let how =
                format!("{} writes below {directory}, which web servers show to everybody", other.name());
            let mut pair = rule.finding("read-and-publish", Class::Combined, secret.directory, &what, &how);
            pair.rules.push(other.index);
            found.push(pair);
        }
    }
}
