//! A URL of a manifest, taken apart: where to ask, with which credentials, and what must come back.
//!
//! Pure. `#sha256=<hex digits>` at the end pins the content. A user name and password become a header for the host
//! that they were given for, and for no other.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::uri::{Authority, PathAndQuery};
use http::{HeaderValue, Uri};
use percent_encoding::percent_decode_str;

use super::FetchError;

/// What a URL says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Locator {
    /// Scheme, host, port, path and query, without credentials and fragment.
    pub(super) uri: Uri,
    /// Basic credentials; the value is marked as sensitive.
    pub(super) authorization: Option<HeaderValue>,
    /// SHA-256 of the content in lower-case hex digits.
    pub(super) sha256: Option<String>,
}

impl Locator {
    /// Takes a URL apart.
    ///
    /// # Errors
    /// [`FetchError::Malformed`] and [`FetchError::Pin`].
    pub(super) fn parse(url: &str) -> Result<Self, FetchError> {
        let (address, fragment) = url.split_once('#').map_or((url, None), |(a, f)| (a, Some(f)));
        let uri: Uri = address.parse().map_err(|_| FetchError::Malformed)?;
        let sha256 = fragment.map(pin).transpose()?;
        let userinfo = uri.authority().and_then(|authority| authority.as_str().rsplit_once('@'));
        let authorization = userinfo.map(|(userinfo, _)| basic(userinfo)).transpose()?;
        Ok(Self { uri: bare(&uri)?, authorization, sha256 })
    }

    /// Where a redirect leads (RFC 3986 section 5.2, as far as `Location` headers go). Credentials stay behind when
    /// the host changes; those that the redirect itself names are dropped.
    ///
    /// # Errors
    /// [`FetchError::Redirect`] when that is nowhere.
    pub(super) fn redirected(&self, location: &str) -> Result<Self, FetchError> {
        let failed = || FetchError::Redirect { to: crate::source::shown(location) };
        let target = location.split('#').next().unwrap_or_default();
        let (scheme, authority) = (self.uri.scheme_str(), self.uri.authority());
        let (Some(scheme), Some(authority)) = (scheme, authority) else { return Err(failed()) };
        let path = self.uri.path();
        let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let absolute = match target {
            "" => return Err(failed()),
            full if full.contains("://") => full.to_owned(),
            full if full.starts_with("//") => format!("{scheme}:{full}"),
            path if path.starts_with('/') => format!("{scheme}://{authority}{path}"),
            query if query.starts_with('?') => format!("{scheme}://{authority}{path}{query}"),
            relative => format!("{scheme}://{authority}{directory}/{relative}"),
        };
        let uri = absolute.parse().map_err(|_| failed()).and_then(|uri| bare(&uri).map_err(|_| failed()))?;
        if scheme == "https" && uri.scheme_str() != Some("https") {
            return Err(FetchError::Downgrade { to: crate::source::shown(location) });
        }
        let same_host = uri.authority() == self.uri.authority() && uri.scheme() == self.uri.scheme();
        let authorization = self.authorization.clone().filter(|_| same_host);
        Ok(Self { uri, authorization, sha256: self.sha256.clone() })
    }

    /// The host, without the brackets of an IPv6 address.
    pub(super) fn host(&self) -> &str {
        self.uri.host().unwrap_or_default().trim_matches(['[', ']'])
    }
}

/// The digest in a fragment.
fn pin(fragment: &str) -> Result<String, FetchError> {
    let digest = fragment.strip_prefix("sha256=").ok_or(FetchError::Pin)?;
    let hex = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hex { Ok(digest.to_ascii_lowercase()) } else { Err(FetchError::Pin) }
}

/// The URL without user name and password.
fn bare(uri: &Uri) -> Result<Uri, FetchError> {
    let (scheme, authority) = (uri.scheme_str().unwrap_or_default(), uri.authority().map(Authority::as_str));
    let host = authority.and_then(|all| all.rsplit('@').next()).unwrap_or_default();
    if scheme.is_empty() || host.is_empty() {
        return Err(FetchError::Malformed);
    }
    let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let built = Uri::builder().scheme(scheme).authority(host).path_and_query(path).build();
    built.map_err(|_| FetchError::Malformed)
}

/// `user:password` of a URL as a header.
fn basic(userinfo: &str) -> Result<HeaderValue, FetchError> {
    let plain: Vec<u8> = percent_decode_str(userinfo).collect();
    let mut value = HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(plain)))
        .map_err(|_| FetchError::Malformed)?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(url: &str) -> String {
        Locator::parse(url).unwrap().uri.to_string()
    }

    #[test]
    fn credentials_become_a_header_and_leave_the_url() {
        let locator = Locator::parse("https://ann:p%40ss@h.test:8443/a.yaml?x=1").unwrap();
        assert_eq!(locator.uri.to_string(), "https://h.test:8443/a.yaml?x=1");
        // printf 'ann:p@ss' | base64
        let header = locator.authorization.unwrap();
        assert_eq!((header.to_str().unwrap(), header.is_sensitive()), ("Basic YW5uOnBAc3M=", true));
    }

    #[test]
    fn a_digest_pins_the_content_and_any_other_fragment_is_refused() {
        let digest = "AB".repeat(32);
        let locator = Locator::parse(&format!("https://h/a.yaml#sha256={digest}")).unwrap();
        assert_eq!(locator.sha256, Some("ab".repeat(32)));
        assert_eq!(locator.uri.to_string(), "https://h/a.yaml");
        for bad in [
            "https://h/a#md5=00",
            "https://h/a#sha256=ab",
            &format!("https://h/a#sha256={}", "zz".repeat(32)),
        ] {
            assert!(matches!(Locator::parse(bad), Err(FetchError::Pin)), "{bad}");
        }
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for bad in ["https://", "https:///path", "://h/a", "https://h h/a"] {
            assert!(matches!(Locator::parse(bad), Err(FetchError::Malformed)), "{bad}");
        }
        assert_eq!(uri("https://h"), "https://h/");
    }

    #[test]
    fn redirects_are_resolved_against_where_they_come_from() {
        let from = Locator::parse("https://ann:x@h/d/a.yaml?q").unwrap();
        for (location, to) in [
            ("https://other/b", "https://other/b"),
            ("//other/b", "https://other/b"),
            ("/b#top", "https://h/b"),
            ("b", "https://h/d/b"),
            ("?r", "https://h/d/a.yaml?r"),
        ] {
            let next = from.redirected(location).unwrap();
            assert_eq!(next.uri.to_string(), to, "{location}");
            assert_eq!(next.authorization.is_some(), next.host() == "h", "{location}");
        }
        assert!(matches!(from.redirected(""), Err(FetchError::Redirect { .. })));
        assert!(matches!(from.redirected("http://h/b"), Err(FetchError::Downgrade { .. })));
        assert!(matches!(from.redirected("file:///etc/passwd"), Err(FetchError::Redirect { .. })));
    }
}
