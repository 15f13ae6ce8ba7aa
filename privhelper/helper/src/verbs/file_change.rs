//! `file.write` and all else that changes files: what is asked for becomes a list of changes, all done or none.

use crate::audit::{Json, Ticket};
use crate::change::{self, Change, To, name};
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::leave::Done;
use crate::plan::FilesPlan;
use crate::verb::Verb;
use postern_policy::types::{Expect, FileMode, TargetPath};
use postern_policy::{Denied, Grant, Invalid, RequiredGrant, VerbId};
use postern_proto::v1 as wire;
use std::collections::BTreeSet;

/// Most files of a patch.
const PATCH_MAX: usize = 64;

fn write(wire: &mut wire::FileWriteRequest) -> Result<Vec<Change>, Invalid> {
    let change = wire.change.take().ok_or(Invalid::new("change", "must be there"))?;
    if change.kind() != wire::ChangeKind::Write {
        return Err(Invalid::new("kind", "must be WRITE; to remove a file is file.remove"));
    }
    Ok(vec![Change::of_wire(change)?])
}

fn patch(wire: &mut wire::FilePatchRequest) -> Result<Vec<Change>, Invalid> {
    let changes =
        std::mem::take(&mut wire.changes).into_iter().map(Change::of_wire).collect::<Result<Vec<_>, _>>()?;
    let paths = changes.iter().map(|change| &change.path).collect::<BTreeSet<_>>();
    if changes.is_empty() || changes.len() > PATCH_MAX || paths.len() != changes.len() {
        return Err(Invalid::new("changes", "must be 1 to 64 of different paths"));
    }
    Ok(changes)
}

fn remove(wire: &mut wire::FileRemoveRequest) -> Result<Vec<Change>, Invalid> {
    let kind = wire::ChangeKind::Remove.into();
    let (path, expect) = (wire.path.clone(), wire.expect.clone());
    Ok(vec![Change::of_wire(wire::FileChange { path, kind, expect, ..Default::default() })?])
}

fn mkdir(wire: &mut wire::FileMkdirRequest) -> Result<Vec<Change>, Invalid> {
    let mode = (!wire.mode.is_empty()).then(|| FileMode::new(&wire.mode)).transpose()?;
    let (owner, group) = (name("owner", &wire.owner)?, name("group", &wire.group)?);
    let change = Change::new(TargetPath::new(&wire.path)?, To::Directory);
    Ok(vec![Change { expect: Expect::Absent, mode, owner, group, ..change }])
}

fn set_mode(wire: &mut wire::FileSetModeRequest) -> Result<Vec<Change>, Invalid> {
    let change = Change::new(TargetPath::new(&wire.path)?, To::Attributes);
    Ok(vec![Change { mode: Some(FileMode::new(&wire.mode)?), ..change }])
}

fn set_owner(wire: &mut wire::FileSetOwnerRequest) -> Result<Vec<Change>, Invalid> {
    let (owner, group) = (name("owner", &wire.owner)?, name("group", &wire.group)?);
    if owner.is_none() && group.is_none() {
        return Err(Invalid::new("owner", "must be there, or group"));
    }
    Ok(vec![Change { owner, group, ..Change::new(TargetPath::new(&wire.path)?, To::Attributes) }])
}

/// Each change as the verb; what a patch removes must also be granted as what it is.
fn required_grants(verb: VerbId, changes: &[Change]) -> Vec<RequiredGrant> {
    let is_removed = |change: &&Change| verb == VerbId::FilePatch && matches!(change.to, To::Removed);
    let removed = changes.iter().filter(is_removed).map(|change| change.required_grant(VerbId::FileRemove));
    changes.iter().map(|change| change.required_grant(verb)).chain(removed).collect()
}

fn args(changes: &[Change]) -> Json {
    match changes {
        [change] => change.json(),
        many => Json::new().objects("changes", many.iter().map(Change::json)),
    }
}

/// One verb of the kind: its name, message, and which changes the message asks for.
macro_rules! change {
    ($doc:literal, $verb:ident, $wire:ident, $id:ident, $changes:ident) => {
        #[doc = $doc]
        #[derive(Debug)]
        pub struct $verb(Vec<Change>);

        impl Verb for $verb {
            type Wire = wire::$wire;
            type Plan = FilesPlan;
            type Leave = Ticket;
            const ID: VerbId = VerbId::$id;

            fn parse(mut wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
                (wire.meta.take(), $changes(&mut wire).map(Self))
            }

            fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
                Ok(required_grants(Self::ID, &self.0))
            }

            fn args(&self) -> Json {
                args(&self.0)
            }

            fn plan(&self, cx: &Context, by: &Grant) -> Result<FilesPlan, Stop> {
                change::plan(cx, by, Self::ID, &self.0)
            }

            fn act(&self, cx: &Context, by: &Grant, plan: &FilesPlan, leave: &Ticket) -> Result<Done, Stop> {
                change::act(cx, by, Self::ID, &self.0, plan, leave)
            }
        }
    };
}

change!("`file.write`", Write, FileWriteRequest, FileWrite, write);
change!("`file.patch`", Patch, FilePatchRequest, FilePatch, patch);
change!("`file.remove`", Remove, FileRemoveRequest, FileRemove, remove);
change!("`file.mkdir`", Mkdir, FileMkdirRequest, FileMkdir, mkdir);
change!("`file.set-mode`", SetMode, FileSetModeRequest, FileSetMode, set_mode);
change!("`file.set-owner`", SetOwner, FileSetOwnerRequest, FileSetOwner, set_owner);
