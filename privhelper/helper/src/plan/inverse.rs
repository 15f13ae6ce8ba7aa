//! How a change of packages is taken back: as an ordinary request of another verb. Does no I/O.
//!
//! The inverse is decided and planned like any request; [`Inverse::conflict`] then says whether its plan is more than
//! the inverse.

use crate::audit::Json;
use postern_policy::facts::{Action, PackageStep, PackageTransaction};
use postern_policy::{Code, Denied, VerbId};
use postern_proto::v1 as wire;

/// What takes a change of packages back.
#[derive(Debug, Clone, PartialEq)]
pub struct Inverse {
    /// The request's verb: `package.remove`, `package.install`, `package.hold` or `package.unhold`.
    pub verb: VerbId,
    /// An install asks for the version; a removal expects it to be there still.
    pub packages: Vec<Recorded>,
    /// It brings earlier versions back: done only if a person agrees.
    pub downgrades: bool,
}

/// A package that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// Its architecture: a request names a package alone, and may mean another one by it.
    pub arch: String,
    /// The version to come back to, or to remove.
    pub version: String,
}

/// For each verb what takes it back, and the steps of its plan that are meant; none: what it reports to have changed.
const INVERSES: [(VerbId, VerbId, Option<wire::Action>); 7] = [
    (VerbId::PackageInstall, VerbId::PackageRemove, Some(wire::Action::Install)),
    (VerbId::PackageRemove, VerbId::PackageInstall, Some(wire::Action::Remove)),
    (VerbId::PackageAutoremove, VerbId::PackageInstall, Some(wire::Action::Remove)),
    (VerbId::PackagePurge, VerbId::PackageInstall, Some(wire::Action::Purge)),
    (VerbId::PackageUpgrade, VerbId::PackageInstall, Some(wire::Action::Upgrade)),
    (VerbId::PackageHold, VerbId::PackageUnhold, None),
    (VerbId::PackageUnhold, VerbId::PackageHold, None),
];

/// The inverse of what `verb` has done.
///
/// # Errors
/// `undo_gone`: nothing was changed, or it is kept no longer what. `unsupported`: the verb has none, or it changed
/// packages of another architecture, which no request can name.
pub fn of(verb: VerbId, done: &wire::Completed) -> Result<Inverse, Denied> {
    let gone = |what: &str| Err(Denied::new(Code::UndoGone, what));
    if done.status() != wire::Status::Done {
        return gone("it changed nothing, or not all of it");
    }
    let Some((_, inverse, action)) = INVERSES.iter().find(|(of, ..)| *of == verb) else {
        return Err(Denied::new(Code::Unsupported, format!("{} can't be undone", verb.name())));
    };
    let Some(action) = action else {
        let package = |info: &wire::PackageInfo| recorded(&info.name, &info.arch, "");
        let packages = done.packages.iter().map(package).collect();
        return named_once(Inverse { verb: *inverse, packages, downgrades: false });
    };
    let Some(plan) = &done.plan else { return gone("what it did is kept no longer") };
    let steps = plan.packages.iter().filter(|step| step.action() == *action);
    let package = |step: &wire::PackageStep| {
        let version = if *inverse == VerbId::PackageRemove { &step.new } else { &step.old };
        recorded(&step.name, &step.arch, version)
    };
    let downgrades = *action == wire::Action::Upgrade;
    named_once(Inverse { verb: *inverse, packages: steps.map(package).collect(), downgrades })
}

fn recorded(name: &str, arch: &str, version: &str) -> Recorded {
    Recorded { name: name.to_owned(), arch: arch.to_owned(), version: version.to_owned() }
}

/// A package that stands there on two architectures can't be named alone.
fn named_once(inverse: Inverse) -> Result<Inverse, Denied> {
    let mut names = inverse.packages.iter().map(|package| package.name.as_str()).collect::<Vec<_>>();
    names.sort_unstable();
    names.dedup();
    match (names.len(), inverse.packages.len()) {
        (_, 0) => Err(Denied::new(Code::UndoGone, "it changed nothing that can be taken back")),
        (names, all) if names != all || all > 64 => Err(Denied::new(
            Code::Unsupported,
            "it changed more than 64 packages, or one on two architectures: take it back by name",
        )),
        _ => Ok(inverse),
    }
}

impl Inverse {
    /// As the audit has it: the verb and the names.
    #[must_use]
    pub fn json(&self) -> Json {
        let names = self.packages.iter().map(|package| package.name.as_str());
        let packages = Json::new().texts("packages", names);
        Json::new().text("kind", self.verb.name()).object("of", &packages)
    }

    /// Whether the plan of the inverse does only that: the recorded packages at the recorded versions, and no other.
    ///
    /// # Errors
    /// `undo_conflict`, with the package that is not as it was left, or would change too.
    pub fn conflict(&self, plan: &PackageTransaction) -> Result<(), Denied> {
        let is_named =
            |step: &PackageStep| self.packages.iter().any(|named| named.name == step.name.as_str());
        let is_recorded = |step: &PackageStep, version: &str| {
            let it = (step.name.as_str(), step.arch.as_str(), version);
            self.packages
                .iter()
                .any(|named| (named.name.as_str(), named.arch.as_str(), named.version.as_str()) == it)
        };
        let is_inverse = |step: &&PackageStep| match (self.verb, step.action) {
            (VerbId::PackageRemove, Action::Remove) => is_recorded(step, &step.old),
            (VerbId::PackageInstall, Action::Install) => !self.downgrades && is_recorded(step, &step.new),
            (VerbId::PackageInstall, Action::Downgrade) => self.downgrades && is_recorded(step, &step.new),
            _ => false,
        };
        match plan.steps.iter().find(|step| !is_inverse(step)) {
            None => Ok(()),
            Some(step @ PackageStep { action: Action::Install, name, new, .. })
                if !self.downgrades && is_named(step) =>
            {
                let why = format!(
                    "apt would install {name} {new} now, which is another version; ask for the version"
                );
                Err(Denied::new(Code::UndoGone, why))
            }
            Some(step) => {
                let (name, done) = (&step.name, step.action.done());
                let why = format!("{name} would be {done} too, or has changed since; nothing is undone");
                Err(Denied::new(Code::UndoConflict, why))
            }
        }
    }
}
