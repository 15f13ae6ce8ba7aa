//! `reboot` and `shutdown`. The helper reboots after at least a minute; it switches no host off.

use super::call::{Step, Steps, parse, step};
use super::exit_status::ProgramFamily;
use crate::protocol::args::Reboot;
use crate::protocol::request::Request;

/// A reboot after so many minutes.
pub fn in_minutes(minutes: u32) -> Step {
    ask(Reboot { delay_s: minutes.saturating_mul(60), cancel: false })
}

fn ask(reboot: Reboot) -> Step {
    step(Request::HostReboot(reboot), ProgramFamily::Systemctl)
}

/// `reboot`, which is `shutdown -r +1` here.
pub fn reboot(argv: &[String]) -> Steps {
    match parse(argv, "")? {
        (options, operands) if options.is_empty() && operands.is_empty() => Ok(vec![in_minutes(1)]),
        _ => Err("use `shutdown -r +MINUTES`".into()),
    }
}

/// `shutdown -r [now|+MINUTES] [MESSAGE]`, where `now` and `+0` are a minute from now; `shutdown -c`.
pub fn shutdown(argv: &[String]) -> Steps {
    let (options, operands) = parse(argv, "r c h P H k --reboot --poweroff --halt --no-wall --show")?;
    let names = options.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>();
    match names.as_slice() {
        ["c"] => Ok(vec![ask(Reboot { delay_s: 0, cancel: true })]),
        ["r" | "reboot"] => {
            let minutes = match operands.first().map(String::as_str) {
                None | Some("now") => Some(1),
                Some(time) => time.strip_prefix('+').and_then(|minutes| minutes.parse::<u32>().ok()),
            };
            let minutes = minutes.ok_or("say when in minutes: `shutdown -r +5`")?;
            Ok(vec![in_minutes(minutes.max(1))])
        }
        _ => Err("only `shutdown -r +MINUTES` and `shutdown -c`; no request switches the host off".into()),
    }
}
