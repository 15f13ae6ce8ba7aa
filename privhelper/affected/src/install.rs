//! The links that enabling and disabling a unit makes and removes.
//!
//! No property and no call of the bus has the content of `[Install]`, and enabling has no dry run. So for enabling the
//! unit's files are read: by `systemctl cat`, or from the paths in `FragmentPath` and `DropInPaths`. Disabling removes
//! every link to the unit, also those that no file names. systemd lists them: `systemctl is-enabled --full`, or
//! `GetUnitFileLinks` on the bus. All of this works without privilege.

use postern_policy::types::UnitName;
use postern_policy::{Code, Denied};
use std::collections::BTreeSet;

/// A link in `/etc/systemd/system`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct InstallLink {
    /// One of [`SETTINGS`].
    pub setting: &'static str,
    /// The alias, or the unit that gets the dependency; a template stands for all its instances.
    pub holder: UnitName,
    /// The unit that is enabled or disabled.
    pub unit: UnitName,
}

/// The links that enabling or disabling one unit makes or removes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Install {
    /// The links.
    pub links: BTreeSet<InstallLink>,
    /// Units that are enabled or disabled along (`Also=`).
    pub also: BTreeSet<UnitName>,
}

/// Most units whose properties or files are read for one change.
pub const LOOKUPS_MAX: usize = 64;

/// The settings of `[Install]` that make links.
pub const SETTINGS: [&str; 4] = ["Alias", "WantedBy", "RequiredBy", "UpheldBy"];

/// The links of the last three are in directories that the holder's name and these make up.
const DIRECTORIES: [(&str, &str); 3] =
    [(".wants", "WantedBy"), (".requires", "RequiredBy"), (".upholds", "UpheldBy")];

/// The client's own argument is valid.
fn unsupported() -> Denied {
    Denied::new(Code::Unsupported, "unit: is installed by a name that is not a unit's full name")
}

impl Install {
    /// Reads the files of a unit that is enabled, and of all that are enabled along. `files` returns their text, of a
    /// unit that does not exist an empty one: systemctl goes on without it.
    ///
    /// # Errors
    /// `plan_too_large`; as [`Self::read_files`]; as `files`.
    pub fn of_enabling<E: From<Denied>>(
        unit: &UnitName,
        files: impl Fn(&UnitName) -> Result<String, E>,
    ) -> Result<Self, E> {
        let (mut install, mut seen) = (Self::default(), BTreeSet::new());
        let mut next = Some(unit.clone());
        while let Some(name) = next {
            install.read_files(&name, &files(&name)?)?;
            seen.insert(name);
            if seen.len() > LOOKUPS_MAX {
                return Err(Denied::new(Code::PlanTooLarge, "`Also=` names too many units").into());
            }
            next = install.also.difference(&seen).next().cloned();
        }
        Ok(install)
    }

    /// Adds what the files of `unit` say (systemd.unit(5), "[INSTALL] SECTION OPTIONS"). It finds all that systemd
    /// finds, and more where a later empty assignment takes something back.
    ///
    /// # Errors
    /// A word that is no unit's full name once `%i`, `%n`, `%N` and `%p` are filled in. Quoted words are refused.
    pub fn read_files(&mut self, unit: &UnitName, text: &str) -> Result<(), Denied> {
        for (key, words) in assignments(text) {
            for word in words.split_ascii_whitespace().map(|word| filled(word, unit)) {
                if key == "Also" {
                    self.also.insert(UnitName::new(&word).map_err(|_| unsupported())?);
                } else if let Some(setting) = SETTINGS.into_iter().find(|setting| *setting == key) {
                    self.add(setting, &word, unit)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the links to `unit` that systemd lists, one a line; lines that are no paths are ignored.
    ///
    /// # Errors
    /// A link that does not end in a unit's full name.
    pub fn read_links(&mut self, unit: &UnitName, text: &str) -> Result<(), Denied> {
        for path in text.lines().map(str::trim).filter(|line| line.starts_with('/')) {
            let (directory, name) = path.rsplit_once('/').ok_or_else(unsupported)?;
            let (_, place) = directory.rsplit_once('/').ok_or_else(unsupported)?;
            if DIRECTORIES.iter().any(|(end, _)| place.ends_with(end)) {
                let linked = UnitName::new_or_template(name).map_err(|_| unsupported())?;
                self.add("Alias", &format!("{place}/{name}"), &linked)?;
                self.also.insert(linked);
            } else {
                self.add("Alias", name, unit)?;
            }
        }
        Ok(())
    }

    /// An alias may have the older form `HOLDER.wants/UNIT`.
    fn add(&mut self, setting: &'static str, word: &str, unit: &UnitName) -> Result<(), Denied> {
        let dependency = word.split_once('/').and_then(|(place, _)| {
            DIRECTORIES.into_iter().find_map(|(end, setting)| Some((setting, place.strip_suffix(end)?)))
        });
        let (setting, holder) = dependency.unwrap_or((setting, word));
        let holder = UnitName::new_or_template(holder).map_err(|_| unsupported())?;
        self.links.insert(InstallLink { setting, holder, unit: unit.clone() });
        Ok(())
    }
}

/// Every assignment, whatever the section and the file. A line after a backslash is read twice, as a part of the
/// value and by itself, so that the end of one file hides nothing of the next.
fn assignments(text: &str) -> Vec<(&str, String)> {
    let lines = text.split(['\n', '\r', '\0']).map(str::trim).collect::<Vec<_>>();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Some((key, first)) = line.split_once('=') else { continue };
        let mut rest =
            lines.iter().skip(number.saturating_add(1)).filter(|line| !line.starts_with(['#', ';']));
        let mut value = first.to_owned();
        while value.ends_with('\\') {
            value.pop();
            value.push(' ');
            value.push_str(rest.next().copied().unwrap_or_default());
        }
        found.push((key.trim_end(), value));
    }
    found
}

/// Fills in specifiers (systemd.unit(5), "SPECIFIERS"). Others stay in the word, which is then no unit's name.
fn filled(word: &str, unit: &UnitName) -> String {
    let name = unit.as_str();
    let (stem, _) = name.rsplit_once('.').unwrap_or((name, ""));
    let (prefix, instance) = stem.split_once('@').unwrap_or((stem, ""));
    let values = [("%i", instance), ("%p", prefix), ("%N", stem), ("%n", name)];
    values.iter().fold(word.to_owned(), |word, (specifier, value)| word.replace(specifier, value))
}
