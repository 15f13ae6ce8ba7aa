//! Facts of a host that is files and a bus of the test's own.

use crate::common::{Place, Play, ended};
use crate::looks::{put, told};
use crate::server::Server;
use crate::tasks::{calls, configure};
use postern_proto::v1::Status;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};

async fn one(place: &Place, tool: &str, args: Value) -> Value {
    told(place, &[(tool, args)], Vec::new()).await.remove(0)
}

#[tokio::test]
async fn the_host_is_told_as_its_files_have_it() {
    let place = Place::new();
    put(
        &place,
        "etc/os-release",
        "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\nID=debian\nHOME_URL=\"x\"\n",
    );
    put(&place, "proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\nMemAvailable:   1024 kB\n");
    put(&place, "proc/uptime", "3600.52 7000.00\n");
    put(&place, "proc/loadavg", "0.50 0.25 0.10 1/100 4242\n");
    put(&place, "run/reboot-required", "");
    symlink("/usr/share/zoneinfo/Europe/Berlin", place.host.root.join("etc/localtime")).unwrap();
    let told = one(&place, "get_system_info", json!({})).await;
    assert_eq!(told["release"], json!({ "pretty_name": "Debian GNU/Linux 13 (trixie)", "id": "debian" }));
    assert_eq!(told["memory"], json!({ "total_bytes": 2_097_152, "available_bytes": 1_048_576 }));
    assert_eq!((&told["up_s"], &told["load"]), (&json!(3600), &json!([0.5, 0.25, 0.1])));
    assert_eq!((&told["needs_reboot"], &told["timezone"]), (&json!(true), &json!("Europe/Berlin")));
    assert_eq!(told["kernel"], json!(nix::sys::utsname::uname().unwrap().release().to_str()));
}

#[tokio::test]
async fn the_network_is_told_as_the_kernel_has_it() {
    let place = Place::new();
    let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n        |-- 10.0.0.0\n           \
                /24 link UNICAST\n        |-- 10.0.0.7\n           /32 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n";
    put(&place, "proc/self/net/fib_trie", trie);
    put(&place, "proc/self/net/if_inet6", "fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n");
    let head = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n";
    let number = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
    let any = number([0; 4]);
    let route = format!("{head}eth0\t{any}\t{}\t0003\t0\t0\t0\t{any}\t0\t0\t0\n", number([10, 0, 0, 1]));
    put(&place, "proc/self/net/route", route);
    let row = |address: &str, port: u16, state: &str, uid: u32| {
        format!(
            "   0: {address}:{port:04X} {any}:0000 {state} 00000000:00000000 00:00000000 00000000  {uid}        0 64\n"
        )
    };
    let local = number([127, 0, 0, 1]);
    let tcp = format!("  sl\n{}{}", row(&local, 80, "0A", 33), row(&local, 5555, "01", 0));
    put(&place, "proc/self/net/tcp", tcp);
    put(&place, "proc/self/net/udp6", format!("  sl\n{}", row(&any.repeat(4), 53, "07", 0)));
    put(&place, "sys/class/net/eth0/operstate", "up\n");
    put(&place, "sys/class/net/eth0/address", "02:fc:00:00:00:01\n");
    put(&place, "etc/resolv.conf", "search x\nnameserver 10.0.0.1\n");
    let told = one(&place, "get_network", json!({})).await;
    assert_eq!(told["addresses"], json!(["10.0.0.7", "127.0.0.1", "fe80::fc:ff:fe00:1/64 on eth0"]));
    assert_eq!(told["routes_v4"], json!([{ "interface": "eth0", "to": "0.0.0.0/0", "via": "10.0.0.1" }]));
    let listeners = json!([
        { "protocol": "udp", "address": "::", "port": 53, "uid": 0 },
        { "protocol": "tcp", "address": "127.0.0.1", "port": 80, "uid": 33 },
    ]);
    assert_eq!(told["listeners"], listeners);
    assert_eq!(
        told["interfaces"][0],
        json!({ "name": "eth0", "state": "up", "mac": "02:fc:00:00:00:01", "mtu": null })
    );
    assert_eq!(told["name_servers"], json!(["10.0.0.1"]));
}

