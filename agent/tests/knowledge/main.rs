//! The knowledge base: what is indexed and found, whose documents they are, and the host's files in it.

#[path = "../common/mod.rs"]
mod common;
mod embeddings;
mod questions;
mod recall;

use common::Place;
use postern_agent::Exit;
use postern_agent::config::Config;
use postern_agent::config::tables::{Knowledge, Model};
use postern_agent::knowledge::{DOCUMENT_LIMIT, Fault, Hit, KnowledgeBase, Limits, Origin};
use postern_agent::protocol::owner::Owner;
use postern_agent::redaction::Secrets;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const ALICE: Owner = Owner::Uid(1000);
const BOB: Owner = Owner::Uid(100);

fn base_with(place: &Place, config: &Knowledge, limits: Limits) -> KnowledgeBase {
    let (secrets, _) = Secrets::fetch(&Config::default()).unwrap();
    KnowledgeBase::open(&place.host, config, &Model::default(), secrets, limits)
}

fn base(place: &Place) -> KnowledgeBase {
    base_with(place, &Knowledge::default(), Limits::default())
}

async fn add(base: &KnowledgeBase, owner: Owner, source: &str, text: &str) {
    base.add(owner, source.to_owned(), text.to_owned()).await.unwrap();
}

/// Searches, once more after the host's documents are indexed.
async fn find(base: &KnowledgeBase, owner: Owner, question: &str) -> Vec<Hit> {
    let hits = base.search(owner, question, None).await.unwrap().hits;
    if !base.indexing().running {
        return hits;
    }
    indexed(base).await;
    base.search(owner, question, None).await.unwrap().hits
}

/// Waits until the host's documents are indexed, also on a busy machine.
async fn indexed(base: &KnowledgeBase) {
    let wait = async {
        while base.indexing().running {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), wait).await.expect("the documents are indexed");
}

async fn sources(base: &KnowledgeBase, owner: Owner, question: &str) -> Vec<String> {
    find(base, owner, question).await.into_iter().map(|hit| hit.source).collect()
}

/// A file below the place's root directory.
fn file(place: &Place, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = place.host.root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path
}

fn packages_changed(place: &Place, state: &str) {
    file(place, "var/lib/dpkg/status", state);
}

fn packed(text: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

const PAGE: &str = ".TH FROBNICATE 8\n.SH NAME\nfrobnicate \\- polish the widgets of a host\n.SH OPTIONS\n.TP\n.B \\-\\-shine\nMake \\fIeverything\\fR gleam.\n";

#[tokio::test]
async fn finds_a_section_with_its_headings_and_line() {
    let place = Place::new();
    let base = base(&place);
    let filler = "Nothing to see in this line of the handbook.\n".repeat(8);
    let text = format!(
        "# Handbook\n\n{filler}\n## Printers\n\n{filler}\n### Toner\n\nReplace the zirconium cartridge.\n\n```\n# no heading\n```\n"
    );
    add(&base, ALICE, "/home/alice/handbook.md", &text).await;
    let hits = find(&base, ALICE, "how do I replace a zirconium cartridge?").await;
    let hit = hits.first().expect("a hit");
    assert_eq!((hit.origin, hit.title.as_str()), (Origin::Added, "handbook.md: Handbook"));
    assert_eq!(hit.heading, "Handbook > Printers > Toner");
    let line = text.lines().position(|line| line == "### Toner").unwrap() + 1;
    assert_eq!(hit.line, i64::try_from(line).unwrap());
    assert!(hit.text.contains("zirconium") && hit.text.contains("# no heading"), "{}", hit.text);
}

#[tokio::test]
async fn each_document_is_found_once_by_its_best_part() {
    let place = Place::new();
    let base = base(&place);
    let part = format!("# Part\n\nThe gearbox needs oil. {}\n\n", "More words about it. ".repeat(40));
    add(&base, ALICE, "long.md", &part.repeat(20)).await;
    add(&base, ALICE, "short.md", "The gearbox needs grease.\n").await;
    add(&base, ALICE, "copy of short.md", "The gearbox needs grease.\n").await;
    let found = sources(&base, ALICE, "gearbox").await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found.iter().filter(|source| source.contains("short")).count(), 1, "{found:?}");
}

