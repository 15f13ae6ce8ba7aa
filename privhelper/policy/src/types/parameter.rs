//! Kinds of a command's parameters: each is an explicit set of texts.

use super::package::PackageName;
use super::path::TargetPath;
use super::pattern::Pattern;
use super::unit::UnitName;
use super::user::UserName;
use crate::error::each;
use core::net::IpAddr;
use postern_proto::root::v1 as root;
use std::ops::RangeInclusive;

/// A parameter's kind with what the policy says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParameterKind {
    /// One of these words.
    OneOf(Vec<String>),
    /// A whole number of this range, without sign or leading zeros.
    Integer(RangeInclusive<i64>),
    /// A whole number, alone or with K, M, G or T.
    Size,
    /// 1 to 64 of `[A-Za-z0-9._-]`, the first a letter or digit.
    Name,
    /// A user's name.
    User,
    /// A group's name.
    Group,
    /// A host's name: labels in lower case.
    Hostname,
    /// A host's name of at least two labels.
    Domain,
    /// An IP address in its shortest form.
    Ip,
    /// An IP address and a prefix length.
    Cidr,
    /// 1 to 65535.
    Port,
    /// `UTC` or `Area/Place` of the time zone database.
    Timezone,
    /// A package that one of the patterns names.
    Package(Vec<Pattern>),
    /// A unit that one of the patterns names.
    Unit(Vec<Pattern>),
    /// A direct child of one of the directories that one of the patterns names.
    Path(Vec<TargetPath>, Vec<Pattern>),
    /// Any value. It travels by descriptor, never in argv or the log.
    Secret,
    /// A text that one of the patterns is.
    Text(Vec<Pattern>),
}

impl ParameterKind {
    /// Reads the kind of the accepted form.
    ///
    /// # Errors
    /// A field that is not what it must be, in words.
    pub fn new(wire: &root::Parameter) -> Result<Self, String> {
        use root::ParameterKind as Wire;
        Ok(match wire.kind() {
            Wire::Unspecified => return Err("has no kind".to_owned()),
            Wire::Enum => Self::OneOf(wire.values.clone()),
            Wire::Int => Self::Integer(wire.min..=wire.max),
            Wire::Size => Self::Size,
            Wire::Name => Self::Name,
            Wire::User => Self::User,
            Wire::Group => Self::Group,
            Wire::Hostname => Self::Hostname,
            Wire::Domain => Self::Domain,
            Wire::Ip => Self::Ip,
            Wire::Cidr => Self::Cidr,
            Wire::Port => Self::Port,
            Wire::Timezone => Self::Timezone,
            Wire::Package => Self::Package(each(&wire.values, Pattern::new)?),
            Wire::Unit => Self::Unit(each(&wire.values, Pattern::new)?),
            Wire::Path => {
                Self::Path(each(&wire.directories, TargetPath::new)?, each(&wire.files, Pattern::new)?)
            }
            Wire::Secret => Self::Secret,
            Wire::Text => Self::Text(each(&wire.values, Pattern::of_text)?),
        })
    }

    /// Whether a value is of this kind. That it is a value at all, [`super::arguments::Arguments::is_value`] says.
    #[must_use]
    pub fn admits(&self, value: &str) -> bool {
        match self {
            Self::OneOf(words) => words.iter().any(|word| word == value),
            Self::Integer(range) => number::<i64>(value).is_some_and(|number| range.contains(&number)),
            Self::Size => {
                let digits = value.strip_suffix(['K', 'M', 'G', 'T']).unwrap_or(value);
                digits.len() <= 15 && number::<u64>(digits).is_some()
            }
            Self::Name => {
                let set = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
                value.len() <= 64
                    && value.starts_with(|c: char| c.is_ascii_alphanumeric())
                    && value.bytes().all(set)
            }
            Self::User => UserName::new("user", value).is_ok(),
            Self::Group => UserName::new("group", value).is_ok(),
            Self::Hostname => is_hostname(value),
            Self::Domain => is_hostname(value) && value.contains('.'),
            Self::Ip => address(value).is_some(),
            Self::Cidr => value.split_once('/').is_some_and(|(host, bits)| {
                let most = address(host).map(|address| if address.is_ipv4() { 32 } else { 128 });
                number::<u8>(bits).is_some_and(|bits| most.is_some_and(|most| bits <= most))
            }),
            Self::Port => number::<u16>(value).is_some_and(|port| port > 0),
            Self::Timezone => is_timezone(value),
            Self::Package(patterns) => {
                PackageName::new(value).is_ok() && patterns.iter().any(|pattern| pattern.matches(value))
            }
            Self::Unit(patterns) => {
                UnitName::new(value).is_ok() && patterns.iter().any(|pattern| pattern.matches_unit(value))
            }
            Self::Path(directories, files) => TargetPath::new(value).is_ok_and(|path| {
                let (parent, name) = path.split();
                directories.iter().any(|directory| directory.as_str() == parent)
                    && files.iter().any(|pattern| pattern.matches_file(name))
            }),
            Self::Secret => true,
            Self::Text(patterns) => patterns.iter().any(|pattern| pattern.matches(value)),
        }
    }

    /// The requirement of a value, for the client.
    #[must_use]
    pub fn says(&self) -> String {
        let joined =
            |patterns: &[Pattern]| patterns.iter().map(Pattern::as_str).collect::<Vec<_>>().join("|");
        match self {
            Self::OneOf(words) => words.join("|"),
            Self::Integer(range) => format!("{}..{}", range.start(), range.end()),
            Self::Size => "size such as 512M".to_owned(),
            Self::Name => "name such as data-1".to_owned(),
            Self::User => "user's name".to_owned(),
            Self::Group => "group's name".to_owned(),
            Self::Hostname => "host's name in lower case".to_owned(),
            Self::Domain => "domain such as example.org".to_owned(),
            Self::Ip => "IP address".to_owned(),
            Self::Cidr => "network such as 10.0.0.0/8".to_owned(),
            Self::Port => "port from 1 to 65535".to_owned(),
            Self::Timezone => "time zone such as Europe/Berlin".to_owned(),
            Self::Package(patterns) => format!("package {}", joined(patterns)),
            Self::Unit(patterns) => format!("unit {}", joined(patterns)),
            Self::Path(directories, files) => {
                let directories = directories.iter().map(TargetPath::as_str).collect::<Vec<_>>().join("|");
                format!("path {directories}/{}", joined(files))
            }
            Self::Secret => "secret".to_owned(),
            Self::Text(patterns) => joined(patterns),
        }
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

/// RFC 1123 labels in lower case, the last one not a number: that would be an address.
fn is_hostname(text: &str) -> bool {
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
