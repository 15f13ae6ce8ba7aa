//! Patterns, and what parameters of commands may be: valid and invalid side by side.

use crate::common::strings;
use postern_policy::types::{Arguments, CommandName, ParameterKind, Pattern};
use postern_proto::root::v1 as root;

/// The definition itself: a `*` is any run of what it can take.
fn is_like(pattern: &[u8], text: &[u8], takes: fn(u8) -> bool) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', rest @ ..] => {
            let run = text.iter().take_while(|b| takes(**b)).count();
            (0..=run).any(|taken| is_like(rest, &text[taken..], takes))
        }
        [want, rest @ ..] => text.first() == Some(want) && is_like(rest, &text[1..], takes),
    }
}

/// Every text of up to `length` of these characters.
fn texts(alphabet: &str, length: usize) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..length {
        let longer = last.iter().flat_map(|text| alphabet.chars().map(move |c| format!("{text}{c}")));
        last = longer.collect();
        all.extend(last.clone());
    }
    all
}

#[test]
fn a_pattern_matches_exactly_what_its_definition_says() {
    let mut compared = 0_u64;
    for (alphabet, longest, longest_name) in [("a/", 6, 7), ("ab@/", 4, 4)] {
        let names = texts(alphabet, longest_name);
        let patterns = texts(&format!("{alphabet}*"), longest);
        for pattern in patterns.iter().filter_map(|text| Pattern::of_text(text).ok()) {
            let bytes = pattern.as_str().as_bytes();
            for name in &names {
                let is_like = |takes| is_like(bytes, name.as_bytes(), takes);
                assert_eq!(pattern.matches(name), is_like(|b| b != b'/'), "{pattern} {name}");
                assert_eq!(
                    pattern.matches_unit(name),
                    is_like(|b| b != b'/' && b != b'@'),
                    "{pattern} {name}"
                );
                assert_eq!(pattern.matches_line(name), is_like(|_| true), "{pattern} {name}");
                compared += 3;
            }
        }
    }
    assert!(compared > 1_000_000, "{compared}");
}

/// A `*` of the one stands for a character that only a `*` of the other can take, so that matching the one's text with
/// the other tells whether it covers it. The letter `b` of the names stands in no pattern: some letter never does.
#[test]
fn a_pattern_covers_exactly_those_whose_text_it_matches() {
    let names = texts("ab.@", 5);
    let patterns =
        texts("a.@*", 3).into_iter().filter_map(|text| Pattern::new(&text).ok()).collect::<Vec<_>>();
    let (mut compared, mut covered) = (0, 0);
    for matches in [Pattern::matches, Pattern::matches_unit, Pattern::matches_file] {
        let sets = patterns
            .iter()
            .map(|pattern| names.iter().map(|name| matches(pattern, name)).collect::<Vec<_>>());
        let sets = sets.collect::<Vec<_>>();
        for (one, its) in patterns.iter().zip(&sets) {
            for (other, others) in patterns.iter().zip(&sets) {
                let is_within = others.iter().zip(its).all(|(other, one)| *one || !other);
                assert_eq!(matches(one, other.as_str()), is_within, "{one} {other}");
                compared += 1;
                covered += u32::from(is_within);
            }
        }
    }
    assert!(compared > 15_000 && covered > 500, "{compared} {covered}");
}

#[test]
fn a_star_does_not_match_the_leading_dot_of_a_file_name() {
    let matches = |pattern: &str, name: &str| Pattern::new(pattern).unwrap().matches_file(name);
    assert!(matches("*", "a") && matches("*.html", "a.html") && matches(".*", ".a") && matches("a*", "a.b"));
    assert!(!matches("*", ".a") && !matches("*.html", ".html") && !matches("**a", ".a"));
}