#[tokio::test]
async fn a_note_about_the_host_is_before_pages_that_have_a_word_of_the_question_often() {
    let place = Place::new();
    // 360 parts of pages have the one word often, more than are ranked; the other word is in most pages, and tells little.
    for page in 0..60 {
        let part = format!("# Backup\n\n--backup makes a backup; backup suffix of backup {page}.\n\n");
        file(&place, &format!("usr/share/doc/tool-{page}/README.md"), part.repeat(6));
    }
    for page in 0..2000 {
        let text = format!("# Daemon {page}\n\nThe server listens at port {page}.\n");
        file(&place, &format!("usr/share/doc/daemon-{page}/README.md"), text);
    }
    let base = base(&place);
    let note = "# Backup\n\nThe backup server is heron.\n\nRestore is tried on the first Monday of each month, from the newest copy, into an empty directory.\n";
    add(&base, ALICE, "/home/alice/notes/backup.md", note).await;
    let found = sources(&base, ALICE, "which server has the backup").await;
    assert_eq!(found.first().map(String::as_str), Some("/home/alice/notes/backup.md"), "{found:?}");
}

#[tokio::test]
async fn a_document_is_found_by_its_owner_alone() {
    let place = Place::new();
    let base = base(&place);
    add(&base, ALICE, "wages.txt", "The xylophone budget of the board.\n").await;
    add(&base, Owner::Token, "token.txt", "A xylophone of the token.\n").await;
    assert_eq!(sources(&base, ALICE, "xylophone").await, ["wages.txt"]);
    // 100 is the beginning of 1000; root is an owner like the others here.
    for other in [BOB, Owner::Uid(0), Owner::Uid(10_000)] {
        assert!(sources(&base, other, "xylophone").await.is_empty(), "{other:?}");
        assert!(base.list(other).await.unwrap().is_empty(), "{other:?}");
        let fault = base.remove(other, "wages.txt".to_owned()).await.unwrap_err();
        assert!(matches!(fault, Fault::NotFound(_)), "{other:?}");
        assert!(matches!(base.remove(other, "1".to_owned()).await, Err(Fault::NotFound(_))), "{other:?}");
        assert_eq!(base.status(other).await.unwrap().documents, 0);
        assert_eq!(base.status(other).await.unwrap().chunks, 0);
    }
    assert_eq!(sources(&base, Owner::Token, "xylophone").await, ["token.txt"]);
}

#[tokio::test]
async fn words_of_a_question_are_no_operators() {
    let place = Place::new();
    let base = base(&place);
    add(&base, ALICE, "a.txt", "alpha uid1000\n").await;
    add(&base, BOB, "b.txt", "beta secretly\n").await;
    for question in [
        "beta\" OR scope : \"uid100",
        "scope:uid100",
        "{scope} : \"uid100\" OR beta",
        "alpha) OR (beta",
        "NEAR(alpha beta)",
        "alpha NOT gamma",
        "beta*",
        "^beta",
        "alpha AND beta",
        "'; DROP TABLE documents; --",
        "a\u{0}lpha beta",
        "uid100 host",
    ] {
        let found = base.search(ALICE, question, None).await.unwrap().hits;
        assert!(found.iter().all(|hit| hit.source == "a.txt"), "{question:?}: {found:?}");
    }
    for empty in ["", "   ", "\"\"", "***", "()"] {
        assert!(matches!(base.search(ALICE, empty, None).await, Err(Fault::Invalid(_))), "{empty:?}");
    }
    assert!(matches!(base.search(ALICE, &"word ".repeat(500), None).await, Err(Fault::Invalid(_))));
    assert_eq!(base.probe().await, "ok");
}

