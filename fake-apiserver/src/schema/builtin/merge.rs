//! What the table says of merging: the [`MergeType`]s of the built-in kinds.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::Value;

use super::table::{Field, ListKind, Shape, Type, TypeId, Types};
use crate::schema::{ListKey, MergeType};

/// The merge facts of a type.
pub(crate) fn merge_type(of: &Type) -> Arc<MergeType> {
    facts().of(of)
}

/// The merge facts of a built-in kind in the latest version of its group, which is empty for the core group. Kinds that
/// are not in the table have those of `metadata` only.
pub fn builtin_merge_type(group: &str, kind: &str) -> Arc<MergeType> {
    match Types::get().latest_kind(group, kind) {
        Some(of) => merge_type(of),
        None => Arc::new(MergeType::Object {
            fields: [("metadata".to_owned(), object_meta_merge_type())].into(),
            rest: Arc::new(MergeType::Plain),
            always: Vec::new(),
        }),
    }
}

/// The merge facts of `metadata`, which are the same for every kind.
pub fn object_meta_merge_type() -> Arc<MergeType> {
    let facts = facts();
    facts.types.object_meta().map_or_else(|| facts.plain.clone(), |of| facts.of(of))
}

/// The facts of every type; each is built once, when it is asked for, and shared, since the table never changes.
fn facts() -> &'static Facts {
    static FACTS: LazyLock<Facts> = LazyLock::new(|| {
        let types = Types::get();
        let built = types.all.iter().map(|_| OnceLock::new()).collect();
        Facts { types, built, plain: Arc::new(MergeType::Plain) }
    });
    &FACTS
}

struct Facts {
    types: &'static Types,
    /// By the place of the type.
    built: Vec<OnceLock<Arc<MergeType>>>,
    plain: Arc<MergeType>,
}

impl Facts {
    fn of(&self, of: &Type) -> Arc<MergeType> {
        self.build(of.id, &mut Vec::new())
    }

    /// Builds a type; `within` are those that are being built. A type inside itself has no facts: schemas of custom
    /// resources are data to those who apply them.
    fn build(&self, id: TypeId, within: &mut Vec<TypeId>) -> Arc<MergeType> {
        let of = &self.types.all[id];
        if let Some(built) = self.built[id].get() {
            return built.clone();
        }
        if within.contains(&id) {
            return self.plain.clone();
        }
        within.push(id);
        let mut fields = BTreeMap::new();
        for field in of.fields() {
            fields.insert(field.name.to_owned(), self.field(field, within));
        }
        within.pop();
        if of.kind {
            for member in ["apiVersion", "kind"] {
                fields.insert(member.to_owned(), self.plain.clone());
            }
        }
        let written = of.fields().iter().filter(|field| field.written && !field.pointer);
        let merge = Arc::new(MergeType::Object {
            fields,
            rest: Arc::new(MergeType::Undeclared),
            always: written.map(|field| field.name).collect(),
        });
        self.built[id].get_or_init(|| merge).clone()
    }

    fn field(&self, field: &Field, within: &mut Vec<TypeId>) -> Arc<MergeType> {
        match (&field.list, &field.shape) {
            (ListKind::Atomic, _) => Arc::new(MergeType::Atomic),
            (ListKind::Set, _) => Arc::new(MergeType::Set),
            (ListKind::Keyed(keys), Shape::List(item)) => {
                let key = |(name, default): &(&'static str, Option<&'static str>)| ListKey {
                    name: (*name).to_owned(),
                    default: default.map(Value::from),
                };
                let keys = keys.iter().map(key).collect();
                Arc::new(MergeType::ListMap { keys, item: self.shape(item, within) })
            }
            (_, shape) => self.shape(shape, within),
        }
    }

    fn shape(&self, shape: &Shape, within: &mut Vec<TypeId>) -> Arc<MergeType> {
        match shape {
            Shape::Struct(id) if self.types.all[*id].atomic => Arc::new(MergeType::Atomic),
            Shape::Struct(id) => self.build(*id, within),
            Shape::Map(value) => Arc::new(MergeType::Object {
                fields: BTreeMap::new(),
                rest: self.shape(value, within),
                always: Vec::new(),
            }),
            _ => self.plain.clone(),
        }
    }
}
