//! Rules in CEL (`x-kubernetes-validations`, KEP-2876).
//!
//! Rules are not type-checked, and evaluation has no limits. One that uses a function our engine does not have is let pass:
//! a real server would have evaluated it, and its authors tested it there.

mod value;

use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::IdedExpr;
use kube_cel::cel::{Context, ExecutionError, Program, Value as CelValue, objects::OptionalValue};
use serde_json::{Map, Value};

use super::node::Node;
use super::{Review, error, push_member};
use crate::cel as engine;
use crate::schema::{FieldError, FieldErrorReason as Reason};

/// One rule of a schema.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    text: String,
    program: Arc<Program>,
    message: Option<String>,
    message_program: Option<Arc<Program>>,
    reason: Reason,
    field_path: Option<String>,
    optional_old_self: bool,
    uses_old_self: bool,
}

impl Rule {
    /// Reads the rules of a schema; those that do not compile are reported by `check` and left out.
    pub(super) fn parse_all(schema: &Map<String, Value>) -> Vec<Self> {
        let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
        rules.filter_map(|rule| compile(rule).ok()).collect()
    }

    /// The expression of the rule itself.
    pub(super) fn expression(&self) -> &IdedExpr {
        self.program.expression()
    }

    /// What a failure says if there is no message expression, or it fails.
    fn plain_message(&self) -> String {
        match &self.message {
            Some(message) => message.trim().to_owned(),
            None => format!("failed rule: {}", one_line(&self.text)),
        }
    }
}

/// Compiles one rule.
///
/// # Errors
/// What the compiler says of the rule or of its message expression.
pub(super) fn compile(rule: &Value) -> Result<Rule, String> {
    let text = |name: &str| rule.get(name).and_then(Value::as_str);
    let program = |text: &str| engine::compile(text).map(Arc::new);
    let source = text("rule").unwrap_or_default();
    let compiled = program(source)?;
    Ok(Rule {
        uses_old_self: compiled.references().has_variable("oldSelf"),
        text: source.to_owned(),
        program: compiled,
        message: text("message").filter(|message| !message.is_empty()).map(str::to_owned),
        message_program: text("messageExpression").map(program).transpose()?,
        reason: match text("reason") {
            Some("FieldValueRequired") => Reason::FieldValueRequired,
            Some("FieldValueForbidden") => Reason::FieldValueForbidden,
            Some("FieldValueDuplicate") => Reason::FieldValueDuplicate,
            _ => Reason::FieldValueInvalid,
        },
        field_path: text("fieldPath").map(str::to_owned),
        optional_old_self: rule.get("optionalOldSelf") == Some(&Value::Bool(true)),
    })
}

/// Evaluates all rules on `new`. Rules about `oldSelf` see the corresponding part of `old`, if there is one.
pub(super) fn review(root: &Node, new: &Value, old: Option<&Value>) -> Review {
    let context = Context::default().with_all();
    let mut evaluation = Evaluation { context: &context, path: String::new(), review: Review::default() };
    evaluation.node(root, new, Old { value: old, unchanged: false }, true);
    evaluation.review
}

/// What a value was before.
#[derive(Clone, Copy)]
struct Old<'v> {
    /// The corresponding value; items of a list without keys have none.
    value: Option<&'v Value>,
    /// Whether it, or something that contains it, has not changed.
    unchanged: bool,
}

struct Evaluation<'c> {
    context: &'c Context<'static>,
    path: String,
    review: Review,
}

