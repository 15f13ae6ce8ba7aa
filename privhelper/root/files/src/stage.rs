//! Stages of validated writes: a copy of each granted directory in which something changes, with the change made in it.
//!
//! Only this program can write a stage. A validator sees the copy mounted over the live directory; the commit takes its
//! content from the copy, after it has checked that the digest is the one that validators agreed to.

use crate::change::{self, Change, Plan};
use crate::path::{open_granted, open_own};
use crate::target::open_target;
use crate::tree::{self, CopyBudget};
use postern_policy::Grant;
use postern_policy::request::NewState;
use postern_policy::types::{Digest, TargetPath};
use postern_proto::root::v1::{Agreement, RequiredValidator, StageRecord, Staged};
use postern_root::store::{self, Durability};
use postern_root::{Authority, Code, Denied, Error, Fault, Host, Key, Ordered, mac};
use prost::Message;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a stage waits for its commit.
const LIFETIME: Duration = Duration::from_secs(10 * 60);
/// Most stages at once.
const COUNT_MAX: usize = 16;

/// The directory of stages.
#[derive(Debug)]
pub struct Stages {
    directory: PathBuf,
    /// The key of stages and agreements; none before the first `policy apply`.
    key: Option<Key>,
    host: Host,
}

/// Returns the validators that the rules of writes and removals require, each over the copy of its rule's directory.
#[must_use]
pub fn required(grant: &Grant, changes: &[Change]) -> Vec<RequiredValidator> {
    let mut required = BTreeSet::new();
    for change in changes.iter().filter(|change| change.is_replacing() && !change.is_mkdir_undone) {
        for element in grant.elements().iter().filter(|element| element.object.is_file(change.path())) {
            let Some(rule) = element.rules.first().filter(|rule| !rule.validate.is_empty()) else {
                continue;
            };
            let live = rule.selector.directory_of(element.verb, change.path()).unwrap_or(&change.directory);
            required.insert((rule.validate.clone(), live.to_string()));
        }
    }
    required.into_iter().map(|(name, live)| RequiredValidator { name, live }).collect()
}

/// The content of each change of a stage, and the validators that agreed.
type Committed = (Vec<Arc<[u8]>>, Option<Vec<RequiredValidator>>);

/// The name of a directory's copy: the first 16 hex digits of the SHA-256 of its path. Units of validators bind it.
fn copy_name(live: &str) -> String {
    Digest::of(&[live.as_bytes()]).to_string().chars().take(16).collect()
}

