//! Modules of a crate and the paths that they name, read from the tokens of its files.
//!
//! Tokens are enough: macros hide no path from them, and comments and strings are none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

/// The segments of a path as written; a last `*` is a glob import.
type Segments = Vec<String>;

/// A module: a file, or a block in one.
#[derive(Debug)]
pub struct Module {
    /// Its path, from `crate` or `main` on.
    pub name: String,
    /// The module whose file this is.
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    /// Names that `use` brings, and what they stand for.
    bindings: BTreeMap<String, Segments>,
    /// Every path of two segments or more, and every import.
    paths: Vec<Segments>,
}

/// The modules of a package, those of its library and of its program.
#[derive(Debug, Default)]
pub struct Source {
    pub modules: Vec<Module>,
}

/// Target of a path inside its crate.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Module(usize),
    ItemOf(usize),
}

impl Source {
    /// Reads `src/lib.rs`, `src/main.rs` and the files of their modules.
    pub fn read(package: &Path) -> Self {
        let mut source = Self::default();
        for (name, file) in [("crate", "src/lib.rs"), ("main", "src/main.rs")] {
            let file = package.join(file);
            if file.exists() {
                let root = source.add(name.to_owned(), None, None);
                source.read_file(root, &file, file.parent().expect("a directory"));
            }
        }
        assert!(!source.modules.is_empty(), "no sources in {}", package.display());
        source
    }

    fn add(&mut self, name: String, parent: Option<usize>, file: Option<usize>) -> usize {
        let index = self.modules.len();
        let (children, bindings, paths) = <_>::default();
        self.modules.push(Module { name, file: file.unwrap_or(index), parent, children, bindings, paths });
        index
    }

    fn add_child(&mut self, of: usize, name: &str, file: Option<usize>) -> usize {
        let child = self.add(format!("{}::{name}", self.modules[of].name), Some(of), file);
        self.modules[of].children.insert(name.to_owned(), child);
        child
    }

    /// `below` is where the files of its modules are.
    fn read_file(&mut self, module: usize, file: &Path, below: &Path) {
        let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        self.scan(module, tokens, below);
    }

