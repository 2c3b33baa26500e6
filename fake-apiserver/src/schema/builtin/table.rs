//! Reads the table of built-in types (`types.txt`, where its format and its sources are told).
//!
//! Nothing is interpreted here: what the facts mean for merging, decoding, documents and wire formats is told by the
//! modules beside this one. The fields of a type are read when somebody asks for them, since most clusters use few types.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

/// The table as text.
const TEXT: &str = include_str!("types.txt");

/// A place in [`Types::all`].
pub(crate) type TypeId = usize;

/// All built-in types.
#[derive(Debug, Default)]
pub(crate) struct Types {
    pub(crate) packages: Vec<Package>,
    pub(crate) all: Vec<Type>,
    by_name: BTreeMap<(&'static str, &'static str), TypeId>,
    kinds: BTreeMap<(&'static str, &'static str), TypeId>,
}

/// One group and version of the API.
#[derive(Debug)]
pub(crate) struct Package {
    /// How the table calls it.
    name: &'static str,
    /// `apps/v1`.
    pub(crate) api_version: &'static str,
    /// `io.k8s.api.apps.v1`.
    pub(crate) prefix: &'static str,
}

/// A struct.
#[derive(Debug)]
pub(crate) struct Type {
    pub(crate) name: &'static str,
    package: usize,
    /// Whether it has `apiVersion` and `kind`.
    pub(crate) kind: bool,
    /// Replaced as a whole wherever it occurs.
    pub(crate) atomic: bool,
    /// Place in [`Types::all`].
    pub(crate) id: TypeId,
    /// Its fields as the table has them, one a line.
    lines: &'static str,
    fields: OnceLock<Fields>,
}

/// The fields of a struct.
#[derive(Debug)]
struct Fields {
    /// As the table has them.
    own: Vec<Field>,
    /// With those of types in place among them, if there are such.
    flat: Option<Vec<Field>>,
    /// Their places, in order of their names.
    by_name: Vec<(&'static str, usize)>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// As in JSON.
    pub(crate) name: &'static str,
    /// In protobuf; 0 when unknown.
    #[cfg_attr(not(feature = "server"), expect(dead_code, reason = "only protobuf knows numbers"))]
    pub(crate) number: u64,
    pub(crate) shape: Shape,
    /// An explicit zero is something else than nothing.
    pub(crate) pointer: bool,
    pub(crate) required: bool,
    /// Written even when there is nothing in it.
    pub(crate) written: bool,
    pub(crate) list: ListKind,
    pub(crate) patch: Option<Patch>,
    go: Option<&'static str>,
}

/// What values a field has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    Bytes,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Whatever JSON holds.
    Any,
    Struct(TypeId),
    List(Box<Shape>),
    Map(Box<Shape>),
}

/// How server-side apply takes a list, map or struct.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ListKind {
    Plain,
    Atomic,
    Set,
    /// By these keys, each with the default that stands for an absent one.
    Keyed(Vec<(&'static str, Option<&'static str>)>),
}

/// How strategic merge patches take a field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patch {
    pub(crate) strategy: &'static str,
    pub(crate) key: Option<&'static str>,
}

