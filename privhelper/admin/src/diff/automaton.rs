//! All strings at once: which sets of patterns can match the same string, each with a shortest such string.
//!
//! The strings are walked letter by letter, shortest first, in the product of all patterns' automata. Letters that
//! no pattern waits for at some point are alike there, so that one of them stands for all.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// What `*` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Star {
    /// Any run.
    Any,
    /// Any run without `@`: names of units.
    NotAt,
    /// Any run without `/`: values of parameters.
    NotSlash,
    /// Any run, but a first `*` takes no leading dot: names of files.
    NotHidden,
}

/// More work than was granted: nothing is proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

/// How much work may still be done, in steps of single patterns.
#[derive(Debug)]
pub struct Budget(u64);

impl Budget {
    /// So many steps.
    #[must_use]
    pub const fn new(steps: u64) -> Self {
        Self(steps)
    }

    /// Takes some.
    ///
    /// # Errors
    /// There are not so many left.
    pub fn take(&mut self, steps: usize) -> Result<(), Exhausted> {
        self.0 = self.0.checked_sub(steps as u64).ok_or(Exhausted)?;
        Ok(())
    }
}

/// The characters that strings consist of.
#[derive(Debug)]
pub struct Alphabet {
    /// ASCII, those first that read best in an example.
    pub letters: &'static [u8],
    /// The most of them in a string.
    pub longest: usize,
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Byte(u8),
    /// [`ONE`].
    One,
    /// [`MARK`].
    Mark,
    Run(Star),
    /// Before a first `*`: not a dot here.
    Visible,
    End,
}

/// In a text that only tells strings apart: any one character.
pub const ONE: char = '\u{1}';
/// Likewise: any one character but a blank.
pub const MARK: char = '\u{2}';

/// Patterns, and beside them those that only tell strings apart.
#[derive(Debug, Default)]
pub struct Machine {
    ops: Vec<Op>,
    /// For each op: its pattern, and the letters that it waits for as a set of bits.
    of: Vec<(u32, u128)>,
    starts: Vec<u32>,
    /// Whether strings are looked for that this pattern may match.
    wanted: Vec<bool>,
    known: HashMap<(String, Star), usize>,
}

/// Places in patterns, sorted.
type State = Rc<[u32]>;

impl Machine {
    /// Adds a pattern and says its number.
    pub fn add(&mut self, text: &str, star: Star, wanted: bool) -> usize {
        if let Some(id) = self.known.get(&(text.to_owned(), star)) {
            self.wanted[*id] |= wanted;
            return *id;
        }
        let id = self.starts.len();
        self.starts.push(place(self.ops.len()));
        self.wanted.push(wanted);
        if star == Star::NotHidden && text.starts_with('*') {
            self.ops.push(Op::Visible);
        }
        self.ops.extend(text.bytes().map(|byte| match byte {
            b'*' => Op::Run(star),
            1 => Op::One,
            2 => Op::Mark,
            byte => Op::Byte(byte),
        }));
        self.ops.push(Op::End);
        for at in self.of.len()..self.ops.len() {
            self.of.push((place(id), 0));
            self.of[at].1 = self.letters(at);
        }
        // What stands after a star is waited for at the star too, which the states of a walk spell out; before a
        // first star nothing is spelled out yet.
        if let Some(Op::Visible) = self.ops.get(self.starts[id] as usize) {
            let start = self.starts[id] as usize;
            let mut after = Vec::new();
            self.close(start + 1, &mut after);
            self.of[start].1 |= after.iter().fold(0, |all, at| all | self.of[*at as usize].1);
        }
        self.known.insert((text.to_owned(), star), id);
        id
    }

    fn letters(&self, at: usize) -> u128 {
        match self.ops[at] {
            Op::Byte(byte) => bit(byte),
            Op::Run(Star::NotAt) => bit(b'@'),
            Op::Run(Star::NotSlash) => bit(b'/'),
            Op::Mark => bit(b' '),
            Op::Visible => bit(b'.'),
            Op::Run(Star::Any | Star::NotHidden) | Op::One | Op::End => 0,
        }
    }

    /// A place and those that are reached from it without a letter.
    fn close(&self, mut at: usize, into: &mut Vec<u32>) {
        into.push(place(at));
        while matches!(self.ops[at], Op::Run(_)) {
            at += 1;
            into.push(place(at));
        }
    }

