//! A client of the protocol that writes and reads lines, so that tests see what is on the wire.

use postern_agent::Host;
use postern_agent::mcp::{self, Settings, Times};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

/// Times that tests do not have to wait for.
pub const TIMES: Times = Times {
    wait: Duration::from_secs(20),
    repeat: Duration::from_millis(50),
    policy: Duration::from_millis(20),
};

/// A client and its server.
pub struct Client {
    pub write: WriteHalf<DuplexStream>,
    pub read: Lines<BufReader<ReadHalf<DuplexStream>>>,
    count: u64,
    /// Notifications as they came.
    pub told: Vec<Value>,
    pub served: JoinHandle<Result<(), String>>,
}

impl Client {
    /// One that has introduced itself.
    pub async fn of(host: &Host, settings: impl Into<Settings>) -> Self {
        let mut client = Self::silent(host, settings);
        let hello = client.ask("initialize", hello()).await;
        assert_eq!(hello["result"]["serverInfo"]["name"], "postern", "{hello}");
        client.tell("notifications/initialized", &json!({})).await;
        client
    }

    /// One that has said nothing yet.
    pub fn silent(host: &Host, settings: impl Into<Settings>) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        let (host, settings) = (host.clone(), settings.into());
        let served = tokio::spawn(async move {
            mcp::serve(&host, settings, read, write).await.map_err(|fault| fault.message)
        });
        let (read, write) = tokio::io::split(ours);
        Self { write, read: BufReader::new(read).lines(), count: 0, told: Vec::new(), served }
    }

    pub async fn line(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.expect("the server reads");
    }

    pub async fn tell(&mut self, method: &str, params: &Value) {
        self.line(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
    }

    /// Sends a request and does not wait; its id.
    pub async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.count += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.count, "method": method, "params": params });
        self.line(&request.to_string()).await;
        self.count
    }

    /// The next message that is no notification.
    pub async fn next(&mut self) -> Value {
        loop {
            let message = self.message().await;
            if message.get("method").is_none() {
                return message;
            }
            self.told.push(message);
        }
    }

    /// The next notification of a method.
    pub async fn notification(&mut self, method: &str) -> Value {
        loop {
            let message = self.message().await;
            assert!(message.get("method").is_some(), "no notification: {message}");
            let is_it = message["method"] == method;
            self.told.push(message.clone());
            if is_it {
                return message;
            }
        }
    }

    async fn message(&mut self) -> Value {
        let line = tokio::time::timeout(Duration::from_secs(20), self.read.next_line()).await;
        let line = line.expect("an answer within 20 s").expect("readable").expect("the server goes on");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Sends a request and waits for its answer.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and waits for its result.
    pub async fn call(&mut self, tool: &str, args: Value) -> Value {
        let answer = self.ask("tools/call", call(tool, args)).await;
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// The tools by their names.
    pub async fn tools(&mut self) -> Vec<Value> {
        let answer = self.ask("tools/list", json!({})).await;
        answer["result"]["tools"].as_array().expect("tools").clone()
    }
}

pub fn hello() -> Value {
    json!({
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test-client", "version": "1" },
    })
}

/// A call that wants to hear how it goes.
pub fn call(tool: &str, args: Value) -> Value {
    let mut call = json!({ "name": tool, "_meta": { "progressToken": tool } });
    call["arguments"] = args;
    call
}

pub fn named<'t>(tools: &'t [Value], name: &str) -> &'t Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no tool {name}: {tools:?}"))
}
