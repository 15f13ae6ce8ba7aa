//! Changes that were asked for and did not happen, by the record of a task's steps and nobody's words.

use super::request::Request;
use super::step::{StepResult, StepStatus};
use super::task::Task;
use super::tool::Tool;
use super::tool_request::request;
use postern_patch::parse;
use std::collections::BTreeMap;

/// One object that a step was to change, and by which verb.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Effect {
    verb: &'static str,
    /// The command, or else the object.
    subject: String,
    /// The package, unit or path; of a command its parameters.
    object: String,
}

impl Task {
    /// Changes that failed, were refused or denied, and that no later step brought about for the same target; the
    /// oldest first. Steps that only look are never among them.
    #[must_use]
    pub fn not_done(&self) -> Vec<&StepResult> {
        let mut open = Vec::new();
        for (at, result) in self.results.iter().enumerate() {
            let mut effects = effects(&result.tool);
            if effects.is_empty() || result.went_well() || result.no_effect {
                continue;
            }
            for later in self.results.iter().skip(at + 1).filter(|later| later.went_well()) {
                effects.retain(|effect| !self.brings_about(later, result, effect));
            }
            if !effects.is_empty() {
                open.push(result);
            }
        }
        open
    }

    /// Whether a later step that went well did what an earlier one was to do.
    fn brings_about(&self, later: &StepResult, failed: &StepResult, effect: &Effect) -> bool {
        let is_changed =
            self.changes.iter().any(|change| Some(&change.request_id) == later.request_id.as_ref());
        effects(&later.tool).iter().any(|done| {
            let verbs = (done.verb, effect.verb);
            let is_covered = verbs.0 == verbs.1
                || COVERED.contains(&verbs)
                // A start that changed something makes up for a failed restart; a unit that still ran was not
                // restarted.
                || verbs == ("unit.start", "unit.restart") && failed.status == StepStatus::Error && is_changed;
            // Of a request of the wrong form only the command counts; of a diff that cannot be read nothing does.
            let is_malformed = failed.code() == "invalid_argument";
            is_covered
                && (done.subject == effect.subject || is_malformed && effect.subject.is_empty())
                && (done.object == effect.object || is_malformed)
        })
    }
}

impl StepResult {
    /// Whether the step did what it was to do.
    #[must_use]
    pub fn went_well(&self) -> bool {
        matches!(self.status, StepStatus::Ok | StepStatus::Truncated)
    }

    /// The stable code of its error; empty without one.
    #[must_use]
    pub fn code(&self) -> &str {
        self.error.as_deref().map_or("", |error| error.split_once(':').map_or(error, |(code, _)| code))
    }
}

/// The first verb's effect on an object includes the second's.
const COVERED: &[(&str, &str)] = &[
    ("file.patch", "file.write"),
    ("file.write", "file.patch"),
    ("package.install", "package.upgrade"),
    ("package.upgrade", "package.install"),
    ("package.purge", "package.remove"),
    ("unit.restart", "unit.reload"),
    ("unit.restart", "unit.start"),
    ("unit.restart", "unit.try-restart"),
];

/// Returns the intended changes of a step; empty for a read-only one.
fn effects(tool: &Tool) -> Vec<Effect> {
    if let Tool::ApplyPatch { diff } = tool {
        let files = parse(diff.as_bytes()).unwrap_or_default();
        return of("file.patch", "", files.into_iter().map(|file| file.path).collect());
    }
    let Some(request) = request(tool).filter(Request::is_effect) else { return Vec::new() };
    match &request {
        // Without the version: another version of the same package is another try.
        Request::PackageInstall(args) => {
            of(request.verb(), "", args.packages.iter().map(|package| package.name.clone()).collect())
        }
        Request::CommandRun(args) => {
            let parameters: BTreeMap<_, _> =
                args.parameters.iter().map(|parameter| (&parameter.name, &parameter.value)).collect();
            of(request.verb(), &args.name, vec![format!("{parameters:?}")])
        }
        other => of(request.verb(), "", other.objects()),
    }
}

fn of(verb: &'static str, subject: &str, mut objects: Vec<String>) -> Vec<Effect> {
    // A verb without arguments, and a diff that cannot be read, are changes all the same.
    if objects.is_empty() {
        objects.push(String::new());
    }
    let subject = |object: &str| if subject.is_empty() { object.to_owned() } else { subject.to_owned() };
    objects.into_iter().map(|object| Effect { verb, subject: subject(&object), object }).collect()
}
