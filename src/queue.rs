//! The work queue: which key is reconciled next.
//!
//! A pure data structure, driven by `controller`. Compared with the queue of kube-runtime it adds what a fleet
//! needs: a bound per lane (one lane is one target cluster), so that a dead cluster holds its own slots only, and an
//! order that depends on nothing but the calls, so that a simulation replays. Lanes under suspicion (their cluster did not
//! answer) share a bound of their own, so that however many clusters are dead, the others find a worker. A key is never handed out twice at a
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
    /// The same, of lanes under suspicion.
    runnable_suspects: BTreeSet<(u64, L)>,
    suspects: BTreeSet<L>,
    suspect_slots: usize,
    suspects_running: usize,
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
        suspect: bool,
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
            runnable_suspects: BTreeSet::new(),
            suspects: BTreeSet::new(),
            suspect_slots: usize::MAX,
            suspects_running: 0,
        }
    }

    /// The same queue, which hands out at most `slots` keys of lanes under suspicion at a time, one of each.
    #[must_use]
    pub fn with_suspects(self, slots: usize) -> Self {
        Self { suspect_slots: slots, ..self }
    }

    /// Puts a lane under suspicion, or clears it. Returns whether that is new.
    pub fn set_suspect(&mut self, lane: &L, suspect: bool) -> bool {
        let new = match suspect {
            true => self.suspects.insert(lane.clone()),
            false => self.suspects.remove(lane),
        };
        if new && let Some((serial, _)) = self.lanes.get(lane).and_then(|slots| slots.ready.front()) {
            let entry = (*serial, lane.clone());
            self.runnable.remove(&entry);
            self.runnable_suspects.remove(&entry);
            self.offer(lane.clone());
        }
        new
    }

    /// Asks for `key` to be handed out at `due` or soon after. An earlier wish for the same key stays, a later one
    /// is replaced. A key that is running is handed out again after [`Queue::done`].
    pub fn add(&mut self, key: K, lane: L, due: Instant) {
        match self.entries.get_mut(&key) {
            None => {}
            Some(Entry { state: State::Running { again, .. }, .. }) => {
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
        let suspect = self.next_is_suspect();
        let (_, lane) =
            if suspect { self.runnable_suspects.pop_first()? } else { self.runnable.pop_first()? };
        self.suspects_running += usize::from(suspect);
        let slots = self.lanes.get_mut(&lane).expect("a runnable lane exists");
        let (_, key) = slots.ready.pop_front().expect("a runnable lane has a ready key");
        slots.running += 1;
        self.entries.get_mut(&key).expect("a ready key has an entry").state =
            State::Running { again: None, suspect };
        self.offer(lane);
        Some(key)
    }

    /// Whether the oldest wish that can be fulfilled now is one of a lane under suspicion.
    fn next_is_suspect(&self) -> bool {
        let Some((theirs, _)) = self.runnable_suspects.first() else { return false };
        let older = self.runnable.first().is_none_or(|(ours, _)| theirs < ours);
        older && self.suspects_running < self.suspect_slots
    }

    /// The key that [`Queue::next`] handed out is finished. Returns its lane.
    pub fn done(&mut self, key: &K) -> Option<L> {
        let Entry { lane, state: State::Running { again, suspect } } = self.entries.remove(key)? else {
            return None;
        };
        self.suspects_running -= usize::from(suspect);
        if let Some(slots) = self.lanes.get_mut(&lane) {
            slots.running -= 1;
            if slots.running == 0 && slots.ready.is_empty() {
                self.lanes.remove(&lane);
            }
        }
        self.offer(lane.clone());
        if let Some((again_on, due)) = again {
            self.add(key.clone(), again_on, due);
        }
        Some(lane)
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
        let suspect = self.suspects.contains(&lane);
        if let Some((serial, _)) = slots.ready.front()
            && slots.running < if suspect { 1 } else { self.slots_per_lane }
        {
            let runnable = if suspect { &mut self.runnable_suspects } else { &mut self.runnable };
            runnable.insert((*serial, lane));
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
    async fn lanes_under_suspicion_share_a_bound_whatever_their_number() {
        let (now, mut queue) = (Instant::now(), Queue::new(2).with_suspects(2));
        for (key, lane) in [("a", "1"), ("a2", "1"), ("b", "2"), ("c", "3"), ("fine", "4")] {
            queue.add(key, lane, now);
        }
        for lane in ["1", "2", "3"] {
            assert!(queue.set_suspect(&lane, true));
            assert!(!queue.set_suspect(&lane, true));
        }
        assert_eq!(drain(&mut queue, now), ["a", "b", "fine"]);
        assert_eq!(queue.done(&"b"), Some("2"));
        assert_eq!(drain(&mut queue, now), ["c"]);
        assert!(queue.set_suspect(&"1", false));
        assert_eq!(drain(&mut queue, now), ["a2"], "a lane that is cleared has all its slots again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_handed_out_under_suspicion_gives_its_slot_back_when_its_lane_is_cleared_meanwhile() {
        let (now, mut queue) = (Instant::now(), Queue::new(2).with_suspects(1));
        queue.set_suspect(&"1", true);
        queue.add("a", "1", now);
        assert_eq!(drain(&mut queue, now), ["a"]);
        queue.set_suspect(&"1", false);
        queue.done(&"a");
        queue.set_suspect(&"2", true);
        queue.add("b", "2", now);
        assert_eq!(drain(&mut queue, now), ["b"]);
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
