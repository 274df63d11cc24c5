// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines: what one stream of packets crosses alone, first in, first out.
//!
//! ```text
//!            Path                                    Line = Path + the packets on it
//!   packet → jitter → (rate, delay, loss) → … →      [head, …, tail]   only the head is scheduled
//! ```
//!
//! A stream that has a link of constant rate and endless buffer to itself meets no surprise there: when a packet
//! leaves follows from when it came. So a whole chain of such links is arithmetic, and folds into one line.

mod segments;

use std::collections::VecDeque;

pub use segments::SegmentLine;

use crate::element::Departure;
use crate::loss::Loss;
use crate::packet::Parcel;
use crate::rng::Stream;
use crate::units::{Bytes, Duration, Instant, Rate};

/// A link of constant rate that one stream has to itself.
#[derive(Clone, Debug)]
pub struct Wire {
    plain: Plain,
    loss: Loss,
}

impl Wire {
    /// A link of this rate (none: infinitely fast), propagation delay and error model.
    pub fn new(rate: Option<Rate>, delay: Duration, loss: Loss) -> Self {
        Self { plain: Plain::new(rate, delay), loss }
    }

    /// A pure delay.
    pub fn delay(delay: Duration) -> Self {
        Self::new(None, delay, Loss::None)
    }

    fn takes_time(&self) -> bool {
        !self.plain.is_fast() || !self.plain.delay.is_zero()
    }

    fn is_pure_delay(&self) -> bool {
        self.plain.is_fast() && matches!(self.loss, Loss::None)
    }

    /// When a packet that enters at `now` is out at the far end; none if it is lost.
    #[inline]
    fn transit(&mut self, now: Instant, size: Bytes) -> Option<Instant> {
        let out = self.plain.transit(now, size);
        if self.loss.strikes(self.plain.busy_until) { None } else { Some(out) }
    }
}

/// The time that a host takes to get a packet out: uniform from nothing to `most`, order kept.
#[derive(Clone, Debug)]
pub struct Jitter {
    /// \[s\]; dividing it out anew for each packet would be dear.
    most_s: f64,
    stream: Stream,
    last: Instant,
    /// Whether what comes while packets wait leaves with them.
    gathers: bool,
}

impl Jitter {
    /// Delays of up to `most`.
    pub fn new(most: Duration, stream: Stream) -> Self {
        Self { most_s: most.as_secs_f64(), stream, last: Instant::ZERO, gathers: false }
    }

    /// Delays of up to `most`, each for all packets that come before it is over (ns-2's `overhead_`).
    pub fn gathering(most: Duration, stream: Stream) -> Self {
        Self { gathers: true, ..Self::new(most, stream) }
    }

    #[inline]
    fn transit(&mut self, now: Instant) -> Instant {
        if self.gathers && now < self.last {
            return self.last;
        }
        let delay = Duration::from_secs_f64(self.most_s * self.stream.uniform());
        self.last = self.last.max(now + delay);
        self.last
    }
}

/// A chain of private links.
#[derive(Clone, Debug)]
pub struct Path(Way);

/// What kind of a path it is: most are of the first two, on every packet's way.
#[derive(Clone, Debug)]
#[repr(u8)]
enum Way {
    /// A delay. What comes in order never finds it busy.
    Delay(Duration),
    Plain(Plain),
    Chain(Box<Chain>),
}

/// A delay, a rate, a delay; no losses and no jitter. When a packet leaves is the same with both delays behind the rate.
#[derive(Clone, Debug)]
struct Plain {
    /// Nothing: infinitely fast. There are several of these to each of many flows, and an option would be twice as large.
    rate: Rate,
    /// The time that the last size took to send: most packets of a stream are of one or two sizes.
    sending: (Bytes, Duration),
    busy_until: Instant,
    delay: Duration,
}

