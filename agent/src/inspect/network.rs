//! Interfaces, addresses, routes, name servers, and who listens, from /proc and /sys: the agent's unit has no
//! netlink.
//!
//! The tables are read row by row here. The crate procfs drops a whole table for one row with a socket state or a number
//! that it does not know, and then nothing would seem to listen.

use super::list::List;
use super::read_result::{HostPaths, ReadResult};
use super::system::text;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The kernel's number for a TCP socket that listens, and for a UDP socket without a peer.
const LISTENS: [(&str, &str, &str); 4] =
    [("tcp", "tcp", "0A"), ("tcp6", "tcp", "0A"), ("udp", "udp", "07"), ("udp6", "udp", "07")];

/// The network as this host has it.
pub fn facts(places: &HostPaths) -> ReadResult {
    let mut content = json!({});
    interfaces(places).put("interfaces", &mut content);
    let mut addresses = List::default();
    addresses.extend(own_v4(&text(places, "proc/self/net/fib_trie")).into_iter().map(|own| json!(own)));
    addresses.extend(own_v6(&text(places, "proc/self/net/if_inet6")));
    addresses.put("addresses", &mut content);
    let mut routes = List::default();
    routes.extend(text(places, "proc/self/net/route").lines().skip(1).filter_map(route));
    routes.put("routes_v4", &mut content);
    let resolv = text(places, "etc/resolv.conf");
    let servers = resolv.lines().filter_map(|line| line.strip_prefix("nameserver ")).map(str::trim);
    content["name_servers"] = json!(servers.collect::<Vec<_>>());
    listeners(places).put("listeners", &mut content);
    ReadResult::seen(content)
}

fn interfaces(places: &HostPaths) -> List {
    let directory = places.base.join("sys/class/net");
    let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
    let names: BTreeSet<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let mut list = List::default();
    for name in names {
        let fact = |file: &str| text(places, directory.join(&name).join(file)).trim().to_owned();
        let (state, mac, mtu) = (fact("operstate"), fact("address"), fact("mtu"));
        list.push(json!({ "name": name, "state": state, "mac": mac, "mtu": mtu.parse::<u32>().ok() }));
    }
    list
}

/// The addresses that the kernel takes for its own: leaves of the trie that are `/32 host LOCAL`.
fn own_v4(trie: &str) -> BTreeSet<IpAddr> {
    let (mut own, mut leaf) = (BTreeSet::new(), None);
    for line in trie.lines() {
        if let Some((_, address)) = line.split_once("|-- ") {
            leaf = address.trim().parse::<Ipv4Addr>().ok();
        } else if line.trim() == "/32 host LOCAL" {
            own.extend(leaf.map(IpAddr::V4));
        }
    }
    own
}

fn own_v6(table: &str) -> Vec<Value> {
    let one = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let bits = u128::from_str_radix(words.first()?, 16).ok()?;
        let prefix = u8::from_str_radix(words.get(2)?, 16).ok()?;
        Some(json!(format!("{}/{prefix} on {}", Ipv6Addr::from_bits(bits), words.get(5)?)))
    };
    table.lines().filter_map(one).collect()
}

fn route(line: &str) -> Option<Value> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let address = |at: usize| v4(words.get(at)?);
    let prefix = u32::from(address(7)?).count_ones();
    let mut route = json!({ "interface": words.first()?, "to": format!("{}/{prefix}", address(1)?) });
    let gateway = address(2)?;
    if !gateway.is_unspecified() {
        route["via"] = json!(gateway);
    }
    Some(route)
}

/// The kernel writes the address as one number in the host's own byte order.
fn v4(hex: &str) -> Option<Ipv4Addr> {
    (hex.len() == 8)
        .then(|| u32::from_str_radix(hex, 16).ok())?
        .map(|bits| Ipv4Addr::from(bits.to_ne_bytes()))
}

fn v6(hex: &str) -> Option<Ipv6Addr> {
    let mut bytes = [0; 16];
    for (word, to) in hex.as_bytes().chunks(8).zip(bytes.chunks_mut(4)) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        to.copy_from_slice(&word.to_ne_bytes());
    }
    (hex.len() == 32).then(|| Ipv6Addr::from(bytes))
}

fn listeners(places: &HostPaths) -> List {
    let mut found = BTreeSet::new();
    for (file, protocol, state) in LISTENS {
        for line in text(places, format!("proc/self/net/{file}")).lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (Some(local), Some(at), Some(uid)) = (words.get(1), words.get(3), words.get(7)) else {
                continue;
            };
            let Some((address, port)) = local.split_once(':') else { continue };
            let address = v4(address).map(IpAddr::V4).or_else(|| v6(address).map(IpAddr::V6));
            let (Some(address), Ok(port), Ok(uid)) =
                (address, u16::from_str_radix(port, 16), uid.parse::<u32>())
            else {
                continue;
            };
            if *at == state {
                found.insert((port, protocol, address, uid));
            }
        }
    }
    let mut list = List::default();
    for (port, protocol, address, uid) in found {
        list.push(json!({ "protocol": protocol, "address": address, "port": port, "uid": uid }));
    }
    list
}
