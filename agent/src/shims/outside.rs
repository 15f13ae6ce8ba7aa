//! Shims outside the agent's sandbox: any program of a client of the helper finds `sudo` and its like in PATH, and
//! each request is sent to the helper as the caller's own uid.
//!
//! A command line is translated only where real sudo can do nothing: under `NoNewPrivileges`, for a uid that may open
//! the helper's socket. For everybody else the real program runs with the same arguments, so that PATH can be set
//! for everybody.

use super::call::own_words;
use super::caller::{Caller, Own};
use super::client::Client;
use super::exit_status::ProgramFamily;
use super::steps::{say, take};
use super::translate::{Translation, translate};
use super::{reads, real};
use crate::config::host::Host;
use nix::sys::prctl::get_no_new_privs;
use nix::unistd::{AccessFlags, access, geteuid};
use std::ffi::OsString;

/// Runs one shim to its end; its exit code.
#[must_use]
pub fn call(argv: &[OsString], name: &str, host: &Host) -> u8 {
    let gains_nothing = get_no_new_privs().unwrap_or(false);
    if geteuid().is_root() || !gains_nothing || !is_client(host) {
        return real::next_in_path(name, argv);
    }
    let is_sudo = name == "sudo";
    let Some(words) = own_words(argv, name) else {
        return if is_sudo {
            say("sudo: a word is not UTF-8; no request takes it", 1)
        } else {
            real::next_in_path(name, argv)
        };
    };
    let mut caller = Caller::new(Own::Writable(Client::new(host, &words)));
    let steps = match translate(&words, &mut caller) {
        Translation::Local(words) if is_sudo => {
            return reads::through_helper(&words, &caller).unwrap_or_else(|| real::in_directories(&words));
        }
        // A program that edits files without sudo fails as it always does.
        Translation::Advice(..)
            if !is_sudo
                && !caller.is_input_read
                && !matches!(ProgramFamily::of(name), ProgramFamily::Apt | ProgramFamily::Systemctl) =>
        {
            return real::next_in_path(name, argv);
        }
        Translation::Local(_) => return real::next_in_path(name, argv),
        Translation::Advice(line, _) => return say(&line, 1),
        Translation::Steps(steps) => steps,
    };
    let mut answers = Vec::new();
    let exit = take(steps, &mut |step| {
        let answer = caller.ask(step)?;
        answers.push(answer.code.clone());
        Ok(answer)
    });
    // The group may open the socket, but no rule names this user: to the policy it is no client.
    if answers == ["unknown_client"] && !caller.is_input_read { real::next_in_path(name, argv) } else { exit }
}

/// Whether the helper takes requests of this user, as far as the socket's mode says. Nothing is connected.
#[must_use]
pub fn is_client(host: &Host) -> bool {
    access(&host.helper_socket, AccessFlags::W_OK).is_ok()
}
