//! What rules in CEL may cost at most (`k8s.io/apiserver/pkg/cel`, KEP-2876): a definition whose rules could take too
//! long is refused.
//!
//! Only loops count here, over lists and maps whose largest size the schema tells or the size of a request bounds;
//! what strings and library functions cost does not. So nothing is refused that a real server takes.

use std::collections::BTreeMap;

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, Expr, IdedExpr, operators};

use super::error;
use super::node::{Additional, Node};
use crate::schema::{FieldError, FieldErrorReason};

/// The most that one rule may cost, for all values it is evaluated on.
const MOST_BY_RULE: u64 = 10_000_000;
/// The most that all rules of a schema may cost.
const MOST_BY_SCHEMA: u64 = 100_000_000;
/// Bytes of the largest request.
const REQUEST: u64 = 3 * 1024 * 1024;
/// How many of the dearest rules are named when all together cost too much.
const NAMED: usize = 4;

/// Rules that cost too much.
pub(super) fn too_dear(root: &Node, base: &str) -> Vec<FieldError> {
    let mut costs = Vec::new();
    walk(root, base.to_owned(), Some(1), &mut costs);
    let forbidden = |path: &str, why: String| {
        error(path, FieldErrorReason::FieldValueForbidden, format!("Forbidden: {why}"))
    };
    let mut errors: Vec<FieldError> = costs
        .iter()
        .filter(|(_, cost)| *cost > MOST_BY_RULE)
        .map(|(path, cost)| forbidden(path, excess("estimated rule cost", *cost, MOST_BY_RULE)))
        .collect();
    let total = costs.iter().fold(0_u64, |total, (_, cost)| total.saturating_add(*cost));
    if total > MOST_BY_SCHEMA {
        costs.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        let share =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        errors.extend(costs.iter().take(NAMED).map(|(path, _)| forbidden(path, share.to_owned())));
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        errors.push(forbidden(base, excess(what, total, MOST_BY_SCHEMA)));
    }
    errors
}