impl Evaluation<'_> {
    fn node(&mut self, node: &Node, new: &Value, mut old: Old<'_>, is_root: bool) {
        if !node.ruled || new.is_null() {
            return;
        }
        old.unchanged |= old.value == Some(new);
        if !node.rules.is_empty() {
            self.rules(node, new, old, is_root);
        }
        let length = self.path.len();
        match new {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let Some(member) = node.member(name) else { continue };
                    push_member(&mut self.path, name);
                    let before = old.value.and_then(|old| old.get(name));
                    self.node(member, value, Old { value: before, ..old }, false);
                    self.path.truncate(length);
                }
            }
            Value::Array(items) => {
                let Some(item) = node.items.as_deref() else { return };
                for (position, value) in items.iter().enumerate() {
                    self.path.push_str(&format!("[{position}]"));
                    let before = node.list.counterpart(value, old.value);
                    self.node(item, value, Old { value: before, ..old }, false);
                    self.path.truncate(length);
                }
            }
            _ => {}
        }
    }

    fn rules(&mut self, node: &Node, new: &Value, old: Old<'_>, is_root: bool) {
        let mut context = self.context.new_inner_scope();
        context.add_variable_from_value("self", value::convert(node, new, is_root));
        let old_self = old.value.map(|old| value::convert(node, old, is_root));
        for rule in &node.rules {
            let mut context = context.new_inner_scope();
            if rule.uses_old_self || rule.optional_old_self {
                let old_self = match (old_self.clone(), rule.optional_old_self) {
                    (None, true) => CelValue::Opaque(Arc::new(OptionalValue::none())),
                    (Some(old), true) => CelValue::Opaque(Arc::new(OptionalValue::of(old))),
                    (Some(old), false) => old,
                    // A rule about a change says nothing of what is new.
                    (None, false) => continue,
                };
                context.add_variable_from_value("oldSelf", old_self);
            }
            let Some(error) = self.failure(rule, node, new, &context) else { continue };
            if !rule.uses_old_self && old.unchanged {
                self.review.warnings.push(format!("{}: {}", error.path, error.message));
            } else {
                self.review.errors.push(error);
            }
        }
    }

    fn failure(&self, rule: &Rule, node: &Node, new: &Value, context: &Context<'_>) -> Option<FieldError> {
        let problem = match engine::execute(&rule.program, context) {
            None | Some(Ok(CelValue::Bool(true)) | Err(ExecutionError::UndeclaredReference(_))) => {
                return None;
            }
            Some(Ok(CelValue::Bool(false))) => return Some(self.refusal(rule, new, context)),
            Some(Ok(_)) => "rule did not evaluate to a boolean".to_owned(),
            Some(Err(problem)) => engine::problem(&problem),
        };
        let type_name = node.type_name.as_deref().unwrap_or_default();
        let message =
            format!("Invalid value: \"{type_name}\": {problem} evaluating rule: {}", one_line(&rule.text));
        Some(error(&self.shown_path(None), Reason::FieldValueInvalid, message))
    }

    fn refusal(&self, rule: &Rule, new: &Value, context: &Context<'_>) -> FieldError {
        let computed =
            rule.message_program.as_ref().and_then(|program| match engine::execute(program, context) {
                Some(Ok(CelValue::String(text))) => Some(text.trim().to_owned()),
                _ => None,
            });
        let usable = |text: &String| !text.is_empty() && !text.contains('\n');
        let detail = computed.filter(usable).unwrap_or_else(|| rule.plain_message());
        // Objects and lists are too long to be shown.
        let shown = match new {
            Value::Object(_) | Value::Array(_) => String::new(),
            scalar => format!("{scalar}: "),
        };
        let message = match rule.reason {
            Reason::FieldValueRequired => format!("Required value: {detail}"),
            Reason::FieldValueForbidden => format!("Forbidden: {detail}"),
            Reason::FieldValueDuplicate => format!("Duplicate value: {}", shown.trim_end_matches(": ")),
            _ => format!("Invalid value: {shown}{detail}"),
        };
        error(&self.shown_path(rule.field_path.as_deref()), rule.reason, message)
    }

    fn shown_path(&self, below: Option<&str>) -> String {
        let path = format!("{}{}", self.path, below.unwrap_or_default());
        match path.strip_prefix('.').unwrap_or(&path) {
            "" => "<nil>".to_owned(),
            path => path.to_owned(),
        }
    }
}

fn one_line(rule: &str) -> String {
    rule.trim().replace('\n', " ")
}
