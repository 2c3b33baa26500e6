//! Operators that write in another way than the one agreed on.

use bytes::Bytes;
use http::{HeaderValue, header};

use super::{Mutant, plain};
use crate::wire::Letter;
use crate::world::HUB;

pub(super) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "no-precondition",
        family: "manners",
        what: "deletes by name alone",
        make: || {
            plain::outgoing(|mut letter| {
                if letter.parts.method == http::Method::DELETE {
                    letter.parts.headers.remove(header::CONTENT_TYPE);
                    letter.body = Bytes::new();
                }
                vec![letter]
            })
        },
    },
    Mutant {
        name: "other-manager",
        family: "manners",
        what: "applies under another name with each start",
        make: || {
            plain::outgoing(|letter| {
                let manager = format!("fieldManager=operator-{}", letter.replica);
                vec![with_query(letter, |query| query.replace("fieldManager=knative-operator", &manager))]
            })
        },
    },
    Mutant {
        name: "no-force",
        family: "manners",
        what: "gives way when somebody else set a field",
        make: || plain::outgoing(|letter| vec![with_query(letter, |query| query.replace("&force=true", ""))]),
    },
    Mutant {
        name: "creates",
        family: "manners",
        what: "creates members instead of applying them",
        make: || plain::outgoing(creates),
    },
];

/// The letter with another query.
fn with_query(mut letter: Letter, change: impl FnOnce(&str) -> String) -> Letter {
    let query = letter.parts.uri.query().filter(|_| letter.address != HUB).map(change);
    if let Some(query) = query
        && let Ok(uri) = format!("{}?{query}", letter.parts.uri.path()).parse()
    {
        letter.parts.uri = uri;
    }
    letter
}

fn creates(letter: Letter) -> Vec<Letter> {
    let info = letter.info();
    if info.verb != "patch" || letter.address == HUB || info.resource != "services" {
        return vec![letter];
    }
    let mut create = letter.clone();
    let collection = letter.parts.uri.path().trim_end_matches(&info.name).trim_end_matches('/').to_owned();
    if let Ok(uri) = collection.parse() {
        create.parts.uri = uri;
    }
    create.parts.method = http::Method::POST;
    create.parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // What is there already is refused here, and applied as usual.
    vec![create, letter]
}
