//! The program behind every name in `/usr/lib/postern/shims`: `sudo` and its like.
//!
//! It has no power. It translates its command line, asks for the requests, and ends as the real program would. It is
//! this same binary under another name, and runs before anything else is set up. In the agent's sandbox it asks the
//! agent over a descriptor that the call inherited; elsewhere it asks the helper.

use super::call::own_words;
use super::caller::{Caller, Own};
use super::steps::{say, take};
use super::translate::{PROGRAMS, Translation, translate};
use super::wire::VARIABLE;
use super::{descriptor, outside, real};
use crate::config::host::Host;
use std::ffi::OsString;
use std::path::Path;

/// Does what the program of this name would do; its exit code. `None` if the name is no shim's.
#[must_use]
pub fn called(argv: &[OsString], host: &Host) -> Option<u8> {
    let name = Path::new(argv.first()?).file_name()?.to_str()?.to_owned();
    if !PROGRAMS.contains(&name.as_str()) {
        return None;
    }
    if std::env::var_os(VARIABLE).is_none() {
        return Some(outside::call(argv, &name, host));
    }
    let Some(words) = own_words(argv, &name) else {
        return Some(say(&format!("{name}: a word is not UTF-8; no request takes it"), 1));
    };
    Some(match translate(&words, &mut Caller::new(Own::Workspace)) {
        Translation::Local(words) => real::in_directories(&words),
        Translation::Advice(line, exit) => say(&line, exit),
        Translation::Steps(steps) => take(steps, &mut descriptor::ask),
    })
}