/// Any path.
#[derive(Clone, Debug)]
struct Chain {
    jitter: Option<Jitter>,
    /// The pure delays in front of the first wire.
    lead: Duration,
    /// Pure delays behind a wire are part of it. Most chains are of one, which is found at once.
    first: Wire,
    others: Vec<Wire>,
}

impl Path {
    /// The links in the order in which packets cross them, after the jitter of the host.
    pub fn new(jitter: Option<Jitter>, wires: Vec<Wire>) -> Self {
        let (mut lead, mut kept) = (Duration::ZERO, VecDeque::<Wire>::new());
        for wire in wires {
            if wire.is_pure_delay() {
                *kept.back_mut().map_or(&mut lead, |last| &mut last.plain.delay) += wire.plain.delay;
            } else {
                kept.push_back(wire);
            }
        }
        let first = kept.pop_front();
        Self(match (jitter, first) {
            (None, None) => Way::Delay(lead),
            (None, Some(Wire { plain, loss: Loss::None })) if kept.is_empty() => {
                Way::Plain(Plain { delay: lead + plain.delay, ..plain })
            }
            (jitter, first) => {
                let first = first.unwrap_or_else(|| Wire::delay(Duration::ZERO));
                Way::Chain(Box::new(Chain { jitter, lead, first, others: kept.into() }))
            }
        })
    }

    /// A pure delay.
    pub fn delay(delay: Duration) -> Self {
        Self(Way::Delay(delay))
    }

    /// The time that every packet takes, if all take the same: no jitter, no rates, no losses.
    pub fn fixed_delay(&self) -> Option<Duration> {
        match self.0 {
            Way::Delay(delay) => Some(delay),
            Way::Plain(_) | Way::Chain(_) => None,
        }
    }

    /// The rate, zero where it is endless, and the delay of the one link that it is, without jitter. Packets of one size that never
    /// find it busy take equally long, though some may be lost behind it.
    pub fn one_link(&self) -> Option<(Rate, Duration)> {
        match &self.0 {
            Way::Delay(delay) => Some((Rate::default(), *delay)),
            Way::Plain(plain) => Some((plain.rate, plain.delay)),
            Way::Chain(chain) if chain.jitter.is_some() || !chain.others.is_empty() => None,
            Way::Chain(chain) => Some((chain.first.plain.rate, chain.lead + chain.first.plain.delay)),
        }
    }

    /// Whether every packet leaves later than it came.
    pub fn takes_time(&self) -> bool {
        match &self.0 {
            Way::Delay(delay) => !delay.is_zero(),
            Way::Plain(_) => true,
            Way::Chain(chain) => !chain.lead.is_zero() || chain.wires().any(Wire::takes_time),
        }
    }

    /// The least time that a packet takes, were it as small as can be.
    pub fn least_time(&self) -> Duration {
        match &self.0 {
            Way::Delay(delay) => *delay,
            Way::Plain(plain) => plain.delay,
            Way::Chain(chain) => chain.wires().fold(chain.lead, |sum, wire| sum + wire.plain.delay),
        }
    }

    /// When a packet that enters at `now` is out at the far end; none if it is lost on the way. Packets must come in
    /// order of time, and they leave so.
    #[inline]
    pub fn transit(&mut self, now: Instant, size: Bytes) -> Option<Instant> {
        // What cannot be lost need not be asked whether it was, so only a chain may leave by `?`.
        Some(match &mut self.0 {
            Way::Delay(delay) => now + *delay,
            Way::Plain(plain) => plain.transit(now, size),
            Way::Chain(chain) => chain.transit(now, size)?,
        })
    }
}

impl Default for Path {
    /// A path that takes no time.
    fn default() -> Self {
        Self::delay(Duration::ZERO)
    }
}

impl Plain {
    fn new(rate: Option<Rate>, delay: Duration) -> Self {
        let sending = (Bytes::ZERO, Duration::ZERO);
        Self { rate: rate.unwrap_or_default(), sending, busy_until: Instant::ZERO, delay }
    }

    fn is_fast(&self) -> bool {
        self.rate == Rate::default()
    }

