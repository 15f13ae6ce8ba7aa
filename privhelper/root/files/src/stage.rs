//! Stages of validated writes: a copy of each granted directory in which something changes, with the change made in it.
//!
//! Nobody but this program can write a stage. A validator sees the copy bound over the live directory; the commit takes
//! its content from the copy, once the digest is still the one that validators agreed to.

use crate::change::{Change, To};
use crate::path::Directory;
use crate::plan::Plan;
use crate::state::State;
use crate::tree::{self, Room};
use postern_policy::types::{Digest, TargetPath};
use postern_policy::{Code, Denied, Grant};
use postern_proto::root::v1::{Agreement, Envelope, RequiredValidator, StageRecord, Staged, StagedCopy};
use postern_root::store::{self, Durability};
use postern_root::{Authority, Error, Fault, Key, mac};
use prost::Message;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a stage waits for its commit.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Most stages at once.
const COUNT_MAX: usize = 16;

/// The directory of stages.
#[derive(Debug)]
pub struct Stages(PathBuf);

impl Stages {
    /// Opens the directory, without stages that an earlier process did not complete.
    ///
    /// # Errors
    /// It cannot be made or read.
    pub fn open(directory: &Path) -> Result<Self, Fault> {
        store::make_directory(directory)?;
        for stage in store::list(directory)? {
            if !stage.join("meta").exists() {
                remove(&stage)?;
            }
        }
        Ok(Self(directory.to_owned()))
    }

    /// Removes stages whose time is over.
    ///
    /// # Errors
    /// One cannot be removed.
    pub fn expire(&self, now: Duration) -> Result<(), Fault> {
        for stage in store::list(&self.0)? {
            let made =
                std::fs::symlink_metadata(&stage).ok().and_then(|facts| u64::try_from(facts.mtime()).ok());
            if now.saturating_sub(Duration::from_secs(made.unwrap_or(0))) > LIFETIME {
                remove(&stage)?;
            }
        }
        Ok(())
    }

    fn path(&self, id: Digest) -> PathBuf {
        self.0.join(id.to_string())
    }
}

fn remove(stage: &Path) -> Result<(), Fault> {
    match std::fs::remove_dir_all(stage) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Fault::Io { doing: "remove a stage", error })
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The name of a directory's copy: the first 16 hex digits of the SHA-256 of its path. Units of validators bind it.
fn copy_name(live: &TargetPath) -> String {
    Digest::of(&[live.as_str().as_bytes()]).to_string().chars().take(16).collect()
}

/// The granted directories of changes, each once.
fn lives<'a>(changes: impl Iterator<Item = &'a Change>) -> Vec<&'a TargetPath> {
    changes.map(|change| &change.directory).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The validators that must agree: of each rule that lets a write or removal through, over the copy of its directory.
#[must_use]
pub fn validators(grant: &Grant, changes: &[Change]) -> Vec<RequiredValidator> {
    let lives = lives(changes.iter());
    let mut required: Vec<RequiredValidator> = Vec::new();
    for change in changes.iter().filter(|change| change.to.replaces_content()) {
        for element in grant.elements().iter().filter(|element| element.object.is_file(change.path())) {
            let Some(rule) = element.rules.first().filter(|rule| !rule.validate.is_empty()) else { continue };
            let live = rule.selector.directory_of(element.verb, change.path());
            let copy =
                lives.iter().position(|known| Some(*known) == live).and_then(|at| u32::try_from(at).ok());
            let Some(copy) = copy else { continue };
            let validator = RequiredValidator { name: rule.validate.clone(), copy };
            if !required.contains(&validator) {
                required.push(validator);
            }
        }
    }
    required
}

fn key(state: &State) -> Result<&Key, Denied> {
    let missing =
        || Denied::new(Code::Unsupported, "no validator can be asked before `postern-admin policy apply`");
    state.validator_key.as_ref().ok_or_else(missing)
}

