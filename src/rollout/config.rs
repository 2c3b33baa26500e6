//! The ConfigMap `config-rollout` in the operator's namespace.
//!
//! ```yaml
//! data:
//!   paused: "false"           # nothing new begins while it is "true"; what has begun goes on
//!   max-unavailable: "10%"    # of those that follow the newest release, or a number; absent: no bound
//!   waves: |                  # one after the other; whoever is in none comes last
//!     - name: canary
//!       selector: {matchLabels: {stage: canary}}
//!     - name: europe
//!       selector: {matchExpressions: [{key: region, operator: In, values: [eu-west, eu-north]}]}
//! ```

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt};
use serde::Deserialize;
use serde_json::Value;

/// Name of the ConfigMap.
pub const NAME: &str = "config-rollout";
/// Keys with this beginning are examples, as in all of Knative's ConfigMaps.
const EXAMPLE: &str = "_";

/// What the ConfigMap says.
#[derive(Clone, Debug, Default)]
pub struct Rollout {
    /// Whether nothing new may begin.
    pub paused: bool,
    bound: Option<Bound>,
    waves: Vec<Wave>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Number(usize),
    Percent(usize),
}

#[derive(Clone, Debug)]
struct Wave {
    name: String,
    selector: Selector,
}

impl Rollout {
    /// Reads `data` of the ConfigMap.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(data: &Value) -> Result<Self, String> {
        let mut rollout = Self::default();
        for (key, value) in data.as_object().into_iter().flatten() {
            let text = value.as_str().unwrap_or_default().trim();
            match key.as_str() {
                "paused" => {
                    rollout.paused = text.parse().map_err(|_| format!("paused: {text:?} is no boolean"))?
                }
                "max-unavailable" => rollout.bound = Some(bound(text)?),
                "waves" => rollout.waves = waves(text)?,
                key if key.starts_with(EXAMPLE) => {}
                key => return Err(format!("{key}: no such key")),
            }
        }
        Ok(rollout)
    }

    /// The number of the wave that labels are in; the first that fits. Whoever is in none comes after all.
    pub(super) fn wave_of(&self, labels: &BTreeMap<String, String>) -> usize {
        self.waves.iter().position(|wave| wave.selector.matches(labels)).unwrap_or(self.waves.len())
    }

    /// The name of a wave, for people.
    pub(super) fn name_of(&self, wave: usize) -> String {
        self.waves.get(wave).map_or_else(|| "the rest".into(), |wave| wave.name.clone())
    }

    /// How many of a fleet may be unavailable at a time: at least one, or nothing would ever move.
    pub(super) fn max_unavailable(&self, fleet: usize) -> Option<usize> {
        self.bound.map(|bound| match bound {
            Bound::Number(number) => number.max(1),
            Bound::Percent(percent) => (fleet.saturating_mul(percent) / 100).max(1),
        })
    }
}

fn bound(text: &str) -> Result<Bound, String> {
    let wrong = || format!("max-unavailable: {text:?} is neither a number nor a percentage");
    match text.strip_suffix('%') {
        Some(percent) => percent.parse().map(Bound::Percent).map_err(|_| wrong()),
        None => text.parse().map(Bound::Number).map_err(|_| wrong()),
    }
}

fn waves(text: &str) -> Result<Vec<Wave>, String> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Given {
        name: String,
        selector: Value,
    }
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let given: Vec<Given> = serde_saphyr::from_str(text).map_err(|error| format!("waves: {error}"))?;
    let waves = given.into_iter().map(|Given { name, selector }| {
        let wrong = |error: String| format!("waves: selector of {name:?}: {error}");
        let fields = selector.as_object().ok_or_else(|| wrong("not an object".into()))?;
        if let Some(odd) =
            fields.keys().find(|key| !matches!(key.as_str(), "matchLabels" | "matchExpressions"))
        {
            return Err(wrong(format!("no field {odd:?}")));
        }
        let selector: LabelSelector =
            serde_json::from_value(selector).map_err(|error| wrong(error.to_string()))?;
        let selector = Selector::try_from(selector).map_err(|error| wrong(error.to_string()))?;
        Ok(Wave { name, selector })
    });
    waves.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
    }

    #[test]
    fn waves_are_found_by_labels_and_the_first_that_fits_counts() {
        let waves = "- {name: canary, selector: {matchLabels: {stage: canary}}}\n\
                     - name: europe\n  selector: {matchExpressions: [{key: region, operator: In, values: [eu]}]}\n";
        let rollout = Rollout::parse(&json!({"waves": waves, "_example": "paused: maybe"})).unwrap();
        assert_eq!(rollout.wave_of(&labels(&[("stage", "canary"), ("region", "eu")])), 0);
        assert_eq!(rollout.wave_of(&labels(&[("region", "eu")])), 1);
        assert_eq!((rollout.wave_of(&labels(&[])), rollout.name_of(2)), (2, "the rest".into()));
        assert!(!rollout.paused);
    }

    #[test]
    fn a_bound_is_a_number_or_a_share_and_at_least_one() {
        let of = |text: &str, fleet| {
            Rollout::parse(&json!({"max-unavailable": text})).unwrap().max_unavailable(fleet)
        };
        assert_eq!(
            (of("3", 100), of("0", 100), of("10%", 59), of("10%", 3)),
            (Some(3), Some(1), Some(5), Some(1))
        );
        assert_eq!(Rollout::default().max_unavailable(100), None);
    }

    #[test]
    fn what_cannot_be_meant_is_named() {
        for (key, value, complaint) in [
            ("paused", "maybe", "paused: \"maybe\""),
            ("max-unavailable", "-1", "max-unavailable: \"-1\""),
            ("max-unavailable", "ten%", "max-unavailable: \"ten%\""),
            ("wave", "", "wave: no such key"),
            ("waves", "canary", "waves: "),
            ("waves", "- {name: a, selector: {labels: {a: b}}}", "selector of \"a\": no field \"labels\""),
            (
                "waves",
                "- {name: a, selector: {matchExpressions: [{key: k, operator: Near}]}}",
                "selector of \"a\"",
            ),
        ] {
            let error = Rollout::parse(&json!({ key: value })).unwrap_err();
            assert!(error.starts_with(complaint) || error.contains(complaint), "{error}");
        }
    }
}
