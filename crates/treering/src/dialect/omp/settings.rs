//! The settings of an omp path: thinking level, models by role, mode, service tier, injected rules.
//!
//! Values are kept as JSON. Most rules treat `null` like a missing member.

use super::agent::{JsValue, given, is_truthy, text_is};
use crate::json;
use crate::json::stringify;
use std::collections::{HashMap, HashSet};

/// The settings after the records seen so far.
#[derive(Debug, Default)]
pub(super) struct Settings {
    thinking: Option<Vec<u8>>,
    configured: Option<Vec<u8>>,
    /// The models by role, in the order in which the roles appeared.
    models: Vec<(Vec<u8>, Vec<u8>)>,
    /// The index of each role in `models`.
    places: HashMap<Vec<u8>, usize>,
    /// Whether a record named the default model; the models of answers no longer count then.
    default_is_explicit: bool,
    mode: Option<JsValue>,
    mode_data: JsValue,
    tier: JsValue,
    rules: Vec<Vec<u8>>,
    known_rules: HashSet<Vec<u8>>,
}

impl Settings {
    /// Applies the next record of the path, which has the type `type_name`.
    pub(super) fn take(&mut self, type_name: &str, record: &[u8]) {
        let owned = |key| json::get(record, key).map(<[u8]>::to_vec);
        match type_name {
            "thinking_level_change" => {
                let level = given(record, "thinkingLevel");
                self.thinking = level.map(<[u8]>::to_vec);
                self.configured = given(record, "configured").or(level).map(<[u8]>::to_vec);
            }
            "model_change" => {
                if let Some(model) = json::get(record, "model").filter(|model| is_truthy(model)) {
                    let role = given(record, "role").unwrap_or(DEFAULT);
                    self.default_is_explicit |= json::string(role).as_deref() == Some("default");
                    self.set_model(role, model.to_vec());
                }
            }
            "service_tier_change" => {
                self.tier = json::get(record, "serviceTier").and_then(by_family);
            }
            "message" if !self.default_is_explicit => {
                self.take_message(json::get(record, "message").unwrap_or_default());
            }
            "ttsr_injection" => {
                for rule in json::elements(json::get(record, "injectedRules").unwrap_or_default()) {
                    let rule = stringify::compact(rule);
                    if self.known_rules.insert(rule.clone()) {
                        self.rules.push(rule);
                    }
                }
            }
            "mode_change" => {
                self.mode = Some(owned("mode"));
                self.mode_data = owned("data");
            }
            _ => {}
        }
    }

    /// Applies an answer: until a default model is recorded, the model of the last answer is the
    /// default.
    fn take_message(&mut self, message: &[u8]) {
        if !text_is(message, "role", "assistant") {
            return;
        }
        let part = |key| {
            let value = json::get(message, key);
            value.map_or(&b"undefined"[..], |value| json::inside(value).unwrap_or(value))
        };
        let model = [b"\"", part("provider"), b"/", part("model"), b"\""].concat();
        self.set_model(DEFAULT, model);
    }

    fn set_model(&mut self, role: &[u8], model: Vec<u8>) {
        let role = match role.starts_with(b"\"") {
            true => stringify::compact(role),
            false => [b"\"", role, b"\""].concat(),
        };
        let at = *self.places.entry(role.clone()).or_insert(self.models.len());
        match self.models.get_mut(at) {
            Some((_, known)) => *known = model,
            None => self.models.push((role, model)),
        }
    }

    /// Returns all settings, named as in omp; `null` stands for values that omp leaves undefined.
    pub(super) fn finish(self) -> Vec<(&'static str, Vec<u8>)> {
        let or_null = |value: JsValue| value.unwrap_or_else(|| b"null".to_vec());
        let default = self.models.iter().find(|(role, _)| role == DEFAULT);
        let model = default.map(|(_, model)| model.clone());
        let models: Vec<Vec<u8>> =
            self.models.iter().map(|(role, model)| [role, &b":"[..], model].concat()).collect();
        vec![
            ("thinkingLevel", self.thinking.unwrap_or_else(|| b"\"off\"".to_vec())),
            ("configuredThinkingLevel", or_null(self.configured)),
            ("model", or_null(model)),
            ("models", [b"{", &*models.join(&b','), b"}"].concat()),
            ("mode", self.mode.map_or_else(|| b"\"none\"".to_vec(), or_null)),
            ("modeData", or_null(self.mode_data)),
            ("serviceTier", or_null(self.tier)),
            ("injectedTtsrRules", [b"[", &*self.rules.join(&b','), b"]"].concat()),
        ]
    }
}

const DEFAULT: &[u8] = b"\"default\"";

/// Returns a service tier by family of providers. Old records have one value for all.
fn by_family(tier: &[u8]) -> JsValue {
    const FAMILIES: [&str; 3] = ["openai", "anthropic", "google"];
    let object = |tiers: &[(&str, &str)]| {
        let members: Vec<String> =
            tiers.iter().map(|(family, tier)| format!("\"{family}\":\"{tier}\"")).collect();
        Some(format!("{{{}}}", members.join(",")).into_bytes())
    };
    if tier.starts_with(b"{") {
        let tier_of = |family: &&'static str| {
            let tier = json::string(json::get(tier, family)?)?;
            let known = ["auto", "default", "flex", "scale", "priority"];
            known.into_iter().find(|name| *name == tier).map(|name| (*family, name))
        };
        let tiers: Vec<_> = FAMILIES.iter().filter_map(tier_of).collect();
        return if tiers.is_empty() { None } else { object(&tiers) };
    }
    match &*json::string(tier)? {
        "priority" => object(&FAMILIES.map(|family| (family, "priority"))),
        "openai-only" => object(&[("openai", "priority")]),
        "claude-only" => object(&[("anthropic", "priority")]),
        word @ ("auto" | "default" | "flex" | "scale") => object(&[("openai", word)]),
        _ => None,
    }
}