#[tokio::test]
async fn packages_are_told_with_their_states() {
    let place = Place::new();
    let package = |name: &str, status: &str| {
        format!(
            "Package: {name}\nStatus: {status}\nVersion: 1.2-3\nArchitecture: amd64\nDescription: what it is\n more: of it\nConffiles:\n /etc/x 00\n\n"
        )
    };
    let status = [
        package("nginx-light", "install ok installed"),
        package("nginx-common", "hold ok installed"),
        package("broken", "install reinstreq half-configured"),
    ];
    put(&place, "var/lib/dpkg/status", status.concat());
    put(&place, "var/lib/dpkg/updates/0001", "x");
    let asked = [("list_packages", json!({ "contains": "nginx" })), ("list_packages", json!({}))];
    let mut results = told(&place, &asked, Vec::new()).await;
    let all = results.pop().unwrap();
    let told = results.pop().unwrap();
    // Hundreds of those that are plainly installed would be listed for nothing.
    let named: Vec<_> = all["packages"].as_array().unwrap().iter().map(|package| &package["name"]).collect();
    assert_eq!(named, ["nginx-common", "broken"]);
    assert_eq!(all["states"], told["states"]);
    assert!(all["note"].as_str().unwrap().contains("only counted"), "{all}");
    assert_eq!(
        (&told["states"], &told["interrupted"]),
        (&json!({ "half-configured": 1, "installed": 2 }), &json!(true))
    );
    let light = json!({ "name": "nginx-light", "state": "installed", "version": "1.2-3", "arch": "amd64", "summary": "what it is" });
    assert_eq!(told["packages"][0], light);
    assert_eq!((&told["packages"][1]["held"], told["packages"].as_array().unwrap().len()), (&json!(true), 2));
}

#[tokio::test]
async fn disks_are_told_once_each_and_others_hosts_are_not_touched() {
    let place = Place::new();
    let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 8:1 /srv /srv rw - ext4 /dev/sda1 rw\n\
                  24 22 0:5 / /proc rw - proc proc rw\n25 22 0:9 / /mnt/no\\040such rw - nfs4 server:/x rw\n";
    put(&place, "proc/self/mountinfo", mounts);
    let told = one(&place, "list_disks", json!({})).await;
    let disks = told["disks"].as_array().unwrap();
    assert_eq!(disks.len(), 2, "{told}");
    assert!(disks[0]["size_bytes"].as_u64().unwrap() > disks[0]["available_bytes"].as_u64().unwrap());
    assert_eq!(disks[1], json!({ "path": "/mnt/no such", "type": "nfs4", "source": "server:/x" }));
}

#[tokio::test]
async fn what_is_not_there_is_said_and_nothing_made_up() {
    let place = Place::new();
    let tools = ["list_units", "list_timers", "list_processes", "list_packages", "list_disks"];
    let asked: Vec<_> = tools.iter().map(|tool| (*tool, json!({}))).collect();
    let results = told(&place, &asked, Vec::new()).await;
    for (tool, told) in tools.iter().zip(&results) {
        assert_eq!(told["status"], "error", "{tool}: {told}");
        let members: Vec<&String> = told.as_object().unwrap().keys().collect();
        assert_eq!(members, ["error", "status"], "{tool}: a failure says why, and nothing else");
    }
}

/// A reply as a bus of either byte order sends it, from the values of its body.
struct Reply {
    is_little: bool,
    bytes: Vec<u8>,
}

impl Reply {
    fn pad(&mut self, size: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(size), 0);
        self
    }

    fn number(&mut self, number: u32) -> &mut Self {
        self.pad(4);
        self.bytes.extend(if self.is_little { number.to_le_bytes() } else { number.to_be_bytes() });
        self
    }

    fn long(&mut self, number: u64) -> &mut Self {
        self.pad(8);
        self.bytes.extend(if self.is_little { number.to_le_bytes() } else { number.to_be_bytes() });
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.number(u32::try_from(text.len()).unwrap());
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
        self
    }

    fn form(&mut self, form: &str) -> &mut Self {
        self.bytes.push(u8::try_from(form.len()).unwrap());
        self.bytes.extend(form.as_bytes());
        self.bytes.push(0);
        self
    }

    /// An array of structs, each written by a function.
    fn array(&mut self, count: usize, mut one: impl FnMut(&mut Self, usize)) {
        let at = self.bytes.len();
        self.number(0).pad(8);
        let begin = self.bytes.len();
        for index in 0..count {
            one(self.pad(8), index);
        }
        let length = u32::try_from(self.bytes.len() - begin).unwrap();
        let length = if self.is_little { length.to_le_bytes() } else { length.to_be_bytes() };
        self.bytes[at..at + 4].copy_from_slice(&length);
    }
}

/// How a bus answers.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Little,
    Big,
    /// Lengths that lead beyond the end.
    Lying,
    Refusing,
    /// One byte of each answer but the first is another.
    Broken(usize, u8),
}

