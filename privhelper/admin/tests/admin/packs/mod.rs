//! Packs: what the shipped ones grant, and how one is added, changed and removed.

mod changes;
mod shipped;
mod tasks;
mod values;

use std::path::{Path, PathBuf};

/// The packs of this tree.
fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/packs")
}

/// A policy that packs can be added to.
const STARTER: &str = include_str!("../../../../../deploy/policy/starter.toml");