#[test]
fn rejects_invalid_patterns() {
    for text in ["", "a b", "a/b", "a?", "[a]", "{a}", "a\\", "é", "a\n", &"a".repeat(257)] {
        assert!(Pattern::new(text).is_err(), "{text:?}");
    }
    for text in ["", "é", "a\n", "a\t", "a\\", "\u{7f}", &"a".repeat(257)] {
        assert!(Pattern::of_text(text).is_err(), "{text:?}");
    }
    for text in ["a b", "a/b", "a?", "[a] {b}", "a\\b", &"a".repeat(256)] {
        assert!(Pattern::of_text(text).is_ok(), "{text:?}");
    }
}

fn kind(kind: root::ParameterKind, values: &[&str]) -> root::Parameter {
    root::Parameter {
        name: "p".to_owned(),
        kind: kind.into(),
        values: strings(values),
        ..root::Parameter::default()
    }
}

/// Kind, values that are of it, values that are not.
fn vectors() -> Vec<(root::Parameter, &'static [&'static str], &'static [&'static str])> {
    use root::ParameterKind as Kind;
    let int = root::Parameter { min: 1, max: 20, ..kind(Kind::Int, &[]) };
    let path = root::Parameter {
        directories: strings(&["/srv/a", "/srv/b"]),
        files: strings(&["*.txt"]),
        ..kind(Kind::Path, &[])
    };
    vec![
        (kind(Kind::Enum, &["on", "off"]), &["on", "off"], &["On", "onoff", "on ", ""]),
        (int, &["1", "9", "20"], &["0", "21", "01", " 1", "1 ", "1.0", "0x1", "99999999999999999999", "١"]),
        (
            kind(Kind::Size, &[]),
            &["0", "1", "512M", "10G", "1K", "2T"],
            &["M", "1m", "1MB", "01M", "1.5G", "1 G", "1234567890123456", "1%"],
        ),
        (
            kind(Kind::Name, &[]),
            &["a", "db-1", "A.b_c", "9x"],
            &[".a", "_a", "a/b", "a b", "a=b", "é", "a;b", "a$b"],
        ),
        (kind(Kind::User, &[]), &["www-data", "_apt"], &["Root", "0", "a:b", "a.b", "a b"]),
        (kind(Kind::Group, &[]), &["adm", "systemd-journal"], &["33", "a,b"]),
        (
            kind(Kind::Hostname, &[]),
            &["web", "web-1", "a.b.example", "1a.example", "3com"],
            &["Web", "a_b", "a..b", ".a", "a.", "a-", "a.-b", "1.2.3.4", "12", "é.example", "*.example"],
        ),
        (
            kind(Kind::Domain, &[]),
            &["example.org", "a.b.c"],
            &["example", "Example.org", "a.1", "*.example.org"],
        ),
        (
            kind(Kind::Ip, &[]),
            &["10.0.0.1", "255.255.255.255", "::1", "2001:db8::1"],
            &[
                "10.0.0.01",
                "10.0.0",
                "10.0.0.256",
                "::01",
                "0:0:0:0:0:0:0:1",
                "2001:DB8::1",
                "fe80::1%eth0",
                "1",
            ],
        ),
        (
            kind(Kind::Cidr, &[]),
            &["10.0.0.0/8", "0.0.0.0/1", "2001:db8::/32"],
            &["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "::/129", "10.0.0.0/255.0.0.0", "/8", "10.0.0.0/"],
        ),
        (kind(Kind::Port, &[]), &["1", "443", "65535"], &["0", "65536", "080", "http", "1-2"]),
        (
            kind(Kind::Timezone, &[]),
            &["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5"],
            &[
                "../etc/passwd",
                "/etc/passwd",
                "Europe//Berlin",
                "Europe/",
                "a/b/c/d",
                "Europe/.x",
                "Euro pe",
                "1/2",
            ],
        ),
        (
            kind(Kind::Package, &["nginx*", "curl"]),
            &["nginx", "nginx-light", "curl"],
            &["nginx-", "curl:i386", "curl=1", "wget"],
        ),
        (
            kind(Kind::Unit, &["app@*.service", "nginx.service"]),
            &["app@1.service", "nginx.service"],
            &["nginx", "app@.service", "app@a@b.service", "app@../x.service", "ssh.service"],
        ),
        (
            path,
            &["/srv/a/x.txt", "/srv/b/y.txt"],
            &[
                "/srv/a/x.sh",
                "/srv/a/b/x.txt",
                "/srv/c/x.txt",
                "/srv/a/../c/x.txt",
                "/srv/a/.x.txt",
                "srv/a/x.txt",
                "/srv/a//x.txt",
            ],
        ),
        (kind(Kind::Secret, &[]), &["pa ss", "é", "a/b"], &[]),
        (
            kind(Kind::Text, &["deploy of * by *", "a/*"]),
            &["deploy of x by y z", "a/b"],
            &["deploy of /x by y", "deploy", "a/b/c"],
        ),
    ]
}

#[test]
fn a_parameters_kind_admits_its_own_spelling_and_no_other() {
    for (wire, valid, invalid) in vectors() {
        let kind = ParameterKind::new(&wire).unwrap();
        for value in valid {
            assert!(Arguments::is_value(value), "{value:?}");
            assert!(kind.admits(value), "{kind:?} {value:?}");
        }
        for value in invalid {
            assert!(!kind.admits(value), "{kind:?} {value:?}");
        }
        // Refused for every kind, before the kind is looked at.
        for value in ["", "-x", "@x", "+x", "a\nb", "a\u{0}", "a\u{202e}b", &"a".repeat(4097)] {
            assert!(Arguments::is_value(value).eq(&false), "{value:?}");
        }
    }
    let every = vectors().len();
    let kinds = (1..100).filter(|kind| root::ParameterKind::try_from(*kind).is_ok()).count();
    assert_eq!(every, kinds, "each kind has vectors");
    assert!(ParameterKind::new(&kind(root::ParameterKind::Unspecified, &[])).is_err());
}

/// Kinds with limits: values within them, values outside.
fn limited() -> Vec<(root::Parameter, &'static [&'static str], &'static [&'static str])> {
    use root::ParameterKind as Kind;
    let within = |of: Kind, networks: &[&str]| root::Parameter { within: strings(networks), ..kind(of, &[]) };
    let path = root::Parameter {
        directories: strings(&["/srv/a"]),
        files: strings(&["*"]),
        unchecked: true,
        ..kind(Kind::Path, &[])
    };
    vec![
        (
            within(Kind::Cidr, &["10.0.0.0/8", "2001:db8::/32"]),
            &["10.0.0.0/8", "10.1.0.0/16", "10.255.255.255/32", "2001:db8:1::/48"],
            &[
                "0.0.0.0/0",
                "10.0.0.0/7",
                "11.0.0.0/8",
                "9.255.255.255/32",
                "2001:db9::/48",
                "::/0",
                "10.1.2.3",
            ],
        ),
        (
            within(Kind::Ip, &["192.0.2.0/25", "198.51.100.7/32"]),
            &["192.0.2.0", "192.0.2.127", "198.51.100.7"],
            &["192.0.2.128", "192.0.1.255", "198.51.100.6", "::ffff:192.0.2.1", "192.0.2.0/25"],
        ),
        // All addresses: only `within` can name them.
        (kind(Kind::Cidr, &[]), &["0.0.0.0/1"], &["0.0.0.0/0", "::/0"]),
        (within(Kind::Cidr, &["0.0.0.0/0"]), &["0.0.0.0/0", "203.0.113.0/24"], &["::/0", "2001:db8::/32"]),
        (
            root::Parameter { min: 1 << 20, max: 1 << 30, ..kind(Kind::Size, &[]) },
            &["1M", "1024K", "1048576", "1G", "512M"],
            &["1", "1023K", "1048575", "2G", "1T", "1073741825", "x"],
        ),
        (
            root::Parameter { min: 0, max: i64::MAX, ..kind(Kind::Size, &[]) },
            &["0", "999999999999999T"],
            &["1E", "1234567890123456"],
        ),
        (path, &["/srv/a/x"], &["/srv/b/x", "/srv/a/b/x", "/srv/a/../x"]),
    ]
}