#[tokio::test]
async fn the_same_text_is_not_indexed_again_and_a_removed_document_is_gone() {
    let place = Place::new();
    let base = base(&place);
    let add = |text: &str| base.add(ALICE, "a.txt".to_owned(), text.to_owned());
    assert!(!add("The lighthouse keeper.\n").await.unwrap().unchanged);
    assert!(add("The lighthouse keeper.\n").await.unwrap().unchanged);
    assert!(!add("The windmill keeper.\n").await.unwrap().unchanged);
    assert!(sources(&base, ALICE, "lighthouse").await.is_empty(), "its old text");
    assert_eq!(sources(&base, ALICE, "windmill").await, ["a.txt"]);
    assert_eq!(base.status(ALICE).await.unwrap().chunks, 1);
    let Err(Fault::NotFound(why)) = base.remove(ALICE, "b.txt".to_owned()).await else {
        panic!("there is no b.txt");
    };
    assert_eq!(why, "none of your documents is b.txt: did you mean `a.txt`? (see `postern kb list`)");
    // A document of somebody else's is not named.
    let Err(Fault::NotFound(why)) = base.remove(BOB, "b.txt".to_owned()).await else {
        panic!("there is no b.txt");
    };
    assert_eq!(why, "none of your documents is b.txt (see `postern kb list`)");
    assert_eq!(base.remove(ALICE, "a.txt".to_owned()).await.unwrap(), "a.txt");
    assert!(sources(&base, ALICE, "windmill").await.is_empty());
    let status = base.status(ALICE).await.unwrap();
    assert_eq!((status.documents, status.bytes, status.chunks), (0, 0, 0));
}

#[tokio::test]
async fn limits_hold_for_each_owner() {
    let place = Place::new();
    let base = base_with(&place, &Knowledge::default(), Limits { documents: 2, bytes: 20 });
    let add = |owner, name: &str, text: &str| base.add(owner, name.to_owned(), text.to_owned());
    add(ALICE, "a", "1234567890").await.unwrap();
    assert!(matches!(add(ALICE, "b", "12345678901").await, Err(Fault::Full(_))), "21 bytes");
    add(ALICE, "b", "1234567890").await.unwrap();
    add(ALICE, "b", "0987654321").await.expect("in its own place");
    assert!(matches!(add(ALICE, "c", "1").await, Err(Fault::Full(_))), "a third document");
    add(BOB, "c", "1").await.expect("the limits are each owner's");
    for (name, text) in [
        ("large", "x".repeat(DOCUMENT_LIMIT + 1)),
        ("zero", "a\0b".to_owned()),
        ("blank", " \n\t\n".to_owned()),
        ("", "text".to_owned()),
        ("escape\u{1b}[2J", "text".to_owned()),
        (&*"n".repeat(2000), "text".to_owned()),
    ] {
        assert!(matches!(add(BOB, name, &text).await, Err(Fault::Invalid(_))), "{name:.20}");
    }
}

#[tokio::test]
async fn a_document_of_headings_alone_has_few_parts() {
    let place = Place::new();
    let base = base(&place);
    let added = base.add(ALICE, "h.md".to_owned(), "# a\n".repeat(100_000)).await.unwrap();
    assert!(added.chunks <= 400_000 / 100, "{}", added.chunks);
    let added = base.add(ALICE, "l.txt".to_owned(), "ä".repeat(100_000)).await.unwrap();
    assert!((100..200).contains(&added.chunks), "{}", added.chunks);
}

#[tokio::test]
async fn credentials_are_taken_out_before_a_text_is_kept() {
    let place = Place::new();
    let base = base(&place);
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}-----END RSA PRIVATE KEY-----",
        "QUJDREVGRw==\n".repeat(40)
    );
    let text = format!("db_password = hunter2hunter2\n{key}\nThe pelican line.\n");
    let added = base.add(ALICE, "notes.txt".to_owned(), text.clone()).await.unwrap();
    assert_eq!(added.redacted, 2);
    let hit = find(&base, ALICE, "pelican").await.remove(0);
    assert!(!hit.text.contains("hunter2") && !hit.text.contains("QUJD"), "{}", hit.text);
    assert!(hit.text.contains("[REDACTED]"));
    let lines = hit.text.lines().position(|line| line.contains("pelican")).unwrap();
    let expected = text.lines().position(|line| line.contains("pelican")).unwrap();
    assert_eq!(lines, expected, "a key keeps its lines");
    for part in std::fs::read_dir(&place.host.state).unwrap() {
        let bytes = std::fs::read(part.unwrap().path()).unwrap();
        assert!(!bytes.windows(7).any(|part| part == b"hunter2"));
    }
}

