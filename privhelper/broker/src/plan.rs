//! Plans: the effects that a request would have, as the client and the audit log see them.

use crate::client::Client;
use crate::order::Order;
use crate::visible::{own_words, unit_steps};
use postern_policy::facts::{
    Action, FileFacts, OldFile, Origin, PackageStep, PackageTransaction, UnitFacts, UnitState,
};
use postern_policy::request::{FileChange, NewState, PackagesRequest};
use postern_policy::types::{Arguments, Digest, FileKind, FileMode, PackageName, TargetPath, UserName};
use postern_policy::{AS_USER_MAX, Command, Decision, Denied, Facts, Grant, Policy, Request, VerbId};
use postern_proto::root::v1::{Content, Sandbox};
use postern_proto::v1 as wire;
use postern_record::Json;
use std::collections::BTreeSet;

/// Most packages that one request names.
const NAMES_MAX: usize = 64;

/// A complete plan.
#[derive(Debug, Default)]
pub struct Plan {
    wire: wire::Plan,
    /// As the audit log has it.
    pub json: Json,
}

impl Plan {
    /// Makes the plan of an order about which `facts` are known.
    ///
    /// # Errors
    /// A command whose row has an argument of no known form.
    pub fn new(order: &Order, facts: &Facts, policy: &Policy) -> Result<Self, Denied> {
        if let Request::Command(command) = &order.request {
            let row = policy.command(command.name.as_str());
            return Ok(row.map(|row| of_command(row, &command.arguments)).transpose()?.unwrap_or_default());
        }
        Ok(match facts {
            Facts::None => Self::default(),
            Facts::Files(files) => of_files(order, files),
            Facts::Unit(unit) => of_unit(order, unit),
            Facts::Packages(packages) => of_packages(order, packages),
        })
    }

    /// Returns the plan less what the client may not see: old content that it may not read; of an undo, new content; and
    /// of units what [`unit_steps`] leaves out.
    #[must_use]
    pub fn visible_to(
        &self,
        client: &Client,
        verb: VerbId,
        order: &Order,
        grant: &Grant,
        facts: &Facts,
    ) -> wire::Plan {
        let mut plan = self.wire.clone();
        for step in &mut plan.files {
            step.not_kept =
                !grant.keeps_for_undo() || (order.family == "users" && step.old_size > AS_USER_MAX);
            if !TargetPath::new(&step.path).is_ok_and(|path| client.may_read(&path)) {
                (step.old_sha256, step.old_size) = (String::new(), 0);
                if verb == VerbId::RequestUndo {
                    (step.new_sha256, step.new_size) = (String::new(), 0);
                }
            }
        }
        if let Facts::Unit(unit) = facts {
            plan.units = unit_steps(client, order, unit, grant.decision() != Decision::Ask);
        }
        plan
    }
}

/// A change with its new content and the file that exists now.
type Step<'a> = ((&'a FileChange, Option<&'a Content>), Option<&'a OldFile>);

fn of_files(order: &Order, files: &[FileFacts]) -> Plan {
    let steps = || order.changes().zip(files.iter().map(|file| file.old.as_ref()));
    Plan {
        wire: wire::Plan { files: steps().map(file_step).collect(), ..wire::Plan::default() },
        json: Json::new().objects("files", steps().map(file_json)),
    }
}

const fn file_action(change: &FileChange, old: Option<&OldFile>) -> (&'static str, wire::ChangeKind) {
    match (&change.to, old) {
        (NewState::Content(_), _) => ("write", wire::ChangeKind::Write),
        (NewState::Removed, Some(OldFile { kind: FileKind::Directory, .. })) => {
            ("remove-directory", wire::ChangeKind::Remove)
        }
        (NewState::Removed, _) => ("remove", wire::ChangeKind::Remove),
        (NewState::Directory, _) => ("make-directory", wire::ChangeKind::Unspecified),
        (NewState::Attributes, _) => ("set-attributes", wire::ChangeKind::Unspecified),
    }
}

/// The mode afterwards: what is asked for, else what is kept, else the default.
fn mode(change: &FileChange, old: Option<&OldFile>) -> FileMode {
    let is_directory = matches!(change.to, NewState::Directory);
    let default = if is_directory { FileMode::DIRECTORY } else { FileMode::DEFAULT };
    change.mode.or(old.map(|old| old.attributes.mode)).unwrap_or(default)
}

/// A digest in hex.
fn hex(content: &Content) -> String {
    Digest::from_bytes(&content.sha256).map(|digest| digest.to_string()).unwrap_or_default()
}

fn file_step(((change, content), old): Step<'_>) -> wire::FileStep {
    let mut step = wire::FileStep {
        path: change.path.to_string(),
        kind: file_action(change, old).1.into(),
        ..wire::FileStep::default()
    };
    if let Some(old) = old.filter(|old| old.kind == FileKind::File) {
        (step.old_sha256, step.old_size) = (old.sha256.to_string(), old.size);
    }
    if let Some(content) = content {
        (step.new_sha256, step.new_size) = (hex(content), content.size);
    }
    if change.to != NewState::Removed {
        let root = if old.is_none() { "root" } else { "" };
        let name =
            |name: &Option<UserName>| name.as_ref().map_or_else(|| root.to_owned(), ToString::to_string);
        step.mode = mode(change, old).to_string();
        (step.owner, step.group) = (name(&change.owner), name(&change.group));
    }
    step
}

