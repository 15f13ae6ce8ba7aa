//! kill -9 of each program at each hop in the middle of orders: nothing is doubled, nothing is unrecorded, and no file is
//! half written.
//!
//! A kill counts only if the program had accepted a connection for the order, and the client had no answer yet: both are
//! looked up while the program is stopped. `POSTERN_KILLS` says how many of each program must land.

use crate::commands::{command, parameter, program};
use postern_corridor::{
    CLIENT_UID, Processes, World, changing, eventually, meta, names, request, rule, strings, write_request,
};
use postern_policy::{Code, types::Digest};
use postern_proto::root::v1 as root;
use postern_proto::v1::{self as wire, Mode, Status, event::Kind};
use prost::Message;
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Kills of each program that must land.
fn wanted() -> usize {
    std::env::var("POSTERN_KILLS").map_or(10, |kills| kills.parse().expect("POSTERN_KILLS is a number"))
}

/// An order of one of these tests: the object that it changes, its request id, and its outcome.
struct Ordered {
    object: String,
    id: String,
    outcome: Option<wire::Completed>,
}

/// One request of these tests: its method, its message, and its `meta`.
type Asked = (&'static str, Box<dyn Ask>, String);

/// A message of any type.
trait Ask: Send + Sync {
    /// Asks a gateway, and the broker behind it.
    fn ask(&self, world: &World, method: &str) -> Option<Kind>;
    /// Asks a broker in this process, which no test kills.
    fn ask_here(&self, processes: &Processes, method: &str) -> Option<Kind>;
}

impl<M: Message> Ask for M {
    fn ask(&self, world: &World, method: &str) -> Option<Kind> {
        request(&world.path("helper.sock"), method, self)
    }

    fn ask_here(&self, processes: &Processes, method: &str) -> Option<Kind> {
        match processes.connect(CLIENT_UID).ask(method, self).events.pop()?.kind? {
            last @ (Kind::Completed(_) | Kind::Refused(_)) => Some(last),
            _ => None,
        }
    }
}

/// Role of the test's user, who cannot be client and operator.
#[derive(Clone, Copy)]
enum Role {
    Client,
    /// Approves whatever waits. The client asks a broker of this process.
    Operator,
}

impl Role {
    fn ask(self, processes: &Processes, method: &str, message: &dyn Ask) -> Option<Kind> {
        match self {
            Self::Client => message.ask(&processes.world, method),
            Self::Operator => message.ask_here(processes, method),
        }
    }
}

/// Sends orders, one after the other, and kills these programs in the middle of them.
fn killing(
    world: World,
    programs: &[&str],
    order: impl Fn(&World, usize) -> (String, Asked),
) -> (Processes, Vec<Ordered>) {
    let processes = Processes::new(env!("CARGO_BIN_EXE_corridor-program"), world);
    processes.be_client();
    let all = killed(&processes, Role::Client, programs, order);
    (processes, all)
}

/// Does the same with orders that an operator approves.
fn killing_approved(
    world: World,
    programs: &[&str],
    order: impl Fn(&World, usize) -> (String, Asked),
) -> (Processes, Vec<Ordered>) {
    let processes = Processes::new(env!("CARGO_BIN_EXE_corridor-program"), world);
    let is_over = AtomicBool::new(false);
    let all = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Acquire) {
                let mut operator = processes.operator();
                // Until the recorder is killed.
                while !is_over.load(Ordering::Acquire) && operator.approve_all().is_ok() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        // Also if it panics: the scope waits for the thread.
        let _over = Over(&is_over);
        killed(&processes, Role::Operator, programs, order)
    });
    (processes, all)
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Sends the orders in this role; they and their outcomes.
fn killed(
    processes: &Processes,
    role: Role,
    programs: &[&str],
    order: impl Fn(&World, usize) -> (String, Asked),
) -> Vec<Ordered> {
    let (mut all, started) = (Vec::new(), Instant::now());
    for program in programs {
        let (mut landed, before) = (0, all.len());
        while landed < wanted() {
            let number = all.len();
            assert!(number - before < 30 * wanted() + 30, "only {landed} kills of {program} landed");
            let (object, (method, message, id)) = order(&processes.world, number);
            let is_answered = AtomicBool::new(false);
            let answer = std::thread::scope(|scope| {
                let asked = scope.spawn(|| {
                    let answer = role.ask(processes, method, message.as_ref());
                    is_answered.store(true, Ordering::Release);
                    answer
                });
                // At the first sight of the order, or a little later: not always at the same place.
                let mut sightings = number % 7;
                while !is_answered.load(Ordering::Acquire) {
                    let is_due = || {
                        let is_now = !is_answered.load(Ordering::Acquire) && sightings == 0;
                        sightings = sightings.saturating_sub(1);
                        is_now
                    };
                    if kill(processes, program, is_due) {
                        landed += 1;
                        break;
                    }
                    std::thread::sleep(Duration::from_micros(50));
                }
                asked.join().unwrap()
            });
            let outcome = settled(processes, role, &id, answer);
            all.push(Ordered { object, id, outcome });
        }
        let orders = all.len() - before;
        println!("kill -9 of {program}: {landed} in the middle of an order, of {orders} orders");
    }
    // The control: without a kill all goes well.
    let (object, (method, message, id)) = order(&processes.world, all.len());
    let outcome = settled(processes, role, &id, role.ask(processes, method, message.as_ref()));
    assert_eq!(outcome.as_ref().map(wire::Completed::status), Some(Status::Done), "{outcome:?}");
    all.push(Ordered { object, id, outcome });
    println!("{programs:?}: {:.0} s", started.elapsed().as_secs_f32());
    eventually("every begin has its end", || {
        checked(&processes.log()).values().all(|events| events.len() == 2)
    });
    all
}

