//! A fleet as large as asked for: how soon its healthy clusters are ready beside dark ones, and what rest costs.

use std::time::Duration;

use fake_apiserver::fault::{Action, Match, Rule};
use serde::Serialize;

use crate::network::Site;
use crate::story::{component, serving};
use crate::world::{Options, World};

/// How often it is looked who is ready.
const LOOK: Duration = Duration::from_millis(250);
/// Long enough for the largest fleet.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// How large, and how ill.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Size {
    /// Spokes, each with one KnativeServing.
    pub spokes: usize,
    /// How many of them are dark, evenly spread: a third each refuses, is silent, and stalls after the headers.
    pub dark: usize,
}

impl Size {
    /// How the spoke is dark, if it is.
    fn darkness(self, spoke: usize) -> Option<usize> {
        let before = spoke * self.dark / self.spokes.max(1);
        let after = (spoke + 1) * self.dark / self.spokes.max(1);
        (after > before).then_some(before)
    }
}

/// What came of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures {
    /// Seconds from the creation of all resources until each healthy one was Ready, in order.
    pub ready_secs: Vec<f64>,
    /// Requests of the operator until the last healthy one was Ready.
    pub requests: usize,
    /// Requests at rest, for each healthy spoke and hour, on spokes and hub together.
    pub rest_requests: f64,
    /// Writes at rest, on all clusters together, Leases left out.
    pub rest_writes: usize,
    /// What the caller's measure of memory fell by when the operator went: what it held, in bytes.
    pub held_bytes: usize,
}

impl Figures {
    /// The time within which this share (0 to 1) of the healthy spokes was ready, in seconds.
    pub fn percentile(&self, share: f64) -> f64 {
        let last = self.ready_secs.len().saturating_sub(1);
        let place = (self.ready_secs.len() as f64 * share).ceil() as usize;
        self.ready_secs.get(place.saturating_sub(1).min(last)).copied().unwrap_or_default()
    }
}

/// Installs the fleet, lets it rest for `rest`, and takes the operator away. `heap` tells how many bytes are in use.
///
/// # Errors
/// How many healthy spokes are still not ready after hours.
pub async fn measure(
    options: Options,
    size: Size,
    rest: Duration,
    heap: impl Fn() -> usize,
) -> Result<Figures, String> {
    let mut world = World::new(options);
    for spoke in 0..size.spokes {
        let site = world.add_spoke(&name(spoke));
        if let Some(how) = size.darkness(spoke) {
            darken(&site, how);
        }
    }
    world.start_operator();
    for spoke in 0..size.spokes {
        let spec = &serving("1.23.0", Some(&name(spoke)))["spec"];
        world.submit(component(id(&name(spoke)), spec));
    }
    let mut figures = Figures::default();
    let mut waiting: Vec<usize> = (0..size.spokes).filter(|spoke| size.darkness(*spoke).is_none()).collect();
    let healthy = waiting.len();
    let start = tokio::time::Instant::now();
    while !waiting.is_empty() && start.elapsed() < PATIENCE {
        world.pass(LOOK).await;
        let now = start.elapsed().as_secs_f64();
        waiting.retain(|spoke| {
            let ready = world.is_ready(id(&name(*spoke)), "1.23.0");
            figures.ready_secs.extend(ready.then_some(now));
            !ready
        });
    }
    if !waiting.is_empty() {
        return Err(format!(
            "{} of {healthy} healthy spokes are not ready after {PATIENCE:?}",
            waiting.len()
        ));
    }
    figures.requests = world.trace.len();
    // The last statuses are written, and looks for drift have spread.
    world.pass(Duration::from_secs(300)).await;
    let start = world.trace.len();
    world.pass(rest).await;
    let seen = world.trace.requests_since(start);
    let hours = rest.as_secs_f64() / 3600.0;
    figures.rest_requests = seen.len() as f64 / healthy.max(1) as f64 / hours;
    figures.rest_writes =
        seen.iter().filter(|request| request.is_write() && !request.path.contains("/leases")).count();
    drop(seen);
    let held = heap();
    world.stop_operator();
    // The runtime drops what was aborted when it comes round to it.
    world.pass(Duration::from_millis(1)).await;
    figures.held_bytes = held.saturating_sub(heap());
    Ok(figures)
}

fn name(spoke: usize) -> String {
    format!("spoke-{spoke:04}")
}

fn id(namespace: &str) -> (&str, &str, &str) {
    ("KnativeServing", namespace, "knative-serving")
}

fn darken(site: &Site, how: usize) {
    match how % 3 {
        0 => site.link.cut(),
        1 => site.link.black_hole(),
        _ => drop(site.link.add(Rule { when: Match::any(), then: Action::StallBody })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::run;
    use crate::seed::Seed;

    #[test]
    fn so_many_are_dark_as_asked_and_spread_evenly() {
        let size = Size { spokes: 100, dark: 9 };
        let dark: Vec<_> = (0..100).filter_map(|spoke| size.darkness(spoke)).collect();
        assert_eq!(dark, (0..9).collect::<Vec<_>>());
        assert_eq!(Size { spokes: 5, dark: 0 }.darkness(2), None);
        assert_eq!(Size { spokes: 2, dark: 2 }.darkness(1), Some(1));
    }

    #[test]
    fn a_percentile_is_a_time_that_occurred() {
        let figures = Figures { ready_secs: vec![1.0, 2.0, 3.0, 4.0], ..Figures::default() };
        assert_eq!(
            [figures.percentile(0.0), figures.percentile(0.5), figures.percentile(0.99)],
            [1.0, 2.0, 4.0]
        );
        assert_eq!(Figures::default().percentile(0.5), 0.0);
    }

    #[test]
    fn a_small_fleet_with_a_dark_cluster_gets_ready_and_rests_without_a_write() {
        let options = Options::new(Seed(1));
        let size = Size { spokes: 4, dark: 1 };
        let figures =
            run(move || async move { measure(options, size, Duration::from_secs(600), || 0).await });
        let figures = figures.expect("ready");
        assert_eq!((figures.ready_secs.len(), figures.rest_writes), (3, 0));
        assert!(figures.rest_requests > 0.0);
    }
}
