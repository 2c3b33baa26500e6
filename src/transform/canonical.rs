//! Writes workloads the way the API server answers: quantities in canonical form, no empty values of variables, the
//! fields that it always has.
//!
//! Otherwise every comparison with the live object would find a difference that is none.

use serde_json::{Map, Value, json};

use super::{Context, TransformError, pods, tree};
use crate::manifest::Object;

/// Quantities are counted in billionths; nothing smaller exists.
const ONE: i128 = 1_000_000_000;

/// Suffixes of decimal quantities, in billionths, largest first (apimachinery pkg/api/resource).
const DECIMAL: [(&str, i128); 10] = [
    ("E", 1_000_000_000_000_000_000 * ONE),
    ("P", 1_000_000_000_000_000 * ONE),
    ("T", 1_000_000_000_000 * ONE),
    ("G", 1_000_000_000 * ONE),
    ("M", 1_000_000 * ONE),
    ("k", 1_000 * ONE),
    ("", ONE),
    ("m", 1_000_000),
    ("u", 1_000),
    ("n", 1),
];

/// Suffixes of binary quantities, in billionths, largest first.
const BINARY: [(&str, i128); 6] = [
    ("Ei", (1 << 60) * ONE),
    ("Pi", (1 << 50) * ONE),
    ("Ti", (1 << 40) * ONE),
    ("Gi", (1 << 30) * ONE),
    ("Mi", (1 << 20) * ONE),
    ("Ki", (1 << 10) * ONE),
];

/// Fields of pods that are not stored when they are false.
const FALSE_BY_ABSENCE: [&str; 3] = ["hostIPC", "hostNetwork", "hostPID"];

/// Rewrites the pod template of a workload.
pub(super) fn write(_: &Context<'_>, object: &mut Object) -> Result<(), TransformError> {
    write_pod(object);
    if object.is("apps", "StatefulSet") {
        if let Some(spec) = tree::make_map(object.value_mut(), &["spec"]) {
            spec.entry("serviceName").or_insert_with(|| "".into());
        }
        set_status(object, json!({"availableReplicas": 0, "replicas": 0}));
    }
    Ok(())
}

fn write_pod(object: &mut Object) {
    if let Some(pod) = pods::pod_spec(object) {
        pod.retain(|field, value| *value != json!(false) || !FALSE_BY_ABSENCE.contains(&field.as_str()));
        let tolerations = pod.get_mut("tolerations").and_then(Value::as_array_mut).into_iter().flatten();
        for toleration in tolerations.filter_map(Value::as_object_mut) {
            toleration.retain(|_, value| *value != json!(""));
        }
    }
    pods::containers(object).for_each(rewrite);
    pods::init_containers(object).for_each(rewrite);
}

/// Sets the counts that typed clients write into a new object. The API server ignores them in an apply.
pub(super) fn set_status(object: &mut Object, counts: Value) {
    if let Some(fields) = object.value_mut().as_object_mut() {
        fields.insert("status".into(), counts);
    }
}

fn rewrite(container: &mut Map<String, Value>) {
    for variable in pods::variables(container) {
        if variable.get("value").and_then(Value::as_str) == Some("") {
            variable.remove("value");
        }
        let reference = variable.get_mut("valueFrom").and_then(|from| tree::map(from, &["resourceFieldRef"]));
        if let Some(reference) = reference {
            rewrite_quantity(reference.entry("divisor").or_insert_with(|| "0".into()));
        }
    }
    let Some(resources) = container.get_mut("resources") else { return };
    for field in ["limits", "requests"] {
        for (_, quantity) in tree::map(resources, &[field]).into_iter().flatten() {
            rewrite_quantity(quantity);
        }
    }
}

fn rewrite_quantity(quantity: &mut Value) {
    if let Some(text) = canonical(quantity) {
        *quantity = text.into();
    }
}

/// The canonical text of a quantity: the largest suffix that leaves a whole number. Nothing for text that is no
/// quantity, has an exponent, or is out of range; it stays as it is.
fn canonical(quantity: &Value) -> Option<String> {
    let text = match quantity {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let digits_end =
        text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits_end);
    let is_suffix = |(known, _): &&(&str, i128)| *known == suffix;
    let binary = BINARY.iter().find(is_suffix);
    let (_, unit) = binary.or_else(|| DECIMAL.iter().find(is_suffix))?;
    let amount = billionths(number, *unit)?;
    // Below one Ki the binary form would need fractions.
    let units: &[(&str, i128)] =
        if binary.is_some() && amount.abs() >= 1024 * ONE { &BINARY } else { &DECIMAL };
    let (suffix, unit) = match amount {
        0 => ("", ONE),
        _ => *units.iter().find(|(_, unit)| amount % unit == 0)?,
    };
    Some(format!("{}{suffix}", amount / unit))
}

/// The number times the unit; nothing if it is no number, or is not whole or too large.
fn billionths(number: &str, unit: i128) -> Option<i128> {
    let (negative, number) = match number.as_bytes().first()? {
        b'-' => (true, &number[1..]),
        b'+' => (false, &number[1..]),
        _ => (false, number),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let scaled = digits.parse::<i128>().ok()?.checked_mul(unit)?;
    let divisor = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let amount = (scaled % divisor == 0).then_some(scaled / divisor)?;
    Some(if negative { -amount } else { amount })
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "JSON literals read better without a borrow")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(quantity: Value, expected: Option<&str>) {
        assert_eq!(canonical(&quantity).as_deref(), expected, "{quantity}");
    }

    #[test]
    fn pods_are_written_the_way_the_api_server_stores_them() {
        let given = json!({
            "hostNetwork": false, "hostPID": true, "enableServiceLinks": false,
            "tolerations": [{"key": "a", "operator": "Exists", "value": "", "tolerationSeconds": 0}],
            "containers": [{"name": "a", "env": [
                {"name": "EMPTY", "value": ""},
                {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1024Ki"}}},
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            ], "resources": {"limits": {"cpu": "1000m"}}}],
        });
        let stored = json!({
            "hostPID": true, "enableServiceLinks": false,
            "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 0}],
            "containers": [{"name": "a", "env": [
                {"name": "EMPTY"},
                {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}},
                {"name": "MEMORY", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}},
                {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            ], "resources": {"limits": {"cpu": "1"}}}],
        });
        let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}});
        object["spec"]["template"]["spec"] = given;
        let mut object = Object::try_from(object).unwrap();
        write_pod(&mut object);
        assert_eq!(object.value()["spec"]["template"]["spec"], stored);
    }

    #[test]
    fn quantities_get_the_largest_suffix_that_leaves_a_whole_number() {
        for (quantity, expected) in [
            ("1000m", "1"),
            ("500m", "500m"),
            ("0.5", "500m"),
            ("1.5", "1500m"),
            ("2048Mi", "2Gi"),
            ("1000Mi", "1000Mi"),
            ("0.5Gi", "512Mi"),
            ("0.5Ki", "512"),
            ("1024", "1024"),
            ("2000", "2k"),
            ("0", "0"),
            ("0Mi", "0"),
            ("-1500m", "-1500m"),
            ("+2", "2"),
            ("100000000n", "100m"),
        ] {
            check(json!(quantity), Some(expected));
        }
        check(json!(2), Some("2"));
        check(json!(0.25), Some("250m"));
    }

    #[test]
    fn what_is_no_plain_quantity_stays() {
        for quantity in ["1e3", "abc", "", "1.2.3", "1 Gi", "--1", ".", "1ü", "0.0000000001", &"9".repeat(60)]
        {
            check(json!(quantity), None);
        }
        check(json!(null), None);
    }
}
