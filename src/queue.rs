//! The work queue: which key is reconciled next.
//!
//! A pure data structure, driven by `controller`. Compared with the queue of kube-runtime it adds what a fleet
//! needs: a bound per lane (one lane is one target cluster), so that a dead cluster holds its own slots only, and an
//! order that depends on nothing but the calls, so that a simulation replays. A key is never handed out twice at a
//! time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tokio::time::Instant;

/// Keys that wait, are ready, or run. `K` is what is reconciled, `L` the lane that bounds its concurrency.
#[derive(Debug)]
pub struct Queue<K, L> {
    slots_per_lane: usize,
    serial: u64,
    /// Keys that are not due yet, in the order in which they become due.
    waiting: BTreeMap<(Instant, u64), K>,
    entries: BTreeMap<K, Entry<L>>,
    lanes: BTreeMap<L, Lane<K>>,
    /// Lanes with a free slot and a ready key, by the age of that key.
    runnable: BTreeSet<(u64, L)>,
}

#[derive(Debug)]
struct Entry<L> {
    lane: L,
    state: State<L>,
}

#[derive(Debug)]
enum State<L> {
    Waiting {
        due: Instant,
        serial: u64,
    },
    Ready,
    /// Handed out; `again` holds what was asked for meanwhile.
    Running {
        again: Option<(L, Instant)>,
    },
}

#[derive(Debug)]
struct Lane<K> {
    ready: VecDeque<(u64, K)>,
    running: usize,
}

impl<K: Ord + Clone, L: Ord + Clone> Queue<K, L> {
    /// An empty queue that hands out at most `slots_per_lane` keys of one lane at a time.
    pub fn new(slots_per_lane: usize) -> Self {
        Self {
            slots_per_lane,
            serial: 0,
            waiting: BTreeMap::new(),
            entries: BTreeMap::new(),
            lanes: BTreeMap::new(),
            runnable: BTreeSet::new(),
        }
    }

    /// Asks for `key` to be handed out at `due` or soon after. An earlier wish for the same key stays, a later one
    /// is replaced. A key that is running is handed out again after [`Queue::done`].
    pub fn add(&mut self, key: K, lane: L, due: Instant) {
        match self.entries.get_mut(&key) {
            None => {}
            Some(Entry { state: State::Running { again }, .. }) => {
                let due = again.as_ref().map_or(due, |(_, earlier)| due.min(*earlier));
                *again = Some((lane, due));
                return;
            }
            Some(Entry { state: State::Ready, .. }) => return,
            Some(Entry { state: State::Waiting { due: earlier, .. }, .. }) if *earlier <= due => return,
            Some(Entry { state: State::Waiting { due, serial }, .. }) => {
                self.waiting.remove(&(*due, *serial));
            }
        }
        self.serial += 1;
        self.waiting.insert((due, self.serial), key.clone());
        self.entries.insert(key, Entry { lane, state: State::Waiting { due, serial: self.serial } });
    }

    /// The next key to run at `now`, if any is due and its lane has a free slot. Oldest wish first.
    pub fn next(&mut self, now: Instant) -> Option<K> {
        self.promote(now);
        let (_, lane) = self.runnable.pop_first()?;
        let slots = self.lanes.get_mut(&lane).expect("a runnable lane exists");
        let (_, key) = slots.ready.pop_front().expect("a runnable lane has a ready key");
        slots.running += 1;
        self.entries.get_mut(&key).expect("a ready key has an entry").state = State::Running { again: None };
        self.offer(lane);
        Some(key)
    }

    /// The key that [`Queue::next`] handed out is finished.
    pub fn done(&mut self, key: &K) {
        let Some(Entry { lane, state: State::Running { again } }) = self.entries.remove(key) else {
            return;
        };
        if let Some(slots) = self.lanes.get_mut(&lane) {
            slots.running -= 1;
            if slots.running == 0 && slots.ready.is_empty() {
                self.lanes.remove(&lane);
            }
        }
        self.offer(lane);
        if let Some((lane, due)) = again {
            self.add(key.clone(), lane, due);
        }
    }

    /// When the next key becomes due, if none is ready now.
    pub fn wake_at(&self) -> Option<Instant> {
        self.waiting.first_key_value().map(|((due, _), _)| *due)
    }

    /// Keys that are not running.
    pub fn len(&self) -> usize {
        self.entries.values().filter(|entry| !matches!(entry.state, State::Running { .. })).count()
    }

    /// Whether nothing waits or is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves what is due to its lane.
    fn promote(&mut self, now: Instant) {
        while let Some(first) = self.waiting.first_entry() {
            let (due, serial) = *first.key();
            if due > now {
                return;
            }
            let key = first.remove();
            let entry = self.entries.get_mut(&key).expect("a waiting key has an entry");
            entry.state = State::Ready;
            let lane = entry.lane.clone();
            let slots =
                self.lanes.entry(lane.clone()).or_insert_with(|| Lane { ready: VecDeque::new(), running: 0 });
            slots.ready.push_back((serial, key));
            self.offer(lane);
        }
    }

    /// Lists the lane as runnable if it has a free slot and a ready key.
    fn offer(&mut self, lane: L) {
        let Some(slots) = self.lanes.get(&lane) else { return };
        if let Some((serial, _)) = slots.ready.front()
            && slots.running < self.slots_per_lane
        {
            self.runnable.insert((*serial, lane));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn drain(queue: &mut Queue<&'static str, &'static str>, now: Instant) -> Vec<&'static str> {
        std::iter::from_fn(|| queue.next(now)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn keys_come_out_when_due_in_the_order_of_the_wishes() {
        let (now, mut queue) = (Instant::now(), Queue::new(9));
        queue.add("c", "x", now + Duration::from_secs(1));
        queue.add("b", "x", now);
        queue.add("a", "y", now);
        assert_eq!(drain(&mut queue, now), ["b", "a"]);
        assert_eq!(queue.wake_at(), Some(now + Duration::from_secs(1)));
        assert_eq!(drain(&mut queue, now + Duration::from_secs(1)), ["c"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_lane_does_not_hold_up_the_others() {
        let (now, mut queue) = (Instant::now(), Queue::new(1));
        for (key, lane) in [("dead1", "dead"), ("dead2", "dead"), ("fine1", "fine")] {
            queue.add(key, lane, now);
        }
        assert_eq!(drain(&mut queue, now), ["dead1", "fine1"]);
        queue.done(&"dead1");
        assert_eq!(drain(&mut queue, now), ["dead2"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_key_is_handed_out_again_only_after_it_is_done() {
        let (now, mut queue) = (Instant::now(), Queue::new(9));
        queue.add("a", "x", now);
        assert_eq!(drain(&mut queue, now), ["a"]);
        queue.add("a", "x", now + Duration::from_secs(5));
        queue.add("a", "y", now);
        assert_eq!(drain(&mut queue, now), [""; 0]);
        queue.done(&"a");
        assert_eq!(drain(&mut queue, now), ["a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_earliest_wish_for_a_key_counts() {
        let (now, mut queue) = (Instant::now(), Queue::new(9));
        queue.add("a", "x", now + Duration::from_secs(9));
        queue.add("a", "x", now);
        queue.add("a", "x", now + Duration::from_secs(5));
        assert_eq!(drain(&mut queue, now), ["a"]);
        queue.done(&"a");
        assert!(queue.is_empty());
        assert_eq!(queue.wake_at(), None);
    }
}
