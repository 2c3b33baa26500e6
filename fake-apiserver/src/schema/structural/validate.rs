//! Types and value validations, worded as `k8s.io/kube-openapi/pkg/validation` words them.

use serde_json::{Map, Number, Value};

use super::node::{Checks, Node};
use super::{error, format, push_member};
use crate::schema::{FieldError, FieldErrorReason as Reason};

/// What is wrong with an object. With `old`, what is equal in both passes.
pub(super) fn errors(root: &Node, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    errors_at(root, object, old, "")
}

/// As [`errors`], for a value at a path.
pub(super) fn errors_at(node: &Node, value: &Value, old: Option<&Value>, path: &str) -> Vec<FieldError> {
    let mut validation = Validation { path: path.to_owned(), errors: Vec::new() };
    validation.value(node, value, old);
    validation.errors
}

struct Validation {
    path: String,
    errors: Vec<FieldError>,
}

impl Validation {
    fn value(&mut self, node: &Node, value: &Value, old: Option<&Value>) {
        if old == Some(value) {
            return;
        }
        self.types(node, value);
        self.enumeration(&node.checks, value);
        match value {
            Value::Null => return,
            Value::Bool(_) => {}
            Value::Number(number) => self.number(node, number),
            Value::String(text) => self.string(node, text),
            Value::Array(items) => self.array(node, items, old),
            Value::Object(fields) => self.object(node, fields, old),
        }
        self.combinations(&node.checks, value);
    }

    fn fail(&mut self, reason: Reason, message: String) {
        self.errors.push(error(&self.path, reason, message));
    }

    /// `Invalid value: {value}: {path} in body {complaint}`.
    fn invalid(&mut self, value: &str, complaint: &str) {
        let message = format!("Invalid value: {value}: {} in body {complaint}", self.path);
        self.fail(Reason::FieldValueInvalid, message);
    }

    /// An error that the server does not connect with a field.
    fn general(&mut self, complaint: &str) {
        let message = format!("Invalid value: \"\": {complaint}");
        self.errors.push(error("<nil>", Reason::FieldValueInvalid, message));
    }

    fn wrong_type(&mut self, shown: &str, wanted: &str) {
        let complaint =
            format!("Invalid value: {shown}: {} in body must be of type {wanted}: {shown}", self.path);
        self.fail(Reason::FieldValueTypeInvalid, complaint);
    }

    fn types(&mut self, node: &Node, value: &Value) {
        let wanted = match &node.type_name {
            Some(name) => name.as_str(),
            None if node.int_or_string => "integer,string",
            None => return,
        };
        let found = type_of(value);
        let fits = match value {
            Value::Null => node.nullable,
            Value::Number(number) => match wanted {
                "number" => true,
                "integer" | "integer,string" => is_integer(number),
                _ => false,
            },
            Value::String(_) => wanted == "integer,string" || wanted == "string",
            _ => wanted == found,
        };
        if !fits {
            self.wrong_type(&format!("\"{found}\""), wanted);
        }
    }

    fn enumeration(&mut self, checks: &Checks, value: &Value) {
        if checks.values.is_empty() || value.is_null() || checks.values.iter().any(|one| equal(one, value)) {
            return;
        }
        let quoted = checks.values.iter().map(|one| match one {
            Value::String(_) => one.to_string(),
            other => format!("\"{other}\""),
        });
        let supported = quoted.collect::<Vec<_>>().join(", ");
        let message = format!("Unsupported value: {value}: supported values: {supported}");
        self.fail(Reason::FieldValueNotSupported, message);
    }

