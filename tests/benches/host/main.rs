//! DESIGN 11's figures of the whole system, measured on a throwaway Debian:
//! `POSTERN_DEB=$(deploy/package) cargo bench -p postern-tests --features machine --bench host`.
//!
//! Each figure stands beside what it is compared with, taken in turns in the same run. A missed bar is
//! printed and fails nothing. Needs root.

mod inside;

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
        println!("Debian {}", if release == Release::Bookworm { "12" } else { "13" });
        host.copy_in(&std::env::current_exe().expect("this program"), COPY);
        host.grant(RULES);
        let _ = host.shell("echo 'postern ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/bench").ok();
        memory(&host);
        print!("{}", client(&host, &["decision"]));
        print!("{}", client(&host, &["status"]));
        install(&host);
    }
}

/// What this program says in the machine, as the agent's user.
fn client(host: &Installed, arguments: &[&str]) -> String {
    host.run("postern", &[&[COPY, "inside"], arguments].concat()).ok()
}

fn memory(host: &Installed) {
    let helper = || resident_kb(host, "postern-helper.service");
    let _ = host.visitor(&["postern", "health"]);
    let (helper_at_rest, agent) = (helper(), resident_kb(host, "postern-agent.service"));
    println!("memory at rest: helper {helper_at_rest} kB (bar 3072), agent {agent} kB (bar 25600)");
    // What a first client makes it allocate is no growth.
    let _ = client(host, &["requests", "200"]);
    let before = helper();
    let _ = client(host, &["requests", "1000"]);
    println!("memory of the helper: {before} kB, after 1,000 requests more {} kB", helper());
}

fn resident_kb(host: &Installed, unit: &str) -> u64 {
    let pid = host.main_pid(unit).unwrap_or_else(|| panic!("{unit} does not run"));
    let status = host.shell(&format!("cat /proc/{pid}/status")).ok();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
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
    print!("{}", inside::compared("package.install, tiny", &mut ours, "apt-get twice", &mut bare, "no bar"));
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        ours.push(nanoseconds(&client(host, &["install", "nginx-light"])));
        purge(host, "nginx-light");
        bare.push(apt_get(host, "nginx-light"));
        purge(host, "nginx-light");
    }
    let name = "package.install, nginx-light";
    print!("{}", inside::compared(name, &mut ours, "apt-get twice", &mut bare, "at most 1.1"));
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