fn kill(processes: &Processes, program: &str, mut is_due: impl FnMut() -> bool) -> bool {
    let is_due = std::cell::RefCell::new(&mut is_due);
    processes.kill_in_order(program, || (is_due.borrow_mut())())
}

/// Polls the outcome of a request until it is known. None: no request has this id.
fn settled(processes: &Processes, role: Role, id: &str, answer: Option<Kind>) -> Option<wire::Completed> {
    let mut last = answer;
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        match last {
            Some(Kind::Completed(completed)) if completed.code != "timeout" => return Some(completed),
            Some(Kind::Refused(refused)) if refused.code == "unknown_request" => return None,
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
        let asked = wire::RequestResultRequest { meta: meta(Mode::Execute), of: id.to_owned() };
        last = role.ask(processes, "Helper/RequestResult", &asked);
    }
    panic!("nobody knows what became of {id}");
}

/// Checks the chain, and that each request that began ended once; returns the events of each request.
fn checked(lines: &[String]) -> HashMap<String, Vec<String>> {
    let mut prev = Digest::ZERO.to_string();
    let mut events = HashMap::<String, Vec<String>>::new();
    for line in lines {
        // A line that a kill tore stays, and is recorded as torn.
        let Some((signed, hash)) = line.rsplit_once(",\"hash\":\"") else { continue };
        assert!(signed.ends_with(&format!(",\"prev\":\"{prev}\"")), "{line}");
        assert_eq!(hash, format!("{}\"}}", Digest::of(&[signed.as_bytes()])), "{line}");
        hash.trim_end_matches("\"}").clone_into(&mut prev);
        let record: Value = serde_json::from_str(line).unwrap();
        let event = record["event"].as_str().unwrap().to_owned();
        if ["begin", "end", "interrupted"].contains(&event.as_str()) {
            events.entry(record["request_id"].as_str().unwrap().to_owned()).or_default().push(event);
        }
    }
    events
}

/// Whether an answer says that nothing was done: there is no such request, or it failed. A command that failed, and a job that
/// was killed, say so themselves and may have done something before.
fn says_no_effect(outcome: Option<&wire::Completed>) -> bool {
    outcome.is_none_or(|completed| {
        completed.status() == Status::Failed && completed.code != Code::CommandFailed.as_str()
    })
}