    #[inline]
    fn transit(&mut self, now: Instant, size: Bytes) -> Instant {
        if self.sending.0 != size {
            self.measure(size);
        }
        self.follow(now)
    }

    #[cold]
    #[inline(never)]
    fn measure(&mut self, size: Bytes) {
        self.sending = (size, if self.is_fast() { Duration::ZERO } else { size / self.rate });
    }

    /// The same for a packet of the size that the last one had.
    #[inline(always)]
    fn follow(&mut self, now: Instant) -> Instant {
        self.busy_until = (self.busy_until.max(now) + self.sending.1).min(Instant::LATEST);
        self.busy_until + self.delay
    }
}

impl Chain {
    fn wires(&self) -> impl Iterator<Item = &Wire> {
        core::iter::once(&self.first).chain(&self.others)
    }

    fn loses(&self) -> bool {
        self.wires().any(|wire| !matches!(wire.loss, Loss::None))
    }

    /// Apart from those who have other paths as well.
    #[inline(never)]
    fn transit(&mut self, now: Instant, size: Bytes) -> Option<Instant> {
        self.cross(now, size)
    }

    #[inline(always)]
    fn cross(&mut self, now: Instant, size: Bytes) -> Option<Instant> {
        let at = match &mut self.jitter {
            Some(jitter) => jitter.transit(now),
            None => now,
        } + self.lead;
        let at = self.first.transit(at, size)?;
        if self.others.is_empty() { Some(at) } else { self.transit_others(at, size) }
    }

    #[inline(never)]
    fn transit_others(&mut self, at: Instant, size: Bytes) -> Option<Instant> {
        self.others.iter_mut().try_fold(at, |at, wire| wire.transit(at, size))
    }
}

/// A path and the packets on it.
#[derive(Debug)]
pub struct Line<P> {
    path: Path,
    packets: VecDeque<Departure<P>>,
}

impl<P> Line<P> {
    /// An empty line.
    pub fn new(path: Path) -> Self {
        Self { path, packets: VecDeque::new() }
    }

    /// What the packets cross.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the path for one who tells himself when packets are out, and [puts](Self::put) on the line those that wait.
    pub fn take_path(&mut self) -> Path {
        std::mem::take(&mut self.path)
    }

    /// When a packet that enters at `now` will be out, if nothing is on the line and it is not lost. It is not put
    /// [on](Self::put): whoever asks takes it at once.
    #[inline]
    pub fn transit(&mut self, now: Instant, size: Bytes) -> Option<Instant> {
        self.path.transit(now, size)
    }

    /// Puts on the line a packet that will be out at `at`.
    #[inline(always)]
    pub fn put(&mut self, at: Instant, packet: P) {
        self.packets.push_back(Departure { at, packet });
    }

    /// Takes a packet in, unless it is lost.
    #[inline]
    pub fn receive(&mut self, now: Instant, packet: P)
    where
        P: Parcel,
    {
        if let Some(at) = self.path.transit(now, packet.size()) {
            self.put(at, packet);
        }
    }

    /// When the head is out at the far end.
    #[inline]
    pub fn next_wake(&self) -> Option<Instant> {
        self.packets.front().map(|head| head.at)
    }

    /// The head, and when it is out at the far end.
    #[inline]
    pub fn head(&self) -> Option<&Departure<P>> {
        self.packets.front()
    }

    /// When the last one is out at the far end.
    pub fn empty_at(&self) -> Option<Instant> {
        self.packets.back().map(|last| last.at)
    }

    /// Takes the head off the line if it is out at the far end by `now`.
    #[inline]
    pub fn take(&mut self, now: Instant) -> Option<Departure<P>> {
        if self.packets.front()?.at <= now { self.packets.pop_front() } else { None }
    }

