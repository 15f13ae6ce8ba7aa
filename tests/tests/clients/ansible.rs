//! Ansible's own core from `PyPI`, with the package's collection and become plugin, over the local connection.

use std::path::Path;

use postern_tests::{Installed, Output};

use crate::python;

const CORE: &str = "ansible-core==2.19.14";
/// The user who runs the playbook.
const DEPLOYER: &str = "deployer";
const UNIT: &str = "[Service]\nExecStart=sleep infinity\n[Install]\nWantedBy=multi-user.target\n";

const RULES: &str = r#"
[[client]]
name = "deployer"
user = "deployer"

[[rule]]
id = "deployer-packages"
client = "deployer"
verbs = ["package.install", "package.upgrade", "package.remove"]
packages = ["ansible-*"]
decision = "allow"
justification = "what the site needs"
accept_risk = { "*" = "a test" }

[[rule]]
id = "deployer-lists"
client = "deployer"
verbs = ["package.update"]
decision = "allow"
justification = "new versions are seen"

[[rule]]
id = "deployer-files"
client = "deployer"
verbs = ["file.read", "file.write"]
directories = ["/srv/site"]
files = ["*"]
modes = ["0600", "0640", "0644"]
groups = ["root", "www-data"]
decision = "allow"
justification = "the site's files"
accept_risk = { "*" = "a test" }

[[rule]]
id = "deployer-units"
client = "deployer"
verbs = ["unit.daemon-reload"]
decision = "allow"
justification = "unit files are read anew"

[[rule]]
id = "deployer-server"
client = "deployer"
verbs = ["unit.status", "unit.start", "unit.restart", "unit.enable"]
units = ["site.service"]
decision = "allow"
justification = "the site's server"
accept_risk = { "*" = "a test" }
"#;

/// Runs Ansible as the user, in the playbook's directory.
fn ansible(host: &Installed, arguments: &str) -> Output {
    let script = format!(
        "cd /opt/site; export LC_ALL=C.UTF-8 PYTHONPATH=/opt/python ANSIBLE_NOCOLOR=1 ANSIBLE_LOCALHOST_WARNING=0 ANSIBLE_PIPELINING=1
        exec python3 -m ansible {arguments}"
    );
    host.run(DEPLOYER, &["sh", "-c", &script])
}

fn playbook(host: &Installed, options: &str) -> String {
    play(host, &format!("site.yml {options}"))
}

fn play(host: &Installed, arguments: &str) -> String {
    let output = ansible(host, &format!("playbook {arguments}"));
    assert_eq!(output.code, 0, "{output}\n{}", host.journal("postern-*"));
    output.stdout
}

/// The counts of the last line: ok, changed and skipped.
fn counts(output: &str) -> [u32; 3] {
    ["ok", "changed", "skipped"].map(|name| {
        let count = output.rsplit_once(&format!("{name}=")).and_then(|(_, rest)| rest.split(' ').next());
        count.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("no {name}= in {output}"))
    })
}

fn prepare(host: &Installed) {
    python::install(host, &[CORE]);
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/ansible");
    for name in ["site.yml", "become.yml", "files/robots.txt", "files/icon.bin", "templates/site.conf.j2"] {
        host.copy_in(&files.join(name), &format!("/opt/site/{name}"));
    }
    for (name, version) in [("ansible-one", "1"), ("ansible-two", "1"), ("ansible-three", "1")] {
        host.publish(name, version, "true");
    }
    let _ = host
        .shell(&format!(
            "apt-get -q update && apt-get -q -y install ansible-two ansible-three
            mkdir /srv/site
            printf '{UNIT}' > /etc/systemd/system/site.service
            systemctl daemon-reload
            id {DEPLOYER} || useradd --create-home --groups postern-clients {DEPLOYER}"
        ))
        .ok();
    host.publish("ansible-three", "2", "true");
    host.grant(RULES);
}

