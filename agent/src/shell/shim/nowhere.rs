//! A place for commands that are translated before anything runs: it has no input and no files.

use super::Place;

/// The place, with what is said of whoever would read there.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere(pub &'static str);

impl Place for Nowhere {
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
