//! Properties of units, from `systemctl show` or from the bus: the state and the neighbours.

use postern_policy::Invalid;
use postern_policy::facts::{UnitState, word};
use postern_policy::types::UnitName;
use std::collections::{BTreeMap, BTreeSet};

macro_rules! dependencies {
    ($($name:ident),* $(,)?) => {
        /// Dependencies that a job follows, named as systemd's properties (systemd.unit(5), "Mapping of unit
        /// properties to their inverses").
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Dependency { $(#[doc = concat!("`", stringify!($name), "=`")] $name),* }

        impl Dependency {
            /// Every one.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The property, in `systemctl show` as on the bus.
            pub const fn property(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }
        }
    };
}

dependencies! {
    Requires, Requisite, BindsTo, Wants, Upholds, RequiredBy, RequisiteOf, BoundBy, ConsistsOf, Conflicts,
    ConflictedBy, PropagatesStopTo, PropagatesReloadTo, OnSuccess, OnFailure, Triggers,
}

/// The argument of `systemctl show` that asks for what [`UnitState`] has, and no neighbours.
const STATE: &str = "--property=Id,Names,LoadState,ActiveState,SubState,UnitFileState,Result,MainPID,StateChangeTimestamp,\
MemoryCurrent,ExecMainStatus,InvocationID,NeedDaemonReload,StopWhenUnneeded";

/// Always active and never a part of a job (systemd.special(7)). Their names are no [`UnitName`].
const PERPETUAL: [&str; 2] = ["-.mount", "-.slice"];

/// A unit as systemd reports it, with its neighbours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitProperties {
    /// Its state.
    pub state: UnitState,
    /// Its file changed on disk since systemd read it.
    pub needs_reload: bool,
    /// It stops once no active unit needs it.
    pub stops_when_unneeded: bool,
    neighbours: BTreeMap<Dependency, BTreeSet<UnitName>>,
}

impl UnitProperties {
    /// The argument of `systemctl show` that asks for all.
    pub fn argument() -> String {
        let names = Dependency::ALL.iter().map(|kind| kind.property());
        format!("{STATE},{}", names.collect::<Vec<_>>().join(","))
    }

    /// The neighbours of one kind, sorted.
    pub fn neighbours(&self, kind: Dependency) -> impl Iterator<Item = &UnitName> {
        self.neighbours.get(&kind).into_iter().flatten()
    }

    /// Adds neighbours of one kind.
    ///
    /// # Errors
    /// A name that is no unit's.
    pub fn add_neighbours(&mut self, kind: Dependency, names: &[impl AsRef<str>]) -> Result<(), Invalid> {
        let names = names.iter().map(AsRef::as_ref);
        let names = names.filter(|name| !PERPETUAL.contains(name)).map(UnitName::new);
        self.neighbours.entry(kind).or_default().extend(names.collect::<Result<Vec<_>, _>>()?);
        Ok(())
    }

    /// Reads the blocks of `Property=value` that `systemctl show --timestamp=unix` prints, one a unit. Other
    /// properties are ignored.
    ///
    /// # Errors
    /// A name that is no unit's, or a state that is no word.
    pub fn parse(text: &str) -> Result<Vec<Self>, Invalid> {
        let blocks = text.split("\n\n").filter(|block| !block.trim().is_empty());
        let read = |block: &str| {
            let mut unit = Self::default();
            let mut properties = block.lines().filter_map(|line| line.split_once('='));
            properties.try_for_each(|(property, value)| unit.set(property, value)).map(|()| unit)
        };
        blocks.map(read).collect()
    }

    fn set(&mut self, property: &str, value: &str) -> Result<(), Invalid> {
        let state = &mut self.state;
        match property {
            "Id" => state.id = name(value)?,
            "Names" => state.names = list(value).iter().map(|text| name(text)).collect::<Result<_, _>>()?,
            "LoadState" => state.load = word(value)?,
            "ActiveState" => state.active = word(value)?,
            "SubState" => state.sub = word(value)?,
            "UnitFileState" => state.enabled = word(value)?,
            "Result" => state.result = word(value)?,
            "InvocationID" => state.invocation = word(value)?,
            "MainPID" => state.main_pid = value.parse().unwrap_or(0),
            "ExecMainStatus" => state.exit_status = value.parse().unwrap_or(0),
            "StateChangeTimestamp" => {
                let seconds: u64 = value.strip_prefix('@').and_then(|unix| unix.parse().ok()).unwrap_or(0);
                state.since_unix_us = seconds.saturating_mul(1_000_000);
            }
            // Unknown is `[not set]`, or the largest number there is.
            "MemoryCurrent" => {
                state.memory_bytes = value.parse().ok().filter(|bytes| *bytes != u64::MAX).unwrap_or(0);
            }
            "NeedDaemonReload" => self.needs_reload = value == "yes",
            "StopWhenUnneeded" => self.stops_when_unneeded = value == "yes",
            other => {
                if let Some(kind) = Dependency::ALL.iter().find(|kind| kind.property() == other) {
                    self.add_neighbours(*kind, &list(value))?;
                }
            }
        }
        Ok(())
    }
}

/// The names of a list. systemctl quotes one with a backslash as a shell would: `"run-a\\x2db.mount"`.
fn list(value: &str) -> Vec<String> {
    let unquoted = |word: &str| {
        let inner = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inner.map_or_else(|| word.to_owned(), |inner| inner.replace("\\\\", "\\"))
    };
    value.split_ascii_whitespace().map(unquoted).collect()
}

/// A unit's name, the perpetual ones included.
fn name(text: &str) -> Result<String, Invalid> {
    if PERPETUAL.contains(&text) {
        Ok(text.to_owned())
    } else {
        UnitName::new(text).map(|name| name.to_string())
    }
}
