//! Kinds of a command's parameters: each is an explicit set of texts.

use super::package::PackageName;
use super::path::TargetPath;
use super::pattern::Pattern;
use super::unit::UnitName;
use super::user::UserName;
use crate::error::each;
use core::net::IpAddr;
use postern_proto::root::v1::{self as root, ParameterKind as Wire};

/// A kind, its description for clients before what the policy lists, and whether a text is such a value.
type Row = (Wire, &'static str, fn(&ParameterKind, &str) -> bool);

/// The kinds, as CONTRACTS 5 describes them. A `secret` travels by descriptor, never in argv or the log.
const KINDS: [Row; 17] = [
    (Wire::Enum, "", |kind, value| kind.wire.values.iter().any(|word| word == value)),
    (Wire::Int, "", ParameterKind::is_in_range),
    (Wire::Size, "size such as 512M", ParameterKind::is_size),
    (Wire::Name, "name such as data-1", |_, value| is_name(value)),
    (Wire::User, "user's name", |_, value| UserName::new("user", value).is_ok()),
    (Wire::Group, "group's name", |_, value| UserName::new("group", value).is_ok()),
    (Wire::Hostname, "host's name in lower case", |_, value| is_hostname(value)),
    (Wire::Domain, "domain such as example.org", |_, value| is_hostname(value) && value.contains('.')),
    (Wire::Ip, "IP address", |kind, value| !value.contains('/') && kind.is_within(value)),
    (Wire::Cidr, "network such as 10.0.0.0/8", |kind, value| value.contains('/') && kind.is_within(value)),
    (Wire::Port, "port from 1 to 65535", |_, value| number::<u16>(value).is_some_and(|port| port > 0)),
    (Wire::Timezone, "time zone such as Europe/Berlin", |_, value| is_timezone(value)),
    (Wire::Package, "package ", |kind, value| PackageName::new(value).is_ok() && kind.is_listed(value)),
    (Wire::Unit, "unit ", ParameterKind::is_unit),
    (Wire::Path, "path ", ParameterKind::is_path),
    (Wire::Secret, "secret", |_, _| true),
    (Wire::Text, "", ParameterKind::is_listed),
];

/// A parameter's kind with what the policy says of it.
#[derive(Debug, Clone)]
pub struct ParameterKind {
    row: &'static Row,
    wire: root::Parameter,
    patterns: Vec<Pattern>,
    directories: Vec<TargetPath>,
    within: Vec<Network>,
}

impl ParameterKind {
    /// Reads the kind of the accepted form.
    ///
    /// # Errors
    /// A field that is not what it must be, in words.
    pub fn new(wire: &root::Parameter) -> Result<Self, String> {
        let kind = wire.kind();
        let row = KINDS.iter().find(|(known, ..)| *known == kind).ok_or("has no kind")?;
        let parse = if kind == Wire::Text { Pattern::of_text } else { Pattern::new };
        let texts = if kind == Wire::Path { &wire.files } else { &wire.values };
        let network =
            |text: &String| Network::new(text).ok_or_else(|| format!("has {text:?}, which is no network"));
        Ok(Self {
            row,
            patterns: if kind == Wire::Enum { Vec::new() } else { each(texts, parse)? },
            directories: each(&wire.directories, TargetPath::new)?,
            within: wire.within.iter().map(network).collect::<Result<_, _>>()?,
            wire: wire.clone(),
        })
    }

    /// Whether it is this kind.
    pub fn is(&self, kind: Wire) -> bool {
        self.row.0 == kind
    }

    /// Whether a value is of this kind. That it is a value at all, [`super::arguments::Arguments::is_value`] says.
    pub fn admits(&self, value: &str) -> bool {
        self.row.2(self, value)
    }

    /// Whether it is a path of this host, whose directory is looked at.
    pub fn is_checked_path(&self) -> bool {
        self.is(Wire::Path) && !self.wire.unchecked
    }

    /// The requirement of a value, for the client.
    pub fn says(&self) -> String {
        let root::Parameter { values, directories, files, min, max, within, meanings, .. } = &self.wire;
        let meant = values.iter().zip(meanings).map(|(value, meaning)| format!("{value} ({meaning})"));
        let listed = if self.is(Wire::Int) {
            format!("{min}..{max}")
        } else if self.is(Wire::Size) && *max > 0 {
            format!(" of {min} to {max} bytes")
        } else if self.is(Wire::Path) {
            format!("{}/{}", directories.join("|"), files.join("|"))
        } else if !within.is_empty() {
            format!(" within {}", within.join("|"))
        } else if meanings.is_empty() {
            values.join("|")
        } else {
            meant.collect::<Vec<_>>().join("|").replace(" ()", "")
        };
        format!("{}{listed}", self.row.1)
    }

    fn is_in_range(&self, value: &str) -> bool {
        number(value).is_some_and(|number| (self.wire.min..=self.wire.max).contains(&number))
    }

    /// Whether it is a size, and in the range if there is one.
    fn is_size(&self, value: &str) -> bool {
        let size = bytes_of(value);
        size.is_some_and(|size| self.wire.max == 0 || (self.wire.min..=self.wire.max).contains(&size))
    }

    /// Whether it is an address or network, and part of one of `within`. All addresses must be named there.
    fn is_within(&self, value: &str) -> bool {
        Network::new(value).is_some_and(|network| {
            let is_all = value.contains('/') && network.bits == 0;
            self.within.iter().any(|outer| outer.contains(&network)) || (self.within.is_empty() && !is_all)
        })
    }

    fn is_listed(&self, value: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.matches(value))
    }

    fn is_unit(&self, value: &str) -> bool {
        UnitName::new(value).is_ok() && self.patterns.iter().any(|pattern| pattern.matches_unit(value))
    }

    /// Whether it is a direct child of one of the directories.
    fn is_path(&self, value: &str) -> bool {
        TargetPath::new(value).is_ok_and(|path| {
            let (parent, name) = path.split();
            self.directories.iter().any(|directory| directory.as_str() == parent)
                && self.patterns.iter().any(|pattern| pattern.matches_file(name))
        })
    }
}

