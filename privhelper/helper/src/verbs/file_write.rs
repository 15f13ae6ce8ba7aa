//! `file.write`: the whole new content of one file, put in place at once.

use super::file_read::{directory_of, info};
use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::{Code, Fault, Invalid, Refusal, Stop};
use crate::helper::wait_for;
use crate::leave::Done;
use crate::plan::{FilePlan, OldFile};
use crate::policy::{Authorized, Decision, Object};
use crate::question;
use crate::sys::files::{NewFile, Standing};
use crate::sys::staging::Staged;
use crate::sys::{confined, files};
use crate::types::{Digest, Expect, FileMode, TargetPath, UserName};
use crate::validate::{self, Candidate};
use crate::verb::{Verb, Wish};
use crate::verb_id::VerbId;
use postern_proto::root::v1::FileUndo;
use postern_proto::v1 as wire;
use prost::Message;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Most bytes of a file that is replaced: it is kept whole for undo.
const OLD_MAX: u64 = 16 * 1024 * 1024;

/// One file's new state.
#[derive(Debug)]
pub struct Write {
    path: TargetPath,
    content: Arc<[u8]>,
    expect: Expect,
    mode: Option<FileMode>,
    owner: Option<UserName>,
    group: Option<UserName>,
}

/// Owner and group to set; none = kept.
#[derive(Debug, Clone, Copy)]
struct Owners {
    uid: Option<u32>,
    gid: Option<u32>,
}

impl Owners {
    /// Those that the file will have. A new file's are always set.
    fn or_kept(self, old: Option<&Standing>) -> (u32, u32) {
        let kept = |set: Option<u32>, of: fn(&Standing) -> u32| set.or(old.map(of)).unwrap_or(0);
        (kept(self.uid, |old| old.uid), kept(self.gid, |old| old.gid))
    }
}

impl Write {
    fn new(change: Option<wire::FileChange>) -> Result<Self, Invalid> {
        let change = change.ok_or(Invalid::new("change", "must be there"))?;
        if change.kind() != wire::ChangeKind::Write {
            return Err(Invalid::new("kind", "must be WRITE; to remove a file is file.remove"));
        }
        let user = |field, text: &str| (!text.is_empty()).then(|| UserName::new(field, text)).transpose();
        Ok(Self {
            path: TargetPath::new(&change.path)?,
            expect: Expect::new(&change.expect)?,
            mode: (!change.mode.is_empty()).then(|| FileMode::new(&change.mode)).transpose()?,
            owner: user("owner", &change.owner)?,
            group: user("group", &change.group)?,
            content: change.content.into(),
        })
    }

    fn size(&self) -> u64 {
        u64::try_from(self.content.len()).unwrap_or(u64::MAX)
    }

    /// Whether what stands there is what the writer expects.
    fn check_expected(&self, old: Option<&OldFile>, readable: bool) -> Result<(), Refusal> {
        let fine = match (self.expect, old) {
            (Expect::Any, _) | (Expect::Absent, None) => true,
            (Expect::Content(want), Some(old)) => want == old.sha256,
            (Expect::Absent, Some(_)) => {
                return Err(Refusal::new(Code::AlreadyExists, format!("{} exists", self.path)));
            }
            (Expect::Content(_), None) => false,
        };
        if fine {
            return Ok(());
        }
        let now = match old {
            Some(old) if readable => format!("; its content is {} now", old.sha256),
            Some(_) | None => String::new(),
        };
        Err(Refusal::new(Code::PreconditionFailed, format!("{} is not what was expected{now}", self.path)))
    }

    /// The numbers of the names that are set. Not from a confined thread: that one can't read the host's accounts.
    fn resolve(cx: &Context, plan: &FilePlan) -> Result<Owners, Refusal> {
        let accounts = cx.helper.host.accounts;
        let unknown = |field, name: &UserName| {
            Refusal::from(Invalid::new(field, "does not exist on this host")).with(name)
        };
        let uid = |name: &UserName| (accounts.user)(name.as_str()).ok_or_else(|| unknown("owner", name));
        let gid = |name: &UserName| (accounts.group)(name.as_str()).ok_or_else(|| unknown("group", name));
        let uid = plan.owner.as_ref().map(uid).transpose()?;
        let gid = plan.group.as_ref().map(gid).transpose()?.map(|(gid, _)| gid);
        Ok(Owners { uid, gid })
    }

