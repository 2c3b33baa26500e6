//! Compressed answers, as `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters` gives them: large JSON to whoever
//! reads and accepts gzip. Watches and small answers stay as they are.

use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};
use http_body_util::Full;
use tower::{Service, ServiceExt};

use crate::FakeService;
use crate::response::{BoxError, ResponseBody};

/// Bytes from which on an answer is compressed.
const LEAST: usize = 128 * 1024;

/// Cheaper than what gzip does when nobody chooses, and not much larger.
const LEVEL: u32 = 4;

/// A cluster that compresses.
#[derive(Clone, Debug)]
pub(super) struct Gzip(pub(super) FakeService);

impl Service<Request<Full<Bytes>>> for Gzip {
    type Response = Response<ResponseBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<ResponseBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let wanted = request.method() == Method::GET && accepts_gzip(request.headers());
        let answer = self.0.clone().oneshot(request);
        Box::pin(async move {
            let response = answer.await?;
            match large_json(&response).filter(|_| wanted).cloned() {
                // Some megabytes take their time, which other requests should not wait for.
                Some(plain) => {
                    let packed = tokio::task::spawn_blocking(move || pack(&plain)).await??;
                    Ok(packed_response(response, packed))
                }
                None => Ok(response),
            }
        })
    }
}

/// Whether gzip is among the accepted encodings. As a real server does, it takes no note of weights.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .any(|entry| entry.split(';').next().is_some_and(|name| name.trim() == "gzip"))
}

/// The body, if it is one to be compressed.
fn large_json(response: &Response<ResponseBody>) -> Option<&Bytes> {
    let json = response.headers().get(header::CONTENT_TYPE)?.as_bytes().starts_with(b"application/json");
    response.body().bytes().filter(|bytes| json && bytes.len() >= LEAST)
}

fn pack(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 8), Compression::new(LEVEL));
    encoder.write_all(plain)?;
    encoder.finish()
}

fn packed_response(response: Response<ResponseBody>, packed: Vec<u8>) -> Response<ResponseBody> {
    let mut response = response.map(|_| ResponseBody::full(packed));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_found_among_other_encodings() {
        let accepts = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, text.parse().unwrap());
            accepts_gzip(&headers)
        };
        for yes in ["gzip", "deflate, gzip;q=0.5", "br,gzip"] {
            assert!(accepts(yes), "{yes}");
        }
        for no in ["", "identity", "x-gzip", "*"] {
            assert!(!accepts(no), "{no}");
        }
    }

    #[test]
    fn only_large_json_is_compressed() {
        let answer = |kind: &'static str, size: usize| {
            let response = Response::builder().header(header::CONTENT_TYPE, kind);
            large_json(&response.body(ResponseBody::full(vec![b' '; size])).unwrap()).is_some()
        };
        assert!(answer("application/json", LEAST));
        assert!(!answer("application/json", LEAST - 1));
        assert!(!answer("application/yaml", LEAST));
    }
}
