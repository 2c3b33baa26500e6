//! Pages of a list show the moment of the first one, whatever happens meanwhile.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::bench::{Bench, config, version};
use crate::shape::Kind;

/// What happens between two pages.
#[derive(Clone, Debug)]
enum Change {
    Create(u8),
    Label(u8),
    Delete(u8),
}

fn change() -> impl Strategy<Value = Change> {
    (0..40_u8).prop_flat_map(|name| {
        prop_oneof![Just(Change::Create(name)), Just(Change::Label(name)), Just(Change::Delete(name))]
    })
}

fn do_it(bench: &Bench, change: &Change) {
    let collection = Kind::ConfigMap.path();
    match change {
        Change::Create(name) => {
            let object = json!({ "metadata": { "name": format!("o{name:02}") } });
            bench.send("POST", collection, "application/json", &object);
        }
        Change::Label(name) => {
            let patch = json!({ "metadata": { "labels": { "at": bench.cluster.revision().to_string() } } });
            let target = format!("{collection}/o{name:02}");
            bench.send("PATCH", &target, "application/merge-patch+json", &patch);
        }
        Change::Delete(name) => {
            bench.send("DELETE", &format!("{collection}/o{name:02}"), "application/json", &Value::Null);
        }
    }
}

fn items(list: &Value) -> Vec<Value> {
    list["items"].as_array().cloned().unwrap_or_default()
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn pages_together_are_the_list_at_the_time_of_the_first(
        names in prop::collection::btree_set(0..40_u8, 0..30),
        limit in 1..8_usize,
        meanwhile in prop::collection::vec(prop::collection::vec(change(), 0..6), 0..12),
    ) {
        let bench = Bench::quiet();
        names.iter().for_each(|name| do_it(&bench, &Change::Create(*name)));
        let whole = bench.get(Kind::ConfigMap.path()).body;
        let (mut seen, mut token) = (Vec::new(), String::new());
        for changes in meanwhile.iter().chain(std::iter::repeat(&Vec::new())) {
            let target = format!("{}?limit={limit}&continue={token}", Kind::ConfigMap.path());
            let page = bench.get(&target);
            prop_assert_eq!(page.code, 200, "{}", page.body);
            prop_assert_eq!(version(&page.body), version(&whole));
            seen.extend(items(&page.body));
            let left = items(&whole).len() - seen.len();
            prop_assert_eq!(page.body["metadata"]["remainingItemCount"].as_u64().unwrap_or(0), left as u64);
            token = page.body["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            prop_assert_eq!(token.is_empty(), left == 0);
            if token.is_empty() {
                break;
            }
            prop_assert_eq!(items(&page.body).len(), limit);
            changes.iter().for_each(|change| do_it(&bench, change));
        }
        prop_assert_eq!(seen, items(&whole));
    }
}
