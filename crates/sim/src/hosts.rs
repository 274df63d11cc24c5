// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ends of the flows in virtual time: simulated hosts and receivers.

use std::collections::BTreeMap;

use lasthop_core::app::App;
use lasthop_core::element::{Departure, Element};
use lasthop_core::law::kernel::KernelProxy;
use lasthop_core::line::{Path, SegmentLine};
use lasthop_core::packet::{Ack, Kind, Packet, Parcel, Signal};
use lasthop_core::role::Pools;
use lasthop_core::tcp::{self, Segment};
use lasthop_core::units::{Bytes, Instant};

use crate::capture::{Capture, Point};
use crate::host::{self, Host, ReceivingEnd, SendingEnd};
use crate::merge::{Coming, Merge};
use crate::network::{Ends, Home, LinksHome, Network, Place, Returning, Waiting};
use crate::probe::Recorder;
use crate::stations::{Seat, StationEnd, StationTold};
use crate::summary::CountedFlow;

/// The simulated ends of all flows. Number `n` of the wakes is the host of flow `n`, then come the receivers, and at last
/// the recorder.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) flows: Vec<FlowEnds>,
    /// Those that have an agent.
    pub(crate) stations: Vec<StationEnd>,
    /// The pools in which flows of one station meet.
    pub(crate) pools: Vec<Pools>,
    /// The end of the run.
    pub(crate) end: Instant,
    /// Data packets that reached their receivers.
    pub(crate) packets: u64,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) capture: Option<Capture>,
    /// The proxies of access points, by their numbers among the nodes.
    pub(crate) proxies: BTreeMap<u32, Box<KernelProxy>>,
    /// Of the links to which acknowledgements of several flows come.
    pub(crate) merges: Vec<Merge>,
}

/// The ends of a flow. Each packet touches the first lines of the sender and of the receiver, and all behind them.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FlowEnds {
    pub(crate) host: Host,
    pub(crate) receiver: ReceivingEnd,
    /// The private links in front of a receiver that is asked ahead of time.
    pub(crate) exit: Path,
    /// The line onto which the host sends, if it is kept here.
    pub(crate) feed: Option<Feed>,
    /// The receiver's place among those of its station, if they have something to do with each other.
    pub(crate) seat: Option<Seat>,
    /// The first lane of a rate-based host that is asked for what goes onto it.
    pub(crate) filled: Option<u32>,
}

/// The first line of a flow's data: what is on it are segments of this flow alone.
#[derive(Debug)]
pub(crate) struct Feed {
    pub(crate) line: SegmentLine,
    /// The lane whose place it takes, and where that leads.
    pub(crate) lane: u32,
    pub(crate) to: Place,
    /// The way back to the host, if that may be asked ahead of time and no surprise lies on it.
    pub(crate) home: Option<Home>,
    /// The way back, if no surprise but the turn of others lies on it. Apart, as those who have none should pay nothing for it.
    pub(crate) returning: Option<Box<Returning>>,
}

impl Feed {
    /// The acknowledgements that have come by a way that is kept here, and cannot be heard at once.
    fn waiting(&mut self) -> Option<&mut Waiting> {
        let Self { home, returning, .. } = self;
        let home = home.as_mut().map(|home| &mut home.waiting);
        home.or_else(|| returning.as_mut().map(|returning| &mut returning.waiting))
    }
}

/// What has become of the answer to what left for its receiver.
enum Concluded {
    /// It is heard, waits for its host, or is lost.
    Done,
    /// It is in this merge, of which all is known that comes before this instant.
    Merge(u32, Option<Instant>),
    /// It goes the general way.
    Answer(Ack),
}

