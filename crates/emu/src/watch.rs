// SPDX-License-Identifier: MIT OR Apache-2.0
//! What runs, on a page of this machine alone.
//!
//! The relay says once a second how the queues stand, the flows how they do; a thread of its own makes a sample of both. Neither
//! waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use lasthop_core::units::{Bytes, Duration, Instant};
use lasthop_linux::Attempt;
use lasthop_live::{History, LiveQueue, LiveStation, Sample, Server};
use lasthop_scenario::ScenarioError;
use lasthop_sim::node::QueueLook;

use crate::error::Error;

/// How often it is brought up to date.
const EVERY: Duration = Duration::from_secs(1);
/// The stack of the thread that makes samples \[B\]: all memory is locked.
const STACK: usize = 256 << 10;

/// A flow as it stands.
#[derive(Clone, Debug)]
pub(crate) struct FlowLook {
    pub(crate) host: String,
    /// What has been acknowledged so far \[B\].
    pub(crate) acknowledged: u64,
    /// The smaller of its windows \[B\].
    pub(crate) window: u64,
    pub(crate) rtt_s: Option<f64>,
}

enum News {
    Queues(Instant, Vec<QueueLook>),
    Flows(Instant, Vec<FlowLook>),
}

/// Tells the page how something stands, now and then.
#[derive(Clone, Debug)]
pub(crate) struct Teller {
    next: Instant,
    to: Sender<News>,
}

impl Teller {
    /// Whether it is time.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now >= self.next
    }

    pub(crate) fn queues(&mut self, now: Instant, looks: Vec<QueueLook>) {
        self.tell(now, News::Queues(now, looks));
    }

    pub(crate) fn flows(&mut self, now: Instant, looks: Vec<FlowLook>) {
        self.tell(now, News::Flows(now, looks));
    }

    fn tell(&mut self, now: Instant, news: News) {
        // Where nobody listens any more, the run ends as it would.
        let _ = self.to.send(news);
        self.next = now + EVERY;
    }
}

/// Opens the page of a run by this title at an address; what leaves queues is counted since `from`. It is served as long as the
/// server lives, and brought up to date as long as there are tellers.
///
/// # Errors
/// An address that is not of this machine alone, or that another has.
pub(crate) fn open(address: &str, title: &str, from: Instant) -> Result<(Server, Teller), Error> {
    let wanted = "an address of this machine alone and a port, such as 127.0.0.1:9470";
    let at = lasthop_live::loopback(address)
        .filter(|address| address.port() > 0)
        .ok_or_else(|| ScenarioError::refused("--watch", address, wanted))?;
    let history = Arc::new(History::new(title, None));
    let server = Server::start(at, Arc::clone(&history), |_| None)
        .map_err(|error| ScenarioError::refused("--watch", address, format!("an address that is free: {error}")))?;
    let (to, news) = channel();
    thread::Builder::new()
        .name("samples".into())
        .stack_size(STACK)
        .spawn(move || listen(&news, &history, from))
        .attempt("start a thread for the page")?;
    Ok((server, Teller { next: Instant::ZERO, to }))
}

fn listen(news: &Receiver<News>, history: &History, from: Instant) {
    let (mut queues, mut stations) = (Queues { from, ..Queues::default() }, Stations::default());
    for news in news {
        match news {
            News::Flows(at, looks) => stations.look(at, looks),
            News::Queues(at, looks) => history.add(Sample {
                t_s: (at - Instant::ZERO).as_secs_f64(),
                queues: queues.look(at, looks),
                stations: stations.shown.clone(),
            }),
        }
    }
}

/// Rates from counts at two moments.
#[derive(Debug, Default)]
struct Rates {
    seen: Option<(Instant, BTreeMap<String, u64>)>,
}

impl Rates {
    /// The rates since the last time, of all that was there then \[bit/s\].
    fn of(&mut self, at: Instant, counts: BTreeMap<String, u64>) -> BTreeMap<String, f64> {
        let before = self.seen.replace((at, counts.clone()));
        let Some((then, before)) = before.filter(|(then, _)| *then < at) else { return BTreeMap::new() };
        let span_s = (at - then).as_secs_f64();
        let rate = |(name, bytes): (String, u64)| {
            let since = bytes.saturating_sub(*before.get(&name)?);
            Some((name, since as f64 * 8.0 / span_s))
        };
        counts.into_iter().filter_map(rate).collect()
    }
}

#[derive(Debug, Default)]
struct Queues {
    from: Instant,
    rates: Rates,
    /// Those in which something waited at the last look.
    held: BTreeSet<String>,
}