fn excess(what: &str, cost: u64, most: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it is shown with one digit")]
    let factor = cost as f64 / most as f64;
    let factor = match factor {
        _ if factor > 100.0 => "more than 100x".to_owned(),
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// Finds the cost of every rule. `times` is how many values a node can have in one object; `None` if only the size
/// of a request bounds that.
fn walk(node: &Node, path: String, times: Option<u64>, costs: &mut Vec<(String, u64)>) {
    if !node.ruled {
        return;
    }
    for (position, rule) in node.rules.iter().enumerate() {
        let mut scope =
            Scope { variables: BTreeMap::from([("self", Kind::Of(node)), ("oldSelf", Kind::Of(node))]) };
        let (once, _) = scope.expression(rule.expression());
        let times = times.unwrap_or_else(|| most_of(node));
        costs.push((format!("{path}.x-kubernetes-validations[{position}].rule"), once.saturating_mul(times)));
    }
    for (name, member) in &node.properties {
        walk(member, format!("{path}.properties[{name}]"), times, costs);
    }
    let inside = |most: Option<u64>| Some(times?.saturating_mul(most?));
    if let Additional::Each(each) = &node.additional {
        walk(each, format!("{path}.additionalProperties"), inside(node.checks.max_properties), costs);
    }
    if let Some(item) = &node.items {
        walk(item, format!("{path}.items"), inside(node.checks.max_items), costs);
    }
}

/// How many values of a schema fit in a request.
fn most_of(node: &Node) -> u64 {
    REQUEST / (smallest(node) + 1)
}

/// Bytes of the shortest JSON that a schema allows.
fn smallest(node: &Node) -> u64 {
    match node.type_name.as_deref() {
        Some("boolean") => 4,
        Some("integer" | "number") => 1,
        Some("object") => {
            let required =
                node.checks.required.iter().filter_map(|name| Some((name, node.properties.get(name)?)));
            // Quotes, colon and comma.
            required.fold(2, |size, (name, member)| size + name.len() as u64 + 4 + smallest(member))
        }
        Some(_) => 2,
        None => 1,
    }
}

/// What is known of a value.
#[derive(Clone, Copy)]
enum Kind<'n> {
    Of(&'n Node),
    Unknown,
}

impl<'n> Kind<'n> {
    fn member(self, name: &str) -> Self {
        match self {
            Kind::Of(node) => node.member(name).map_or(Kind::Unknown, Kind::Of),
            Kind::Unknown => Kind::Unknown,
        }
    }

    /// An element of a list, or a value of a map.
    fn element(self) -> Self {
        match self {
            Kind::Of(Node { items: Some(item), .. }) => Kind::Of(item),
            Kind::Of(Node { additional: Additional::Each(each), .. }) => Kind::Of(each),
            _ => Kind::Unknown,
        }
    }

    /// What a loop goes through, and how often: elements of a list, keys of a map.
    fn turns(self) -> (u64, Self) {
        match self {
            Kind::Of(Node { items: Some(item), checks, .. }) => {
                (checks.max_items.unwrap_or_else(|| most_of(item)), Kind::Of(item))
            }
            Kind::Of(Node { additional: Additional::Each(each), checks, .. }) => {
                (checks.max_properties.unwrap_or_else(|| most_of(each)), Kind::Unknown)
            }
            _ => (1, Kind::Unknown),
        }
    }
}

/// The variables that an expression can name.
struct Scope<'n> {
    variables: BTreeMap<&'n str, Kind<'n>>,
}

impl<'n> Scope<'n> {
    /// What an expression costs at most, and what is known of its value.
    fn expression(&mut self, expression: &'n IdedExpr) -> (u64, Kind<'n>) {
        match &expression.expr {
            Expr::Ident(name) => (1, self.variables.get(name.as_str()).copied().unwrap_or(Kind::Unknown)),
            // Whether a field is there costs nothing.
            Expr::Select(select) if select.test => (0, Kind::Unknown),
            Expr::Select(select) => {
                let (cost, of) = self.expression(&select.operand);
                (cost.saturating_add(1), of.member(&select.field))
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(comprehension) => (self.comprehension(comprehension), Kind::Unknown),
            Expr::List(list) => (self.sum(&list.elements), Kind::Unknown),
            _ => (0, Kind::Unknown),
        }
    }

    fn sum(&mut self, expressions: impl IntoIterator<Item = &'n IdedExpr>) -> u64 {
        expressions.into_iter().fold(0, |sum, one| sum.saturating_add(self.expression(one).0))
    }

    fn call(&mut self, call: &'n CallExpr) -> (u64, Kind<'n>) {
        let arguments = &call.args;
        match (call.func_name.as_str(), arguments.as_slice()) {
            (operators::CONDITIONAL, [condition, one, other]) => {
                let (one, other) = (self.expression(one).0, self.expression(other).0);
                (self.expression(condition).0.saturating_add(one.max(other)), Kind::Unknown)
            }
            (operators::LOGICAL_AND | operators::LOGICAL_OR | operators::NOT_STRICTLY_FALSE, _) => {
                (self.sum(arguments), Kind::Unknown)
            }
            (operators::INDEX | operators::OPT_INDEX, [of, index]) => {
                let (cost, of) = self.expression(of);
                (cost.saturating_add(self.expression(index).0).saturating_add(1), of.element())
            }
            _ => (
                self.sum(call.target.as_deref().into_iter().chain(arguments)).saturating_add(1),
                Kind::Unknown,
            ),
        }
    }

    fn comprehension(&mut self, loops: &'n ComprehensionExpr) -> u64 {
        let (range, of) = self.expression(&loops.iter_range);
        let (turns, element) = of.turns();
        let hidden = [(loops.iter_var.as_str(), element), (loops.accu_var.as_str(), Kind::Unknown)]
            .map(|(name, kind)| (name, self.variables.insert(name, kind)));
        let turn = self.sum([&loops.loop_cond, &loops.loop_step]);
        let result = self.expression(&loops.result).0;
        for (name, kind) in hidden.into_iter().rev() {
            match kind {
                Some(kind) => drop(self.variables.insert(name, kind)),
                None => drop(self.variables.remove(name)),
            }
        }
        range.saturating_add(turns.saturating_mul(turn)).saturating_add(result)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn errors(schema: Value) -> Vec<String> {
        too_dear(&Node::parse(&schema), "root").iter().map(|error| error.path.clone()).collect()
    }

    fn list(bound: Option<u64>, items: Value, rule: &str) -> Value {
        let mut schema = json!({ "type": "array", "items": items });
        if let Some(bound) = bound {
            schema["maxItems"] = json!(bound);
        }
        if !rule.is_empty() {
            schema["x-kubernetes-validations"] = json!([{ "rule": rule }]);
        }
        schema
    }

    const PAIRS: &str = "self.all(x, self.exists_one(y, x == y))";

    #[test]
    fn a_loop_in_a_loop_needs_bounds() {
        let text = || json!({ "type": "string" });
        let rule = "root.x-kubernetes-validations[0].rule";
        assert_eq!(errors(list(None, text(), PAIRS)), [rule, rule, "root"]);
        assert_eq!(errors(list(Some(500), text(), PAIRS)), [""; 0]);
        assert_eq!(errors(list(None, text(), "self.all(x, x != '')")), [""; 0], "one loop is never too much");
    }

    #[test]
    fn a_rule_counts_for_every_value_it_is_about() {
        let inner = || list(Some(300), json!({ "type": "string" }), PAIRS);
        assert_eq!(errors(list(Some(10), inner(), "")), [""; 0]);
        let rule = "root.items.x-kubernetes-validations[0].rule";
        assert_eq!(errors(list(Some(1_000), inner(), "")), [rule, rule, "root"]);
    }

    #[test]
    fn a_loop_over_something_unknown_counts_once() {
        let rule = "self.filter(x, x > 1).all(y, self.map(z, z + 1).exists(w, w == y))";
        assert_eq!(errors(list(Some(10_000), json!({ "type": "integer" }), rule)), [""; 0]);
    }
}
