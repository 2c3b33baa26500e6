//! Revisions, snapshots and the log.

use serde_json::json;

use super::*;

fn put(storage: &mut Storage, name: &str, data: i64) -> u64 {
    let value = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": name}, "data": data});
    storage.put(&"things".into(), &name.into(), value).revision
}

#[test]
fn every_write_gets_the_next_revision_as_its_resource_version() {
    let mut storage = Storage::new(10);
    put(&mut storage, "a", 1);
    put(&mut storage, "b", 1);
    let stored = storage.get("things", "b").unwrap();
    assert_eq!((stored.revision, stored.metadata()["resourceVersion"].as_str()), (2, Some("2")));
}

#[test]
fn the_bytes_hold_the_object_without_its_type() {
    let mut storage = Storage::new(10);
    put(&mut storage, "a", 1);
    let stored = storage.get("things", "a").unwrap();
    assert_eq!(stored.bytes, r#"{"data":1,"metadata":{"name":"a","resourceVersion":"1"}}"#);
}

#[test]
fn a_snapshot_does_not_change_with_later_writes() {
    let mut storage = Storage::new(10);
    put(&mut storage, "a", 1);
    let before = storage.snapshot();
    put(&mut storage, "a", 2);
    storage.remove(&"things".into(), &"a".into());
    assert_eq!(before.get("", "Thing", "", "a").unwrap()["data"], 1);
    assert!(storage.snapshot().is_empty());
}

#[test]
fn an_older_revision_is_rebuilt_from_the_log() {
    let mut storage = Storage::new(10);
    let first = put(&mut storage, "a", 1);
    put(&mut storage, "b", 1);
    put(&mut storage, "a", 2);
    storage.remove(&"things".into(), &"a".into());
    let objects = storage.objects_at("things", first).unwrap();
    assert_eq!(objects.len(), 1);
    assert_eq!(objects.get("a").unwrap().value["data"], 1);
}

#[test]
fn what_fell_out_of_the_log_is_gone() {
    let mut storage = Storage::new(2);
    let first = put(&mut storage, "a", 1);
    put(&mut storage, "a", 2);
    put(&mut storage, "a", 3);
    assert!(storage.objects_at("things", first).is_ok());
    put(&mut storage, "a", 4);
    assert_eq!(storage.objects_at("things", first).unwrap_err(), Gone);
}

#[test]
fn a_watcher_that_has_seen_everything_survives_compaction() {
    let mut storage = Storage::new(10);
    let things: ResourceId = "things".into();
    let revision = put(&mut storage, "a", 1);
    let position = storage.log(&things).position_after(revision).unwrap();
    put(&mut storage, "b", 1);
    let later = storage.log(&things).end_position();
    storage.compact();
    assert!(storage.log(&things).read(later, 9).is_ok());
    assert!(storage.log(&things).read(position, 9).is_err());
    assert!(storage.log(&things).position_after(revision).is_err());
}

#[test]
fn keys_sort_as_etcd_keys_do() {
    let mut keys =
        [object_key("a", "x"), object_key("a-b", "x"), object_key("a", "x.y"), object_key("a", "x0")];
    keys.sort();
    assert_eq!(keys.each_ref().map(|key| &**key), ["a-b/x", "a/x", "a/x.y", "a/x0"]);
}
