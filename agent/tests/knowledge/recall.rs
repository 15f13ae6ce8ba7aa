//! Questions as people put them, and whether the first results answer them: of Postern's own documents, which every checkout
//! has. The figure of the hundred questions over a Debian's manual pages is a bench's: `cargo bench --bench knowledge`.

use super::questions::{self, Question};
use super::{ALICE, Limits, base_with, find};
use crate::common::Place;
use postern_agent::config::tables::Knowledge;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The share of the questions over Postern's documents that has to be answered, in percent.
const BAR: usize = 80;

fn check(questions: &[Question], is_page: impl Fn(&str) -> bool) {
    let different: BTreeSet<&str> = questions.iter().map(|question| question.ask.as_str()).collect();
    assert_eq!(different.len(), questions.len());
    for Question { ask, pages } in questions {
        assert!(!pages.is_empty() && pages.iter().all(|page| is_page(page)), "{ask}: {pages:?}");
    }
}

#[test]
fn there_are_a_hundred_different_questions_and_each_names_its_pages() {
    let questions = questions::read();
    assert_eq!(questions.len(), 100);
    check(&questions, |page| page.ends_with(')') && page.contains('('));
}

#[tokio::test]
async fn questions_of_people_are_answered_by_postern_s_own_documents() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let questions = questions::own();
    check(&questions, |page| docs.join(page).is_file());
    let place = Place::new();
    let notes = place.path("knowledge.d");
    std::fs::create_dir(&notes).expect("a directory");
    for document in std::fs::read_dir(&docs).expect("the documents").flatten() {
        if document.path().extension().is_some_and(|end| end == "md") {
            let note = notes.join(document.file_name());
            std::fs::copy(document.path(), &note).expect("a copy");
            std::fs::set_permissions(&note, std::fs::Permissions::from_mode(0o644)).expect("its mode");
        }
    }
    let base = base_with(&place, &Knowledge::default(), Limits::default());
    find(&base, ALICE, "postern").await;
    let missed = questions::missed(&base, ALICE, &questions).await;
    let found = questions.len() - missed.len();
    println!("recall@5 over Postern's documents: {found} of {}", questions.len());
    assert!(found * 100 >= questions.len() * BAR, "{found} of {}: {missed:#?}", questions.len());
}