    fn step(&self, at: usize, letter: u8, into: &mut Vec<u32>) {
        match self.ops[at] {
            Op::Byte(byte) if byte == letter => self.close(at + 1, into),
            Op::One => self.close(at + 1, into),
            Op::Run(Star::Any | Star::NotHidden) => self.close(at, into),
            Op::Run(Star::NotAt) if letter != b'@' => self.close(at, into),
            Op::Run(Star::NotSlash) if letter != b'/' => self.close(at, into),
            Op::Mark if letter != b' ' => self.close(at + 1, into),
            Op::Visible if letter != b'.' => {
                let mut after = Vec::new();
                self.close(at + 1, &mut after);
                for at in after {
                    self.step(at as usize, letter, into);
                }
            }
            Op::Byte(_) | Op::Mark | Op::Run(Star::NotAt | Star::NotSlash) | Op::Visible | Op::End => {}
        }
    }

    /// Calls `found` with every set of patterns, one of them wanted, that some string matches and all others do
    /// not, and with a shortest such string; sets with shorter strings first.
    ///
    /// # Errors
    /// The budget is too small for a proof.
    pub fn explore(
        &self,
        alphabet: &Alphabet,
        budget: &mut Budget,
        mut found: impl FnMut(&str, &[usize]),
    ) -> Result<(), Exhausted> {
        let mut start = Vec::new();
        for at in &self.starts {
            self.close(*at as usize, &mut start);
        }
        let start = sorted(start);
        // Each state with how it was reached: from which one, by which letter, after how many.
        let mut reached = vec![(0, 0_u8, 0_usize)];
        let mut states = HashSet::from([Rc::clone(&start)]);
        let mut sets = HashSet::new();
        let mut queue = VecDeque::from([(0_usize, start)]);
        while let Some((number, state)) = queue.pop_front() {
            let matched = self.matched(&state);
            if matched.iter().any(|id| self.wanted[*id]) && !sets.contains(&matched) {
                found(&spell(&reached, number), &matched);
                sets.insert(matched);
            }
            let length = reached[number].2;
            if length == alphabet.longest {
                continue;
            }
            for letter in self.telling(&state, alphabet) {
                budget.take(state.len())?;
                let mut next = Vec::with_capacity(state.len());
                for at in &*state {
                    self.step(*at as usize, letter, &mut next);
                }
                if !next.iter().any(|at| self.wanted[self.of[*at as usize].0 as usize]) {
                    continue;
                }
                let next = sorted(next);
                if states.insert(Rc::clone(&next)) {
                    // A state kept costs more than one only passed through.
                    budget.take(8 * next.len())?;
                    queue.push_back((reached.len(), next));
                    reached.push((number, letter, length + 1));
                }
            }
        }
        Ok(())
    }

    fn matched(&self, state: &State) -> Vec<usize> {
        let ends = state.iter().filter(|at| matches!(self.ops[**at as usize], Op::End));
        ends.map(|at| self.of[*at as usize].0 as usize).collect()
    }

    /// The letters that lead from here to different states: those waited for, and one of all the others.
    fn telling(&self, state: &State, alphabet: &Alphabet) -> Vec<u8> {
        let awaited = state.iter().fold(0, |all, at| all | self.of[*at as usize].1);
        let is_awaited = |letter: &&u8| awaited & bit(**letter) != 0;
        let other = alphabet.letters.iter().find(|letter| !is_awaited(letter));
        other.into_iter().chain(alphabet.letters.iter().filter(is_awaited)).copied().collect()
    }
}

fn spell(reached: &[(usize, u8, usize)], mut number: usize) -> String {
    let mut letters = Vec::new();
    while number != 0 {
        let (before, letter, _) = reached[number];
        letters.push(char::from(letter));
        number = before;
    }
    letters.iter().rev().collect()
}

fn sorted(mut places: Vec<u32>) -> State {
    places.sort_unstable();
    places.dedup();
    places.into()
}

/// Patterns of a policy are ASCII.
fn bit(letter: u8) -> u128 {
    1_u128.checked_shl(u32::from(letter)).unwrap_or(0)
}

/// 4096 MiB of patterns do not come about: a policy's file holds one.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