#[tokio::test]
async fn documents_of_the_host_are_indexed_when_they_are_asked_for_and_follow_the_packages() {
    let place = Place::new();
    packages_changed(&place, "one");
    let page = file(&place, "usr/share/man/man8/frobnicate.8.gz", packed(PAGE.as_bytes()));
    file(&place, "usr/share/man/man8/polish.8", ".so man8/frobnicate.8\n");
    file(&place, "usr/share/doc/frob/README.Debian", "The gramophone hums.\n");
    file(&place, "usr/share/doc/frob/changelog.Debian.gz", packed(b"gramophone changes\n"));
    file(&place, "usr/share/doc/frob/copyright", "gramophone licence\n");
    let base = base(&place);
    assert_eq!(base.status(ALICE).await.unwrap().host_documents, 0, "nobody asked yet");
    let hit = find(&base, ALICE, "polish widgets").await.remove(0);
    assert_eq!(hit.title, "frobnicate(8): polish the widgets of a host");
    assert_eq!((hit.origin, Path::new(&hit.source)), (Origin::Man, page.as_path()));
    let options = find(&base, BOB, "--shine gleam").await.remove(0);
    assert!(options.text.contains("Make everything gleam."), "{options:?}");
    assert_eq!(sources(&base, ALICE, "gramophone").await.len(), 1);
    assert_eq!(base.status(ALICE).await.unwrap().host_documents, 2);

    // A file that is gone is not found, even before dpkg's status says so.
    std::fs::remove_file(&page).unwrap();
    assert!(sources(&base, ALICE, "widgets").await.is_empty());
    file(&place, "usr/share/man/man1/other.1", PAGE.replace("widgets", "gadgets"));
    packages_changed(&place, "one and another");
    assert_eq!(sources(&base, ALICE, "gadgets").await.len(), 1);
    assert_eq!(base.status(ALICE).await.unwrap().host_documents, 2, "the page that is gone was removed");
}

#[tokio::test]
async fn a_page_is_read_behind_definitions_of_macros() {
    // As Asciidoctor writes the pages of util-linux, perf and others.
    const HEAD: &str = ".als MTO URL\n.if \\n[.g] \\{\\\n.  mso www.tmac\n.  am URL\n.    ad l\n.  .\n.  am MTO\n.    ad l\n.  .\n.\\}\n";
    let place = Place::new();
    packages_changed(&place, "one");
    let titled = PAGE.split_once('\n').unwrap();
    for (name, head) in [
        ("asciidoctor.8", HEAD),
        ("named.8", ".de XX YY\nno text .SH\n..\n.YY\n"),
        ("ignored.8", ".ig\nno text\n..\n.ig ZZ\nno text\n.ZZ\n"),
    ] {
        let page = format!("{}\n{head}{}", titled.0, titled.1.replace("frobnicate", name));
        file(&place, &format!("usr/share/man/man8/{name}"), page);
    }
    let base = base(&place);
    assert_eq!(find(&base, ALICE, "polish widgets").await.len(), 3);
    assert_eq!(base.indexing().left_out, 0, "{:?}", base.indexing());
    let hits = base.search(ALICE, "no text ad", None).await.unwrap().hits;
    assert!(hits.iter().all(|hit| !hit.text.contains("no text")), "{hits:?}");
}

