//! The programs and commands of docs/grpc.md: `PyPI`'s grpcio, Go's gRPC from Debian, and buf from npm.

use std::fs;
use std::path::Path;

use postern_tests::{Installed, Release};

use crate::{node, python};

/// Python's gRPC and its compiler.
const PACKAGES: [&str; 2] = ["grpcio==1.85.1", "grpcio-tools==1.85.1"];

/// The page's user, and the unit that the page's program reloads.
const SETUP: &str = "
useradd --create-home --groups postern-clients deployer
cat > /etc/systemd/system/nginx.service <<'E'
[Service]
ExecStart=sleep infinity
ExecReload=touch /run/reloaded
E
systemctl daemon-reload
systemctl start nginx.service
";

/// The lines of the page's fenced block that starts with this line.
fn block<'a>(page: &'a str, start: &str) -> &'a str {
    let blocks = page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'));
    let found = blocks.map(|(_, lines)| lines).find(|lines| lines.starts_with(start));
    found.unwrap_or_else(|| panic!("docs/grpc.md has no block that starts with {start:?}"))
}

fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grpc.md");
    fs::read_to_string(page).expect("docs/grpc.md")
}

/// Makes the page's user and unit, and accepts its policy.
fn set_up(host: &Installed, page: &str) {
    let _ = host.shell(SETUP).ok();
    host.grant(block(page, "# /etc/postern/policy.d/30-deployer.toml"));
}

/// Runs the page's program as the page's user: its request is done, and one that no rule grants is refused.
pub fn session(host: &Installed) {
    python::install(host, &PACKAGES);
    let page = page();
    let program = block(&page, "# reload.py");
    let commands = block(&page, "python3 -m venv ~/grpc").lines().filter(|line| line.contains("/python "));
    let commands = commands.map(|line| line.replace("~/grpc/bin/python", "python3")).collect::<Vec<_>>();
    assert_eq!(commands.len(), 2, "{commands:?}");

    set_up(host, &page);
    let _ = host.shell(&format!("cat > /home/deployer/reload.py <<'E'\n{program}E")).ok();
    let run = |command: &str| {
        host.run("deployer", &["sh", "-c", &format!("cd; export PYTHONPATH=/opt/python; {command}")])
    };
    assert_eq!(run(&commands.join("\n")).ok(), "STATUS_DONE active\n", "{}", host.journal("postern-*"));
    let _ = host.root(&["test", "-e", "/run/reloaded"]).ok();

    let refused = run("python3 reload.py ssh.service");
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr.starts_with("no_grant: "), "{refused}");

    let uid = host.root(&["id", "-u", "deployer"]).ok().trim().to_owned();
    let log = host.root(&["postern-admin", "audit", "show", "--verb", "unit.reload", "--json"]).ok();
    assert!(log.contains(&format!("\"client\":{{\"name\":\"deployer\",\"uid\":{uid},")), "{log}");
}

/// The packages that the page names for Go.
const GO: [&str; 6] = [
    "golang-go",
    "golang-google-grpc-dev",
    "golang-github-google-uuid-dev",
    "protobuf-compiler",
    "protoc-gen-go",
    "protoc-gen-go-grpc",
];
const BUF: &str = "@bufbuild/buf@1.75.0";

#[test]
fn the_pages_programs_in_go_work() {
    let host = Installed::on_offering(Release::Trixie, &GO);
    let page = page();
    assert!(page.contains(&format!("(`{}`)", GO.join(" "))), "the page names other packages");
    set_up(&host, &page);
    let buf = node::modules(BUF).join("@bufbuild/buf-linux-x64/bin/buf");
    host.copy_in(&buf, "/usr/local/bin/buf");
    let commands = block(&page, "buf curl");
    let described = host.run("deployer", &["sh", "-c", commands.lines().next().expect("a command")]);
    assert!(described.clone().ok().contains("nginx.service"), "{described}");

    let _ = host
        .root(&[&["apt-get", "-q", "-y", "install", "--no-install-recommends"], GO.as_slice()].concat())
        .ok();
    let at = "/home/deployer/go/src/example.org/reload";
    let program = block(&page, "// reload.go");
    let _ = host
        .shell(&format!(
            "mkdir -p {at}; cat > {at}/reload.go <<'E'\n{program}E\nchown -R deployer /home/deployer/go"
        ))
        .ok();
    let commands = block(&page, "cd ~/go/src/example.org/reload").to_owned();
    let built = host.run("deployer", &["bash", "-ec", &commands]);
    assert!(built.clone().ok().ends_with("STATUS_DONE active\n"), "{built}");
    let refused = host.run("deployer", &[&format!("{at}/reload"), "ssh.service"]);
    assert!(refused.code == 1 && refused.stderr.contains("no_grant: "), "{refused}");
}