fn file_json(((change, content), old): Step<'_>) -> Json {
    let mut json = Json::new().text("path", change.path.as_str()).text("action", file_action(change, old).0);
    if let Some(old) = old.filter(|old| old.kind == FileKind::File) {
        json = json.number("old_size", old.size).text("old_sha256", &old.sha256.to_string());
    }
    if let Some(content) = content {
        json = json.number("new_size", content.size).text("new_sha256", &hex(content));
    }
    let mode = mode(change, old);
    if let Some(old) = old.filter(|old| old.attributes.mode != mode) {
        json = json.text("old_mode", &old.attributes.mode.to_string());
    }
    if change.to == NewState::Removed { json } else { json.text("mode", &mode.to_string()) }
}

fn of_unit(order: &Order, unit: &UnitFacts) -> Plan {
    // The unit itself first, then the units that the change affects.
    let own = own_words(order).map(|verb| (verb, &unit.state, false));
    let others = unit.affected.iter().map(|other| (other.word(), &other.state, true));
    let json = |(verb, unit, cascade): (&str, &UnitState, bool)| {
        let json = Json::new().text("id", &unit.id).text("verb", verb);
        json.text("active", &unit.active).text("enabled", &unit.enabled).flag("cascade", cascade)
    };
    // Its steps on the wire depend on the client.
    Plan { wire: wire::Plan::default(), json: Json::new().objects("units", own.chain(others).map(json)) }
}

/// Whether a request can take all of it back: postern-packages issues an inverse for the same steps.
fn is_undoable(order: &Order, packages: &PackageTransaction) -> bool {
    let Request::Packages(PackagesRequest { verb, .. }) = &order.request else { return false };
    let asked = if *verb == VerbId::PackageAutoremove { VerbId::PackageRemove } else { *verb };
    let is_inverted = |step: &&PackageStep| {
        step.action.verb() == asked && !matches!(step.action, Action::Downgrade | Action::Reinstall)
    };
    let names = packages.steps.iter().filter(is_inverted).map(|step| &step.name).collect::<Vec<_>>();
    let is_distinct = names.iter().collect::<BTreeSet<_>>().len() == names.len();
    is_distinct && (1..=NAMES_MAX).contains(&names.len()) && *verb != VerbId::PackageRepair
}

fn of_packages(order: &Order, packages: &PackageTransaction) -> Plan {
    let json = |step: &PackageStep| {
        let sources = step.sources.iter().map(Origin::to_string).collect::<Vec<_>>();
        let json = Json::new().text("action", step.action.done()).text("name", step.name.as_str());
        json.text("arch", &step.arch)
            .text("old", &step.old)
            .text("new", &step.new)
            .texts("sources", sources.iter().map(String::as_str))
            .flag("asked", step.asked)
    };
    let kept_back = packages.kept_back.iter().map(PackageName::as_str);
    Plan {
        wire: wire::Plan {
            packages: packages.steps.iter().map(PackageStep::wire).collect(),
            download_bytes: packages.download_bytes,
            disk_bytes: packages.disk_bytes,
            kept_back: packages.kept_back.iter().map(ToString::to_string).collect(),
            not_undoable: !packages.steps.is_empty() && !is_undoable(order, packages),
            ..wire::Plan::default()
        },
        json: Json::new().objects("packages", packages.steps.iter().map(json)).texts("kept_back", kept_back),
    }
}

fn of_command(row: &Command, arguments: &Arguments) -> Result<Plan, Denied> {
    let argv = row.argv(arguments)?;
    let sandbox = match row.wire.sandbox() {
        Sandbox::Strict => "strict",
        Sandbox::Validator => "validator",
        Sandbox::None | Sandbox::Unspecified => "none",
    };
    // The additions of the row to its sandbox, one line each.
    let lists = [
        ("may write", &row.wire.write),
        ("connects to", &row.wire.sockets),
        ("capability", &row.wire.capabilities),
        ("environment", &row.wire.env),
    ];
    let each = |(what, all): (&'static str, &Vec<String>)| {
        all.iter().map(move |one| format!("{what} {one:?}")).collect::<Vec<_>>()
    };
    let network = row.wire.network || row.wire.sandbox() == Sandbox::None;
    let also = lists.into_iter().flat_map(each).chain([format!("in {:?}", row.wire.cwd)]);
    let also = also.chain(network.then(|| "with the network".to_owned())).collect::<Vec<_>>();
    let (name, user) = (row.name.to_string(), row.wire.user.clone());
    let json = Json::new().text("name", &name).texts("argv", argv.iter().map(String::as_str));
    let json =
        json.text("user", &user).text("sandbox", sandbox).texts("also", also.iter().map(String::as_str));
    let description = row.wire.description.clone();
    let command = Some(wire::CommandStep { name, argv, user, description });
    Ok(Plan {
        wire: wire::Plan { command, ..wire::Plan::default() },
        json: Json::new().object("command", &json),
    })
}
