//! Does what was planned: looks again, keeps what was, puts what is new beside its place, and swaps, all or none.

use super::keep::{self, Doing};
use super::plan::{Look, Looked, look_at_all, places};
use super::{Change, To};
use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::Stop;
use crate::helper::wait_for;
use crate::leave::Done;
use crate::plan::{FileAction, FilePlan, FilesPlan};
use crate::sys::confined::{self, Need};
use crate::sys::files::{self, New, Step};
use crate::validate::{self, Candidate};
use postern_policy::types::FileKind;
use postern_policy::{Code, Denied, Grant, VerbId};
use postern_proto::v1 as wire;

/// Does it. Two changes of files never run at once, so that no update is lost between them.
///
/// # Errors
/// It failed; everything is then as it was.
pub fn act(
    cx: &Context,
    by: &Grant,
    verb: VerbId,
    changes: &[Change],
    plan: &FilesPlan,
    ticket: &Ticket,
) -> Result<Done, Stop> {
    let _one_at_a_time = wait_for(&cx.helper.files, cx.limit(by))?;
    let places = places(cx, by, verb, changes)?;
    let directories = places.iter().map(|(directory, _)| directory).collect::<Vec<_>>();
    let landlock = cx.helper.host.landlock;
    // What stands there must be what was decided, and perhaps approved.
    let looked = confined::run(landlock, Need::Look, &directories, || {
        let looked = look_at_all(cx, changes, &places, Look::Content)?;
        let old = |looked: &Looked| looked.there.as_ref().map(|(_, old)| *old);
        if looked.iter().map(old).eq(plan.files.iter().map(|plan| plan.old)) {
            return Ok(looked);
        }
        let why = "a file changed meanwhile; ask again";
        Err(Denied::new(Code::PreconditionFailed, why).into())
    })?;
    let all = changes.iter().zip(&plan.files).zip(looked).enumerate();
    let doing =
        all.filter(|(_, ((_, plan), _))| !plan.unchanged).map(|(number, ((change, plan), looked))| {
            let temporary = format!(".postern-{}-{number}", cx.meta.request_id);
            Doing { change, plan, looked, temporary }
        });
    let mut doing = doing.collect::<Vec<_>>();
    if !doing.is_empty() {
        let candidates = doing.iter().filter_map(Doing::candidate).collect::<Vec<_>>();
        validate::check(cx, ticket, by, &candidates)?;
        // Outside of the confinement: the copies are no thread's business that follows a client's path.
        keep::keep(cx, by, &mut doing)?;
        let mut is_staged = false;
        let swapped = confined::run(landlock, Need::Change, &directories, || {
            let steps = doing.iter().map(Doing::step).collect::<Vec<_>>();
            files::stage(ticket, &steps)?;
            is_staged = true;
            files::swap(ticket, &steps)
        });
        if let Err(stop) = swapped {
            // After a fault in between a person may want them: perhaps not everything could be put back.
            if !is_staged || matches!(stop, Stop::Refused(_)) {
                keep::forget(&cx.helper, cx.peer.uid, cx.meta.request_id.as_str())?;
            }
            return Err(stop);
        }
    }
    let status = if doing.is_empty() { wire::Status::Unchanged } else { wire::Status::Done };
    let files = plan.files.iter().map(|plan| info(cx, plan)).collect();
    let undo =
        if doing.is_empty() || !by.keeps_for_undo() { Json::new() } else { Json::new().text("kind", "file") };
    Ok(Done { completed: wire::Completed { status: status.into(), files, ..Default::default() }, undo })
}

impl Doing<'_> {
    /// What a validator is to judge: what a file holds, or that it goes.
    fn candidate(&self) -> Option<Candidate<'_>> {
        let new = match &self.change.to {
            To::Content(content, _) => Some((content.as_ref(), self.plan.attributes)),
            To::Removed => None,
            To::Directory | To::Attributes | To::RemovedDirectory => return None,
        };
        Some(Candidate { path: &self.plan.path, parent: &self.looked.parent, new })
    }

    fn step(&self) -> Step<'_> {
        let attributes = self.plan.attributes;
        let new = match &self.change.to {
            To::Content(content, _) => New::File(content, attributes),
            To::Directory => New::Directory(attributes),
            To::Attributes => New::Attributes(attributes),
            To::Removed | To::RemovedDirectory => New::Nothing,
        };
        Step {
            parent: &self.looked.parent,
            name: self.plan.path.split().1,
            temporary: &self.temporary,
            old: self.looked.there.as_ref().map(|(standing, _)| standing),
            new,
            xattrs: self.looked.xattrs.as_ref().or(self.change.xattrs.as_ref()),
        }
    }
}

/// What is there now, as the client is told. What it did not write it is told only if it may read it.
fn info(cx: &Context, plan: &FilePlan) -> wire::FileInfo {
    let path = plan.path.to_string();
    if !plan.stays() {
        return wire::FileInfo { path, ..wire::FileInfo::default() };
    }
    let is_directory = match plan.old {
        Some(old) => old.kind == FileKind::Directory,
        None => plan.action == FileAction::MakeDirectory,
    };
    let is_known = plan.action == FileAction::Write && plan.is_known;
    let r#type = if is_directory { wire::FileType::Directory } else { wire::FileType::File };
    wire::FileInfo {
        path,
        r#type: r#type.into(),
        size: if is_known { plan.new_size } else { 0 },
        mode: plan.attributes.mode.to_string(),
        owner: (cx.helper.host.user_name)(plan.attributes.uid),
        group: (cx.helper.host.group_name)(plan.attributes.gid),
        sha256: if is_known { plan.new_sha256.to_string() } else { String::new() },
        mtime_unix_s: 0,
    }
}