impl Queues {
    fn look(&mut self, at: Instant, looks: Vec<QueueLook>) -> Vec<LiveQueue> {
        if at < self.from {
            return looks.into_iter().map(|look| live(look, None, None)).collect();
        }
        let rates = self.rates.of(at, looks.iter().map(|look| (look.name.clone(), look.departed.get())).collect());
        let held = looks.iter().filter(|look| look.bytes > Bytes::ZERO).map(|look| look.name.clone()).collect();
        let held_before = std::mem::replace(&mut self.held, held);
        let shown = |look: QueueLook| {
            let rate_bps = rates.get(&look.name).copied();
            let bytes = look.bytes.as_f64();
            // What left while the line was idle too says nothing of how long the rest takes.
            let busy_bps = rate_bps.filter(|bps| *bps > 0.0 && held_before.contains(&look.name));
            let delay_s = if bytes > 0.0 { busy_bps.map(|bps| bytes * 8.0 / bps) } else { rate_bps.map(|_| 0.0) };
            live(look, rate_bps, delay_s)
        };
        looks.into_iter().map(shown).collect()
    }
}

fn live(look: QueueLook, rate_bps: Option<f64>, delay_s: Option<f64>) -> LiveQueue {
    LiveQueue { name: look.name, bytes: look.bytes.get(), delay_s, rate_bps, price_s: look.price_s }
}

#[derive(Debug, Default)]
struct Stations {
    rates: Rates,
    shown: Vec<LiveStation>,
}

impl Stations {
    fn look(&mut self, at: Instant, looks: Vec<FlowLook>) {
        let mut acknowledged = BTreeMap::<String, u64>::new();
        let mut stations = BTreeMap::<String, LiveStation>::new();
        for look in looks {
            *acknowledged.entry(look.host.clone()).or_default() += look.acknowledged;
            let station = stations.entry(look.host).or_default();
            station.flows += 1;
            station.window_bytes += look.window;
            station.rtt_s = [station.rtt_s, look.rtt_s].into_iter().flatten().reduce(f64::max);
        }
        let rates = self.rates.of(at, acknowledged);
        let shown = |(name, station): (String, LiveStation)| LiveStation {
            rate_bps: rates.get(&name).copied().unwrap_or(0.0),
            name,
            ..station
        };
        self.shown = stations.into_iter().map(shown).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_queue_lasts_as_long_as_its_bytes_take_at_its_rate() {
        let look = |bytes, departed| {
            let name = "link".to_owned();
            vec![QueueLook { name, bytes: Bytes::new(bytes), departed: Bytes::new(departed), price_s: Some(0.002) }]
        };
        let mut queues = Queues { from: at(500), ..Queues::default() };
        let mut told = |ms, bytes, departed| {
            let queue = queues.look(at(ms), look(bytes, departed)).remove(0);
            assert_eq!((queue.bytes, queue.price_s), (bytes, Some(0.002)));
            (queue.rate_bps, queue.delay_s)
        };
        assert_eq!(told(0, 5000, 0), (None, None), "nothing is counted yet");
        assert_eq!(told(1000, 5000, 1000), (None, None), "since when?");
        // 125 kB in half a second: 2 Mbit/s, so 50 kB take .2 s.
        assert_eq!(told(1500, 50_000, 126_000), (Some(2e6), Some(0.2)));
        assert_eq!(told(2500, 50_000, 126_000), (Some(0.0), None), "it stands still");
        assert_eq!(told(3500, 0, 176_000), (Some(400e3), Some(0.0)));
        assert_eq!(told(4500, 1500, 177_000), (Some(8e3), None), "it was idle most of the time");
    }

    #[test]
    fn the_flows_of_a_host_are_one_station() {
        let look =
            |host: &str, acknowledged, rtt_s| FlowLook { host: host.to_owned(), acknowledged, window: 3000, rtt_s };
        let mut stations = Stations::default();
        stations.look(at(0), vec![look("phone", 1000, None), look("phone", 0, Some(0.03))]);
        stations.look(
            at(1000),
            vec![look("phone", 2000, Some(0.02)), look("phone", 500, Some(0.03)), look("tablet", 9, None)],
        );
        let [phone, tablet] = &stations.shown[..] else { panic!("{:?}", stations.shown) };
        assert_eq!((phone.flows, phone.rate_bps, phone.window_bytes, phone.rtt_s), (2, 12_000.0, 6000, Some(0.03)));
        // Nobody knows when it sent that.
        assert_eq!((tablet.name.as_str(), tablet.rate_bps), ("tablet", 0.0));
    }

    #[test]
    fn the_page_is_for_this_machine_alone() {
        for address in ["0.0.0.0:9470", "127.0.0.1", "127.0.0.1:0", "here"] {
            let refused = open(address, "", Instant::ZERO).map(drop).unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("--watch = {address}: wanted an address of this machine alone")),
                "{refused}"
            );
        }
    }
}
