//! A fleet as large as asked for: how soon its healthy clusters are ready beside dark ones, and what rest costs.

use std::time::Duration;

use fake_apiserver::fault::{Action, Match, Rule};
use serde::Serialize;
use serde_json::Value;

use crate::network::Site;
use crate::story::{component, serving};
use crate::world::{Options, World};

/// How often it is looked who is ready.
const LOOK: Duration = Duration::from_millis(250);
/// Long enough for the largest fleet.
const PATIENCE: Duration = Duration::from_secs(4 * 3600);
/// The release that every spoke gets.
const VERSION: &str = "1.23.0";

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
    /// See [`install`].
    pub ready_secs: Vec<f64>,
    /// Requests of the operator until the last healthy one was Ready.
    pub requests: usize,
    /// Requests at rest, for each healthy spoke and hour, on spokes and hub together.
    pub rest_requests: f64,
    /// Writes at rest, on all clusters together, Leases left out.
    pub rest_writes: usize,
}

impl Figures {
    /// See [`percentile`], in seconds.
    pub fn percentile(&self, share: f64) -> f64 {
        percentile(&self.ready_secs, share)
    }
}

/// The time within which this share (0 to 1) of the healthy spokes was ready; the times are in order.
pub fn percentile(times: &[f64], share: f64) -> f64 {
    let place = (times.len() as f64 * share).ceil() as usize;
    times.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

/// Installs a fleet with kourier and lets it rest for `rest`.
///
/// # Errors
/// See [`install`].
pub async fn measure(options: Options, size: Size, rest: Duration) -> Result<Figures, String> {
    let mut world = World::new(options);
    let spec = |spoke: &str| serving(VERSION, Some(spoke))["spec"].clone();
    let ready_secs = install(&mut world, size, &spec).await?;
    let requests = world.trace.len();
    // The last statuses are written, and looks for drift have spread.
    world.pass(Duration::from_secs(300)).await;
    let start = world.trace.len();
    world.pass(rest).await;
    let seen = world.trace.requests_since(start);
    let spoke_hours = ready_secs.len().max(1) as f64 * rest.as_secs_f64() / 3600.0;
    let writes = seen.iter().filter(|request| request.is_write() && !request.path.contains("/leases"));
    let (rest_requests, rest_writes) = (seen.len() as f64 / spoke_hours, writes.count());
    Ok(Figures { ready_secs, requests, rest_requests, rest_writes })
}

/// Puts a fleet into a world and starts the operator. Gives the seconds until each healthy spoke was Ready with its
/// resource, whose `spec` is made from its name, counted from when all resources were there, in order.
///
/// # Errors
/// How many healthy spokes are still not ready after hours.
pub async fn install(
    world: &mut World,
    size: Size,
    spec: &(dyn Fn(&str) -> Value + Sync),
) -> Result<Vec<f64>, String> {
    for spoke in 0..size.spokes {
        let site = world.add_spoke(&name(spoke));
        if let Some(how) = size.darkness(spoke) {
            darken(&site, how);
        }
    }
    world.start_operator();
    for spoke in (0..size.spokes).map(name) {
        world.submit(component(id(&spoke), &spec(&spoke)));
    }
    let mut waiting: Vec<usize> = (0..size.spokes).filter(|spoke| size.darkness(*spoke).is_none()).collect();
    let (start, mut times) = (tokio::time::Instant::now(), Vec::new());
    while !waiting.is_empty() && start.elapsed() < PATIENCE {
        world.pass(LOOK).await;
        let now = start.elapsed().as_secs_f64();
        waiting.retain(|spoke| {
            let ready = world.is_ready(id(&name(*spoke)), VERSION);
            times.extend(ready.then_some(now));
            !ready
        });
    }
    match waiting.len() {
        0 => Ok(times),
        late => Err(format!("{late} healthy spokes are not ready after {PATIENCE:?}")),
    }
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
        let times = [1.0, 2.0, 3.0, 4.0];
        assert_eq!([0.0, 0.5, 0.99].map(|share| percentile(&times, share)), [1.0, 2.0, 4.0]);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn a_small_fleet_with_a_dark_cluster_gets_ready_and_rests_without_a_write() {
        let options = Options::new(Seed(1));
        let size = Size { spokes: 4, dark: 1 };
        let figures = run(move || async move { measure(options, size, Duration::from_secs(600)).await });
        let figures = figures.expect("ready");
        assert_eq!((figures.ready_secs.len(), figures.rest_writes), (3, 0));
        assert!(figures.rest_requests > 0.0);
    }
}
