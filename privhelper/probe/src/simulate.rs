//! Simulates a transaction with `apt-get -s`, without privilege.

use crate::show;
use crate::simulation::{self, Line};
use postern_apt::dpkg::{self, Row};
use postern_apt::{Host, Transaction, apt_errors, arguments, programs, sources};
use postern_policy::{Code, Denied, VerbId};
use postern_proto::root::v1::PackageFacts;
use postern_proto::v1::{Action, PackageStep};
use postern_root::{Error, Fault};

/// Runs one simulation, and adds the facts that apt and dpkg have of its packages.
///
/// # Errors
/// apt refuses the transaction, or does not answer as expected.
pub fn simulate(host: &Host, asked: &Transaction) -> Result<PackageFacts, Error> {
    let repairs = asked.request.verb == VerbId::PackageRepair;
    if dpkg::interrupted(host) && !repairs {
        return Err(apt_errors::needs_repair("dpkg was interrupted").into());
    }
    let request = arguments::request(asked);
    let mut argv = vec!["-s", "-q", "-y", "-o", "APT::Cmd::Pattern-Only=true"];
    argv.extend(request.iter().map(String::as_str));
    let answer = programs::ask(host, &host.apt_get, &argv)?;
    if !answer.status.success() {
        return Err(apt_errors::failure(&[answer.stdout, answer.stderr].concat()).into());
    }
    let text = String::from_utf8(answer.stdout).map_err(|_| Fault::new("apt-get -s wrote no UTF-8"))?;
    let lines = simulation::parse(&text)
        .map_err(|line| Fault::new(format!("cannot read apt-get's line {line:?}")))?;
    let native = dpkg::native(host)?;
    let known = known(host, asked, &lines)?;
    if let Some(name) = not_upgradable(asked, &native, &known) {
        return Err(Denied::new(Code::NotFound, format!("{name} is not installed")).into());
    }
    let mut steps = steps(host, asked, &lines, &native, &known)?;
    if repairs {
        add_half_done(&mut steps, &known);
    } else if let Some(step) = steps.iter().find(|s| s.action() == Action::Configure && !s.asked) {
        let why = format!("{} is unpacked and not configured", step.name);
        return Err(apt_errors::needs_repair(&why).into());
    }
    if let Some(why) = removed(&steps, &known).find_map(dpkg::vital) {
        return Err(Denied::new(Code::Protected, why).into());
    }
    let untied = steps.clone();
    let sizes = || sizes(host, &untied, &native, &known);
    let ((download_bytes, disk_bytes), ()) =
        programs::both(sizes, || sources::tie(host, &mut steps, &native))?;
    steps.sort_by(|a, b| (&a.name, &a.arch).cmp(&(&b.name, &b.arch)));
    let kept_back = simulation::kept_back(&text);
    Ok(PackageFacts { steps, download_bytes, disk_bytes, kept_back })
}

/// The named packages, in the order of the request.
fn names(asked: &Transaction) -> Vec<&str> {
    asked.request.packages.iter().map(|package| package.name.as_str()).collect()
}

/// The state of the packages in the lines and in the request. For a repair, of all: any may be half done.
fn known(host: &Host, asked: &Transaction, lines: &[Line]) -> Result<Vec<Row>, Fault> {
    let mut names = names(asked);
    names.extend(lines.iter().map(|line| line.name.as_str()));
    names.sort_unstable();
    names.dedup();
    if asked.request.verb == VerbId::PackageRepair {
        names.clear();
    } else if names.is_empty() {
        return Ok(Vec::new());
    }
    dpkg::rows(host, &names)
}

/// Returns the first named package of an upgrade that is not installed; apt would leave it out silently.
fn not_upgradable<'a>(asked: &'a Transaction, native: &str, known: &[Row]) -> Option<&'a str> {
    let is_there = |name: &&str| dpkg::find(known, native, name).is_some_and(Row::is_there);
    names(asked).into_iter().find(|name| asked.request.verb == VerbId::PackageUpgrade && !is_there(name))
}

fn steps(
    host: &Host,
    asked: &Transaction,
    lines: &[Line],
    native: &str,
    known: &[Row],
) -> Result<Vec<PackageStep>, Fault> {
    let names = names(asked);
    let all = asked.request.verb == VerbId::PackageUpgrade && names.is_empty();
    let mut steps: Vec<PackageStep> = Vec::new();
    for line in lines {
        let mut old = line.old.clone().unwrap_or_default();
        let (new, arch) = if let Some((version, arch)) = &line.new {
            (version.clone(), arch.clone())
        } else {
            let row = removed_row(line, native, known)?;
            old.clone_from(&row.version);
            (String::new(), row.info.arch.clone())
        };
        let mut action = line.action;
        if action == Action::Configure {
            // Of a package installed above: no step. Alone: an earlier run left it half done.
            if steps.iter().any(|s| s.name == line.name && s.arch == arch && s.new == new) {
                continue;
            }
            old.clone_from(&new);
        } else if action == Action::Install && !old.is_empty() {
            action = change(host, &old, &new)?;
        }
        let is_named = line.foreign.is_none() && names.contains(&line.name.as_str());
        // An upgrade of everything asks for each.
        let asked = is_named || (all && action == Action::Upgrade);
        let (action, name) = (action.into(), line.name.clone());
        steps.push(PackageStep { action, name, arch, old, new, asked, ..PackageStep::default() });
    }
    Ok(steps)
}

