//! Figures of the whole system, measured on a throwaway Debian:
//! `POSTERN_DEB=$(deploy/package) cargo bench -p postern-tests --features machine --bench host`.
//!
//! Each figure is a row of BENCHMARKS.md, beside what it is compared with, taken in turns in the same run. A missed bar is
//! printed and fails nothing. Needs root.

mod inside;
mod write;

use postern_tests::{Installed, Release};
use std::time::Duration;

/// Where this program stands in the machine.
const COPY: &str = "/var/tmp/host-bench";
/// How often each side of a comparison installs.
const TIMES: usize = 5;
/// Beside the demonstration's policy.
const RULES: &str = r#"
[[rule]]
id = "bench-packages"
client = "agent"
verbs = ["package.install"]
packages = ["bench-*"]
decision = "allow"
justification = "what an installation costs"
accept_risk = { any-source = "the machine has one source", package-pattern = "the packages are the bench's own" }
"#;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["inside", what, rest @ ..] => inside::run(what, rest),
        _ => outside(),
    }
}

fn outside() {
    for release in [Release::Bookworm, Release::Trixie] {
        let host = Installed::on(release);
        let name = if release == Release::Bookworm { "12" } else { "13" };
        println!("### Debian {name}\n\n| what | measured | bar |\n|---|---|---|");
        host.copy_in(&std::env::current_exe().expect("this program"), COPY);
        host.grant(RULES);
        let _ = host.shell("echo 'postern ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/bench").ok();
        print!("{}", client(&host, &["decision"]));
        let _ = host.shell("mkdir -p /var/www/html").ok();
        print!("{}", client(&host, &["write"]));
        cold_write(&host);
        print!("{}", client(&host, &["status"]));
        install(&host);
        memory(&host);
        exposure(&host);
        println!();
    }
}

/// Runs this program in the machine as the agent's user.
fn client(host: &Installed, arguments: &[&str]) -> String {
    host.run("postern", &[&[COPY, "inside"], arguments].concat()).ok()
}

/// A write that finds root's program for files ended.
fn cold_write(host: &Installed) {
    let mut times: Vec<Duration> = (0..TIMES)
        .map(|_| {
            let _ = host.root(&["systemctl", "stop", "postern-files.service"]).ok();
            nanoseconds(&client(host, &["write-once"]))
        })
        .collect();
    let took = format!("{} ms", inside::median(&mut times).as_millis());
    print!("{}", inside::row("audited `file.write` of 4 KiB, root's program not running", &took, "–"));
}

/// Resident memory after the requests of a day, of those that run all the time and of those that end when idle.
fn memory(host: &Installed) {
    let _ = host.visitor(&["postern", "health"]);
    print!("{}", client(host, &["requests", "1000"]));
    // The write is last: each program is read before it has waited long enough to end.
    let _ = client(host, &["write-once"]);
    for (unit, bar) in [
        ("postern-broker.service", "3"),
        ("postern-audit.service", "3"),
        ("postern-files.service", "3"),
        ("postern-units.service", "3"),
        ("postern-probe.service", "6"),
        ("postern-agent.service", "20"),
    ] {
        let measured = host.main_pid(unit).map_or("not running".to_owned(), |pid| {
            inside::resident(&host.shell(&format!("cat /proc/{pid}/status")).ok())
        });
        print!(
            "{}",
            inside::row(&format!("resident memory of `{unit}`"), &measured, &format!("at most {bar} MB"))
        );
    }
    // Idle for longer than each of them waits for a connection.
    let _ = host.root(&["sleep", "60"]).ok();
    let left = host.shell("pgrep -c 'postern-(files|units|packages|command)' || true").ok();
    print!("{}", inside::row("root's programs after a minute without a request", left.trim(), "0"));
}

/// Prints `systemd-analyze security` of each unit.
fn exposure(host: &Installed) {
    for (unit, bar) in [
        ("postern-gateway@1.service", "0.5"),
        ("postern-broker.service", "0.8"),
        ("postern-audit.service", "0.8"),
        ("postern-probe.service", "0.8"),
        ("postern-files.service", "1.0"),
        ("postern-units.service", "1.0"),
        ("postern-agent.service", "1.3"),
    ] {
        let said = host.root(&["systemd-analyze", "security", "--no-pager", unit]).stdout;
        let level =
            said.lines().find_map(|line| line.split_once("exposure level for")?.1.split_whitespace().nth(1));
        let level = level.unwrap_or_else(|| panic!("no level of {unit}: {said}"));
        print!("{}", inside::row(&format!("exposure of `{unit}`"), level, &format!("at most {bar}")));
    }
}

/// `package.install` beside one simulation and one run of apt-get: of small packages that are alike, and of one
/// as people install them.
fn install(host: &Installed) {
    let name = |number: usize| format!("bench-{number}");
    for number in 0..2 * TIMES {
        host.publish(&name(number), "1", "true");
    }
    let _ = host.root(&["apt-get", "-q", "update"]).ok();
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for number in 0..TIMES {
        ours.push(nanoseconds(&client(host, &["install", &name(2 * number)])));
        bare.push(apt_get(host, &name(2 * number + 1)));
    }
    print!(
        "{}",
        inside::compared("package.install, tiny", &mut ours, "apt-get twice", &mut bare, "at most 1.2")
    );
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        ours.push(nanoseconds(&client(host, &["install", "nginx-light"])));
        purge(host, "nginx-light");
        bare.push(apt_get(host, "nginx-light"));
        purge(host, "nginx-light");
    }
    let name = "package.install, nginx-light";
    print!("{}", inside::compared(name, &mut ours, "apt-get twice", &mut bare, "at most 1.0"));
}

fn apt_get(host: &Installed, package: &str) -> Duration {
    let timed = format!(
        "export DEBIAN_FRONTEND=noninteractive; began=$(date +%s%N); apt-get -s -q -y install {package} >/dev/null; \
         apt-get -q -y install {package} >/dev/null 2>&1; echo $(($(date +%s%N) - began))"
    );
    nanoseconds(&host.shell(&timed).ok())
}

fn purge(host: &Installed, package: &str) {
    let _ = host.shell(&format!("apt-get -q -y purge --autoremove {package} && apt-get clean")).ok();
}

fn nanoseconds(text: &str) -> Duration {
    Duration::from_nanos(text.trim().parse().unwrap_or_else(|_| panic!("no time: {text:?}")))
}
