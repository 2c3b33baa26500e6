//! The JSONPath of printer columns. Kubernetes writes it without root, and lets names hold anything but a few signs,
//! a dot after a backslash included; otherwise it is RFC 9535.

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

/// A path, parsed once.
#[derive(Clone, Debug)]
pub(super) struct Path(JpQuery);

impl Path {
    /// Reads a path as a CustomResourceDefinition has it; `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        parse_json_path(&standard(text)).ok().map(Self)
    }

    /// The first value it finds.
    pub(super) fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        let found = js_path_process(&self.0, object).ok()?;
        found.into_iter().next().map(|found| found.val())
    }
}

/// `.a\.b-c[0]` -> `$['a.b-c'][0]`.
fn standard(text: &str) -> String {
    let mut out = String::from("$");
    let mut chars = text.chars().peekable();
    let mut quote = None;
    let mut brackets = 0;
    while let Some(c) = chars.next() {
        match c {
            _ if quote.is_some() => quote = quote.filter(|open| *open != c),
            '"' | '\'' => quote = Some(c),
            '[' => brackets += 1,
            ']' => brackets -= 1,
            '.' => {
                let mut name = String::new();
                while let Some(next) = chars.next_if(|next| continues(*next, brackets > 0)) {
                    name.push(if next == '\\' { chars.next().unwrap_or('\\') } else { next });
                }
                out.push_str(&member(&name, brackets > 0));
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

/// Whether a character belongs to a name; in a filter operators end it too.
fn continues(c: char, filter: bool) -> bool {
    !(c.is_whitespace() || ".,[]$@{}".contains(c) || filter && "=!<>()&|".contains(c))
}

fn member(name: &str, filter: bool) -> String {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let digits = !name.is_empty() && name.bytes().all(|c| c.is_ascii_digit());
    let plain = name.chars().all(word) && !name.starts_with(|c: char| c.is_ascii_digit());
    // The second half of a number in a filter; a wildcard; half of `..`.
    if plain || name == "*" || (digits && filter) {
        return format!(".{name}");
    }
    format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<Value>) {
        let object = json!({
            "metadata": { "labels": { "app.kubernetes.io/name": "web", "a-b": "c" } },
            "spec": { "tags": ["x", "y", "z"], "n": 1 },
            "status": { "conditions": [
                { "type": "Other", "status": "Unknown", "weight": 0.5 },
                { "type": "Ready", "status": "True", "weight": 1.5 },
            ] },
        });
        let path = Path::parse(path).expect("a path");
        assert_eq!(path.first(&object).cloned(), expected);
    }

    #[test]
    fn members_and_elements_are_found() {
        check(".spec.n", Some(json!(1)));
        check(".spec.tags[-1]", Some(json!("z")));
        check(".spec.tags[*]", Some(json!("x")));
        check(".spec.none.deeper", None);
        check(".spec.tags[7]", None);
    }

    #[test]
    fn names_hold_dashes_slashes_and_escaped_dots() {
        check(".metadata.labels.a-b", Some(json!("c")));
        check(r".metadata.labels.app\.kubernetes\.io/name", Some(json!("web")));
        check(".metadata.labels['app.kubernetes.io/name']", Some(json!("web")));
    }

    #[test]
    fn filters_choose_elements() {
        check(".status.conditions[?(@.type==\"Ready\")].status", Some(json!("True")));
        check(".status.conditions[?(@.type == 'None')].status", None);
        check(".status.conditions[?(@.weight > 1.25)].type", Some(json!("Ready")));
    }

    #[test]
    fn nonsense_is_no_path() {
        assert!(Path::parse(".spec[").is_none());
    }
}
