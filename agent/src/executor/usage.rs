//! Adds up the tokens of a task's model, and their cost.

use crate::config::model_extra::Price;
use crate::llm::conversation::Usage;
use crate::protocol::task::Task;
use serde_json::Value;

/// Adds what a model used, and what all of it costs where that is known.
pub fn add_usage(task: &mut Task, usage: Usage, price: Option<&Price>) {
    let mut add = |name: &str, tokens: u64| {
        let sum = task.usage.get(name).and_then(Value::as_u64).unwrap_or_default().saturating_add(tokens);
        // Most endpoints have no cache.
        if sum > 0 || name != "cached_input_tokens" {
            task.usage.insert(name.to_owned(), sum.into());
        }
        sum
    };
    let [input, cached, output] = [
        add("input_tokens", usage.input),
        add("cached_input_tokens", usage.cached_input),
        add("output_tokens", usage.output),
    ];
    if let Some(price) = price {
        task.usage.insert("cost".to_owned(), price.of(input, cached, output).into());
    }
}
