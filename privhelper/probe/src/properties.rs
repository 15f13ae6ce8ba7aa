//! Properties of units as PID 1 sends them over the bus.

use postern_affected::{Dependency, UnitProperties};
use postern_policy::Invalid;
use postern_policy::facts::UnitState;
use postern_policy::types::hex;
use std::collections::HashMap;
use zbus::zvariant::{OwnedValue, Value};

/// All properties of one unit, of every interface that it has.
#[derive(Debug)]
pub struct Properties(HashMap<String, OwnedValue>);

impl Properties {
    /// Wraps the answer of `GetAll`.
    #[must_use]
    pub const fn new(values: HashMap<String, OwnedValue>) -> Self {
        Self(values)
    }

    /// Returns a property of this type; none if the unit has no such property.
    fn get<'a, T: TryFrom<&'a Value<'a>>>(&'a self, name: &str) -> Option<T> {
        self.0.get(name).and_then(|value| T::try_from(value).ok())
    }

    /// A text; empty where there is none.
    fn text(&self, name: &str) -> String {
        self.get::<&str>(name).unwrap_or_default().to_owned()
    }

    /// The members of a list.
    fn list<'a, T: TryFrom<&'a Value<'a>>>(&'a self, name: &str) -> Vec<T> {
        let Some(Value::Array(array)) = self.0.get(name).map(|value| &**value) else { return Vec::new() };
        array.iter().filter_map(|value| T::try_from(value).ok()).collect()
    }

    /// The files of the unit: its own and its drop-ins.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        let own = self.get::<&str>("FragmentPath").filter(|path| !path.is_empty());
        own.into_iter().chain(self.list("DropInPaths")).map(str::to_owned).collect()
    }

    /// The unit's state and neighbours.
    ///
    /// # Errors
    /// A neighbour whose name is no unit's.
    pub fn unit(&self) -> Result<UnitProperties, Invalid> {
        let mut unit = UnitProperties::default();
        unit.state = self.state();
        unit.needs_reload = self.get("NeedDaemonReload").unwrap_or_default();
        unit.stops_when_unneeded = self.get("StopWhenUnneeded").unwrap_or_default();
        for kind in Dependency::ALL {
            unit.add_neighbours(*kind, &self.list::<&str>(kind.property()))?;
        }
        Ok(unit)
    }

    fn state(&self) -> UnitState {
        let mut names = self.list("Names").into_iter().map(str::to_owned).collect::<Vec<_>>();
        names.sort();
        UnitState {
            id: self.text("Id"),
            names,
            load: self.text("LoadState"),
            active: self.text("ActiveState"),
            sub: self.text("SubState"),
            enabled: self.text("UnitFileState"),
            result: self.text("Result"),
            main_pid: self.get("MainPID").unwrap_or_default(),
            since_unix_us: self.get("StateChangeTimestamp").unwrap_or_default(),
            // The largest number there is means unknown.
            memory_bytes: self.get("MemoryCurrent").filter(|bytes| *bytes != u64::MAX).unwrap_or_default(),
            exit_status: self.get("ExecMainStatus").unwrap_or_default(),
            invocation: hex(&self.list("InvocationID")),
        }
    }
}