    /// Collects modules, imports and paths of one block.
    fn scan(&mut self, module: usize, tokens: TokenStream, below: &Path) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at += match &tokens[at] {
                TokenTree::Group(group) => {
                    self.scan(module, group.stream(), below);
                    1
                }
                TokenTree::Ident(word) if is_import(word, tokens.get(at + 1)) => {
                    let end = tokens[at..].iter().position(|token| is_punct(Some(token), ';'));
                    let end = end.expect("an import ends");
                    let skipped = if word == "use" { 1 } else { 2 };
                    self.import(module, &tokens[at + skipped..at + end], &Vec::new());
                    end + 1
                }
                TokenTree::Ident(word) if word == "mod" => self.child(module, &tokens[at + 1..], below),
                TokenTree::Ident(_) => {
                    let (path, taken) = path_at(&tokens[at..]);
                    if path.len() > 1 {
                        self.modules[module].paths.push(path);
                    }
                    taken
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => 1,
            };
        }
    }

    /// `mod name;` or `mod name { … }`; how many tokens it has.
    fn child(&mut self, module: usize, tokens: &[TokenTree], below: &Path) -> usize {
        let Some(TokenTree::Ident(name)) = tokens.first() else { return 1 };
        let name = name.to_string();
        let inside = below.join(&name);
        if let Some(TokenTree::Group(block)) = tokens.get(1) {
            let file = self.modules[module].file;
            let child = self.add_child(module, &name, Some(file));
            self.scan(child, block.stream(), &inside);
        } else {
            let files: [PathBuf; 2] = [below.join(format!("{name}.rs")), inside.join("mod.rs")];
            let file = files.iter().find(|file| file.exists());
            let file = file.unwrap_or_else(|| panic!("no file of module {name} below {}", below.display()));
            let child = self.add_child(module, &name, None);
            self.read_file(child, file, &inside);
        }
        3
    }

    /// One tree of a `use`, below `prefix`.
    fn import(&mut self, module: usize, tokens: &[TokenTree], prefix: &Segments) {
        let mut path = prefix.clone();
        let mut alias = None;
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => {
                    debug_assert_eq!(group.delimiter(), Delimiter::Brace);
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for tree in inner.split(|token| is_punct(Some(token), ',')) {
                        self.import(module, tree, &path);
                    }
                    return;
                }
                TokenTree::Ident(word) if word == "as" => {
                    alias = tokens.get(at + 1).map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(sign) if sign.as_char() == '*' => path.push("*".to_owned()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
        let Some(last) = path.last().cloned() else { return };
        if last != "*" {
            self.modules[module].bindings.insert(alias.unwrap_or(last), path.clone());
        }
        self.modules[module].paths.push(path);
    }

    /// Where a path leads; nothing where it leads out of the crate.
    fn resolve(&self, from: usize, path: &[String], depth: u32) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => self.root_of(from),
            "self" => from,
            "super" => self.modules[from].parent?,
            name => match (self.modules[from].children.get(name), self.modules[from].bindings.get(name)) {
                (Some(child), _) => *child,
                (None, Some(bound)) if depth > 0 => {
                    return self.resolve(from, &[bound.as_slice(), rest].concat(), depth - 1);
                }
                _ => return None,
            },
        };
        while let Some((name, more)) = rest.split_first() {
            let here = &self.modules[at];
            if name == "super" {
                at = here.parent?;
            } else if let Some(child) = here.children.get(name) {
                at = *child;
            } else if let Some(bound) = here.bindings.get(name).filter(|_| depth > 0) {
                // A re-exported item belongs to the module that defines it.
                return self.resolve(at, &[bound.as_slice(), more].concat(), depth - 1);
            } else {
                return Some(Target::ItemOf(at));
            }
            rest = more;
        }
        Some(Target::Module(at))
    }

    /// Every path that leads out of the crate, with what imports stand for put in, and the module that names it.
    pub fn foreign(&self) -> Vec<(&str, Segments)> {
        let paths = self.modules.iter().enumerate().flat_map(|(index, module)| {
            let inside = move |path: &&Segments| self.resolve(index, path, LONGEST).is_none();
            module.paths.iter().filter(inside).map(move |path| (index, path))
        });
        paths.map(|(index, path)| (self.modules[index].name.as_str(), self.expand(index, path))).collect()
    }

    /// A path that leads out of the crate, from the name of the other crate on.
    fn expand(&self, module: usize, path: &[String]) -> Segments {
        let mut path = path.to_vec();
        for _ in 0..LONGEST {
            match self.modules[module].bindings.get(&path[0]) {
                // `use std;` binds a name to itself.
                Some(bound) if bound[0] != path[0] => {
                    path.splice(..1, bound.iter().cloned());
                }
                _ => break,
            }
        }
        path
    }

    fn root_of(&self, module: usize) -> usize {
        self.modules[module].parent.map_or(module, |parent| self.root_of(parent))
    }

    /// The files that each file takes an item from, as indices of modules.
    pub fn uses(&self) -> BTreeMap<usize, Vec<usize>> {
        let mut uses: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, module) in self.modules.iter().enumerate() {
            for path in &module.paths {
                // Naming a module takes nothing from it; naming what is in it does.
                if let Some(Target::ItemOf(target)) = self.resolve(index, path, LONGEST) {
                    let (from, to) = (module.file, self.modules[target].file);
                    let known = uses.entry(from).or_default();
                    if from != to && !known.contains(&to) {
                        known.push(to);
                    }
                }
            }
        }
        uses
    }
}

/// Through how many imports a name is followed: an import of itself would never end.
const LONGEST: u32 = 16;

/// `use …` or `extern crate …`; `use<…>` is a bound.
fn is_import(word: &Ident, next: Option<&TokenTree>) -> bool {
    let is_crate = matches!(next, Some(TokenTree::Ident(next)) if next == "crate");
    (word == "use" && !is_punct(next, '<')) || (word == "extern" && is_crate)
}

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

/// The path that begins here, and how many tokens it has.
fn path_at(tokens: &[TokenTree]) -> (Segments, usize) {
    let mut path = vec![tokens[0].to_string()];
    let mut taken = 1;
    while is_punct(tokens.get(taken), ':') && is_punct(tokens.get(taken + 1), ':') {
        let Some(TokenTree::Ident(next)) = tokens.get(taken + 2) else { break };
        path.push(next.to_string());
        taken += 3;
    }
    (path, taken)
}
