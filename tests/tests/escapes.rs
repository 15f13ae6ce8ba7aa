//! Out of the sandbox of the agent's own commands: every attempt under the real unit, each with controls
//! without it in the same machine, as root and as the same user.

use std::collections::BTreeMap;
use std::path::Path;

use postern_tests::{Installed, Release, on_each_release};
use serde_json::{Value, json};

on_each_release!(no_attempt_leaves_the_sandbox,);

/// Error of each attempt. `EROFS` and `ENOENT` are the unit's, `EACCES` Landlock's or an owner's, `EPERM` and
/// `ENOSYS` the filter's or a missing right's, `SIGSYS` the filter's for other architectures.
const REASONS: &[(&str, &str)] = &[
    (
        "EPERM",
        "connect_helper connect_operator connect_gateway connect_agent connect_tool connect_system_bus \
         connect_user_bus connect_systemd connect_journal connect_abstract datagram_pair_to_the_journal \
         tcp_to_this_host udp netlink packet_socket ptrace_the_supervisor read_the_supervisor \
         take_the_supervisors_descriptor signal_to_the_agent pidfd_signal_to_the_agent signal_to_the_supervisor \
         setuid_program become_root leave_the_groups user_namespace mount_namespace clone_a_user_namespace \
         enter_a_namespace mount open_tree change_root bpf perf_events add_a_key keyctl io_uring userfaultfd \
         file_handles kernel_log load_a_module set_the_clock raise_a_priority limits_of_the_supervisor \
         raise_a_limit personality type_into_a_terminal system_v_memory make_a_setuid_file",
    ),
    ("ENOSYS", "clone3_a_user_namespace"),
    ("SIGSYS", "x32_call ia32_call"),
    ("EBADF", "inherited_descriptors"),
    ("ENOENT", "agents_memory agents_environment supervisors_memory supervisors_descriptors"),
    (
        "EROFS",
        "write_a_configuration write_a_program write_a_unit write_the_root_directory write_a_file_open_to_all \
         write_through_a_symlink open_the_way_to_the_tasks",
    ),
    (
        "EACCES",
        "open_a_terminal make_a_device shared_memory write_a_home write_another_tasks_file \
         write_a_cgroup write_the_memory_score write_a_setting_of_the_kernel read_shadow read_the_policy \
         read_the_agents_state read_the_audit_log read_the_helpers_state read_roots_home read_another_tasks_file \
         read_the_names_of_tasks rename_out_of_the_workspace cut_another_tasks_file cut_by_opening",
    ),
    ("EXDEV", "link_into_the_workspace"),
];

/// Refused to root too by nspawn or the kernel: no control shows that these would work without the sandbox.
const UNPROVEN: &[&str] = &[
    "take_the_supervisors_descriptor",
    "bpf",
    "perf_events",
    "add_a_key",
    "keyctl",
    "io_uring",
    "userfaultfd",
    "file_handles",
    "kernel_log",
    "load_a_module",
    "set_the_clock",
    "raise_a_limit",
    "x32_call",
    "ia32_call",
];

/// Result of each attempt, by name.
type Said = BTreeMap<String, String>;

fn said(output: &str) -> Said {
    output
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, how)| (name.into(), how.into()))
        .collect()
}

/// The reason that an attempt must fail with where Landlock has that ABI.
fn reason(name: &str, abi: u32) -> &'static str {
    match (name, abi) {
        // Truncation is the filter's there.
        ("cut_another_tasks_file" | "cut_by_opening", 2) => "EPERM",
        // Its own call's end, and no other runs meanwhile.
        ("signal_to_the_supervisor", 2) => "out",
        _ => {
            let known = REASONS.iter().find(|(_, names)| names.split_whitespace().any(|n| n == name));
            known.unwrap_or_else(|| panic!("{name} has no reason")).0
        }
    }
}

/// Asks for a call as the agent does.
fn call(host: &Installed, ask: &Value) -> Value {
    host.run("postern", &["python3", "/usr/local/lib/call.py", &ask.to_string()]).json()
}

fn python(script: &str, arguments: &[&str]) -> Value {
    let path = format!("/usr/local/lib/{script}");
    let argv: Vec<&str> = ["python3", &path].into_iter().chain(arguments.iter().copied()).collect();
    argv_of(&argv)
}

fn argv_of(argv: &[&str]) -> Value {
    json!({ "program": { "argv": argv } })
}

fn shell(text: &str) -> Value {
    json!({ "program": { "shell": text } })
}