impl FlowEnds {
    /// What leaves for its receiver at `at` comes there, is answered, and the host hears the answer at once if nothing speaks
    /// against it, or it takes its turn. Gives back the answer if neither can be.
    #[inline(always)]
    fn conclude(
        &mut self,
        network: &mut Network<Packet>,
        (number, end): (u32, Instant),
        at: Instant,
        (segment, signal): (&Segment, &Signal),
        (packets, merges): (&mut u64, &mut [Merge]),
    ) -> Concluded {
        let Self { host, receiver, exit, feed, .. } = self;
        let Some(out) = exit.transit(at, segment.size()) else { return Concluded::Done };
        let ReceivingEnd::Tcp(receiver) = receiver else { unreachable!("only TCP's receivers are without a timer") };
        *packets += u64::from(segment.is_data() && out < end);
        let (Some(Feed { line, lane, to, home: Some(home), .. }), SendingEnd::Tcp(sender)) =
            (&mut *feed, &mut host.sender)
        else {
            let ack = answer(receiver, out, &{ *segment }, signal);
            let Some(Feed { returning: Some(returning), .. }) = feed else { return Concluded::Answer(ack) };
            let all = &mut merges[returning.merge as usize];
            if let Some(at) = returning.there.transit(out, ack.size()) {
                let coming = Coming { at, lane: returning.lane, flow: number, ack };
                all.put(coming, |lane, other| network.wakes_before(at, lane, other));
            }
            return Concluded::Merge(returning.merge, all.known_until(at));
        };
        let ack = receiver.answer(out, segment, signal);
        if let Some(at) = network.come_home(home, out, ack.size) {
            hear(network, (number, end), (&mut host.app, sender), (line, *lane, to, &mut home.waiting), at, ack);
        }
        Concluded::Done
    }

    /// The merge at which its acknowledgements take turns, if they do.
    fn merge(&self) -> Option<u32> {
        self.feed.as_ref()?.returning.as_ref().map(|returning| returning.merge)
    }

    /// Whether no SYN of it is to come, nor under way.
    fn has_opened(&self) -> bool {
        matches!(&self.host.sender, SendingEnd::Tcp(sender) if sender.has_opened())
    }

    /// Its acknowledgements need not take turns any more.
    fn return_in_order(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        if let Some(returning) = feed.returning.take() {
            let Returning { there, node, path, waiting, .. } = *returning;
            feed.home = Some(Home { links: LinksHome::Behind(Box::new((there, node))), path, waiting });
        }
    }

    /// The acknowledgement is at the link on its way home at `now`, in its turn.
    #[inline(always)]
    fn bring_home(&mut self, network: &mut Network<Packet>, (number, end): (u32, Instant), now: Instant, ack: Ack) {
        if let Self {
            host: Host { sender: SendingEnd::Tcp(sender), app },
            feed: Some(Feed { line, lane, to, returning: Some(returning), .. }),
            ..
        } = self
            && let Some(at) = network.foresee(returning.node, now, ack.size())
            && let Some(at) = returning.path.transit(at, ack.size())
        {
            hear(network, (number, end), (app, sender), (line, *lane, to, &mut returning.waiting), at, ack);
        }
    }
}

/// The answer for the general way, to which it goes in memory: apart, so that the short one can keep it in registers.
#[inline(never)]
fn answer(receiver: &mut tcp::Receiver, at: Instant, segment: &Segment, signal: &Signal) -> Ack {
    receiver.answer(at, segment, signal)
}

/// An acknowledgement is home at `at`: the host hears it at once, unless it has something to do in that very instant, or others wait.
#[inline(always)]
fn hear(
    network: &mut Network<Packet>,
    (number, end): (u32, Instant),
    (app, sender): (&mut App, &mut tcp::Sender),
    (line, lane, to, waiting): (&mut SegmentLine, u32, &Place, &mut Waiting),
    at: Instant,
    ack: Ack,
) {
    if at >= end {
        return; // it comes too late to be heard
    }
    let is_free = app.is_free_until(at) && sender.is_free_until(at);
    if waiting.count > 0 || (!is_free && !act_before(network, (app, sender), (line, lane, to), at)) {
        return network.wait(waiting, at, ack.into_packet(number));
    }
    sender.hear(at, &ack.lend());
    fill(network, (line, lane, to), sender);
    // The application's next wake has been scheduled before, or one that it has had, which schedules the next.
    network.schedule_end(number, sender.next_wake());
}

/// The host does ahead of time what it has to do before `at`, when it will hear something: nothing else comes to it until then.
/// False if it has something to do at `at` itself.
#[cold]
#[inline(never)]
fn act_before(
    network: &mut Network<Packet>,
    (app, sender): (&mut App, &mut tcp::Sender),
    (line, lane, to): (&mut SegmentLine, u32, &Place),
    at: Instant,
) -> bool {
    loop {
        match host::next_wake(app, sender.next_wake()) {
            Some(wake) if wake < at => host::wake_tcp(app, sender, wake),
            wake => return wake != Some(at),
        }
        fill(network, (line, lane, to), sender);
    }
}