    /// What stands there, hashed.
    fn look(
        &self,
        cx: &Context,
        directory: &OwnedFd,
        below: &str,
    ) -> Result<(OwnedFd, Option<(Standing, OldFile)>), Stop> {
        let parent = files::open_parent(directory, below, cx.helper.host.owner_uid)?;
        let Some(mut standing) = files::look(&parent, self.path.split().1)? else {
            return Ok((parent, None));
        };
        if standing.size > OLD_MAX {
            return Err(
                Refusal::new(Code::TooLarge, "the file that stands there is larger than 16 MiB").into()
            );
        }
        let old = OldFile { sha256: standing.sha256()?, size: standing.size };
        Ok((parent, Some((standing, old))))
    }

    /// What a person who must agree sees of the content.
    fn diff(&self, old: &mut Option<(Standing, OldFile)>) -> Result<Vec<u8>, Stop> {
        let Some((standing, old)) = old else {
            return Ok(question::diff(b"", &self.content));
        };
        let before = standing.read(0, standing.size)?;
        if Digest::of(&[&before]) != old.sha256 {
            let why = "the file changed while it was read; ask again";
            return Err(Refusal::new(Code::PreconditionFailed, why).into());
        }
        Ok(question::diff(&before, &self.content))
    }

    /// Keeps what the file was, on disk before it changes.
    fn keep(&self, cx: &Context, plan: &FilePlan, old: Option<&mut Standing>) -> Result<(), Stop> {
        let undo = match old {
            None => FileUndo::default(),
            Some(old) => FileUndo {
                existed: true,
                content: old.read(0, old.size)?,
                mode: old.mode.bits(),
                uid: old.uid,
                gid: old.gid,
                ..FileUndo::default()
            },
        };
        let undo =
            FileUndo { path: self.path.to_string(), written: plan.new_sha256.as_bytes().to_vec(), ..undo };
        if plan.old.as_ref().is_some_and(|old| old.sha256 != Digest::of(&[&undo.content])) {
            return Err(
                Refusal::new(Code::PreconditionFailed, "the file changed meanwhile; ask again").into()
            );
        }
        let of = (cx.peer.uid, cx.meta.request_id.as_str());
        cx.helper.copies.keep(of, &undo.encode_to_vec(), cx.policy.undo(), cx.helper.host.unix())
    }
}

