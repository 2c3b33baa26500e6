//! A body that says how long it is though it comes as a stream, as an answer over a wire does.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use tower::BoxError;

use super::link::Body;

/// A stream with what is left of its length, if that is known.
struct Measured {
    stream: Body,
    left: Option<u64>,
}

/// `stream` with the length that `hint` tells, if it does.
pub(super) fn measured(stream: Body, hint: &SizeHint) -> Body {
    Measured { stream, left: hint.exact() }.boxed_unsync()
}

impl http_body::Body for Measured {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let next = std::task::ready!(Pin::new(&mut self.stream).poll_frame(cx));
        if let Some(Ok(frame)) = &next {
            let taken = frame.data_ref().map_or(0, |data| data.len() as u64);
            self.left = self.left.map(|left| left.saturating_sub(taken));
        }
        Poll::Ready(next)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
