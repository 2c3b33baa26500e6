//! How an object of a few numbered fields looks in each kind, and which of the fields a real object has and a manager
//! owns.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// The kinds that histories are about: a flat map, a keyed list of a built-in kind, a keyed list of a custom one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    ConfigMap,
    Service,
    Widget,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::ConfigMap, Kind::Service, Kind::Widget];

/// What one manager can own of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Leaf {
    /// A label.
    Label(u8),
    /// That an item of the list is there.
    Item(u8),
    /// A value: of the map, or of an item of the list.
    Value(u8),
}

/// The leaves of an object, with their values.
pub(crate) type Leaves = BTreeMap<Leaf, u8>;

/// What somebody asks for: labels, and values by number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields {
    pub(crate) labels: BTreeMap<u8, u8>,
    pub(crate) values: BTreeMap<u8, u8>,
}

impl Kind {
    /// The path of the collection.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Kind::ConfigMap => "/api/v1/namespaces/default/configmaps",
            Kind::Service => "/api/v1/namespaces/default/services",
            Kind::Widget => "/apis/example.com/v1/namespaces/default/widgets",
        }
    }

    /// The leaves of fields.
    pub(crate) fn leaves(self, fields: &Fields) -> Leaves {
        let labels = fields.labels.iter().map(|(key, value)| (Leaf::Label(*key), *value));
        let values = fields.values.iter().map(|(key, value)| (Leaf::Value(*key), *value));
        let items = fields.values.keys().map(|key| (Leaf::Item(*key), 0));
        let items = items.filter(|_| self != Kind::ConfigMap);
        labels.chain(values).chain(items).collect()
    }

    /// An object of these leaves.
    pub(crate) fn object(self, name: &str, leaves: &Leaves) -> Value {
        let mut object = match self {
            Kind::ConfigMap => json!({ "apiVersion": "v1", "kind": "ConfigMap" }),
            Kind::Service => json!({ "apiVersion": "v1", "kind": "Service" }),
            Kind::Widget => json!({ "apiVersion": "example.com/v1", "kind": "Widget" }),
        };
        object["metadata"] = json!({ "name": name, "namespace": "default" });
        self.set(&mut object, leaves);
        object
    }

    /// Gives an object these leaves and no others.
    pub(crate) fn set(self, object: &mut Value, leaves: &Leaves) {
        let labels = map(leaves, |leaf| match leaf {
            Leaf::Label(key) => Some(format!("l{key}")),
            _ => None,
        });
        // Who owns nothing of an object does not count as having written it: everybody has the base, which is no leaf.
        object["metadata"]["labels"] = labels;
        object["metadata"]["labels"]["base"] = json!("x");
        let items = leaves.keys().filter_map(|leaf| match leaf {
            Leaf::Item(key) => Some((*key, leaves.get(&Leaf::Value(*key)))),
            _ => None,
        });
        match self {
            Kind::ConfigMap => {
                let data = map(leaves, |leaf| match leaf {
                    Leaf::Value(key) => Some(format!("v{key}")),
                    _ => None,
                });
                set_or_leave_out(object, "data", data);
            }
            Kind::Service => {
                // A Service must have a port: one that is no leaf and always there.
                let mut ports =
                    vec![json!({ "name": "base", "port": 1, "protocol": "TCP", "targetPort": 1 })];
                ports.extend(items.map(|(key, value)| {
                    let port = port_of(key);
                    let mut port = json!({ "name": format!("p{key}"), "port": port, "protocol": "TCP" });
                    if let Some(value) = value {
                        port["targetPort"] = json!(u16::from(*value) + 1);
                    }
                    port
                }));
                object["spec"]["ports"] = ports.into();
            }
            Kind::Widget => {
                let items: Value = items
                    .map(|(key, value)| {
                        let mut item = json!({ "name": format!("i{key}") });
                        if let Some(value) = value {
                            item["value"] = json!(value);
                        }
                        item
                    })
                    .collect();
                let spec = if items == json!([]) { items } else { json!({ "items": items }) };
                set_or_leave_out(object, "spec", spec);
            }
        }
    }

    /// The leaves that an object has.
    pub(crate) fn seen(self, object: &Value) -> Leaves {
        let mut leaves = Leaves::new();
        for (key, value) in entries(&object["metadata"]["labels"]).filter(|(key, _)| *key != "base") {
            leaves.insert(Leaf::Label(number(key)), number(value.as_str().unwrap()));
        }
        match self {
            Kind::ConfigMap => {
                for (key, value) in entries(&object["data"]) {
                    leaves.insert(Leaf::Value(number(key)), number(value.as_str().unwrap()));
                }
            }
            Kind::Service => {
                for port in elements(&object["spec"]["ports"]).filter(|port| port["name"] != "base") {
                    let key = number(port["name"].as_str().unwrap());
                    leaves.insert(Leaf::Item(key), 0);
                    // Without a target port the port itself is filled in.
                    if port["targetPort"] != port["port"] {
                        leaves.insert(Leaf::Value(key), port["targetPort"].as_u64().unwrap() as u8 - 1);
                    }
                }
            }
            Kind::Widget => {
                for item in elements(&object["spec"]["items"]) {
                    let key = number(item["name"].as_str().unwrap());
                    leaves.insert(Leaf::Item(key), 0);
                    if let Some(value) = item["value"].as_u64() {
                        leaves.insert(Leaf::Value(key), value as u8);
                    }
                }
            }
        }
        leaves
    }

    /// The leaves in a field set of `managedFields`.
    pub(crate) fn owned(self, set: &Value) -> BTreeSet<Leaf> {
        let mut owned = BTreeSet::new();
        for (key, _) in named(&set["f:metadata"]["f:labels"]).filter(|(key, _)| *key != "f:base") {
            owned.insert(Leaf::Label(number(key)));
        }
        let (list, item, value) = match self {
            Kind::ConfigMap => {
                owned.extend(named(&set["f:data"]).map(|(key, _)| Leaf::Value(number(key))));
                return owned;
            }
            Kind::Service => (&set["f:spec"]["f:ports"], "f:name", "f:targetPort"),
            Kind::Widget => (&set["f:spec"]["f:items"], "f:name", "f:value"),
        };
        for (key, members) in entries(list).filter(|(key, _)| key.starts_with("k:")) {
            let keys: Value = serde_json::from_str(&key[2..]).unwrap();
            let key = match keys["port"].as_u64() {
                Some(1) => continue,
                Some(port) => (port - u64::from(port_of(0))) as u8,
                None => number(keys["name"].as_str().unwrap()),
            };
            owned.extend(members.get(item).map(|_| Leaf::Item(key)));
            owned.extend(members.get(value).map(|_| Leaf::Value(key)));
        }
        owned
    }
}

/// The port of an item; never what a target port can be.
fn port_of(key: u8) -> u16 {
    1000 + u16::from(key)
}

/// Empty maps and lists are left out: whether somebody owns one is a question of its own.
fn set_or_leave_out(object: &mut Value, key: &str, value: Value) {
    let empty = value == json!({}) || value == json!([]);
    if let Some(members) = object.as_object_mut() {
        members.remove(key);
        members.extend((!empty).then(|| (key.to_owned(), value)));
    }
}

fn map(leaves: &Leaves, name: impl Fn(&Leaf) -> Option<String>) -> Value {
    let members = leaves.iter().filter_map(|(leaf, value)| Some((name(leaf)?, json!(format!("x{value}")))));
    Value::Object(members.collect::<Map<_, _>>())
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// The named fields of a field set.
fn named(set: &Value) -> impl Iterator<Item = (&str, &Value)> {
    entries(set).filter(|(key, _)| key.starts_with("f:"))
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The number at the end of a name.
fn number(text: &str) -> u8 {
    text.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
}
