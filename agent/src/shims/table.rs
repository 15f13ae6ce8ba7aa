//! The translation of each shimmed program.

use super::call::{ShimHost, Steps, program};
use super::{copies, files, owners, packages, power, sed, units};

/// A program whose work is a request.
pub fn command(argv: &[String], place: &mut dyn ShimHost) -> Steps {
    match program(argv).as_str() {
        "apt-get" | "apt" => packages::apt(argv),
        "apt-mark" => packages::mark(argv),
        "dpkg" => packages::dpkg(argv),
        "systemctl" => units::systemctl(argv),
        "service" => units::service(argv),
        "touch" => files::touch(argv, place),
        "reboot" => power::reboot(argv),
        "shutdown" => power::shutdown(argv),
        "tee" => files::tee(argv, place),
        "install" => copies::install(argv, place),
        "cp" => copies::copy(argv, place),
        "mv" => copies::rename(argv, place),
        "rm" => files::remove(argv, place),
        "sed" => sed::sed(argv, place),
        "mkdir" => owners::mkdir(argv, place),
        "chmod" => owners::chmod(argv, place),
        "chown" | "chgrp" => owners::chown(argv, place),
        name => Err(format!("{name} has no request of its own; see what is granted with `postern can`")),
    }
}