/// Puts on the line, which takes the place of `lane`, what the sender sends.
#[inline(always)]
fn fill(network: &mut Network<Packet>, (line, lane, to): (&mut SegmentLine, u32, &Place), sender: &mut tcp::Sender) {
    while let Some(segment) = sender.poll_segment() {
        if let Some(at) = line.put(segment) {
            network.schedule_head(lane, to, at);
        }
    }
}

impl Ends<Packet> for Hosts {
    #[inline]
    fn take(&mut self, network: &mut Network<Packet>, place: Place, now: Instant, packet: Packet) {
        let flow = packet.flow;
        if place == Place::Host {
            self.capture(now, Point::Sender, &packet);
            let FlowEnds { host, feed, .. } = &mut self.flows[flow as usize];
            if let Some(waiting) = feed.as_mut().and_then(Feed::waiting) {
                waiting.count -= 1;
            }
            host.receive(now, packet);
            self.pump_host(network, flow);
        } else {
            self.arrive(now, &packet);
            let ends = &mut self.flows[flow as usize];
            let told = if ends.seat.is_some() { StationTold::of(&packet) } else { None };
            ends.receiver.receive(now, packet);
            if let Some(told) = told {
                self.renew(network, flow, now, told);
            } else if let (Some(Seat::Pool(pool)), ReceivingEnd::Tcp(receiver)) = (&ends.seat, &mut ends.receiver) {
                receiver.meet_others(now, &mut self.pools[*pool as usize]);
            }
            self.pump_receiver(network, flow);
        }
    }

    #[inline]
    fn feed(&mut self, network: &mut Network<Packet>, number: u32, mut now: Instant) {
        loop {
            let Some(flow) = self.flows.get_mut(number as usize) else {
                return self.wake_returning(network, number - self.flows.len() as u32, now);
            };
            let Some(feed) = &mut flow.feed else { return self.feed_late(network, number, now) };
            let Some((segment, next)) = feed.line.take() else { break };
            let lane = feed.lane;
            match feed.to {
                Place::Through(node) => {
                    let told = (&segment, &Signal::None);
                    if let Some(at) = network.foresee(node, now, segment.size()) {
                        let counted = (&mut self.packets, &mut *self.merges);
                        match flow.conclude(network, (number, self.end), at, told, counted) {
                            Concluded::Done => {}
                            Concluded::Merge(merge, known) => self.take_merged(network, merge, known),
                            // A copy, so that on the short way the segment need not be in memory; below likewise.
                            Concluded::Answer(answer) => {
                                self.send_back(network, number, (&{ segment }, told.1), answer)
                            }
                        }
                    }
                }
                to => network.come(self, to, now, segment.into_packet(number, Signal::None)),
            }
            let Some(next) = next else { break };
            // Asked last, as what the segment has brought about may come before the next one.
            if next > now && (next >= self.end || !network.comes_first(next)) {
                return network.schedule_lane(lane, next);
            }
            now = next;
        }
    }

    #[inline]
    fn fetch(&mut self, number: u32) -> Option<(Packet, Option<Instant>)> {
        let (segment, next) = self.flows[number as usize].feed.as_mut()?.line.take()?;
        Some((segment.into_packet(number, Signal::None), next))
    }

    #[inline]
    fn answer(&mut self, network: &mut Network<Packet>, at: Instant, packet: &Packet) {
        let flow = &mut self.flows[packet.flow as usize];
        if matches!(flow.receiver, ReceivingEnd::Tfrc(_)) {
            return self.answer_rate(network, at, packet);
        }
        let (segment, end) = (Segment::of(packet), self.end);
        let told = (&segment, &packet.signal);
        match flow.conclude(network, (packet.flow, end), at, told, (&mut self.packets, &mut self.merges)) {
            Concluded::Done => {}
            Concluded::Merge(merge, known) => self.take_merged(network, merge, known),
            Concluded::Answer(answer) => self.send_back(network, packet.flow, (&{ segment }, told.1), answer),
        }
    }

    #[inline]
    fn may_hear(&self, flow: u32, at: Instant) -> bool {
        at < self.end && self.flows[flow as usize].host.is_free_until(at)
    }