fn remove(stage: &Path) -> Result<(), Fault> {
    match std::fs::remove_dir_all(stage) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Fault::io("remove a stage")(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

impl Stages {
    /// Opens the directory.
    ///
    /// # Errors
    /// It cannot be made or read.
    pub fn open(host: &Host) -> Result<Self, Fault> {
        let (directory, key) = (host.state.join("stage"), Key::read(&host.validator_key)?);
        store::make_directory(&directory)?;
        let stages = Self { directory, key, host: host.clone() };
        stages.expire()?;
        Ok(stages)
    }

    /// Removes expired stages and those that were not completed, and counts the others. No stage is under way: one change at
    /// a time is staged.
    fn expire(&self) -> Result<usize, Fault> {
        let mut count = 0_usize;
        for stage in store::list(&self.directory)? {
            let made = std::fs::symlink_metadata(&stage).and_then(|facts| facts.modified()).ok();
            let age = made.and_then(|made| (self.host.now)().duration_since(made).ok()).unwrap_or_default();
            let is_over = age > LIFETIME || !stage.join("meta").exists();
            if is_over { remove(&stage)? } else { count = count.saturating_add(1) }
        }
        Ok(count)
    }

    fn path(&self, id: Digest) -> PathBuf {
        self.directory.join(id.to_string())
    }

    fn key(&self) -> Result<&Key, Denied> {
        let why = "no validator can be asked before `postern-admin policy apply`";
        self.key.as_ref().ok_or_else(|| Denied::new(Code::Unsupported, why))
    }

    /// Copies the directories and makes the changes in the copies. Nothing of the host changes.
    ///
    /// # Errors
    /// `too_large`, `unsafe_path`, `busy`, `unsupported`.
    pub fn stage(
        &self,
        authority: &Authority<'_>,
        plans: &[Plan<'_>],
        validators: Vec<RequiredValidator>,
    ) -> Result<Staged, Error> {
        let key = self.key()?;
        if self.expire()? >= COUNT_MAX {
            return Err(Denied::new(Code::Busy, "too many changes wait for validators").into());
        }
        let id = Digest::from_bytes(&mac::random()?).unwrap_or_default();
        let at = self.path(id);
        let changed = plans.iter().map(|plan| plan.change.directory.to_string());
        let lives = changed.chain(validators.iter().map(|one| one.live.clone())).collect::<BTreeSet<_>>();
        let staged = self.copy_all(&at, plans, &lives).and_then(|()| {
            let (stage_id, lives) = (id.as_bytes().to_vec(), lives.into_iter().collect::<Vec<_>>());
            let digest = digest(&at, &lives)?.as_bytes().to_vec();
            let staged = key.sign(Staged { stage_id, digest, lives, validators, mac: Vec::new() });
            let order_digest = authority.ordered.digest().as_bytes().to_vec();
            let record = StageRecord { order_digest, staged: Some(staged.clone()) };
            store::replace(&at.join("meta"), &[&record.encode_to_vec()], Durability::Cached)?;
            Ok(staged)
        });
        staged.inspect_err(|_| drop(remove(&at)))
    }

    fn copy_all(&self, at: &Path, plans: &[Plan<'_>], lives: &BTreeSet<String>) -> Result<(), Error> {
        let mut budget = CopyBudget::NEW;
        for live in lives {
            let (copy, live) = (at.join(copy_name(live)), &TargetPath::new(live)?);
            store::make_directory(&copy)?;
            let to = open_own(&copy)?;
            tree::copy(&open_granted(live, self.host.root_uid)?, &to.fd, &mut budget)?;
            for plan in plans {
                let Some(below) = plan.change.path().below(live) else { continue };
                let new = match &plan.change.asked.to {
                    NewState::Content(content) => Some((&**content, plan.attributes)),
                    NewState::Removed if !plan.change.is_mkdir_undone => None,
                    NewState::Removed | NewState::Directory | NewState::Attributes => continue,
                };
                let parent = to.open_parent(below, self.host.root_uid)?;
                tree::put(&parent, plan.change.path().split().1, new)?;
            }
        }
        Ok(())
    }

    /// Takes the content of a staged order's changes from its stage, once every validator of the stage has agreed. The
    /// caller compares these validators with those of its decision.
    ///
    /// # Errors
    /// `validation_failed` if an agreement is missing; `plan_changed` if the stage is not this order's, gone or changed.
    pub fn commit(&self, authority: &Authority<'_>, changes: &[Change]) -> Result<Committed, Error> {
        let key = self.key()?;
        let envelope = authority.ordered.envelope.as_ref().ok_or_else(is_another)?;
        let at = self.path(Digest::from_bytes(&envelope.stage_id).ok_or_else(is_another)?);
        let record = store::read(&at.join("meta"), 1024 * 1024)?.ok_or_else(is_another)?;
        let record = StageRecord::decode(record.as_slice()).map_err(|_| Fault::corrupt("a stage"))?;
        let staged = record.staged.filter(|staged| key.verifies(staged)).ok_or_else(is_another)?;
        let is_same = record.order_digest == authority.ordered.digest().as_bytes()
            && staged.digest == envelope.stage_digest
            && digest(&at, &staged.lives)?.as_bytes() == staged.digest;
        if !is_same {
            return Err(is_another().into());
        }
        for validator in &staged.validators {
            let required = mac::agreement(authority.policy, &staged, validator);
            let agrees = |agreement: &Agreement| {
                Agreement { mac: Vec::new(), ..agreement.clone() } == required && key.verifies(agreement)
            };
            if !envelope.agreements.iter().any(agrees) {
                let why = format!("{} has not agreed; nothing was changed", validator.name);
                return Err(Denied::new(Code::ValidationFailed, why).into());
            }
        }
        let contents = change::contents(changes, |change| {
            let copy = open_own(&at.join(copy_name(change.directory.as_str())))?;
            let parent = copy.open_parent(change.below(), self.host.root_uid)?;
            let file = open_target(&parent, change.path().split().1, change.kinds())?;
            file.ok_or_else(is_another)?.content()
        })?;
        Ok((contents, Some(staged.validators)))
    }

    /// Removes the stage of an order whose commit has ended.
    pub fn discard(&self, ordered: &Ordered) {
        if let Some(id) = ordered.envelope.as_ref().and_then(|it| Digest::from_bytes(&it.stage_id)) {
            // If that fails, the stage expires.
            drop(remove(&self.path(id)));
        }
    }
}

/// The refusal of a change that validators have not seen.
pub fn is_another() -> Denied {
    Denied::new(Code::PlanChanged, "what was validated is not this change; send the request again")
}

/// SHA-256 over everything in the copies.
fn digest(at: &Path, lives: &[String]) -> Result<Digest, Error> {
    let mut digests = Vec::new();
    for live in lives {
        let copy = open_own(&at.join(copy_name(live)))?;
        digests.extend_from_slice(tree::digest(&copy.fd)?.as_bytes());
    }
    Ok(Digest::of(&[&digests]))
}
