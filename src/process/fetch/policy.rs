//! What may be read on behalf of whoever writes a custom resource: schemes, hosts, addresses, directories.
//!
//! Pure but for the look at the file system that finds out where a path leads. Without it, everyone who may create a
//! custom resource could have the operator ask the services and read the files that it can reach (W47). The default:
//! `https` to hosts with public addresses, and no files outside the data root.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use super::FetchError;
use super::locator::Locator;

/// The allow-lists.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Allowed schemes: `https`, `http`.
    pub schemes: BTreeSet<String>,
    /// Allowed hosts: a name or address, `*.name` for all names below it, `*` for all with public addresses. A host
    /// that is listed itself may have any address.
    pub hosts: Vec<String>,
    /// Directories below which files may be read.
    pub directories: Vec<PathBuf>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { schemes: ["https".to_owned()].into(), hosts: vec!["*".into()], directories: Vec::new() }
    }
}

impl Policy {
    /// Whether a URL may be asked at all. Names are looked at once more when their addresses are known.
    ///
    /// # Errors
    /// [`FetchError::Scheme`], [`FetchError::Host`], [`FetchError::Address`].
    pub(super) fn check(&self, locator: &Locator) -> Result<(), FetchError> {
        let scheme = locator.uri.scheme_str().unwrap_or_default();
        // Nothing else is spoken here, whatever the list says.
        if !matches!(scheme, "http" | "https") || !self.schemes.contains(scheme) {
            return Err(FetchError::Scheme { scheme: scheme.into() });
        }
        let host = locator.host();
        match host.parse::<IpAddr>() {
            Ok(address) => self.check_address(host, address),
            Err(_) if self.lists(host) || self.any_host() => Ok(()),
            Err(_) => Err(FetchError::Host { host: host.into() }),
        }
    }

    /// Whether a host may be asked at this address.
    ///
    /// # Errors
    /// [`FetchError::Host`], [`FetchError::Address`].
    pub(super) fn check_address(&self, host: &str, address: IpAddr) -> Result<(), FetchError> {
        match () {
            () if self.lists(host) => Ok(()),
            () if !self.any_host() => Err(FetchError::Host { host: host.into() }),
            () if is_public(address) => Ok(()),
            () => Err(FetchError::Address { host: host.into() }),
        }
    }

    /// The real place of a file, if it may be read.
    ///
    /// # Errors
    /// [`FetchError::Directory`]. A path that leads nowhere is given back as it is: reading it fails by itself.
    pub(super) fn check_path(&self, path: &str) -> Result<PathBuf, FetchError> {
        // Symbolic links and `..` are followed first, so that they lead nowhere else.
        let real = std::fs::canonicalize(path);
        let roots = || self.directories.iter().filter_map(|directory| std::fs::canonicalize(directory).ok());
        match real {
            Ok(real) if roots().any(|root| real.starts_with(root)) => Ok(real),
            // Whether there is a file is nobody's business either.
            Err(_) if self.directories.iter().any(|directory| Path::new(path).starts_with(directory)) => {
                Ok(path.into())
            }
            _ => Err(FetchError::Directory),
        }
    }

    fn any_host(&self) -> bool {
        self.hosts.iter().any(|pattern| pattern == "*")
    }

    fn lists(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.iter().any(|pattern| {
            let pattern = pattern.to_ascii_lowercase();
            match pattern.strip_prefix("*.") {
                Some(parent) => {
                    host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
                }
                None => pattern != "*" && pattern == host,
            }
        })
    }
}

/// Whether an address is one of the internet's rather than of this machine, its network or no host at all (the
/// special-purpose registries of RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let special = v4.is_private()
        || v4.is_loopback()
        || v4.is_link_local()
        || v4.is_documentation()
        || v4.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (18..20).contains(&b));
    !special
}

fn is_public_v6(v6: Ipv6Addr) -> bool {
    let segments = v6.segments();
    // Behind NAT64 every IPv4 host has an address of this form.
    if segments[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [.., a, b, c, d] = v6.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    let global = segments[0] & 0xe000 == 0x2000;
    // Documentation, Teredo and 6to4: the latter two lead to IPv4 addresses of any kind.
    let special = matches!(segments, [0x2001, 0x0db8 | 0, ..] | [0x2002, ..]);
    global && !special
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(schemes: &[&str], hosts: &[&str]) -> Policy {
        Policy {
            schemes: schemes.iter().map(ToString::to_string).collect(),
            hosts: hosts.iter().map(ToString::to_string).collect(),
            directories: Vec::new(),
        }
    }

    fn says(policy: &Policy, url: &str) -> String {
        match policy.check(&Locator::parse(url).unwrap()) {
            Ok(()) => "yes".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn w47_by_default_https_to_the_internet_is_allowed_and_nothing_else() {
        let default = Policy::default();
        assert_eq!(says(&default, "https://github.com/a.yaml"), "yes");
        assert_eq!(says(&default, "https://140.82.121.4/a.yaml"), "yes");
        for (url, word) in [
            ("http://github.com/a.yaml", "--manifest-schemes"),
            ("file://host/etc/passwd", "--manifest-schemes"),
            ("https://127.0.0.1/a", "--manifest-hosts"),
            ("https://169.254.169.254/latest/meta-data", "--manifest-hosts"),
            ("https://[::1]/a", "--manifest-hosts"),
        ] {
            assert!(says(&default, url).contains(word), "{url}: {}", says(&default, url));
        }
    }

    #[test]
    fn listed_hosts_may_have_any_address_and_a_star_stands_for_names_below() {
        let listed = policy(&["https"], &["mirror.corp.test", "*.example.test", "10.0.0.7"]);
        for url in ["https://MIRROR.corp.test/a", "https://a.b.example.test/a", "https://10.0.0.7/a"] {
            assert_eq!(says(&listed, url), "yes", "{url}");
        }
        for url in [
            "https://example.test/a",
            "https://badexample.test/a",
            "https://10.0.0.8/a",
            "https://github.com/a",
        ] {
            assert_ne!(says(&listed, url), "yes", "{url}");
        }
        let private = "10.1.1.1".parse().unwrap();
        assert!(listed.check_address("mirror.corp.test", private).is_ok());
        assert!(Policy::default().check_address("mirror.corp.test", private).is_err());
    }

    #[test]
    fn a_scheme_that_nobody_speaks_stays_refused_even_if_listed() {
        assert!(says(&policy(&["file", "ftp"], &["*"]), "ftp://h/a").contains("ftp"));
    }

    #[test]
    fn addresses_of_this_machine_and_its_networks_are_not_public() {
        for private in [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "172.16.0.1",
            "192.0.0.1",
            "192.168.0.1",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:a00:1::",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn files_are_read_below_the_listed_directories_only() {
        let root = std::env::temp_dir().join(format!("policy-{}", std::process::id()));
        let (inside, outside) = (root.join("in"), root.join("out.yaml"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("a.yaml"), "").unwrap();
        std::fs::write(&outside, "").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("link.yaml")).unwrap();
        let policy = Policy { directories: vec![inside.clone()], ..Policy::default() };
        let check = |path: PathBuf| policy.check_path(path.to_str().unwrap()).is_ok();
        assert!(check(inside.join("a.yaml")));
        assert!(check(inside.join("missing.yaml")), "reading it says so");
        assert!(
            !check(inside.join("link.yaml")) && !check(inside.join("../out.yaml")) && !check(outside.clone())
        );
        assert!(!check("/etc/hostname".into()) && !check("/no/such/file".into()));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
