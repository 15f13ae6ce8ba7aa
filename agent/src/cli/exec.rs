//! `postern exec`: a program with `sudo` and its like of Postern's first in PATH, under `NoNewPrivileges`.

use super::session::Session;
use crate::protocol::event::AgentError;
use crate::protocol::exit::Exit;
use crate::shims::{DIRECTORY, outside};
use nix::sys::prctl::set_no_new_privs;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

impl Session<'_> {
    /// Becomes the program. Returns only if that fails.
    pub(super) fn exec(&mut self, command: &[OsString]) -> Exit {
        let Some((program, arguments)) = command.split_first() else {
            return self.fail(&AgentError::new("invalid_argument", "name the command"));
        };
        if let Err(error) = set_no_new_privs() {
            return self.fail(&AgentError::new("failed", format!("cannot set NoNewPrivileges: {error}")));
        }
        if !nix::unistd::geteuid().is_root() && !outside::is_client(self.host) {
            let socket = self.host.helper_socket.display();
            self.console.say(&format!(
                "postern: this user may not open {socket} (group postern-clients): sudo will not work in the command"
            ));
        }
        let path = with_shims(std::env::var_os("PATH").as_deref());
        // Read by /etc/profile.d/postern.sh.
        let error = Command::new(program).args(arguments).env("PATH", path).env("POSTERN_EXEC", "1").exec();
        self.fail(&AgentError::new("failed", format!("{}: {error}", program.display())))
    }
}

/// The search path with the shims first.
fn with_shims(path: Option<&OsStr>) -> OsString {
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    if std::env::split_paths(path).next().is_some_and(|first| first == Path::new(DIRECTORY)) {
        return path.to_owned();
    }
    [OsStr::new(DIRECTORY), OsStr::new(":"), path].into_iter().collect()
}
