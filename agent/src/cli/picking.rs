//! Chooses files of a patch one by one: for `file patch -i` and for a model's patch.

/// Files that a person goes through, and those chosen so far.
#[derive(Debug)]
pub struct Picker {
    count: usize,
    at: usize,
    chosen: Vec<usize>,
}

/// The next thing after an answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Picked {
    /// The next file is asked about.
    Next,
    /// These files were chosen, by their places.
    Done(Vec<usize>),
    /// The person wants none of it.
    Quit,
}

impl Picker {
    /// A choice among so many files.
    pub fn new(count: usize) -> Self {
        Self { count, at: 0, chosen: Vec::new() }
    }

    /// The place of the file that is asked about.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The question about a file; `verb` is what would be done with it.
    pub fn question(path: &str, counts: &str, verb: &str) -> String {
        format!("{path} {counts}: {verb} it? [y]es, [n]o, [a]ll that follow, [q]uit: ")
    }

    /// Takes the answer about a file. Anything else than the answers that are offered ends the choice.
    pub fn take(&mut self, words: &str) -> Picked {
        match words.to_lowercase().as_str() {
            "y" | "yes" => self.chosen.push(self.at),
            "a" | "all" => {
                self.chosen.extend(self.at..self.count);
                self.at = self.count;
            }
            "n" | "no" => {}
            _ => return Picked::Quit,
        }
        self.at += 1;
        if self.at < self.count { Picked::Next } else { Picked::Done(std::mem::take(&mut self.chosen)) }
    }
}