/// Copies the directories and makes the changes in the copies. Nothing of the host changes.
///
/// # Errors
/// `too_large`, `unsafe_path`, `busy`, `unsupported`.
pub fn stage(
    state: &State,
    authority: &Authority<'_>,
    plans: &[Plan<'_>],
    directories: &[Directory],
    validators: Vec<RequiredValidator>,
) -> Result<Staged, Error> {
    let key = key(state)?;
    state.stages.expire(state.host.unix())?;
    if store::list(&state.stages.0)?.len() >= COUNT_MAX {
        return Err(Denied::new(Code::Busy, "too many changes wait for validators").into());
    }
    let id = Digest::from_bytes(&mac::random()?).unwrap_or_default();
    let at = state.stages.path(id);
    let staged = copy_all(&at, plans, directories).and_then(|copies| {
        let digest = digest(&at, &copies)?.as_bytes().to_vec();
        let stage_id = id.as_bytes().to_vec();
        let staged = key.sign(Staged { stage_id, digest, copies, validators, mac: Vec::new() })?;
        let order_digest = authority.ordered.digest().as_bytes().to_vec();
        let record = StageRecord { order_digest, staged: Some(staged.clone()) };
        store::replace(&at.join("meta"), &[&record.encode_to_vec()], Durability::Cached)?;
        Ok(staged)
    });
    staged.inspect_err(|_| drop(remove(&at)))
}

fn copy_all(at: &Path, plans: &[Plan<'_>], directories: &[Directory]) -> Result<Vec<StagedCopy>, Error> {
    store::make_directory(at)?;
    let mut room = Room::NEW;
    let mut copies = Vec::new();
    for live in lives(plans.iter().map(|plan| plan.change)) {
        let of = plans.iter().zip(directories).find(|(plan, _)| plan.change.directory == *live);
        let Some((_, from)) = of else { continue };
        let copy = copy_name(live);
        store::make_directory(&at.join(&copy))?;
        let to = tree::open_own(&at.join(&copy))?;
        tree::copy(from, &to, &mut room)?;
        for plan in plans {
            let Some(below) = plan.change.path().below(live) else { continue };
            match &plan.change.to {
                To::Content(content, _) => {
                    tree::put(&to, below, Some((content, plan.attributes)))?;
                }
                To::Removed => tree::put(&to, below, None)?,
                To::Directory | To::RemovedDirectory | To::Attributes => {}
            }
        }
        copies.push(StagedCopy { copy, live: live.to_string() });
    }
    Ok(copies)
}

/// SHA-256 over everything in the copies.
fn digest(at: &Path, copies: &[StagedCopy]) -> Result<Digest, Error> {
    let mut digests = Vec::new();
    for copy in copies {
        digests.extend_from_slice(tree::digest(&tree::open_own(&at.join(&copy.copy))?)?.as_bytes());
    }
    Ok(Digest::of(&[&digests]))
}

/// Takes the content of a staged order's changes from its stage, once every validator of the decision has agreed.
///
/// # Errors
/// `validation_failed` if an agreement is missing; `plan_changed` if the stage is not this order's, gone or changed.
pub fn commit(
    state: &State,
    authority: &Authority<'_>,
    envelope: &Envelope,
    changes: &[Change],
    required: &[RequiredValidator],
) -> Result<Vec<Arc<[u8]>>, Error> {
    let gone =
        || Denied::new(Code::PlanChanged, "what was validated is not this change; send the request again");
    let key = key(state)?;
    let id = Digest::from_bytes(&envelope.stage_id).ok_or_else(gone)?;
    let at = state.stages.path(id);
    let record = store::read(&at.join("meta"), 1024 * 1024)?.ok_or_else(gone)?;
    let record = StageRecord::decode(record.as_slice()).map_err(|_| Fault::Corrupt { what: "a stage" })?;
    let staged = record.staged.filter(|staged| key.verifies(staged)).ok_or_else(gone)?;
    let is_same = record.order_digest == authority.ordered.digest().as_bytes()
        && staged.digest == envelope.stage_digest
        && staged.validators == required
        && digest(&at, &staged.copies)?.as_bytes() == staged.digest;
    if !is_same {
        return Err(gone().into());
    }
    let policy_digest = authority.policy.digest();
    for RequiredValidator { name, copy } in required {
        let agrees = |agreement: &&Agreement| {
            agreement.policy_digest == policy_digest.as_bytes()
                && agreement.validator == *name
                && agreement.copy == *copy
                && agreement.stage_id == staged.stage_id
                && agreement.stage_digest == staged.digest
                && key.verifies(*agreement)
        };
        if !envelope.agreements.iter().any(|agreement| agrees(&agreement)) {
            let why = format!("{name} has not agreed; nothing was changed");
            return Err(Denied::new(Code::ValidationFailed, why).into());
        }
    }
    let mut contents = Vec::new();
    for change in changes {
        let To::Content(_, sha256) = &change.to else { continue };
        let content = tree::read(&tree::open_own(&at.join(copy_name(&change.directory)))?, change.below())?;
        if Digest::of(&[&content]) != *sha256 {
            return Err(gone().into());
        }
        contents.push(content.into());
    }
    Ok(contents)
}

/// Removes the stage of an order whose commit has ended.
pub fn discard(state: &State, envelope: &Envelope) {
    if let Some(id) = Digest::from_bytes(&envelope.stage_id) {
        // Else its time will be over.
        drop(remove(&state.stages.path(id)));
    }
}