/// Shows every change that the first run will make, and makes none.
fn looks_at_a_fresh_host(host: &Installed) {
    let looked = playbook(host, "--check --diff");
    assert_eq!(counts(&looked), [11, 10, 2], "{looked}");
    for line in [
        "+ansible-one 1",
        "-ansible-two 1",
        "+ansible-three 2",
        "+front page 5417",
        "+{\"listen\": 8080}",
        "+    \"ActiveState\": \"active\",",
    ] {
        assert!(looked.contains(line), "{line} is missing: {looked}");
    }
    let _ = host.shell("test -z \"$(ls /srv/site)\" && ! dpkg -s ansible-one && dpkg -s ansible-two").ok();
}

/// Runs the playbook, runs it again, and lets it look after another's change.
pub fn session(host: &Installed) {
    prepare(host);
    if cfg!(feature = "long") {
        looks_at_a_fresh_host(host);
    }
    let done = playbook(host, "");
    assert_eq!(counts(&done), [13, 10, 0], "{done}");
    let state = host
        .shell(
            "cd /srv/site; stat -c '%n %a %U %G' *; sha256sum < icon.bin; cat site.conf
            dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' 'ansible-*'
            systemctl is-active site; systemctl is-enabled site",
        )
        .ok();
    let wanted = "icon.bin 644 root root\nindex.html 644 root root\nrobots.txt 600 root root\n\
        site.conf 640 root www-data\n\
        5e90fe977790507860b03456633c9ad88ea951cd8a6620d3e37ca43c160c15ae  -\n{\"listen\": 8080}\n\
        ansible-one 1 installed\nansible-three 2 installed\nactive\nenabled\n";
    assert_eq!(state, wanted);

    // Modules write their parameters to the journal: content is none of them. And no variable is put into a request.
    let said = host.shell("journalctl --no-pager | grep -c 'Invoked with'; journalctl --no-pager | grep -c '54[1]7' || true").ok();
    let counts_of = said.lines().map(|count| count.parse::<u32>().expect("a count")).collect::<Vec<_>>();
    assert!(counts_of[0] > 5 && counts_of[1] == 0, "{said}");
    let log = host.root(&["postern-admin", "audit", "show", "--verb", "file.write", "--json"]).ok();
    assert!(log.contains("the price is $HOME"), "{log}");

    let again = playbook(host, "");
    assert_eq!(counts(&again), [12, 0, 0], "{again}");

    let _ = host.shell("echo changed > /srv/site/index.html; chmod 0644 /srv/site/site.conf").ok();
    let looked = playbook(host, "--check --diff");
    assert_eq!(counts(&looked)[1], 3, "{looked}");
    for line in ["-changed", "+front page 5417", "-    \"mode\": \"0644\"", "+    \"mode\": \"0640\""] {
        assert!(looked.contains(line), "{line} is missing: {looked}");
    }
    assert_eq!(host.shell("cat /srv/site/index.html").ok(), "changed\n");

    let refused = ansible(host, "adhoc localhost -m postern.host.copy -a 'dest=/etc/hosts content=x'");
    assert!(refused.code != 0 && refused.stdout.contains("no_grant: "), "{refused}");
    for (module, arguments, words) in [
        ("service", "name=no-such state=stopped", "there is no unit no-such.service"),
        ("package", "name=ansible-* state=present", "is no name of a package"),
    ] {
        let wrong = ansible(host, &format!("adhoc localhost -m postern.host.{module} -a '{arguments}'"));
        assert!(wrong.code != 0 && wrong.stdout.contains(words), "{wrong}");
    }
    becomes(host);
}

/// Runs command lines with `become`, and refuses what would need root itself.
fn becomes(host: &Installed) {
    let before = host.shell("systemctl show --property=InvocationID site").ok();
    let done = play(host, "become.yml");
    assert_eq!(counts(&done), [11, 5, 0], "{done}");
    let state = "cd /srv/site; stat -c '%n %a %U' tee.txt raw.txt; cat tee.txt raw.txt; ! ls /root/of-root ~deployer/of-root";
    assert_eq!(host.shell(state).ok(), "tee.txt 644 root\nraw.txt 644 root\nby tee\nraw\n");
    assert_ne!(
        before,
        host.shell("systemctl show --property=InvocationID site").ok(),
        "the server was restarted"
    );
}