fn body(member: &str, arg: &str, body: &mut Reply) -> &'static str {
    let units = [
        ("nginx.service", "active"),
        ("bad.service", "failed"),
        ("logrotate.timer", "active"),
        ("sda.device", "active"),
    ];
    match (member, arg) {
        ("Hello", _) => {
            body.text(":1.7");
            "s"
        }
        ("ListUnits", _) => {
            body.array(units.len(), |body, at| {
                let (name, active) = units[at];
                for text in [name, "what it is", "loaded", active, "running", "", "/unit"] {
                    body.text(text);
                }
                body.number(0).text("").text("/");
            });
            "a(ssssssouso)"
        }
        ("ListUnitFiles", _) => {
            let files = [
                ("/usr/lib/systemd/system/nginx.service", "enabled"),
                ("/etc/systemd/system/cache.service", "masked"),
            ];
            body.array(files.len(), |body, at| {
                let (path, state) = files[at];
                body.text(path).text(state);
            });
            "a(ss)"
        }
        ("GetUnitProcesses", _) => {
            body.array(2, |body, at| {
                let (group, pid, command) = [
                    (
                        "/system.slice/nginx.service",
                        42,
                        "nginx: worker --password=hunter22222 --api-key abcdefg --db-pass=x1 -x mysql -phunter2 db",
                    ),
                    ("/init.scope", 1, "/sbin/init"),
                ][at];
                body.text(group).number(pid).text(command);
            });
            "a(sus)"
        }
        ("Get", "Unit") => {
            body.form("s").text("logrotate.service");
            "v"
        }
        ("Get", name) => {
            let time = if name == "NextElapseUSecMonotonic" { u64::MAX } else { 1_800_000_000_000_000 };
            body.form("t").long(time);
            "v"
        }
        (other, _) => panic!("{other}"),
    }
}

fn answer(stream: &mut BufReader<UnixStream>, manner: Manner) -> Option<()> {
    let mut head = [0; 16];
    stream.read_exact(&mut head).ok()?;
    let number = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap()) as usize;
    let mut rest = vec![0; number(12).next_multiple_of(8) + number(4)];
    stream.read_exact(&mut rest).ok()?;
    let text = String::from_utf8_lossy(&rest).into_owned();
    let members = ["Hello", "ListUnitFiles", "ListUnits", "GetUnitProcesses", "Get"];
    let member = members.into_iter().find(|member| text.contains(&format!("{member}\0"))).unwrap();
    let args = ["NextElapseUSecMonotonic", "NextElapseUSecRealtime", "LastTriggerUSec", "Unit"];
    let arg = args.into_iter().find(|arg| text.ends_with(&format!("{arg}\0"))).unwrap_or_default();
    let is_little = manner != Manner::Big;
    let mut content = Reply { is_little, bytes: Vec::new() };
    let form = body(member, arg, &mut content);
    if manner == Manner::Lying && member != "Hello" {
        content.bytes[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    }
    let mut message = Reply { is_little, bytes: vec![if is_little { b'l' } else { b'B' }, 2, 1, 1] };
    let is_refused = manner == Manner::Refusing && member != "Hello";
    message.bytes[1] = if is_refused { 3 } else { 2 };
    message.number(u32::try_from(content.bytes.len()).unwrap()).number(1).number(0);
    message.bytes.extend([5, 1, b'u', 0]);
    message.number(u32::try_from(number(8)).unwrap()).pad(8);
    if is_refused {
        message.bytes.extend([4, 1, b's', 0]);
        message.text("org.freedesktop.DBus.Error.AccessDenied").pad(8);
    }
    message.bytes.extend([8, 1, b'g', 0]);
    message.form(form);
    let length = u32::try_from(message.bytes.len() - 16).unwrap();
    message.bytes[12..16].copy_from_slice(&if is_little {
        length.to_le_bytes()
    } else {
        length.to_be_bytes()
    });
    message.pad(8).bytes.extend(content.bytes);
    if let (Manner::Broken(at, byte), true) = (manner, member != "Hello") {
        let at = at % message.bytes.len();
        message.bytes[at] = byte;
    }
    stream.get_mut().write_all(&message.bytes).ok()
}

/// A bus at the place's root, for one connection after the other.
fn bus(place: &Place, manner: Manner) {
    let path = put(place, "run/dbus/system_bus_socket", "");
    std::fs::remove_file(&path).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            assert!(line.starts_with("\0AUTH EXTERNAL 3"), "{line}");
            stream.get_mut().write_all(b"OK 0123456789abcdef0123456789abcdef\r\n").unwrap();
            line.clear();
            while line != "BEGIN\r\n" {
                line.clear();
                assert_ne!(stream.read_line(&mut line).unwrap(), 0, "the client left");
                if line == "NEGOTIATE_UNIX_FD\r\n" {
                    stream.get_mut().write_all(b"ERROR\r\n").unwrap();
                }
            }
            while answer(&mut stream, manner).is_some() {}
        }
    });
}