impl Verb for Write {
    type Wire = wire::FileWriteRequest;
    type Plan = FilePlan;
    type Leave = Ticket;
    const ID: VerbId = VerbId::FileWrite;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        (wire.meta, Self::new(wire.change))
    }

    fn wishes(&self) -> Vec<Wish> {
        let (owner, group) = (self.owner.clone(), self.group.clone());
        let content = Some(Arc::clone(&self.content));
        let (path, bytes, mode) = (self.path.clone(), self.size(), self.mode);
        vec![(Self::ID, Object::File { path, bytes, content, mode, owner, group })]
    }

    fn args(&self) -> Json {
        let text = |name: Option<&UserName>| name.map(ToString::to_string).unwrap_or_default();
        let json = Json::new().text("path", self.path.as_str()).number("size", self.size());
        let json = json
            .text("sha256", &Digest::of(&[&self.content]).to_string())
            .text("expect", &self.expect.to_string());
        let json = json.text("mode", &self.mode.map(|mode| mode.to_string()).unwrap_or_default());
        json.text("owner", &text(self.owner.as_ref())).text("group", &text(self.group.as_ref()))
    }

    fn plan(&self, cx: &Context, by: &Authorized<Self>) -> Result<FilePlan, Stop> {
        let readable = cx.policy.grants(cx.peer, VerbId::FileRead, &Object::read(self.path.clone()));
        let (directory, below) = directory_of(cx, by, &self.path)?;
        let (old, diff) = confined::run(cx.helper.host.landlock, &[&directory], || {
            let mut old = self.look(cx, &directory, below)?.1;
            let diff = match by.decision() {
                Decision::Ask => self.diff(&mut old)?,
                Decision::Allow | Decision::Deny => Vec::new(),
            };
            Ok::<_, Stop>((old, diff))
        })?;
        let (standing, old) = old.unzip();
        self.check_expected(old.as_ref(), readable)?;
        // Who can't be asked later is found out before anybody else is.
        validate::rows(cx, by)?;
        let root = |field| standing.is_none().then(|| UserName::new(field, "root")).transpose();
        let mut plan = FilePlan {
            path: self.path.clone(),
            readable,
            new_sha256: Digest::of(&[&self.content]),
            new_size: self.size(),
            mode: self.mode.or(standing.as_ref().map(|old| old.mode)).unwrap_or(FileMode::DEFAULT),
            owner: self.owner.clone().or(root("owner")?),
            group: self.group.clone().or(root("group")?),
            unchanged: false,
            old,
            diff,
        };
        let (uid, gid) = Self::resolve(cx, &plan)?.or_kept(standing.as_ref());
        let same = |old: &Standing| (old.mode, old.uid, old.gid) == (plan.mode, uid, gid);
        plan.unchanged = plan.old.as_ref().is_some_and(|old| old.sha256 == plan.new_sha256)
            && standing.as_ref().is_some_and(same);
        Ok(plan)
    }

    fn act(
        &self,
        cx: &Context,
        by: &Authorized<Self>,
        plan: &FilePlan,
        leave: &Ticket,
    ) -> Result<Done, Stop> {
        let _one_at_a_time = wait_for(&cx.helper.files, cx.limit(by))?;
        let (directory, below) = directory_of(cx, by, &self.path)?;
        let undo = files::open_own(&cx.helper.host.paths.state.join("undo"))?;
        let owners = Self::resolve(cx, plan)?;
        if !plan.unchanged {
            let owners = (owners.uid, owners.gid);
            let new = Some(Staged { content: &self.content, mode: plan.mode.bits(), owners });
            let candidate = Candidate { path: &self.path, place: (&directory, below), new };
            validate::check(cx, leave, by, &[candidate])?;
        }
        let is_kept = by.rules().all(|rule| rule.keeps_copy);
        let name = self.path.split().1;
        let temporary = format!(".postern-{}", cx.meta.request_id);
        let file = confined::run(cx.helper.host.landlock, &[&directory, &undo], || {
            let (parent, mut old) = self.look(cx, &directory, below)?;
            if old.as_ref().map(|(_, old)| old) != plan.old.as_ref() {
                return Err(
                    Refusal::new(Code::PreconditionFailed, "the file changed meanwhile; ask again").into()
                );
            }
            if !plan.unchanged {
                if is_kept {
                    self.keep(cx, plan, old.as_mut().map(|(standing, _)| standing))?;
                }
                let standing = old.as_ref().map(|(standing, _)| standing);
                let (uid, gid) = owners.or_kept(standing);
                let new = NewFile { content: &self.content, mode: plan.mode, uid, gid };
                files::write(leave, &parent, name, &temporary, new, standing)?;
            }
            let there = files::look(&parent, name)?;
            there
                .ok_or_else(|| Fault::Program { what: "the file that was written is gone".to_owned() }.into())
        })?;
        let status = if plan.unchanged { wire::Status::Unchanged } else { wire::Status::Done };
        let files = vec![info(cx, &self.path, &file, plan.new_sha256.to_string())];
        let undo =
            if plan.unchanged || !is_kept { Json::new() } else { Json::new().text("kind", "file.write") };
        Ok(Done { completed: wire::Completed { status: status.into(), files, ..Default::default() }, undo })
    }
}
