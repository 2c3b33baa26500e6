//! Structural schemas of custom resources: what they prune, default and validate.
//!
//! Each file does one thing with the tree of [`node::Node`]s. Metadata is the caller's business throughout: a root's
//! `apiVersion`, `kind` and `metadata` are neither pruned nor checked here.

mod cel;
mod check;
mod cost;
mod default;
mod embedded;
mod format;
mod lists;
mod merge;
mod node;
mod prune;
#[cfg(test)]
mod tests;
mod validate;

use std::sync::Arc;

use serde_json::Value;

use self::node::Node;
use super::{FieldError, FieldErrorReason, MergeType};

/// The schema of one version of a custom resource
/// (structural schema, `apiextensions.k8s.io/v1` `openAPIV3Schema`). Cheap to clone.
#[derive(Clone, Debug)]
pub struct StructuralSchema {
    root: Arc<Node>,
}

impl StructuralSchema {
    /// Reads an `openAPIV3Schema`.
    ///
    /// # Errors
    /// Every place at which the schema is not structural; paths are relative to `base`
    /// (`spec.versions[0].schema.openAPIV3Schema` for instance).
    pub fn from_openapi(schema: &Value, base: &str) -> Result<Self, Vec<FieldError>> {
        let mut problems = check::problems(schema, base);
        let root = Node::parse(schema);
        if problems.is_empty() {
            problems = check::wrong_defaults(&root, base);
            problems.extend(cost::too_dear(&root, base));
        }
        if problems.is_empty() { Ok(Self { root: Arc::new(root) }) } else { Err(problems) }
    }

    /// Removes fields the schema does not know and returns their paths, as the server names them in warnings.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(&self.root, object)
    }

    /// Fills in defaults, and removes nulls where the schema allows none (a default takes their place).
    ///
    /// For whatever a client sent as a whole object or a patch of one. The result of an apply keeps such nulls,
    /// see [`StructuralSchema::default_keeping_nulls`].
    pub fn default(&self, object: &mut Value) {
        default::prune_nulls(&self.root, object);
        default::fill_in(&self.root, object);
    }

    /// Fills in defaults; a null that the schema does not allow is replaced if there is a default, and stays
    /// otherwise, for validation to refuse it.
    pub fn default_keeping_nulls(&self, object: &mut Value) {
        default::fill_in(&self.root, object);
    }

    /// Checks the types and value rules of a new object, and its CEL rules if nothing else is wrong with it
    /// (metadata is not checked here).
    pub fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = validate::errors(&self.root, object, None);
        embedded::check(&self.root, object, &mut errors);
        lists::check(&self.root, object, &mut errors);
        self.check_rules(object, None, errors).errors
    }

    /// Checks an object that replaces `old`: like [`StructuralSchema::validate`], but what was wrong before and did
    /// not change is let pass (KEP-4008), and CEL rules see `oldSelf`.
    pub fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        self.review_update(new, old).errors
    }

    /// As [`StructuralSchema::validate_update`], with the warnings for CEL rules that were let pass.
    pub fn review_update(&self, new: &Value, old: &Value) -> Review {
        let mut errors = validate::errors(&self.root, new, None);
        if !errors.is_empty() {
            errors = validate::errors(&self.root, new, Some(old));
        }
        embedded::check(&self.root, new, &mut errors);
        let mut lists = Vec::new();
        lists::check(&self.root, new, &mut lists);
        if !lists.is_empty() {
            let mut before = Vec::new();
            lists::check(&self.root, old, &mut before);
            lists.retain(|error| !before.contains(error));
        }
        errors.append(&mut lists);
        self.check_rules(new, Some(old), errors)
    }

    fn check_rules(&self, new: &Value, old: Option<&Value>, mut errors: Vec<FieldError>) -> Review {
        if !self.root.ruled {
            return Review { errors, warnings: Vec::new() };
        }
        // Rules may rely on what these say.
        let blocks = |error: &FieldError| {
            use FieldErrorReason as Reason;
            matches!(
                error.reason,
                Reason::FieldValueNotSupported
                    | Reason::FieldValueRequired
                    | Reason::FieldValueTooLong
                    | Reason::FieldValueTooMany
                    | Reason::FieldValueTypeInvalid
            )
        };
        if errors.iter().any(blocks) {
            let message = "Invalid value: null: some validation rules were not checked because the object was \
                           invalid; correct the existing errors to complete validation";
            errors.push(error("<nil>", FieldErrorReason::FieldValueInvalid, message.into()));
            return Review { errors, warnings: Vec::new() };
        }
        let mut review = cel::review(&self.root, new, old);
        errors.append(&mut review.errors);
        Review { errors, warnings: review.warnings }
    }

    /// What server-side apply needs of this schema.
    pub fn merge_type(&self) -> Arc<MergeType> {
        Arc::new(merge::root(&self.root))
    }
}

/// The outcome of checking an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// What is wrong with it.
    pub errors: Vec<FieldError>,
    /// What is wrong with it but was so before: texts of Warning headers.
    pub warnings: Vec<String>,
}

/// Shorthand for the errors of this module's checks.
fn error(path: &str, reason: FieldErrorReason, message: String) -> FieldError {
    FieldError { path: path.to_owned(), reason, message }
}

/// Appends a member to a path: `spec` and `a` make `spec.a`.
fn push_member(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}