#[tokio::test]
async fn units_timers_and_processes_come_over_the_bus() {
    for manner in [Manner::Little, Manner::Big] {
        let place = Place::new();
        bus(&place, manner);
        put(&place, "sys/fs/cgroup/system.slice/nginx.service/memory.current", "4096\n");
        let asked = [
            ("list_units", json!({})),
            ("list_units", json!({ "contains": "nginx" })),
            ("list_timers", json!({})),
            ("list_processes", json!({ "contains": "nginx" })),
            ("list_units", json!({ "state": "failed" })),
            ("list_units", json!({ "state": "enabled" })),
            ("list_units", json!({ "contains": "failed" })),
            ("list_units", json!({ "state": "masked" })),
            ("list_units", json!({ "state": "masked", "contains": "nginx" })),
        ];
        let results = told(&place, &asked, Vec::new()).await;
        let names = |result: &Value| -> Vec<String> {
            result["units"]
                .as_array()
                .unwrap()
                .iter()
                .map(|unit| unit["name"].as_str().unwrap().into())
                .collect()
        };
        // Failed units come first.
        assert_eq!(names(&results[0]), ["bad.service", "logrotate.timer", "nginx.service"]);
        assert_eq!(
            (names(&results[1]), &results[1]["units"][0]["enabled"]),
            (vec!["nginx.service".into()], &json!("enabled"))
        );
        let timer = json!({ "name": "logrotate.timer", "active": "active", "starts": "logrotate.service",
            "last_unix_s": 1_800_000_000u64, "next_unix_s": 1_800_000_000u64 });
        assert_eq!(results[2]["timers"], json!([timer]));
        let process = json!({ "pid": 42, "unit": "nginx.service", "unit_memory_bytes": 4096,
            "command": "nginx: worker --password=[REDACTED] --api-key [REDACTED] --db-pass=[REDACTED] -x mysql -p[REDACTED] db" });
        assert_eq!(results[3]["processes"], json!([process]));
        assert_eq!([names(&results[4]), names(&results[5])], [["bad.service"], ["nginx.service"]]);
        // An empty list does not read as "nothing has failed".
        assert_eq!((names(&results[6]).len(), &results[6]["states"]["failed"]), (0, &json!(1)));
        // systemd unloads a masked unit that nothing uses.
        let masked = json!([{ "name": "cache.service", "load": "not loaded", "enabled": "masked" }]);
        assert_eq!((&results[7]["units"], &results[8]["units"]), (&masked, &json!([])));
    }
}

#[tokio::test]
async fn failed_units_and_running_services_are_told_whatever_the_task_says() {
    let server =
        Server::start(vec![calls("finish", &json!({ "outcome": "answered", "summary": "so" }))]).await;
    let place = Place::new();
    configure(&place, &server);
    bus(&place, Manner::Little);
    place.helper(vec![Play::Events(vec![ended(Status::Done, "")])]);
    place.serve();
    place.run(&["run", "what is the time?"]).await;
    let system = server.seen()[0].body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains(r#""failed_units":["bad.service"]"#), "{system}");
    assert!(system.contains(r#""running_services":["bad","nginx"]"#), "{system}");
}

#[tokio::test]
async fn a_bus_that_lies_or_refuses_is_an_error_and_no_more() {
    for (manner, words) in
        [(Manner::Lying, "not the expected one"), (Manner::Refusing, "AccessDenied to ListUnits")]
    {
        let place = Place::new();
        bus(&place, manner);
        let told = one(&place, "list_units", json!({})).await;
        assert!(told["error"].as_str().unwrap().contains(words), "{told}");
    }
}

#[test]
fn no_byte_of_the_bus_makes_more_than_an_error() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config =
        Config { cases: 12, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() };
    // The head, whose lengths and kinds matter most, and all the rest.
    let places = prop_oneof![0..40_usize, 0..600_usize];
    TestRunner::new(config)
        .run(&(places, any::<u8>()), |(at, byte)| {
            let place = Place::new();
            bus(&place, Manner::Broken(at, byte));
            let told = runtime.block_on(one(&place, "list_units", json!({})));
            let is_told = told["units"].is_array() || told["error"].is_string();
            prop_assert!(is_told, "{}", told);
            Ok(())
        })
        .unwrap();
}
