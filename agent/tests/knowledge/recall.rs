//! The share of the hundred questions that the first results answer, over the manual pages of this host that the
//! questions name. `cargo bench --bench knowledge` measures it over all pages of a host.

use super::questions::{self, Question};
use super::{ALICE, base, common, find};
use common::Place;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Fewer questions than this prove nothing.
const ENOUGH: usize = 60;
/// The share of them that has to be answered, in percent.
const BAR: usize = 65;

/// This host's pages by their names, such as `chmod(1)`.
fn pages() -> BTreeMap<String, PathBuf> {
    let sections = ["man1", "man5", "man7", "man8"].map(|section| Path::new("/usr/share/man").join(section));
    let files =
        sections.iter().flat_map(|section| std::fs::read_dir(section).into_iter().flatten()).flatten();
    files
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let (name, section) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
            file.file_type().ok()?.is_file().then(|| (format!("{name}({section})"), file.path()))
        })
        .collect()
}

#[test]
fn there_are_a_hundred_different_questions_and_each_names_its_pages() {
    let questions = questions::read();
    assert_eq!(questions.len(), 100);
    let different: BTreeSet<&str> = questions.iter().map(|question| question.ask.as_str()).collect();
    assert_eq!(different.len(), 100);
    for Question { ask, pages } in &questions {
        let is_page = |page: &String| page.ends_with(')') && page.contains('(');
        assert!(!pages.is_empty() && pages.iter().all(is_page), "{ask}: {pages:?}");
    }
}

#[tokio::test]
async fn questions_of_people_are_answered_by_the_manual_pages_of_this_host() {
    let known = pages();
    let mut questions = questions::read();
    questions.retain(|question| question.pages.iter().any(|page| known.contains_key(page)));
    if !known.contains_key("tar(1)") {
        println!("left out: this host has no manual pages");
        return;
    }
    assert!(questions.len() >= ENOUGH, "{} questions name pages of this host", questions.len());
    let place = Place::new();
    for page in questions.iter().flat_map(|question| &question.pages) {
        if let Some(path) = known.get(page) {
            let below = path.strip_prefix("/").expect("an absolute path");
            super::file(&place, below.to_str().expect("a name"), std::fs::read(path).expect("a page"));
        }
    }
    let base = base(&place);
    find(&base, ALICE, "postern").await;
    let missed = questions::missed(&base, ALICE, &questions).await;
    let found = questions.len() - missed.len();
    assert!(found * 100 >= questions.len() * BAR, "{found} of {}: {missed:#?}", questions.len());
}
