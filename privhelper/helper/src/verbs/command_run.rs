//! `command.run`: a command that the policy names, with parameters of the kinds that it says.

use crate::audit::{Json, Ticket};
use crate::context::Context;
use crate::error::Stop;
use crate::helper::Helper;
use crate::job;
use crate::leave::Done;
use crate::plan::CommandPlan;
use crate::sandbox;
use crate::sys::programs;
use crate::verb::Verb;
use postern_policy::types::{Arguments, CommandName};
use postern_policy::{Code, Command, Denied, Grant, Invalid, Object, RequiredGrant, VerbId};
use postern_proto::root::v1::{self as root, CommandJob, Job, JobKind, Sandbox};
use postern_proto::v1 as wire;

/// A name and values.
#[derive(Debug)]
pub struct Run {
    name: CommandName,
    arguments: Arguments,
}

impl Run {
    /// This command with these values.
    #[must_use]
    pub const fn new(name: CommandName, arguments: Arguments) -> Self {
        Self { name, arguments }
    }

    /// Its row in the policy that this request is decided under.
    fn row<'a>(&self, cx: &'a Context) -> Result<&'a Command, Denied> {
        let known = cx.policy.command(self.name.as_str());
        known.ok_or_else(|| Denied::new(Code::NotFound, "the policy has no command of this name"))
    }

    /// What policy sees of it.
    #[must_use]
    pub fn required_grant(&self) -> RequiredGrant {
        let (name, arguments) = (self.name.clone(), self.arguments.clone());
        (VerbId::CommandRun, Object::Command { name, arguments })
    }

    /// What would be run.
    ///
    /// # Errors
    /// The program or a path is not root's alone, or its row can't be told to systemd.
    pub fn planned(&self, cx: &Context, by: &Grant) -> Result<CommandPlan, Stop> {
        let row = self.row(cx)?;
        let argv = row.argv(&self.arguments)?;
        let owner = cx.helper.host.owner_uid;
        if let Some(program) = argv.first() {
            programs::program(by, program, owner)?;
        }
        for path in row.paths(&self.arguments) {
            programs::parent(by, path, owner)?;
        }
        // What PID 1 cannot be told is found out before anybody is asked.
        sandbox::properties(row, &cx.helper.host.paths, "")?;
        Ok(CommandPlan {
            name: self.name.to_string(),
            argv,
            user: row.wire.user.clone(),
            sandbox: match row.wire.sandbox() {
                Sandbox::Strict => "strict",
                Sandbox::Validator => "validator",
                Sandbox::None | Sandbox::Unspecified => "none",
            },
            timeout_s: row.wire.timeout_s,
            also: also(&row.wire),
            reverse: row.wire.reverse.clone(),
        })
    }

    /// Runs it.
    ///
    /// # Errors
    /// It can't be run; that it failed is no error but an outcome.
    pub fn run(&self, cx: &Context, by: &Grant, plan: &CommandPlan, leave: &Ticket) -> Result<Done, Stop> {
        let row = self.row(cx)?;
        let command = CommandJob {
            argv: plan.argv.clone(),
            env: row.wire.env.clone(),
            output_bytes: row.wire.output_bytes,
            cwd: row.wire.cwd.clone(),
            secrets: Vec::new(),
        };
        let record = Job { kind: JobKind::Command.into(), command: Some(command), ..Job::default() };
        job::run_command(cx, leave, (&record, row.secrets(&self.arguments)), row, cx.limit(by))
    }
}

impl Verb for Run {
    type Wire = wire::CommandRunRequest;
    type Plan = CommandPlan;
    type Leave = Ticket;
    const ID: VerbId = VerbId::CommandRun;

    fn parse(wire: Self::Wire) -> (Option<wire::Meta>, Result<Self, Invalid>) {
        let pairs = wire.parameters.into_iter().map(|parameter| (parameter.name, parameter.value)).collect();
        let parsed = CommandName::new(&wire.name)
            .and_then(|name| Ok(Self { name, arguments: Arguments::new(pairs)? }));
        (wire.meta, parsed)
    }

    fn required_grants(&self, _: &Helper, _: u32) -> Result<Vec<RequiredGrant>, Denied> {
        Ok(vec![self.required_grant()])
    }

    /// Names alone: only the policy knows which value is a secret. The values stand in the plan's argv.
    fn args(&self) -> Json {
        let names = self.arguments.iter().map(|(name, _)| name);
        Json::new().text("name", self.name.as_str()).texts("parameters", names)
    }

    fn plan(&self, cx: &Context, by: &Grant) -> Result<Self::Plan, Stop> {
        self.planned(cx, by)
    }

    fn act(&self, cx: &Context, by: &Grant, plan: &Self::Plan, leave: &Ticket) -> Result<Done, Stop> {
        self.run(cx, by, plan, leave)
    }
}

/// What its row adds to or changes of the sandbox, a line each, for whoever must agree.
fn also(row: &root::Command) -> Vec<String> {
    let lists = [("may write", &row.write), ("capability", &row.capabilities), ("environment", &row.env)];
    let each = lists.into_iter().flat_map(|(what, all)| all.iter().map(move |one| format!("{what} {one:?}")));
    let network = row.network || row.sandbox() == Sandbox::None;
    each.chain([format!("in {:?}", row.cwd)]).chain(network.then(|| "with the network".to_owned())).collect()
}