    fn number(&mut self, node: &Node, number: &Number) {
        let checks = &node.checks;
        let Some(value) = number.as_f64() else { return };
        if node.type_name.as_deref() == Some("integer") || node.int_or_string {
            let format = checks.format.as_deref();
            let in_range = match format {
                Some("int32") => value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX),
                _ => number.is_i64() || value.abs() < 9.3e18,
            };
            if !is_integer(number) || !in_range {
                let format = match format {
                    Some(format) => format!("with format {format}"),
                    None => "(default format)".into(),
                };
                let complaint = format!("Checked value must be of type integer {format} in {}", self.path);
                self.general(&complaint);
            }
        }
        if let Some(step) = checks.multiple_of
            && step > 0.0
            && ((value / step) - (value / step).round()).abs() > 1e-9
        {
            self.invalid(&number.to_string(), &format!("should be a multiple of {step}"));
        }
        if let Some(maximum) = checks.maximum {
            let fits = if checks.exclusive_maximum { value < maximum } else { value <= maximum };
            let relation = if checks.exclusive_maximum { "less than" } else { "less than or equal to" };
            if !fits {
                self.invalid(&number.to_string(), &format!("should be {relation} {maximum}"));
            }
        }
        if let Some(minimum) = checks.minimum {
            let fits = if checks.exclusive_minimum { value > minimum } else { value >= minimum };
            let relation = if checks.exclusive_minimum { "greater than" } else { "greater than or equal to" };
            if !fits {
                self.invalid(&number.to_string(), &format!("should be {relation} {minimum}"));
            }
        }
    }

    fn string(&mut self, node: &Node, text: &str) {
        let checks = &node.checks;
        let shown = Value::from(text).to_string();
        let characters = text.chars().count() as u64;
        if let Some(most) = checks.max_length.filter(|most| characters > *most) {
            self.fail(Reason::FieldValueTooLong, format!("Too long: may not be more than {most} bytes"));
        }
        if let Some(least) = checks.min_length.filter(|least| characters < *least) {
            self.invalid(&shown, &format!("should be at least {least} chars long"));
        }
        if let Some(pattern) = &checks.pattern
            && pattern.regex.as_ref().is_some_and(|regex| !regex.is_match(text))
        {
            self.invalid(&shown, &format!("should match '{}'", pattern.text));
        }
        if let Some(format) = &checks.format
            && !format::accepts(format, text)
        {
            self.wrong_type(&shown, format);
        }
    }

    fn array(&mut self, node: &Node, items: &[Value], old: Option<&Value>) {
        let checks = &node.checks;
        let count = items.len() as u64;
        if let Some(least) = checks.min_items.filter(|least| count < *least) {
            self.invalid(&count.to_string(), &format!("should have at least {least} items"));
        }
        if let Some(most) = checks.max_items.filter(|most| count > *most) {
            self.too_many(count, most);
        }
        let Some(item) = node.items.as_deref() else { return };
        let length = self.path.len();
        for (position, value) in items.iter().enumerate() {
            self.path.push_str(&format!("[{position}]"));
            self.value(item, value, node.list.counterpart(value, old));
            self.path.truncate(length);
        }
    }

    fn object(&mut self, node: &Node, fields: &Map<String, Value>, old: Option<&Value>) {
        let checks = &node.checks;
        let count = fields.len() as u64;
        if let Some(least) = checks.min_properties.filter(|least| count < *least) {
            self.invalid(&count.to_string(), &format!("should have at least {least} properties"));
        }
        if let Some(most) = checks.max_properties.filter(|most| count > *most) {
            self.too_many(count, most);
        }
        let length = self.path.len();
        for name in checks.required.iter().filter(|name| !fields.contains_key(*name)) {
            push_member(&mut self.path, name);
            self.fail(Reason::FieldValueRequired, "Required value".into());
            self.path.truncate(length);
        }
        for (name, value) in fields {
            if let Some(member) = node.member(name) {
                push_member(&mut self.path, name);
                self.value(member, value, old.and_then(|old| old.get(name)));
                self.path.truncate(length);
            }
        }
    }

    fn too_many(&mut self, count: u64, most: u64) {
        let items = if most == 1 { "item" } else { "items" };
        self.fail(Reason::FieldValueTooMany, format!("Too many: {count}: must have at most {most} {items}"));
    }

    fn combinations(&mut self, checks: &Checks, value: &Value) {
        let path = self.path.clone();
        let of = |node: &Node| errors_at(node, value, None, &path);
        if !checks.any_of.is_empty() {
            let mut best = None;
            let any = checks.any_of.iter().any(|node| is_valid(of(node), &mut best));
            if !any {
                self.general(&format!("\"{path}\" must validate at least one schema (anyOf)"));
                self.errors.extend(best.unwrap_or_default());
            }
        }
        if !checks.one_of.is_empty() {
            let mut best = None;
            let valid = checks.one_of.iter().filter(|node| is_valid(of(node), &mut best)).count();
            let found = match valid {
                0 => "none valid".to_owned(),
                several => format!("{several} valid alternatives"),
            };
            if valid != 1 {
                self.general(&format!(
                    "\"{path}\" must validate one and only one schema (oneOf). Found {found}"
                ));
            }
            if valid == 0 {
                self.errors.extend(best.unwrap_or_default());
            }
        }
        if !checks.all_of.is_empty() {
            let failures: Vec<_> = checks.all_of.iter().map(of).filter(|errors| !errors.is_empty()).collect();
            if !failures.is_empty() {
                let none = if failures.len() == checks.all_of.len() { ". None validated" } else { "" };
                self.general(&format!("\"{path}\" must validate all the schemas (allOf){none}"));
            }
            self.errors.extend(failures.into_iter().flatten());
        }
        if let Some(not) = &checks.not
            && of(not).is_empty()
        {
            self.general(&format!("\"{path}\" must not validate the schema (not)"));
        }
    }
}

/// Whether an alternative is valid; the errors of the first that is not are kept as the best explanation.
fn is_valid(errors: Vec<FieldError>, best: &mut Option<Vec<FieldError>>) -> bool {
    if errors.is_empty() {
        return true;
    }
    best.get_or_insert(errors);
    false
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_integer(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

/// Equality that does not tell 2 from 2.0.
fn equal(left: &Value, right: &Value) -> bool {
    left == right || matches!((left.as_f64(), right.as_f64()), (Some(left), Some(right)) if left == right)
}