    /// Packets on the line.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether nothing is on the line.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::rng::Streams;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn wire(rate: u64, delay_us: u64) -> Wire {
        Wire::new(Some(Rate::from_bps(rate)), Duration::from_micros(delay_us), Loss::None)
    }

    #[test]
    fn back_to_back_packets_leave_one_sending_time_apart() {
        // 1500 B take 12 µs at 1 Gbit/s; then 100 µs of propagation.
        let mut path = Path::new(None, vec![wire(1_000_000_000, 100)]);
        let exits: Vec<_> = (0..3).map(|_| path.transit(at(0), Bytes::new(1500)).unwrap()).collect();
        assert_eq!(exits, [at(112), at(124), at(136)]);
        assert_eq!(path.transit(at(1000), Bytes::new(1500)), Some(at(1112)), "after a pause the line is free");
    }

    #[test]
    fn the_slowest_wire_of_a_chain_sets_the_pace() {
        let mut path = Path::new(None, vec![wire(1_000_000_000, 0), wire(100_000_000, 10)]);
        // 12 µs on the first, then 120 µs each on the second, then 10 µs.
        assert_eq!(path.transit(at(0), Bytes::new(1500)), Some(at(142)));
        assert_eq!(path.transit(at(0), Bytes::new(1500)), Some(at(262)));
    }

    #[test]
    fn jitter_keeps_the_order_and_its_bound() {
        let jitter = Jitter::new(Duration::from_micros(100), Streams::new(1).stream("host", "jitter"));
        let mut path = Path::new(Some(jitter), vec![]);
        let exits: Vec<_> = (0..1000).map(|i| path.transit(at(10 * i), Bytes::new(1500)).unwrap()).collect();
        assert!(exits.is_sorted());
        let delays: Vec<_> = exits.iter().zip(0..).map(|(&exit, i)| exit - at(10 * i)).collect();
        assert!(delays.iter().all(|&d| d <= Duration::from_micros(100)));
        assert!(delays.iter().any(|&d| d > Duration::from_micros(90)));
    }

    #[test]
    fn what_comes_while_packets_wait_leaves_with_them() {
        let jitter = Jitter::gathering(Duration::from_micros(100), Streams::new(1).stream("host", "overhead"));
        let mut path = Path::new(Some(jitter), vec![]);
        let exits: Vec<_> =
            (0..1000).map(|i| (at(10 * i), path.transit(at(10 * i), Bytes::new(1500)).unwrap())).collect();
        let mut draws = 0;
        for pair in exits.windows(2) {
            let [(_, earlier), (came, exit)] = [pair[0], pair[1]];
            if came < earlier {
                assert_eq!(exit, earlier);
            } else {
                draws += 1;
                assert!(exit - came <= Duration::from_micros(100));
            }
        }
        // A delay is 50 µs in the mean, and packets come every 10: five or six a draw.
        assert!((150..220).contains(&draws), "{draws}");
    }

    #[test]
    fn a_line_gives_back_only_what_is_due() {
        let mut line = Line::new(Path::delay(Duration::from_micros(10)));
        line.receive(at(0), Packet::data(0, 0, 1460, 40, at(0)));
        line.receive(at(3), Packet::data(0, 1460, 1460, 40, at(3)));
        assert_eq!(line.next_wake(), Some(at(10)));
        let departure = line.take(at(12)).unwrap();
        assert_eq!((departure.at, departure.packet.seq()), (at(10), 0));
        assert_eq!(line.empty_at(), Some(at(13)));
        assert!(line.take(at(12)).is_none());
        assert_eq!(line.next_wake(), Some(at(13)));
    }

    #[test]
    fn a_lost_packet_took_its_time_on_the_link() {
        let always = Loss::Bernoulli { p: 1.0, stream: Streams::new(1).stream("link", "loss") };
        let mut path = Path::new(None, vec![Wire::new(Some(Rate::from_bps(1_000_000_000)), Duration::ZERO, always)]);
        assert_eq!(path.transit(at(0), Bytes::new(1500)), None);
        assert!(matches!(path.0, Way::Chain(chain) if chain.first.plain.busy_until == at(12)));
    }
}
