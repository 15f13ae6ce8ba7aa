//! Implements rmcp's server handler: tools, resources, prompts, progress and cancellation.

use super::answer;
use super::offer;
use super::order::{self, Order, What};
use super::session::{Session, Shared};
use super::work::{Work, Works};
use super::{prompts, resources};
use crate::protocol::event::AgentError;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use std::sync::Arc;
use tokio::time::{Instant, interval_at, sleep_until};

/// The server of one client.
pub struct Server {
    works: Works,
}

impl Server {
    /// A server without requests.
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { works: Works::new(Arc::new(Session::new(shared))) }
    }

    /// Starts what a call asks, or finds it under way. The second is whether this call began it.
    fn begin(&self, order: Order, client: &str) -> Result<(Arc<Work>, bool), AgentError> {
        if let What::Result(id) = &order.what
            && let Some(work) = self.works.find(id)
        {
            return Ok((work, false));
        }
        self.works.start(order, client).map(|work| (work, true))
    }

    /// Waits for the outcome and tells the client how it goes.
    async fn follow(&self, work: &Work, limit: Instant, context: &RequestContext<RoleServer>) -> Followed {
        let mut state = work.state.clone();
        let repeat = self.works.session.shared.times.repeat;
        let mut again = interval_at(Instant::now() + repeat, repeat);
        let (mut count, mut last) = (0_u32, String::new());
        loop {
            let (answer, progress) = {
                let state = state.borrow_and_update();
                (state.answer.clone(), state.progress.clone())
            };
            if let Some(answer) = answer {
                return Followed::Ended(answer.result());
            }
            if progress != last {
                last = progress;
                tell(&mut count, &last, context).await;
            }
            tokio::select! {
                biased;
                () = context.ct.cancelled() => return Followed::Cancelled,
                changed = state.changed() => if changed.is_err() && !work.has_ended() {
                    return Followed::Lost;
                },
                () = sleep_until(limit) => {
                    let so_far = work.so_far().result();
                    // Nobody needs to go on asking for another request's outcome.
                    if work.of.is_some() {
                        self.works.leave(work);
                    }
                    return Followed::Ended(so_far);
                }
                _ = again.tick() => tell(&mut count, &last, context).await,
            }
        }
    }
}

/// How the following of a request ended.
enum Followed {
    Ended(CallToolResult),
    /// The client cancelled this call.
    Cancelled,
    /// Another call began the request, and was cancelled.
    Lost,
}

/// Tells the client once more how its call goes, if it wants to know.
async fn tell(count: &mut u32, words: &str, context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    *count += 1;
    let words = if words.is_empty() { "sent to the helper" } else { words };
    let progress = ProgressNotificationParam::new(token, f64::from(*count)).with_message(words);
    // A client that is gone is noticed where its next message is read.
    let _ = context.peer.notify_progress(progress).await;
}

/// An error of the protocol: the client asked for what this server has not.
pub fn protocol_error(fault: &AgentError) -> ErrorData {
    match fault.code.as_str() {
        "unknown_tool" | "invalid_argument" => ErrorData::invalid_params(fault.message.clone(), None),
        "not_found" => ErrorData::resource_not_found(fault.message.clone(), None),
        code => ErrorData::internal_error(format!("{code}: {}", fault.message), None),
    }
}

impl rmcp::ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("postern", env!("CARGO_PKG_VERSION")))
            .with_instructions(prompts::instructions(&self.works.session.shared.connection))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let description =
            self.works.session.shared.described().await.map_err(|fault| protocol_error(&fault))?;
        Ok(ListToolsResult::with_all_items(offer::list(&description)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let order = match order::read(&request.name, request.arguments.unwrap_or_default()) {
            Ok(order) => order.within(self.works.session.shared.mode),
            Err(fault) if fault.code == "unknown_tool" => return Err(protocol_error(&fault)),
            Err(fault) => return Ok(answer::fault(&fault).into()),
        };
        let limit = Instant::now() + order.wait.unwrap_or(self.works.session.shared.times.wait);
        let client = context.client_info().map_or_else(|| "an MCP client".to_owned(), |client| client.name);
        let mut begun = self.begin(order, &client);
        loop {
            let (work, is_own) = match begun {
                Ok(begun) => begun,
                Err(fault) => return Ok(answer::fault(&fault).into()),
            };
            match self.follow(&work, limit, &context).await {
                Followed::Ended(result) => return Ok(result.into()),
                // From here on the helper alone knows how it goes.
                Followed::Lost => {
                    self.works.leave(&work);
                    begun = self.begin(Order::outcome_of(&work.id), &client);
                }
                Followed::Cancelled => {
                    if is_own {
                        self.works.leave(&work);
                    }
                    // Nobody reads it: the protocol drops the answer to a cancelled call.
                    return Err(ErrorData::internal_error(format!("no longer waits for {}", work.id), None));
                }
            }
        }
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::list()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&self.works, &request.uri).await;
        read.map(Into::into).map_err(|fault| protocol_error(&fault))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let prompt = prompts::get(&request.name, &arguments);
        prompt.map(Into::into).map_err(|fault| protocol_error(&fault))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let mut changes = self.works.session.shared.changes();
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                if context.peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
        });
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.works.session.shared.changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                news = changes.changed() => {
                    if news.is_err() || context.sink().notify_tool_list_changed().await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}