#[tokio::test]
async fn links_pipes_large_and_private_files_are_left_out() {
    let place = Place::new();
    let secret = file(&place, "home/secret.md", "The ocelot password.\n");
    let doc = place.host.root.join("usr/share/doc");
    file(&place, "usr/share/doc/a/README", "The ocelot is here.\n");
    symlink(&secret, doc.join("a/README.link")).unwrap();
    symlink(place.host.root.join("home"), doc.join("b")).unwrap();
    nix::unistd::mkfifo(&doc.join("a/README.pipe"), nix::sys::stat::Mode::from_bits_truncate(0o644)).unwrap();
    let private = file(&place, "usr/share/doc/a/README.private", "The ocelot of root.\n");
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o640)).unwrap();
    file(&place, "usr/share/doc/c/README", "The ocelot of a private directory.\n");
    std::fs::set_permissions(doc.join("c"), std::fs::Permissions::from_mode(0o750)).unwrap();
    let bomb = vec![b'o'; DOCUMENT_LIMIT + 1];
    file(&place, "usr/share/doc/a/README.bomb.gz", packed(&bomb));
    file(&place, "usr/share/doc/a/README.members.gz", packed(b"").repeat(2000));
    file(&place, "usr/share/doc/a/README.zero", b"ocelot\0ocelot");
    file(&place, "usr/share/doc/a/README\u{1b}[2J", "ocelot");
    let base = base(&place);
    let found = sources(&base, ALICE, "ocelot").await;
    assert_eq!(found, [doc.join("a/README").display().to_string()]);
    let indexing = base.indexing();
    assert!(!indexing.running && indexing.left_out >= 4, "{indexing:?}");
    assert!(indexing.why.is_some());
}

