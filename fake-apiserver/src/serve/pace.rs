//! Answers that go on, as watches do, at the pace of their clients: one piece is read ahead, a client that leaves it for
//! too long gets no more, and the end of the server is the end of them all. Where an answer ends early it ends without
//! an error, as a watch that is over.

use std::time::Duration;

use futures::stream;
use http_body::Body as _;
use http_body_util::{BodyExt, StreamBody};
use tokio::sync::mpsc;

use super::ending::Ending;
use crate::fault::Body;

/// The body, read by a task of its own unless its length is known, and by no more than one piece ahead.
pub(super) fn paced(body: Body, stall: Duration, ending: Ending) -> Body {
    if body.size_hint().exact().is_some() {
        return body;
    }
    let (ahead, taken) = mpsc::channel(1);
    tokio::spawn(read_ahead(body, ahead, stall, ending));
    let frames =
        stream::unfold(taken, |mut taken| async move { taken.recv().await.map(|frame| (frame, taken)) });
    StreamBody::new(frames).boxed_unsync()
}

type Frame = Result<http_body::Frame<bytes::Bytes>, tower::BoxError>;

async fn read_ahead(mut body: Body, ahead: mpsc::Sender<Frame>, stall: Duration, mut ending: Ending) {
    loop {
        let room = tokio::select! {
            biased;
            room = tokio::time::timeout(stall, ahead.reserve()) => room,
            () = ending.came() => return,
        };
        // The client has gone, or does not read.
        let Ok(Ok(room)) = room else { return };
        tokio::select! {
            biased;
            // Pieces first: what happened before the end is still sent.
            frame = body.frame() => match frame {
                Some(frame) => room.send(frame),
                None => return,
            },
            () = ending.came() => return,
            () = ahead.closed() => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use http_body_util::Full;
    use tokio::time::Instant;

    use super::super::ending::ending;
    use super::*;

    const STALL: Duration = Duration::from_secs(60);

    /// An endless body; the other half tells whether somebody still reads it.
    fn endless() -> (Body, Arc<()>) {
        let alive = Arc::new(());
        let frames = stream::unfold(alive.clone(), |alive| async move {
            Some((Ok(http_body::Frame::data(Bytes::from_static(b"event"))), alive))
        });
        (StreamBody::new(frames).boxed_unsync(), alive)
    }

    /// Waits until nobody reads the body any more.
    async fn dropped(alive: Arc<()>) {
        while Arc::strong_count(&alive) > 1 {
            tokio::task::yield_now().await;
            tokio::time::advance(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_read_gets_one_piece_and_then_the_end() {
        let (_end, ending) = ending();
        let ((body, alive), started) = (endless(), Instant::now());
        let slow = paced(body, STALL, ending);
        dropped(alive).await;
        assert!(started.elapsed() >= STALL);
        assert_eq!(slow.collect().await.unwrap().to_bytes(), "event");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_now_and_then_is_served_on() {
        let (_end, ending) = ending();
        let mut reader = paced(endless().0, STALL, ending);
        for _ in 0..10 {
            assert!(reader.frame().await.unwrap().unwrap().is_data());
            tokio::time::advance(STALL / 2).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_without_events_is_not_slow() {
        let (_end, ending) = ending();
        let silent = stream::once(async {
            tokio::time::sleep(10 * STALL).await;
            Ok(http_body::Frame::data(Bytes::from_static(b"late")))
        });
        let body = paced(StreamBody::new(silent).boxed_unsync(), STALL, ending);
        assert_eq!(body.collect().await.unwrap().to_bytes(), "late");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_goes_ends_its_watch() {
        let (_end, ending) = ending();
        let silent = stream::pending::<Frame>();
        let alive = Arc::new(());
        let held = alive.clone();
        let frames = futures::StreamExt::inspect(silent, move |_| drop(held.clone()));
        drop(paced(StreamBody::new(frames).boxed_unsync(), STALL, ending));
        dropped(alive).await;
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_server_ends_a_watch() {
        let (end, ending) = ending();
        let silent = StreamBody::new(stream::pending::<Frame>()).boxed_unsync();
        let body = paced(silent, STALL, ending);
        end.now();
        assert!(body.collect().await.unwrap().to_bytes().is_empty());
    }

    #[tokio::test]
    async fn a_body_of_known_length_is_left_alone() {
        let (_end, ending) = ending();
        let full = Full::new(Bytes::from_static(b"all")).map_err(|never| match never {}).boxed_unsync();
        assert_eq!(paced(full, STALL, ending).size_hint().exact(), Some(3));
    }
}
