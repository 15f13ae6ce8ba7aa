//! Tests of a source, read from its tokens: which functions are tests, which of them are ignored, and which functions a
//! test calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

/// A function or constant.
#[derive(Debug, Default)]
struct Item {
    is_test: bool,
    is_ignored: bool,
    /// Names in its body.
    names: BTreeSet<String>,
}

/// Items of a test program's files, by their names.
#[derive(Debug, Default)]
pub struct Tested(BTreeMap<String, Item>);

impl Tested {
    /// Reads a file, or all files of a test program in a directory. None where there is none.
    pub fn of(path: &Path) -> Option<Self> {
        let files: Vec<PathBuf> = if path.is_dir() {
            fs::read_dir(path).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect()
        } else {
            vec![path.to_owned()]
        };
        let mut tested = Self::default();
        for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
            tested.scan(fs::read_to_string(file).ok()?.parse().ok()?);
        }
        Some(tested)
    }

    pub fn of_text(text: &str) -> Self {
        let mut tested = Self::default();
        tested.scan(text.parse().expect("Rust"));
        tested
    }

    fn scan(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let mut attributes = BTreeSet::new();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    if let Some(TokenTree::Group(attribute)) = tokens.peek() {
                        // `test`, `tokio::test`, `ignore = "why"`: of arguments nothing is an attribute.
                        let words = attribute
                            .stream()
                            .into_iter()
                            .take_while(|one| !matches!(one, TokenTree::Group(_)));
                        attributes.extend(words.map(|word| word.to_string()));
                        tokens.next();
                    }
                }
                TokenTree::Ident(word) if word == "fn" || word == "const" => {
                    let Some(TokenTree::Ident(name)) = tokens.next() else { continue };
                    let mut item = self.0.remove(&name.to_string()).unwrap_or_default();
                    item.is_test |= attributes.contains("test");
                    item.is_ignored |= attributes.contains("ignore");
                    attributes.clear();
                    for token in tokens.by_ref() {
                        let is_end = match &token {
                            TokenTree::Group(group) => group.delimiter() == proc_macro2::Delimiter::Brace,
                            TokenTree::Punct(mark) => mark.as_char() == ';',
                            TokenTree::Ident(_) | TokenTree::Literal(_) => false,
                        };
                        collect(TokenStream::from(token), &mut item.names);
                        if is_end {
                            break;
                        }
                    }
                    self.0.insert(name.to_string(), item);
                }
                // The harness's macro makes tests of the functions that it names.
                TokenTree::Ident(word) if word == "on_each_release" => {
                    let group = tokens.by_ref().find_map(|token| match token {
                        TokenTree::Group(group) => Some(group.stream()),
                        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => None,
                    });
                    let mut names = BTreeSet::new();
                    collect(group.unwrap_or_default(), &mut names);
                    for name in names {
                        self.0.entry(name).or_default().is_test = true;
                    }
                }
                TokenTree::Group(group) => {
                    attributes.clear();
                    self.scan(group.stream());
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Whether there is a test of this name that runs.
    pub fn is_test(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|item| item.is_test && !item.is_ignored)
    }

    /// Whether there is a test of this name that runs only where it is asked for.
    pub fn is_ignored(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|item| item.is_test && item.is_ignored)
    }

    /// Whether this is a test that runs, or a function that one calls, itself or by others.
    pub fn is_part_of_a_test(&self, name: &str) -> bool {
        let mut reached: BTreeSet<&str> = BTreeSet::new();
        let mut next: Vec<&str> = self.0.keys().map(String::as_str).filter(|one| self.is_test(one)).collect();
        while let Some(one) = next.pop() {
            let Some(item) = self.0.get(one) else { continue };
            if reached.insert(one) {
                next.extend(item.names.iter().map(String::as_str));
            }
        }
        reached.contains(name)
    }
}

/// Adds the names in tokens.
fn collect(tokens: TokenStream, to: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                to.insert(name.to_string());
            }
            TokenTree::Group(group) => collect(group.stream(), to),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
