//! Places for commands that are translated before anything runs: one has no input and no files, in the other all that
//! only running shows is taken to go well.

use super::call::{Attributes, ShimHost};

/// The place, with what is said of whoever would read there.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere(pub &'static str);

impl ShimHost for Nowhere {
    fn directory(&self) -> String {
        "/".to_owned()
    }

    fn input(&mut self) -> Result<Vec<u8>, String> {
        Err(self.0.to_owned())
    }

    fn read(&self, _: &str) -> Result<Vec<u8>, String> {
        Err(self.0.to_owned())
    }

    fn is_directory(&self, path: &str) -> bool {
        std::path::Path::new(path).is_dir()
    }

    fn is_own(&self, _: &str) -> bool {
        false
    }

    fn sed(&self, _: &[String], _: &[u8]) -> Result<Vec<u8>, String> {
        Err(self.0.to_owned())
    }
}

/// The place of a script that has not begun: what it would read is not known, and is no reason to refuse it.
#[derive(Clone, Copy, Debug)]
pub struct Foreseen;

/// The task's own directory. No command's text can name it: a NUL stands in none.
const OWN: &str = "/\0";

impl ShimHost for Foreseen {
    fn directory(&self) -> String {
        OWN.to_owned()
    }

    fn input(&mut self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn read(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn is_directory(&self, _: &str) -> bool {
        true
    }

    fn attributes(&self, _: &str) -> Option<Attributes> {
        Some(Attributes { mode: "0644".to_owned(), ..Attributes::default() })
    }

    fn is_own(&self, path: &str) -> bool {
        [OWN, "/tmp", "/var/tmp"]
            .iter()
            .any(|own| path.strip_prefix(own).is_some_and(|rest| rest.starts_with('/')))
    }

    fn sed(&self, _: &[String], _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }
}