fn prepare(host: &Installed) {
    for script in ["call.py", "escapes.py", "listen.py", "ports.py"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("attacks").join(script);
        host.copy_in(&from, &format!("/usr/local/lib/{script}"));
    }
    let _ = host
        .shell(
            "install -m 4755 /usr/bin/id /usr/local/lib/escape-id; install -m 0666 /dev/null /srv/escape-open
         install -d -o postern-tool -g postern-tool -m 0700 /var/lib/postern-tool/tasks/other
         printf 12345 > /var/lib/postern-tool/tasks/other/file; chown postern-tool: /var/lib/postern-tool/tasks/other/file
         ip link set lo up; ip address add 192.0.2.1/32 dev lo
         systemd-run --quiet --unit escape-listen python3 /usr/local/lib/listen.py
         for i in $(seq 100); do [ ! -e /run/listening ] || break; sleep 0.1; done; test -e /run/listening",
        )
        .ok();
}

/// The units act as on a kernel whose Landlock has that ABI.
fn cap(host: &Installed, abi: u32) {
    for unit in ["postern-tool@", "postern-tool-ports@"] {
        let directory = format!("/etc/systemd/system/{unit}.service.d");
        let _ = host.shell(&format!(
            "mkdir -p {directory}; printf '[Service]\\nEnvironment=POSTERN_TOOL_LANDLOCK={abi}\\n' > {directory}/abi.conf"
        )).ok();
    }
    let _ = host.root(&["systemctl", "daemon-reload"]).ok();
}

fn no_attempt_leaves_the_sandbox(release: Release) {
    let host = Installed::on(release);
    prepare(&host);
    let agent = host.main_pid("postern-agent.service").expect("an agent").to_string();
    let controls = controls(&host, &agent);
    for abi in [9, 6, 2] {
        cap(&host, abi);
        let answer = call(&host, &python("escapes.py", &[&agent]));
        let record = &answer["record"];
        assert_eq!(record["sandbox"]["enforced"], true, "{answer}");
        let by: Vec<&str> = record["sandbox"]["controls"]
            .as_array()
            .expect("controls")
            .iter()
            .map(|control| control["by"].as_str().expect("a holder"))
            .collect();
        let resources = by.last().copied().filter(|by| ["unit", "limits"].contains(by)).expect("a bound");
        let (truncation, signals) = if abi == 2 { ("seccomp", "unit") } else { ("landlock", "landlock") };
        assert_eq!(by, ["unit", "landlock", truncation, "seccomp", "seccomp", signals, "unit", resources]);
        let said = said(record["stdout"].as_str().expect("what it said"));
        assert!(said.keys().eq(controls.keys()), "{answer}");
        for (name, how) in &said {
            assert_eq!(how, reason(name, abi), "{name}, Landlock ABI {abi}");
        }
        ports(&host, abi);
    }
    exhaustion(&host);
    survivors(&host);
    peers(&host);
}

/// Each attempt without the sandbox: as root, as the same user, and as root with an open descriptor.
fn controls(host: &Installed, agent: &str) -> Said {
    let script = "exec 5</etc/passwd; exec python3 /usr/local/lib/escapes.py \"$@\"";
    let as_root = said(&host.root(&["sh", "-c", script, "sh", agent, "/var/tmp/as-root"]).ok());
    let tool = ["python3", "/usr/local/lib/escapes.py", agent, "/var/tmp/as-tool"];
    let as_tool = said(&host.run("postern-tool", &tool).ok());
    assert_eq!(as_root.len(), as_tool.len());
    let (mut proven, mut unproven) = (0, Vec::new());
    for (name, how) in &as_root {
        if how == "out" || as_tool[name] == "out" {
            proven += 1;
        } else {
            assert!(
                UNPROVEN.contains(&name.as_str()),
                "the control of {name} failed: {how}, {}",
                as_tool[name]
            );
            unproven.push(format!("{name} ({how})"));
        }
    }
    println!("{proven} attempts work without the sandbox; not proven: {}", unproven.join(", "));
    assert!(proven >= 60, "{as_root:?}");
    as_root
}

/// A call that may reach one port. Units in an nspawn machine may load no BPF, so systemd cannot keep them from
/// other hosts there: the sandbox finds that out and refuses, and says it where it is told to go on.
fn ports(host: &Installed, abi: u32) {
    let mut ask = python("ports.py", &[]);
    ask["ports"] = json!([7001]);
    let answer = call(host, &ask);
    assert_eq!(answer["agent_error"]["code"], "unenforced", "{answer}");
    ask["unenforced"] = json!("report");
    let answer = call(host, &ask);
    assert_eq!(answer["record"]["sandbox"]["enforced"], false, "{answer}");
    if abi >= 4 {
        let wanted = "granted port: out\nanother port: EACCES\nanother protocol: EPERM\nopened by sending: EPERM\n\
                      another host: out\ndatagrams: EPERM\nlistening: EPERM\n";
        assert_eq!(answer["record"]["stdout"], wanted, "{answer}");
    }
    let free = host.run("postern-tool", &["python3", "/usr/local/lib/ports.py"]).ok();
    let outs = free.lines().filter(|line| line.ends_with(": out")).count();
    // MPTCP is a matter of the kernel's configuration.
    assert!(outs == 7 || (outs == 6 && free.contains("another protocol: E")), "{free}");
}

