//! All strings at once: which sets of patterns can match the same string, each with a shortest such string.
//!
//! The strings are walked letter by letter, shortest first, in the product of all patterns' automata. Letters that
//! no pattern waits for at some point are alike there, so that one of them represents all.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// The characters that `*` matches.
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

/// In a pattern that only distinguishes names: any one character.
pub const ONE: char = '\u{1}';
/// Likewise: any one character but a blank.
pub const MARK: char = '\u{2}';

/// One step of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Byte(u8),
    /// [`ONE`].
    One,
    /// [`MARK`].
    Mark,
    Run(Star),
    /// Before a first `*`: not a dot here.
    Visible,
}

impl Op {
    /// Whether this step matches a letter.
    fn takes(self, letter: u8) -> bool {
        match self {
            Self::Byte(byte) => byte == letter,
            Self::One | Self::Run(Star::Any | Star::NotHidden) => true,
            Self::Mark => letter != b' ',
            Self::Run(Star::NotAt) => letter != b'@',
            Self::Run(Star::NotSlash) => letter != b'/',
            Self::Visible => letter != b'.',
        }
    }

    /// The letters that it treats otherwise than most, as a set of bits.
    fn letters(self) -> u128 {
        match self {
            Self::Byte(byte) => bit(byte),
            Self::One | Self::Run(Star::Any | Star::NotHidden) => 0,
            Self::Mark => bit(b' '),
            Self::Run(Star::NotAt) => bit(b'@'),
            Self::Run(Star::NotSlash) => bit(b'/'),
            Self::Visible => bit(b'.'),
        }
    }
}

/// A place after a beginning that patterns share.
#[derive(Debug, Default)]
struct Place {
    /// The star that this place is in: letters that it takes lead back here.
    run: Option<Star>,
    /// The steps from here, each with the place after it.
    steps: Vec<(Op, u32)>,
    /// The patterns that end here.
    ends: Vec<usize>,
    /// Whether a wanted pattern ends here or further on.
    wanted: bool,
    /// The letters that matter to the star and the steps, as a set of bits.
    letters: u128,
}

/// Trie of patterns, wanted ones and those that only tell strings apart; common prefixes are stored once.
#[derive(Debug)]
pub struct Machine {
    places: Vec<Place>,
    /// Whether strings are looked for that this pattern may match.
    wanted: Vec<bool>,
    known: HashMap<(String, Star), usize>,
}

impl Default for Machine {
    fn default() -> Self {
        Self { places: vec![Place::default()], wanted: Vec::new(), known: HashMap::new() }
    }
}

/// Places in patterns, sorted.
type State = Rc<[u32]>;

impl Machine {
    /// Adds a pattern and says its number. The same one again is the same number.
    pub fn add(&mut self, text: &str, star: Star, wanted: bool) -> usize {
        let next = self.wanted.len();
        let id = *self.known.entry((text.to_owned(), star)).or_insert(next);
        if id == next {
            self.wanted.push(false);
        }
        self.wanted[id] |= wanted;
        let hides = star == Star::NotHidden && text.starts_with('*');
        let ops = text.bytes().map(|byte| match char::from(byte) {
            '*' => Op::Run(star),
            ONE => Op::One,
            MARK => Op::Mark,
            _ => Op::Byte(byte),
        });
        let mut at = 0;
        self.places[at].wanted |= wanted;
        for op in hides.then_some(Op::Visible).into_iter().chain(ops) {
            at = self.after(at, op);
            self.places[at].wanted |= wanted;
        }
        if !self.places[at].ends.contains(&id) {
            self.places[at].ends.push(id);
        }
        id
    }

    /// The place after this step, made if it is not there yet.
    fn after(&mut self, at: usize, op: Op) -> usize {
        if let Some((_, next)) = self.places[at].steps.iter().find(|(known, _)| *known == op) {
            return *next as usize;
        }
        let next = self.places.len();
        let mut place = Place::default();
        if let Op::Run(star) = op {
            (place.run, place.letters) = (Some(star), op.letters());
        }
        self.places.push(place);
        // More places than a u32 counts do not come about: a policy's file holds a mebibyte.
        self.places[at].steps.push((op, u32::try_from(next).unwrap_or(u32::MAX)));
        self.places[at].letters |= op.letters();
        next
    }

    /// A place and those that are reached from it without a letter: into stars.
    fn close(&self, at: u32, into: &mut Vec<u32>) {
        into.push(at);
        for (op, next) in &self.places[at as usize].steps {
            if matches!(op, Op::Run(_)) {
                self.close(*next, into);
            }
        }
    }

    /// The places of the star that stands behind a place where no dot may.
    fn visible(&self, at: u32) -> Vec<u32> {
        let steps = self.places[at as usize].steps.iter().filter(|(op, _)| *op == Op::Visible);
        let mut after = Vec::new();
        steps.for_each(|(_, next)| self.close(*next, &mut after));
        after
    }

    fn step(&self, at: u32, letter: u8, into: &mut Vec<u32>) {
        let place = &self.places[at as usize];
        if place.run.is_some_and(|star| Op::Run(star).takes(letter)) {
            self.close(at, into);
        }
        for (op, next) in &place.steps {
            match op {
                Op::Byte(_) | Op::One | Op::Mark if op.takes(letter) => self.close(*next, into),
                Op::Visible if op.takes(letter) => {
                    self.visible(at).into_iter().for_each(|after| self.step(after, letter, into));
                }
                // A star is a place of its own.
                Op::Byte(_) | Op::One | Op::Mark | Op::Visible | Op::Run(_) => {}
            }
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
        self.close(0, &mut start);
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
                    self.step(*at, letter, &mut next);
                }
                if !next.iter().any(|at| self.places[*at as usize].wanted) {
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
        let mut ids = state.iter().flat_map(|at| self.places[*at as usize].ends.clone()).collect::<Vec<_>>();
        ids.sort_unstable();
        ids
    }

    /// The letters that lead from here to different states: those waited for, and one of all the others.
    fn telling(&self, state: &State, alphabet: &Alphabet) -> Vec<u8> {
        let letters = |all: u128, at: &u32| all | self.places[*at as usize].letters;
        let awaited =
            state.iter().fold(0, |all, at| self.visible(*at).iter().fold(letters(all, at), letters));
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