/// Checks that each effect is recorded, happened at most once, once where the answer says so, and not where it denies it.
fn check(processes: &Processes, orders: &[Ordered], effects: impl Fn(&str) -> usize) {
    let events = checked(&processes.log());
    for Ordered { object, id, outcome } in orders {
        let count = effects(object);
        assert!(count <= 1, "{object} was changed {count} times");
        assert!(count == 0 || events.contains_key(id), "{object} was changed and is not recorded");
        assert!(count == 0 || !says_no_effect(outcome.as_ref()), "{object} was changed: {outcome:?}");
        if is_done(outcome.as_ref()) {
            assert_eq!((count, events[id].as_slice()), (1, &["begin".to_owned(), "end".to_owned()][..]));
        }
    }
}

fn is_done(outcome: Option<&wire::Completed>) -> bool {
    outcome.is_some_and(|completed| completed.status() == Status::Done)
}

/// Checks files that were not there and were to have their path as content: each has all of it, or is still not there.
fn check_created(processes: &Processes, orders: &[Ordered]) {
    check(processes, orders, |path| {
        let content = fs::read_to_string(path).ok();
        assert!(content.as_deref().is_none_or(|content| content == path), "{path} is half written");
        usize::from(content.is_some())
    });
}

/// Checks files that had one content and were to get another, as `contents` says by their path: each has the one or the whole
/// other, and the undo of what was done brings back the first. Where a change was made twice, the other one would have been kept.
fn check_replaced(processes: &Processes, orders: &[Ordered], contents: impl Fn(&str) -> [String; 2]) {
    // The next start of postern-files takes up what was under way.
    processes.restart("files");
    let last = write_request(&processes.world.text("site/last"), b"x", "any");
    assert!(matches!(last.ask(&processes.world, "Helper/FileWrite"), Some(Kind::Completed(_))));
    check(processes, orders, |path| {
        let content = fs::read_to_string(path).unwrap();
        let found = contents(path).iter().position(|known| *known == content);
        found.unwrap_or_else(|| panic!("{path} is half written: {content}"))
    });
    let mut undone = 0;
    for Ordered { object, id, outcome } in orders {
        if !is_done(outcome.as_ref()) {
            continue;
        }
        let undo = wire::RequestUndoRequest { meta: meta(Mode::Execute), of: id.clone() };
        let Some(Kind::Completed(answer)) = undo.ask(&processes.world, "Helper/RequestUndo") else {
            panic!("no undo of {object}: {outcome:?}");
        };
        assert_eq!(
            (answer.status(), &fs::read_to_string(object).unwrap()),
            (Status::Done, &contents(object)[0])
        );
        undone += 1;
    }
    assert!(undone > 0, "the control was done");
    for directory in orders.iter().filter_map(|order| Path::new(&order.object).parent()) {
        let left = names(directory).into_iter().filter(|name| name.starts_with('.'));
        assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
    }
}

/// The content of a file before it was replaced. Afterwards it is the path.
const OLD: &str = "old";

fn replaced(path: &str) -> [String; 2] {
    [OLD.to_owned(), path.to_owned()]
}

/// An order to write a file that is not there.
fn creating(path: String) -> (String, Asked) {
    let request = write_request(&path, path.as_bytes(), "absent");
    let id = request.meta.as_ref().unwrap().request_id.clone();
    (path, ("Helper/FileWrite", Box::new(request), id))
}

/// A file that is there, and an order to replace it.
fn replacing(path: String) -> (String, Asked) {
    fs::write(&path, OLD).unwrap();
    fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let request = write_request(&path, path.as_bytes(), "any");
    let id = request.meta.as_ref().unwrap().request_id.clone();
    (path, ("Helper/FileWrite", Box::new(request), id))
}

/// A file that was replaced, and the undo of that.
fn undoing(world: &World, path: String) -> (String, Asked) {
    let of = loop {
        let (_, (method, write, id)) = replacing(path.clone());
        // A program that was killed may not be there again.
        let answer = write.ask(world, method);
        if matches!(answer, Some(Kind::Completed(done)) if done.status() == Status::Done) {
            break id;
        }
    };
    let undo = wire::RequestUndoRequest { meta: meta(Mode::Execute), of };
    let id = undo.meta.as_ref().unwrap().request_id.clone();
    (path, ("Helper/RequestUndo", Box::new(undo), id))
}

/// How often a file names each object.
fn counted(processes: &Processes, file: &str) -> impl Fn(&str) -> usize {
    let text = fs::read_to_string(processes.world.path(file)).unwrap_or_default();
    move |object| text.lines().filter(|line| *line == object).count()
}