/// Processes, memory, disk and output beyond what is a call's.
fn exhaustion(host: &Installed) {
    let count = "import os, signal, sys, time
n = 0
try:
    while n < 400:
        if os.fork() == 0: time.sleep(1000)
        n += 1
except BlockingIOError: pass
print(n)
os.killpg(0, signal.SIGKILL) if len(sys.argv) > 1 else None";
    let forked = call(host, &argv_of(&["python3", "-c", count]));
    let forks: u32 =
        forked["record"]["stdout"].as_str().and_then(|n| n.trim().parse().ok()).expect("a count");
    // The unit's 128, or the user's 256 where the kernel has no such controller.
    assert!((50..256).contains(&forks), "{forked}");
    assert_eq!(host.run("postern-tool", &["python3", "-c", count]).ok(), "400\n");
    let memory = ["python3", "-c", "print(len(b'x' * (600 << 20)))"];
    let killed = call(host, &argv_of(&memory));
    // By the unit, or told by its own limit.
    let ended = &killed["record"];
    assert!(
        ended["signal"] == 9 || ended["stderr"].as_str().is_some_and(|e| e.contains("MemoryError")),
        "{killed}"
    );
    assert_eq!(host.run("postern-tool", &memory).ok(), "629145600\n");
    let fill =
        "for i in 1 2 3 4 5 6; do dd if=/dev/zero of=f$i bs=1M count=60 2>/dev/null; done; sync; sleep 50";
    let filled = call(host, &shell(fill));
    assert_eq!(filled["record"]["ended"], "disk", "{filled}");
    let _ = call(host, &shell("rm f*"));
    let temporary = "dd if=/dev/zero of=/tmp/f bs=1M count=60; dd if=/dev/zero of=/tmp/g bs=1M count=60";
    let temporary = call(host, &shell(temporary));
    assert!(
        temporary["record"]["stderr"].as_str().expect("text").contains("No space left on device"),
        "{temporary}"
    );
    let flood = call(host, &json!({ "program": { "shell": "yes" }, "time_ms": 3000 }));
    assert_eq!((&flood["record"]["ended"], &flood["record"]["truncated"]), (&json!("timeout"), &json!(true)));
    assert!(flood["record"]["stdout"].as_str().expect("text").len() < 65_600);
}

/// Nothing of a call outlives it, in whatever session it hides.
fn survivors(host: &Installed) {
    let hide = "setsid sleep 4242 >/dev/null 2>&1 & (setsid sleep 4242 >/dev/null 2>&1 &) ; echo hidden";
    let answer = call(host, &shell(hide));
    assert_eq!(answer["record"]["stdout"], "hidden\n", "{answer}");
    let gone = "for i in $(seq 100); do pgrep -u postern-tool >/dev/null || exit 0; sleep 0.1; done; exit 1";
    let _ = host.shell(gone).ok();
    // The control: without a unit that ends with it, they live on.
    let _ = host.run_with(&["User=postern-tool", "KillMode=process"], &["sh", "-c", hide]).ok();
    let _ = host.shell("pgrep -u postern-tool -f 'sleep 4242' && pkill -u postern-tool -f 'sleep 4242'").ok();
}

/// Nobody but the agent has commands run.
fn peers(host: &Installed) {
    let ask = shell("id").to_string();
    for user in ["visitor", "postern-tool", "nobody"] {
        let refused = host.run(user, &["python3", "/usr/local/lib/call.py", &ask]);
        assert!(refused.stderr.contains("PermissionError"), "{refused}");
    }
    // A root-owned directory above protects a workspace that a command has opened.
    let _ = call(host, &shell("chmod 777 . ..; true"));
    let listed = host.run("visitor", &["ls", "/var/lib/postern-tool/tasks"]);
    assert!(listed.stderr.contains("Permission denied"), "{listed}");
    // Root passes the socket's mode, and is not the agent either.
    assert_ne!(host.root(&["python3", "/usr/local/lib/call.py", &ask]).code, 0);
    let journal = host.journal("postern-tool@*");
    assert!(journal.contains("uid 0 is not the agent"), "{journal}");
}