/// Compares a new version with the old one, as dpkg orders them.
fn change(host: &Host, old: &str, new: &str) -> Result<Action, Fault> {
    for (relation, action) in [("lt", Action::Upgrade), ("eq", Action::Reinstall), ("gt", Action::Downgrade)]
    {
        if programs::ask(host, &host.dpkg, &["--compare-versions", old, relation, new])?.status.success() {
            return Ok(action);
        }
    }
    Err(Fault::new(format!("dpkg cannot compare {old:?} and {new:?}")))
}

/// Returns dpkg's row of a removed package: apt prints no architecture, and no version of a configuration alone.
fn removed_row<'a>(line: &Line, native: &str, known: &'a [Row]) -> Result<&'a Row, Fault> {
    let is_it = |row: &&Row| match &line.foreign {
        Some(arch) => row.is(&line.name, arch),
        None => row.is(&line.name, native) || row.is(&line.name, "all"),
    };
    known
        .iter()
        .find(is_it)
        .ok_or_else(|| Fault::new(format!("dpkg does not know {:?}, which would be removed", line.name)))
}

fn row_of<'a>(step: &PackageStep, known: &'a [Row]) -> Option<&'a Row> {
    known.iter().find(|row| row.is(&step.name, &step.arch))
}

fn removed<'a>(steps: &[PackageStep], known: &'a [Row]) -> impl Iterator<Item = &'a Row> {
    let gone = steps.iter().filter(|step| matches!(step.action(), Action::Remove | Action::Purge));
    gone.filter_map(|step| row_of(step, known)).filter(|row| row.is_there())
}

/// Adds the packages that `dpkg --configure --pending` finishes before apt-get runs.
fn add_half_done(steps: &mut Vec<PackageStep>, known: &[Row]) {
    for row in known.iter().filter(|row| row.half_done()) {
        if steps.iter().any(|step| row.is(&step.name, &step.arch)) {
            continue;
        }
        let [name, arch, version] = [&row.info.name, &row.info.arch, &row.version].map(Clone::clone);
        let action = Action::Configure.into();
        steps.push(PackageStep {
            action,
            name,
            arch,
            old: version.clone(),
            new: version,
            ..Default::default()
        });
    }
}

/// Bytes of all packages that are fetched, and of disk afterwards, as the packages say themselves.
fn sizes(host: &Host, steps: &[PackageStep], native: &str, known: &[Row]) -> Result<(u64, i64), Fault> {
    let (mut download, mut disk) = (0_u64, 0_i64);
    for row in steps.iter().filter(|step| step.action() != Action::Configure).filter_map(|s| row_of(s, known))
    {
        if row.is_there() {
            disk = disk.saturating_sub(row.size_kib.saturating_mul(1024));
        }
    }
    let fetched: Vec<&PackageStep> = steps.iter().filter(|step| sources::fetches(step)).collect();
    if fetched.is_empty() {
        return Ok((download, disk));
    }
    let operand = |step: &&PackageStep| format!("{}={}", sources::exact(step, native), step.new);
    let operands: Vec<String> = fetched.iter().map(operand).collect();
    let mut argv = vec!["show", "-o", "APT::Cmd::Pattern-Only=true", "--"];
    argv.extend(operands.iter().map(String::as_str));
    let answer = programs::ask(host, &host.apt_cache, &argv)?;
    let text = String::from_utf8_lossy(&answer.stdout);
    let stanzas: Vec<&str> = text.split("\n\n").collect();
    for step in fetched {
        let is_it = |stanza: &&&str| {
            let is = |key, value: &str| show::field(stanza, key) == Some(value);
            is("Package", &step.name) && is("Architecture", &step.arch) && is("Version", &step.new)
        };
        if let Some(stanza) = stanzas.iter().find(is_it) {
            let number =
                |key| show::field(stanza, key).and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
            download = download.saturating_add(number("Size").into());
            disk = disk.saturating_add(i64::from(number("Installed-Size")).saturating_mul(1024));
        }
    }
    Ok((download, disk))
}
