//! Further keys of a model: parts of its requests that no other key has, and the price of its tokens.

use super::values::Value;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number};
use std::collections::BTreeMap;
use std::fmt;

/// Members of a request that the agent makes itself.
const OWN: &[&str] = &["messages", "model", "stream", "stream_options", "system", "tools"];
/// Headers that are the agent's own, or HTTP's.
const OWN_HEADERS: &[&str] = &[
    "accept",
    "anthropic-version",
    "authorization",
    "connection",
    "content-length",
    "content-type",
    "host",
    "x-api-key",
];

/// `[model.extra]`: sent with every request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extra {
    /// How far the model strays from what is most likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<Number>,
    /// Headers.
    pub headers: BTreeMap<String, String>,
    /// Members of the body.
    pub body: Map<String, serde_json::Value>,
}

/// `[model.price]`: what a million tokens cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Tokens that are read.
    pub input: Amount,
    /// Those of them that come from a cache; as `input` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<Amount>,
    /// Tokens that are written.
    pub output: Amount,
    /// The currency of the prices.
    #[serde(default = "dollars")]
    pub currency: String,
}

fn dollars() -> String {
    "USD".to_owned()
}

/// An amount of money in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Amount(u64);

impl TryFrom<f64> for Amount {
    type Error = String;

    fn try_from(number: f64) -> Result<Self, String> {
        if (0.0..=1e6).contains(&number) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "0 to 1e12, rounded"
            )]
            return Ok(Self((number * 1e6).round() as u64));
        }
        Err(format!("{number} is no price of a million tokens"))
    }
}

impl From<Amount> for f64 {
    fn from(amount: Amount) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "at most 1e12")]
        let millionths = amount.0 as Self;
        millionths / 1e6
    }
}

impl Price {
    /// Returns the cost of so many tokens, with its currency; some of those that were read came from a cache.
    #[must_use]
    pub fn of(&self, input: u64, cached: u64, output: u64) -> String {
        let cached = cached.min(input);
        let of = |tokens: u64, price: Amount| u128::from(tokens) * u128::from(price.0);
        let millionths = of(input - cached, self.input)
            + of(cached, self.cached_input.unwrap_or(self.input))
            + of(output, self.output);
        // Of a millionth: tokens are priced by the million.
        let cost = millionths.div_ceil(1_000_000);
        format!("{}.{:04} {}", cost / 1_000_000, cost % 1_000_000 / 100, self.currency)
    }
}

impl Extra {
    /// # Errors
    /// A part that the agent makes itself.
    pub fn whole(&self) -> Result<(), String> {
        if let Some(key) = self.body.keys().find(|key| OWN.contains(&key.as_str())) {
            return Err(format!("[model.extra] body: {key:?} is the agent's own"));
        }
        if let Some(name) =
            self.headers.keys().find(|name| OWN_HEADERS.contains(&&*name.to_ascii_lowercase()))
        {
            return Err(format!("[model.extra] headers: {name:?} is not for this table"));
        }
        Ok(())
    }
}

/// Neither fits into an environment variable.
macro_rules! of_the_file {
    ($($type:ty)+) => {
        $(impl Value for $type {
            fn from_text(_: &str) -> Result<Self, String> {
                Err("this table stands in the file alone".to_owned())
            }
        })+
    };
}
of_the_file! { Extra Price }

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in, {} out, {}", f64::from(self.input), f64::from(self.output), self.currency)
    }
}