    #[inline]
    fn enters(&mut self, at: Instant, node: u32, packet: &mut Packet, queued: Bytes) {
        if let Some(proxy) = self.proxies.get_mut(&node) {
            proxy.forwards(at, packet, queued);
        }
    }

    #[inline]
    fn leaves(&mut self, _at: Instant, node: u32, packet: &Packet) {
        if let Some(proxy) = self.proxies.get_mut(&node) {
            proxy.departs(packet);
        }
    }

    fn returns(&mut self, at: Instant, node: u32, packet: &mut Packet, queued: Bytes) -> Vec<Packet> {
        if let (Some(proxy), SendingEnd::Tcp(sender)) =
            (self.proxies.get_mut(&node), &self.flows[packet.flow as usize].host.sender)
        {
            return proxy.returns(at, packet, sender.mss() as u32, queued);
        }
        vec![]
    }

    fn wake(&mut self, network: &mut Network<Packet>, who: u32, now: Instant) {
        let flows = self.flows.len() as u32;
        if who < flows {
            self.flows[who as usize].host.wake(now);
            self.pump_host(network, who);
            if let Some(merge) = self.flows[who as usize].merge()
                && self.merges[merge as usize].opening.is_some()
            {
                self.look_whether_open(network, merge);
            }
        } else if who < 2 * flows {
            self.flows[(who - flows) as usize].receiver.wake(now);
            self.pump_receiver(network, who - flows);
        } else if let Some(recorder) = &mut self.recorder {
            let flows = (0..).zip(&self.flows);
            recorder.extend_flows(flows.map(|(i, flow)| host::sample(now, i, &flow.host.sender, &flow.receiver)));
            recorder.sample_queues(now, network.nodes_mut());
            network.schedule_end(who, recorder.next(now));
        }
    }
}

impl Hosts {
    /// Segments and acknowledgements on the lines that are kept here.
    pub(crate) fn under_way(&self) -> usize {
        let fed = self.flows.iter().filter_map(|flow| flow.feed.as_ref()).map(|feed| feed.line.len());
        fed.chain(self.merges.iter().map(Merge::len)).sum()
    }

    /// The head of a rate-based flow's first lane is due at `now`. Its host is asked for more when nothing is left there.
    #[inline(never)]
    fn feed_late(&mut self, network: &mut Network<Packet>, flow: u32, now: Instant) {
        let Some(lane) = self.flows[flow as usize].filled else { return };
        while let Some((packet, is_last)) = network.take_head(lane, now) {
            if is_last && let SendingEnd::Tfrc(sender) = &mut self.flows[flow as usize].host.sender {
                sender.wake(now);
                self.pump_host(network, flow);
            }
            network.come_over(self, lane, now, packet);
        }
    }

    /// A packet leaves for the receiver of a rate-based flow at `at`, and comes to it as soon as that is known.
    #[inline(never)]
    fn answer_rate(&mut self, network: &mut Network<Packet>, at: Instant, packet: &Packet) {
        let FlowEnds { receiver, exit, .. } = &mut self.flows[packet.flow as usize];
        if let Some(out) = exit.transit(at, packet.size()).filter(|out| *out < self.end) {
            self.packets += u64::from(packet.kind() == Kind::Data);
            receiver.receive(out, packet.clone());
            self.pump_receiver(network, packet.flow);
        }
    }

    /// The answer goes back the general way.
    fn send_back(
        &mut self,
        network: &mut Network<Packet>,
        flow: u32,
        (segment, signal): (&Segment, &Signal),
        answer: Ack,
    ) {
        let at = answer.sent;
        if self.capture.is_some() {
            self.capture(at, Point::Receiver, &segment.into_packet(flow, *signal));
        }
        let answer = answer.into_packet(flow);
        self.capture(at, Point::Receiver, &answer);
        network.send_back(self, at, answer);
    }

    /// Those of a merge that come by `known` do so now; the next of the others has its entry in the event list.
    #[inline]
    fn take_merged(&mut self, network: &mut Network<Packet>, merge: u32, known: Option<Instant>) {
        let Self { flows, merges, end, .. } = self;
        let merge = &mut merges[merge as usize];
        while let Some(Coming { at, flow, ack, .. }) =
            known.and_then(|known| merge.take_if(|at| at <= known && at < *end))
        {
            flows[flow as usize].bring_home(network, (flow, *end), at, ack);
        }
        if let Some((at, lane)) = merge.new_entry() {
            network.schedule_lane(lane, at);
        }
    }