impl Types {
    /// The table, read once: it never changes.
    pub(crate) fn get() -> &'static Self {
        static TYPES: LazyLock<Types> = LazyLock::new(|| Types::parse(TEXT));
        &TYPES
    }

    /// The type of a kind, by `apps/v1` and `Deployment` for instance.
    pub(crate) fn kind(&'static self, api_version: &str, kind: &str) -> Option<&'static Type> {
        self.kinds.get(&(api_version, kind)).map(|id| &self.all[*id])
    }

    /// The type of a kind in the last version of its group.
    pub(crate) fn latest_kind(&'static self, group: &str, kind: &str) -> Option<&'static Type> {
        let of_group =
            |api_version: &str| api_version.rsplit_once('/').map_or("", |(group, _)| group) == group;
        let mut found = self.kinds.iter().filter(|((version, name), _)| *name == kind && of_group(version));
        found.next_back().map(|(_, id)| &self.all[*id])
    }

    /// The type of `metadata`, which is the same for every kind.
    pub(crate) fn object_meta(&'static self) -> Option<&'static Type> {
        self.named("meta", "ObjectMeta")
    }

    /// A type by its package in the table and its name.
    pub(crate) fn named(&'static self, package: &str, name: &str) -> Option<&'static Type> {
        self.by_name.get(&(package, name)).map(|id| &self.all[*id])
    }

    pub(crate) fn package(&self, of: &Type) -> &Package {
        &self.packages[of.package]
    }

    /// How Go calls the type of a field: `v1.PodSpec`, `[]string`.
    pub(crate) fn go_name(&self, shape: &Shape, field: Option<&Field>) -> String {
        if let Some(name) = field.and_then(|field| field.go) {
            return name.to_owned();
        }
        match shape {
            Shape::String | Shape::Time | Shape::MicroTime | Shape::Any => "string".into(),
            Shape::Bool => "bool".into(),
            Shape::Int32 | Shape::IntOrString => "int32".into(),
            Shape::Int64 => "int64".into(),
            Shape::Double => "float64".into(),
            Shape::Bytes => "[]uint8".into(),
            Shape::Quantity => "resource.Quantity".into(),
            Shape::Struct(id) => {
                let of = &self.all[*id];
                let version = self.package(of).api_version;
                format!("{}.{}", version.rsplit('/').next().unwrap_or(version), of.name)
            }
            Shape::List(item) => format!("[]{}", self.go_name(item, None)),
            Shape::Map(item) => format!("map[string]{}", self.go_name(item, None)),
        }
    }

    /// Reads the table but for the fields. Types are paragraphs of their own.
    fn parse(text: &'static str) -> Self {
        let mut types = Self::default();
        for paragraph in text.split("\n\n") {
            let (head, lines) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
            let mut words = head.split(' ');
            match words.next() {
                Some("package") => {
                    if let (Some(name), Some(api_version), Some(prefix)) =
                        (words.next(), words.next(), words.next())
                    {
                        types.packages.push(Package { name, api_version, prefix });
                    }
                }
                Some(word @ ("kind" | "type")) => types.declare(word == "kind", words, lines),
                _ => {}
            }
        }
        types
    }

    fn declare(&mut self, kind: bool, mut words: std::str::Split<'static, char>, lines: &'static str) {
        let (Some(name), Some(package)) = (words.next(), self.packages.len().checked_sub(1)) else { return };
        let id = self.all.len();
        let atomic = words.next() == Some("atomic");
        self.by_name.insert((self.packages[package].name, name), id);
        if kind {
            self.kinds.insert((self.packages[package].api_version, name), id);
        }
        self.all.push(Type { name, package, kind, atomic, id, lines, fields: OnceLock::new() });
    }

    /// Reads the fields of a type. Lines that cannot be read are left out; a test makes sure that there are none.
    fn fields(&'static self, of: &Type) -> Fields {
        let own: Vec<Field> = of.lines.lines().filter_map(|line| self.field(of.id, line)).collect();
        let flat = own.iter().any(Field::inline).then(|| {
            let place = |field: &Field| match field.shape {
                Shape::Struct(below) if field.inline() => self.all[below].fields().to_vec(),
                _ => vec![field.clone()],
            };
            own.iter().flat_map(place).collect()
        });
        let fields = flat.as_ref().unwrap_or(&own);
        let mut by_name: Vec<_> = fields.iter().enumerate().map(|(at, field)| (field.name, at)).collect();
        by_name.sort_unstable();
        Fields { own, flat, by_name }
    }

    fn field(&self, within: TypeId, line: &'static str) -> Option<Field> {
        let mut words = line.split(' ');
        let number = words.next()?.parse().ok()?;
        let marked = words.next()?;
        let name = marked.trim_end_matches(['*', '!', '?']);
        let marks = &marked[name.len()..];
        let shape = self.shape(within, words.next()?)?;
        let mut field = Field {
            name,
            number,
            shape,
            pointer: marks.contains('?'),
            required: marks.contains('*'),
            written: marks.contains(['*', '!']),
            list: ListKind::Plain,
            patch: None,
            go: None,
        };
        for word in words {
            match word.split_once('=') {
                None if word == "set" => field.list = ListKind::Set,
                None if word == "atomic" => field.list = ListKind::Atomic,
                Some(("key", keys)) => {
                    let key = |key: &'static str| match key.split_once('=') {
                        Some((name, default)) => (name, Some(default)),
                        None => (key, None),
                    };
                    field.list = ListKind::Keyed(keys.split(',').map(key).collect());
                }
                Some(("patch", patch)) => {
                    let (strategy, key) = match patch.split_once(':') {
                        Some((strategy, key)) => (strategy, Some(key)),
                        None => (patch, None),
                    };
                    field.patch = Some(Patch { strategy, key });
                }
                Some(("go", name)) => field.go = Some(name),
                _ => return None,
            }
        }
        Some(field)
    }

    fn shape(&self, within: TypeId, text: &'static str) -> Option<Shape> {
        if let Some(item) = text.strip_prefix("[]") {
            return Some(Shape::List(Box::new(self.shape(within, item)?)));
        }
        if let Some(item) = text.strip_prefix("map[").and_then(|rest| rest.strip_suffix(']')) {
            return Some(Shape::Map(Box::new(self.shape(within, item)?)));
        }
        Some(match text {
            "string" => Shape::String,
            "bool" => Shape::Bool,
            "int32" => Shape::Int32,
            "int64" => Shape::Int64,
            "double" => Shape::Double,
            "bytes" => Shape::Bytes,
            "time" => Shape::Time,
            "microtime" => Shape::MicroTime,
            "quantity" => Shape::Quantity,
            "intstr" => Shape::IntOrString,
            "any" => Shape::Any,
            name => {
                let own = self.packages[self.all[within].package].name;
                Shape::Struct(*self.by_name.get(&name.split_once('.').unwrap_or((own, name)))?)
            }
        })
    }
}

impl Type {
    fn read(&self) -> &Fields {
        self.fields.get_or_init(|| Types::get().fields(self))
    }

    /// The fields as the table has them: [`Field::inline`] ones are not resolved.
    #[cfg(any(test, feature = "server"))]
    pub(crate) fn own(&self) -> &[Field] {
        &self.read().own
    }

    /// The fields in the order of the struct, those of types in place among them.
    pub(crate) fn fields(&self) -> &[Field] {
        let read = self.read();
        read.flat.as_ref().unwrap_or(&read.own)
    }

    /// A field by its name in JSON.
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let by_name = &self.read().by_name;
        let found = by_name.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
        self.fields().get(by_name[found].1)
    }
}

impl Field {
    /// Whether it stands for the fields of another type.
    pub(crate) fn inline(&self) -> bool {
        self.name == "-"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let types = Types::get();
        let first = |wanted: &[&str]| {
            let words = TEXT.lines().filter_map(|line| line.split(' ').next());
            words.filter(|word| wanted.contains(word)).count()
        };
        let fields =
            TEXT.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).count();
        assert_eq!(types.packages.len(), first(&["package"]));
        assert_eq!(types.all.len(), first(&["kind", "type"]));
        assert_eq!(types.all.iter().map(|of| of.own().len()).sum::<usize>(), fields);
        assert_eq!(types.by_name.len(), types.all.len());
    }

    #[test]
    fn fields_of_a_type_in_place_are_fields_of_the_struct() {
        let volume = Types::get().named("core", "Volume").unwrap();
        assert!(volume.field("configMap").is_some() && volume.field("name").is_some());
        assert!(volume.field("-").is_none());
    }

    #[test]
    fn no_two_fields_of_a_struct_share_a_name_or_a_number() {
        for of in &Types::get().all {
            let mut names: Vec<&str> = of.fields().iter().map(|field| field.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), of.fields().len(), "{}", of.name);
            let mut numbers: Vec<u64> =
                of.own().iter().map(|field| field.number).filter(|n| *n > 0).collect();
            numbers.sort_unstable();
            numbers.dedup();
            let numbered = of.own().iter().filter(|field| field.number > 0).count();
            assert_eq!(numbers.len(), numbered, "{}", of.name);
        }
    }
}