#[test]
fn kills_leave_every_write_whole_once_and_recorded() {
    let world = World::new(|at| vec![changing(at)]);
    let programs = ["broker", "gateway", "recorder", "files"];
    let (processes, orders) =
        killing(world, &programs, |world, number| creating(world.text(&format!("site/{number}"))));
    // The next start of postern-files takes up what was under way.
    processes.restart("files");
    let last = write_request(&processes.world.text("site/last"), b"x", "any");
    assert!(matches!(last.ask(&processes.world, "Helper/FileWrite"), Some(Kind::Completed(_))));
    check_created(&processes, &orders);
    let left = names(&processes.world.path("site")).into_iter().filter(|name| name.starts_with('.'));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn kills_make_no_approved_write_twice_and_none_without_its_approval() {
    let files = |id: &str, files: &[&str], decision: root::Decision, at: &Path| root::Rule {
        id: id.to_owned(),
        files: strings(files),
        decision: decision.into(),
        ..changing(at)
    };
    let world = World::new(|at| {
        let asked = files("asked", &["asked-*"], root::Decision::Ask, at);
        vec![asked, files("last", &["last"], root::Decision::Allow, at)]
    });
    let (processes, orders) = killing_approved(world, &["recorder", "files"], |world, number| {
        creating(world.text(&format!("site/asked-{number}")))
    });
    // The next start of postern-files takes up what was under way.
    processes.restart("files");
    let last = write_request(&processes.world.text("site/last"), b"x", "any");
    let last = last.ask_here(&processes, "Helper/FileWrite");
    assert!(matches!(&last, Some(Kind::Completed(done)) if done.status() == Status::Done), "{last:?}");
    check_created(&processes, &orders);
    let log = processes.log();
    let records = log.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    for Ordered { object, id, .. } in orders.iter().filter(|order| Path::new(&order.object).exists()) {
        let approvals = records.iter().filter(|one| {
            one["request_id"] == **id && one["event"] == "approval" && one["outcome"]["status"] == "approved"
        });
        assert_eq!(approvals.count(), 1, "{object}: {records:#?}");
    }
}

#[test]
fn kills_leave_the_old_file_or_the_whole_new_one_and_keep_the_old_one_for_undo() {
    let world = World::new(|at| vec![changing(at)]);
    let programs = ["broker", "gateway", "recorder", "files"];
    let (processes, orders) =
        killing(world, &programs, |world, number| replacing(world.text(&format!("site/{number}"))));
    check_replaced(&processes, &orders, replaced);
}

#[test]
fn kills_take_a_file_back_once_or_not_at_all() {
    let world = World::new(|at| vec![changing(at)]);
    let programs = ["broker", "gateway", "recorder", "files"];
    let (processes, orders) =
        killing(world, &programs, |world, number| undoing(world, world.text(&format!("site/{number}"))));
    check_replaced(&processes, &orders, |path| {
        let [old, new] = replaced(path);
        [new, old]
    });
}

#[test]
fn kills_between_stage_validation_and_commit_replace_no_file_by_half_and_none_twice() {
    // A stage is a copy of a whole granted directory: many of them, with a few files each.
    const DIRECTORIES: usize = 50;
    let world = World::with(|at| {
        let directories = (0..DIRECTORIES).map(|number| {
            let directory = at.join(format!("site/{number}"));
            fs::create_dir(&directory).unwrap();
            directory.to_str().unwrap().to_owned()
        });
        let directories = directories.collect();
        let validated = root::Rule { directories, validate: "agrees".to_owned(), ..changing(at) };
        let last = root::Rule { id: "last".to_owned(), files: strings(&["last"]), ..changing(at) };
        let agrees = root::Command {
            sandbox: root::Sandbox::Validator.into(),
            ..command("agrees", &["/usr/bin/true"])
        };
        root::Rules { rules: vec![validated, last], commands: vec![agrees], ..root::Rules::default() }
    });
    let programs = ["broker", "recorder", "files", "units"];
    let (processes, orders) = killing(world, &programs, |world, number| {
        // What a killed recorder leaves behind is removed after ten minutes; sixteen of them hold up the next one until then.
        let stages = world.path("files/stage");
        for stage in names(&stages) {
            fs::remove_dir_all(stages.join(stage)).unwrap();
        }
        replacing(world.text(&format!("site/{}/{number}", number % DIRECTORIES)))
    });
    check_replaced(&processes, &orders, replaced);
}

#[test]
fn kills_change_no_unit_twice_and_lose_no_record() {
    let world =
        World::new(|_| vec![root::Rule { units: strings(&["a@*.service"]), ..rule("a", &["unit.restart"]) }]);
    world.systemctl(&format!(
        "for unit; do :; done
         case $1 in show) printf 'Id=%s\\nNames=%s\\nLoadState=loaded\\nActiveState=active\\n' $unit $unit;;
         restart) echo $unit >>{}/restarts;; esac",
        world.text("")
    ));
    let (processes, orders) = killing(world, &["units", "probe", "recorder", "broker"], |_, number| {
        let unit = format!("a@{number}.service");
        let request = wire::UnitRestartRequest { meta: meta(Mode::Execute), unit: unit.clone() };
        let id = request.meta.as_ref().unwrap().request_id.clone();
        (unit, ("Helper/UnitRestart", Box::new(request), id))
    });
    check(&processes, &orders, counted(&processes, "restarts"));
}

