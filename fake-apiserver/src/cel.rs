//! Expressions in CEL: a fence around the engine, some corners of which are not finished and panic, or recurse
//! deeply; and JSON as expressions without a schema see it.

use std::sync::Arc;

use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{Context, ExecutionError, Program, Value as CelValue};
use serde_json::{Number, Value};

/// Longest expression we compile, in bytes.
const MOST_BYTES: usize = 16 * 1024;
/// Most operators of one expression: the evaluator recurses into each.
const MOST_OPERATORS: usize = 500;

/// Reserved words of CEL that may be field names.
pub(crate) const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Compiles an expression.
///
/// # Errors
/// What the compiler says.
pub(crate) fn compile(text: &str) -> Result<Program, String> {
    let operators = text.bytes().filter(|byte| b".[+-*/%(".contains(byte)).count();
    if text.len() > MOST_BYTES || operators > MOST_OPERATORS {
        return Err("the expression is too long".to_owned());
    }
    let compiled = fenced(|| Program::compile(text).map_err(|problem| problem.to_string()));
    compiled.unwrap_or_else(|| Err("the expression is not supported".to_owned()))
}

/// Evaluates an expression; `None` when the engine cannot.
pub(crate) fn execute(program: &Program, context: &Context<'_>) -> Option<Result<CelValue, ExecutionError>> {
    fenced(|| program.execute(context))
}

/// What went wrong in an evaluation, as the real engine says it.
pub(crate) fn problem(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::NoSuchOverload => "no such overload".to_owned(),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        other => other.to_string(),
    }
}

fn fenced<T>(call: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).ok()
}

/// A JSON value of no known type. Fields whose names are reserved words can be had under their escaped names too.
pub(crate) fn data(value: &Value) -> CelValue {
    match value {
        Value::Array(items) => list(items.iter().map(data)),
        Value::Object(fields) => map(fields.iter().flat_map(|(name, value)| {
            let escaped = RESERVED.contains(&name.as_str()).then(|| (format!("__{name}__"), data(value)));
            std::iter::once((name.clone(), data(value))).chain(escaped)
        })),
        scalar => self::scalar(scalar),
    }
}

/// A JSON value that is neither list nor object.
pub(crate) fn scalar(value: &Value) -> CelValue {
    match value {
        Value::Bool(flag) => CelValue::Bool(*flag),
        Value::Number(number) => integer_or_float(number),
        Value::String(text) => CelValue::String(Arc::new(text.clone())),
        _ => CelValue::Null,
    }
}

fn integer_or_float(number: &Number) -> CelValue {
    match (number.as_i64(), number.as_f64()) {
        (Some(integer), _) => CelValue::Int(integer),
        (None, Some(float)) if float.fract() == 0.0 && float.abs() < 9.2e18 => CelValue::Int(float as i64),
        (None, float) => CelValue::Float(float.unwrap_or(f64::NAN)),
    }
}

/// A list.
pub(crate) fn list(items: impl Iterator<Item = CelValue>) -> CelValue {
    CelValue::List(Arc::new(items.collect()))
}

/// A map with text keys.
pub(crate) fn map(fields: impl Iterator<Item = (String, CelValue)>) -> CelValue {
    let fields = fields.map(|(name, value)| (Key::String(Arc::new(name)), value));
    CelValue::Map(Map { map: Arc::new(fields.collect()) })
}
