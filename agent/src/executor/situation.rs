//! A model's situation in its prompt: the time, the person who asks, who could answer or approve, and the view of the sandbox.

use super::runner::Runner;
use crate::config::values::Profile;
use crate::protocol::owner::Owner;
use crate::protocol::question::Person;
use nix::unistd::{Uid, User};
use std::fmt::Write;

impl Runner<'_> {
    /// A few lines for the end of the instructions.
    pub(super) fn situation(&self) -> String {
        let mut text = format!("\nNow: {}", now());
        let who = match self.order.owner {
            Owner::Uid(uid) => User::from_uid(Uid::from_raw(uid))
                .ok()
                .flatten()
                .map_or_else(|| format!("uid {uid}"), |user| user.name),
            Owner::Token => "somebody over HTTP".to_owned(),
        };
        let person = match self.person {
            Person::Present(_) => "at a terminal and can be asked",
            Person::Absent => "not there: ask_person gets no answer",
        };
        let operator =
            if self.is_operator_here { "An operator is logged in." } else { "No operator is logged in." };
        let _ = write!(text, "\nAsked by: {who}, {person}. {operator}");
        text.push_str(&shell(self.commands.tools.profile, self.commands.tools.ports.is_empty()));
        text
    }
}

/// The time here, with its zone.
fn now() -> String {
    let now = jiff::Zoned::now();
    let zone = now.time_zone().iana_name().map_or_else(String::new, |name| format!(" ({name})"));
    format!("{}{zone}", now.strftime("%A %Y-%m-%d %H:%M %:z"))
}

/// Describes the view of the agent's own commands, and the outcome of those that need privileges.
fn shell(profile: Profile, has_no_ports: bool) -> String {
    let network = if has_no_ports { "no network" } else { "no network but some local ports" };
    let files = match profile {
        Profile::None => return String::new(),
        Profile::ReadOnly => {
            "reads /usr, /etc, /opt and /srv, not /proc, /run or /var (ps, ss, df, dpkg -l show nothing), writes nothing"
        }
        Profile::SystemInspect => {
            "reads /usr, /etc, /opt, /srv, /proc, /sys, /run, /var/log and dpkg's data, writes nothing"
        }
        Profile::WorkspaceWrite => {
            "reads /usr, /etc, /opt, /srv, /proc, /sys, /run, /var/log and dpkg's data, writes only in its own directory and /tmp"
        }
    };
    format!(
        "\nshell: no privileges, {network}; {files}. sudo, apt-get, systemctl and their like in it become requests under \
         the same policy."
    )
}
