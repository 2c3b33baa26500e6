//! How much of a server one client may take, so that none of them holds up the others. Nothing here enforces it:
//! `connection` bounds connections, `wire` bodies, `stall` and `pace` what is sent to those who do not read.

use std::time::Duration;

/// How much of a server its clients may take.
///
/// Further bounds are not for choosing: a watch reads at most 256 events or about a mebibyte ahead of its client, holds
/// up no writer, and answers 410 when the history has moved on without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at one time, at least one; further ones wait until another ends.
    pub connections: usize,
    /// Bytes of the head of a request, at least 8 KiB; one with a larger head is answered with 431.
    pub head_bytes: u32,
    /// Bytes of the body of a request; one with a larger body is answered with 413.
    pub body_bytes: usize,
    /// Requests in progress on one HTTP/2 connection, watches included; a client waits with further ones.
    pub streams: u32,
    /// Time for the TLS handshake.
    pub handshake: Duration,
    /// Time for the head of a request, from the moment the connection is free for it. A connection without a complete
    /// head is closed, over HTTP/2 only one that never had any.
    pub head: Duration,
    /// Time for the body of a request; one that takes longer is answered with 408.
    pub body: Duration,
    /// How long a client may leave unread what is sent to it. After that its watch ends; a connection that takes
    /// nothing at all is closed.
    pub stall: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            head_bytes: 64 * 1024,
            // As for a real server: etcd takes no more.
            body_bytes: 3 * 1024 * 1024,
            streams: 1000,
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(60),
            body: Duration::from_secs(60),
            stall: Duration::from_secs(60),
        }
    }
}

/// The smallest head that can be asked for: below it the HTTP library has no room to read.
pub(super) const LEAST_HEAD: u32 = 8 * 1024;