#[test]
fn kills_install_no_package_twice_and_lose_no_record() {
    let world =
        World::new(|_| vec![root::Rule { packages: strings(&["p*"]), ..rule("p", &["package.install"]) }]);
    let here = world.text("");
    world.program(
        "apt-get",
        &format!(
            "for word; do
                case $word in -s) looks=1 ;; DPkg::Pre-Install-Pkgs::=*) hook=${{word#*=}} ;;
                    p[0-9]*:native) name=${{word%:native}} ;; esac
             done
             [ -z \"$looks\" ] || {{ printf 'Inst %s (1 Debian:12 [amd64])\\n' $name; exit; }}
             [ -n \"$hook\" ] || exit 0
             printf 'VERSION 3\\nAPT::Architecture=amd64\\n\\n%s - - none < 1 amd64 none /%s.deb\\n' $name $name |
                $hook || exit 100
             echo $name >>{here}/installs"
        ),
    );
    world.program(
        "dpkg-query",
        &format!(
            "for name in $(cat {here}/installs); do
                printf \"$name\\tamd64\\tinstall\\tinstalled\\t1\\tno\\t\\toptional\\t100\\tx\\n\"; done"
        ),
    );
    fs::write(world.path("installs"), "").unwrap();
    let (processes, orders) = killing(world, &["packages", "units", "recorder", "broker"], |_, number| {
        let name = format!("p{number}");
        let packages = vec![wire::Package { name: name.clone(), version: String::new() }];
        let request = wire::PackageInstallRequest { meta: meta(Mode::Execute), packages };
        let id = request.meta.as_ref().unwrap().request_id.clone();
        (name, ("Helper/PackageInstall", Box::new(request), id))
    });
    check(&processes, &orders, counted(&processes, "installs"));
}

#[test]
fn kills_run_no_command_twice_and_lose_no_record() {
    let world = World::with(|at| {
        let append = program(at, "append", &format!("echo $1 >>{0}/runs; echo $1; sleep 0.02", at.display()));
        let append = root::Command {
            parameters: vec![parameter("name", root::ParameterKind::Name)],
            ..command("append", &[&append, "{name}"])
        };
        let rules = vec![root::Rule { commands: strings(&["*"]), ..rule("run", &["command.run"]) }];
        root::Rules { rules, commands: vec![append], ..root::Rules::default() }
    });
    let (processes, orders) = killing(world, &["command", "units", "recorder", "broker"], |_, number| {
        let (name, value) = ("name".to_owned(), format!("n{number}"));
        let parameters = vec![wire::Parameter { name, value: value.clone() }];
        let request =
            wire::CommandRunRequest { meta: meta(Mode::Execute), name: "append".to_owned(), parameters };
        let id = request.meta.as_ref().unwrap().request_id.clone();
        (value, ("Helper/CommandRun", Box::new(request), id))
    });
    check(&processes, &orders, counted(&processes, "runs"));
}