#[test]
fn limits_of_a_kind_admit_what_is_within_them_and_nothing_else() {
    for (wire, valid, invalid) in limited() {
        let kind = ParameterKind::new(&wire).unwrap();
        for value in valid {
            assert!(kind.admits(value), "{kind:?} {value:?}");
        }
        for value in invalid {
            assert!(!kind.admits(value), "{kind:?} {value:?}");
        }
    }
    let broken = root::Parameter { within: strings(&["10.0.0.0/33"]), ..kind(root::ParameterKind::Ip, &[]) };
    assert!(ParameterKind::new(&broken).is_err());
}

#[test]
fn a_network_is_within_another_if_each_of_its_addresses_is() {
    let of = |network: &str| {
        let wire = root::Parameter { within: strings(&[network]), ..kind(root::ParameterKind::Ip, &[]) };
        ParameterKind::new(&wire).unwrap()
    };
    // Every prefix length, with the first and last address inside and the neighbours outside.
    for bits in 1..=32_u32 {
        let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
        let first = 0xC0A8_5A5A & mask;
        let text = |address: u32| std::net::Ipv4Addr::from(address).to_string();
        let kind = of(&format!("{}/{bits}", text(0xC0A8_5A5A)));
        for inside in [first, first | !mask, 0xC0A8_5A5A] {
            assert!(kind.admits(&text(inside)), "{} in /{bits}", text(inside));
        }
        for outside in [first.wrapping_sub(1), (first | !mask).wrapping_add(1)] {
            assert!(!kind.admits(&text(outside)), "{} in /{bits}", text(outside));
        }
    }
}