/// The bytes of a whole number, alone or with K, M, G or T: powers of 1024.
pub fn bytes_of(text: &str) -> Option<i64> {
    let power = text.bytes().last().and_then(|last| (1_u32..).zip(b"KMGT").find(|(_, unit)| **unit == last));
    let digits = text.strip_suffix(['K', 'M', 'G', 'T']).unwrap_or(text);
    let unit = 1024_i64.saturating_pow(power.map_or(0, |(power, _)| power));
    number::<i64>(digits).filter(|_| digits.len() <= 15).map(|number| number.saturating_mul(unit))
}

/// 1 to 64 of `[A-Za-z0-9._-]`, the first a letter or digit.
fn is_name(value: &str) -> bool {
    let set = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    value.len() <= 64 && value.starts_with(|c: char| c.is_ascii_alphanumeric()) && value.bytes().all(set)
}

/// An IP address, alone or with a prefix length.
#[derive(Debug, Clone)]
struct Network {
    address: IpAddr,
    bits: u8,
}

impl Network {
    fn new(text: &str) -> Option<Self> {
        let (host, bits) = text.split_once('/').map_or((text, None), |(host, bits)| (host, Some(bits)));
        let address = address(host)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Some(most), number::<u8>).filter(|bits| *bits <= most)?;
        Some(Self { address, bits })
    }

    /// Whether every address of the other is one of this.
    fn contains(&self, other: &Self) -> bool {
        let prefix = |network: &Self| match network.address {
            IpAddr::V4(address) => (
                true,
                u128::from(
                    address.to_bits().checked_shr(32_u32.saturating_sub(self.bits.into())).unwrap_or(0),
                ),
            ),
            IpAddr::V6(address) => {
                (false, address.to_bits().checked_shr(128_u32.saturating_sub(self.bits.into())).unwrap_or(0))
            }
        };
        self.bits <= other.bits && prefix(self) == prefix(other)
    }
}

/// A whole number in its only form: digits, no leading zero.
fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

/// An address that is spelled as it is printed, so that a rule that names it cannot be walked around.
fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().filter(|address: &IpAddr| address.to_string() == text)
}

/// Whether it is a host's name: RFC 1123 labels in lower case, the last one not a number, which would be an address.
pub fn is_hostname(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
    };
    let last = text.rsplit('.').next().unwrap_or_default();
    text.len() <= 253 && text.split('.').all(label) && !last.bytes().all(|b| b.is_ascii_digit())
}

/// One to three parts of `[A-Za-z0-9_+-]`, each beginning with a letter: below the database and no way out of it.
fn is_timezone(text: &str) -> bool {
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic())
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'-'))
    };
    text.len() <= 64 && text.split('/').count() <= 3 && text.split('/').all(part)
}