#[tokio::test]
async fn site_notes_are_for_everybody_and_follow_their_files() {
    let place = Place::new();
    let notes = place.path("knowledge.d");
    std::fs::create_dir(&notes).unwrap();
    let write = |name: &str, text: &str, mode: u32| {
        let path = notes.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    write("network.md", "# Network\n\nThe marmot uplink is em1.\n", 0o644);
    write("writable.md", "The marmot lie.\n", 0o666);
    write("private.md", "The marmot secret.\n", 0o640);
    let config = Knowledge { host_documents: false, ..Knowledge::default() };
    file(&place, "usr/share/doc/a/README", "The marmot of a package.\n");
    let base = base_with(&place, &config, Limits::default());
    let hits = find(&base, ALICE, "marmot").await;
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!((hits[0].origin, hits[0].text.contains("em1")), (Origin::Site, true));
    assert_eq!(base.indexing().left_out, 2);
    write("network.md", "# Network\n\nThe marmot uplink is em2, since May.\n", 0o644);
    assert!(find(&base, BOB, "marmot").await[0].text.contains("em2"));
    // Nobody removes a note by its number.
    let id = base.list(BOB).await.unwrap()[0].id;
    assert!(matches!(base.remove(BOB, id.to_string()).await, Err(Fault::NotFound(_))));
    std::fs::remove_file(notes.join("network.md")).unwrap();
    assert!(find(&base, BOB, "marmot").await.is_empty());
    assert!(base.list(BOB).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_base_that_is_off_or_broken_says_so() {
    let place = Place::new();
    let off = base_with(&place, &Knowledge { enabled: false, ..Knowledge::default() }, Limits::default());
    assert_eq!(off.probe().await, "off");
    assert!(
        matches!(off.search(ALICE, "word", None).await, Err(Fault::Off(why)) if why.contains("[knowledge]"))
    );
    std::fs::create_dir_all(&place.host.state).unwrap();
    std::fs::write(
        place.host.state.join("knowledge.db"),
        "no database, but long enough to be one".repeat(99),
    )
    .unwrap();
    let broken = base(&place);
    let why = broken.probe().await;
    assert!(why.contains("knowledge.db"), "{why}");
    assert!(matches!(broken.search(ALICE, "word", None).await, Err(Fault::Off(_))));
}

#[tokio::test]
async fn health_asks_the_base_itself_and_not_only_whether_its_file_opened() {
    let place = Place::new();
    let base = base(&place);
    add(&base, ALICE, "mine.txt", "The mongoose note.\n").await;
    assert_eq!(base.probe().await, "ok");
    let sql = rusqlite::Connection::open(place.host.state.join("knowledge.db")).unwrap();
    sql.execute_batch("DROP TABLE chunks").unwrap();
    let why = base.probe().await;
    assert!(why != "ok" && !why.is_empty(), "{why}");
}

#[tokio::test]
async fn people_are_not_kept_waiting_by_an_indexing_run() {
    const FILES: usize = 400;
    let place = Place::new();
    for number in 0..FILES {
        file(
            &place,
            &format!("usr/share/doc/p{number}/README"),
            format!("walrus {number}\n{}", "text of it\n".repeat(400)),
        );
    }
    let base = base(&place);
    add(&base, ALICE, "mine.txt", "The mongoose note.\n").await;
    let begin = Instant::now();
    let first = tokio::spawn({
        let base = base.clone();
        async move { base.search(ALICE, "walrus", None).await.unwrap() }
    });
    common::until("the run has begun", || base.indexing().running).await;
    let (mut rounds, mut longest) = (0, Duration::ZERO);
    while base.indexing().running {
        let begin = Instant::now();
        assert_eq!(base.search(ALICE, "mongoose", None).await.unwrap().hits[0].source, "mine.txt");
        add(&base, BOB, "his.txt", &format!("Note {rounds}.\n")).await;
        (rounds, longest) = (rounds + 1, longest.max(begin.elapsed()));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // A busy machine makes both slow: the run is what a person would wait for.
    let run = begin.elapsed();
    assert!(
        rounds > 2 && longest * 3 < run,
        "{rounds} searches, the longest of {longest:?}, in a run of {run:?}"
    );
    first.await.unwrap();
    assert_eq!(base.indexing().done, FILES);
    assert_eq!(base.search(ALICE, "walrus", Some(20)).await.unwrap().hits.len(), 20);
}

#[tokio::test]
async fn command_line_reads_files_as_its_person_and_keeps_them_for_them() {
    let place = Place::new();
    place.serve();
    let handbook = place.path("handbook.md");
    std::fs::write(&handbook, "# Dishes\n\nThe kumquat dish is served cold.\n").unwrap();
    let path = handbook.display().to_string();
    let ran = place.run(&["kb", "add", &path]).await;
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    assert!(ran.out.starts_with("added 1 ") && ran.out.contains(&path), "{}", ran.out);
    assert!(place.run(&["kb", "add", &format!("file://{path}")]).await.out.starts_with("unchanged 1 "));
    let ran = place
        .run_with(&["kb", "add", "-", "--name", "https://example.org/k"], b"Kumquat trees grow slowly.\n")
        .await;
    assert_eq!(ran.exit, Exit::Done, "{}", ran.err);
    let ran = place.run(&["kb", "search", "kumquat", "dish"]).await;
    assert!(ran.out.starts_with(&format!("{path}:1 handbook.md: Dishes [Dishes]\n")), "{}", ran.out);
    assert!(ran.out.contains("https://example.org/k"), "{}", ran.out);
    let found = place.run(&["kb", "search", "kumquat", "--limit", "1", "--json"]).await.json();
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    let listed = place.run(&["kb", "list"]).await.out;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(place.run(&["kb", "status"]).await.out.contains("yours      2 documents"));
    assert_eq!(place.run(&["kb", "remove", &path]).await.exit, Exit::Done);
    assert_ne!(place.run(&["kb", "remove", &path]).await.exit, Exit::Done);
    assert_eq!(place.run(&["kb", "list"]).await.out.lines().count(), 1);

    let pipe = place.path("pipe.md");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let ran = place.run(&["kb", "add", &pipe.display().to_string()]).await;
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("no regular file"), "{}", ran.err);
    let ran = place.run(&["kb", "add", "https://example.org/k"]).await;
    assert_eq!(ran.exit, Exit::Usage);
    assert!(ran.err.contains("curl"), "{}", ran.err);

    let notes = place.path("notes");
    std::fs::create_dir(&notes).unwrap();
    std::fs::write(notes.join("a.md"), "one").unwrap();
    std::fs::write(notes.join("b.bin"), "two").unwrap();
    std::fs::write(notes.join("c.txt"), "thr\0ee").unwrap();
    symlink(&handbook, notes.join("d.md")).unwrap();
    let ran = place.run(&["kb", "add", &notes.display().to_string()]).await;
    assert_eq!(ran.exit, Exit::Partly, "{} {}", ran.out, ran.err);
    assert_eq!(ran.out.lines().count(), 1, "{}", ran.out);
    assert_eq!(
        place.run(&["health"]).await.out.lines().find(|line| line.starts_with("rag")),
        Some("rag     ok")
    );
}