#[test]
fn the_requirement_of_a_parameter_names_its_limits() {
    use root::ParameterKind as Kind;
    let says = |wire: &root::Parameter| ParameterKind::new(wire).unwrap().says();
    let meanings =
        root::Parameter { meanings: strings(&["starts it", ""]), ..kind(Kind::Enum, &["on", "off"]) };
    assert_eq!(says(&meanings), "on (starts it)|off");
    let size = root::Parameter { min: 1, max: 9, ..kind(Kind::Size, &[]) };
    assert_eq!(says(&size), "size such as 512M of 1 to 9 bytes");
    let within = root::Parameter { within: strings(&["10.0.0.0/8"]), ..kind(Kind::Ip, &[]) };
    assert_eq!(says(&within), "IP address within 10.0.0.0/8");
}

#[test]
fn refuses_arguments_that_are_not_sorted_unique_and_named() {
    let pairs =
        |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect::<Vec<_>>();
    for names in [&[][..], &["a"], &["a", "b-c", "b_c"]] {
        assert!(Arguments::new(pairs(names)).is_ok(), "{names:?}");
    }
    let many = (0..33).map(|number| format!("p{number:02}")).collect::<Vec<_>>();
    let many = many.iter().map(String::as_str).collect::<Vec<_>>();
    for names in [&["b", "a"][..], &["a", "a"], &["A"], &["1"], &["-"], &[""], &["a.b"], &many] {
        assert!(Arguments::new(pairs(names)).is_err(), "{names:?}");
    }
    for name in ["", "A", "a_b", "a b", "a/b", &"a".repeat(65)] {
        assert!(CommandName::new(name).is_err(), "{name:?}");
    }
    let secret = Arguments::new(vec![("key".to_owned(), "hunter2".to_owned())]).unwrap();
    assert!(!format!("{secret:?}").contains("hunter2"));
}