    /// Where all flows of a merge are open, and all that comes is alike, what is still in it is all that had to be merged.
    #[cold]
    #[inline(never)]
    fn look_whether_open(&mut self, network: &mut Network<Packet>, number: u32) {
        let Self { flows, merges, end, .. } = self;
        let merge = &mut merges[number as usize];
        let mut opening = merge.opening.take().unwrap_or_default();
        while let Some(flow) = flows.get(opening as usize) {
            if flow.merge() == Some(number) && !flow.has_opened() {
                return merge.opening = Some(opening);
            }
            opening += 1;
        }
        while let Some(Coming { at, flow, ack, .. }) = merge.take_if(|at| at < *end) {
            flows[flow as usize].bring_home(network, (flow, *end), at, ack);
        }
        let all = flows.iter_mut().filter(|flow| flow.merge() == Some(number));
        all.for_each(FlowEnds::return_in_order);
    }

    /// The entry of the acknowledgements of flow `flow` is due at the link on their way home at `now`.
    #[inline(never)]
    fn wake_returning(&mut self, network: &mut Network<Packet>, flow: u32, now: Instant) {
        let Some(Feed { returning: Some(returning), .. }) = &self.flows[flow as usize].feed else { return };
        let (number, lane) = (returning.merge, returning.lane);
        let merge = &mut self.merges[number as usize];
        if !merge.is_due(now, lane) {
            return;
        }
        let known = merge.known_at(now);
        if known.is_none()
            && let Some(Coming { flow, ack, .. }) = merge.take_if(|at| at <= now)
        {
            self.flows[flow as usize].bring_home(network, (flow, self.end), now, ack);
        }
        self.take_merged(network, number, known);
    }

    /// What the ends of each flow counted.
    pub(crate) fn counted(&self) -> Vec<CountedFlow<'_>> {
        let flows = self.flows.iter().map(|FlowEnds { host, receiver, .. }| CountedFlow {
            sender: host.sender.stats(),
            receiver: receiver.stats(),
            windows: match &host.sender {
                SendingEnd::Tcp(sender) => sender.mean_windows(self.end),
                SendingEnd::Tfrc(_) => None,
            },
        });
        flows.collect()
    }

    #[inline]
    fn pump_host(&mut self, network: &mut Network<Packet>, flow: u32) {
        if let FlowEnds { feed: Some(feed), host: Host { sender: SendingEnd::Tcp(sender), .. }, .. } =
            &mut self.flows[flow as usize]
        {
            fill(network, (&mut feed.line, feed.lane, &feed.to), sender);
        } else {
            while let Some(Departure { at, packet }) = self.flows[flow as usize].host.poll_departure() {
                self.capture(at, Point::Sender, &packet);
                network.send(self, at, packet);
            }
            let FlowEnds { host, filled, .. } = &self.flows[flow as usize];
            if let Some(last) = filled.and_then(|lane| network.empty_at(lane)) {
                return network.schedule_end(flow, host.app.next_wake().filter(|wake| *wake <= last));
            }
        }
        network.schedule_end(flow, self.flows[flow as usize].host.next_wake());
    }

    #[inline]
    pub(crate) fn pump_receiver(&mut self, network: &mut Network<Packet>, flow: u32) {
        while let Some(Departure { at, packet }) = self.flows[flow as usize].receiver.poll_departure() {
            self.capture(at, Point::Receiver, &packet);
            network.send_back(self, at, packet);
        }
        let wake = self.flows[flow as usize].receiver.next_wake();
        network.schedule_end(self.flows.len() as u32 + flow, wake);
    }

    /// A packet comes to its receiver.
    #[inline]
    fn arrive(&mut self, at: Instant, packet: &Packet) {
        self.packets += u64::from(packet.kind() == Kind::Data && at < self.end);
        self.capture(at, Point::Receiver, packet);
    }

    #[inline]
    fn capture(&mut self, at: Instant, point: Point, packet: &Packet) {
        if let Some(capture) = &mut self.capture
            && at < self.end
        {
            capture.record(at, point, packet);
        }
    }
}
