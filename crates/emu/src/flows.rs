// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scenario's flows over sockets of the kernel: applications that write, sinks that read, and what is counted.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_core::app::Action;
use lasthop_core::stats::Span;
use lasthop_core::tcp::WindowMeans;
use lasthop_core::units::{Bytes, Duration, Instant};
use lasthop_linux::clock::{Clock, thread_cpu_s};
use lasthop_linux::tcp_info::{TcpInfo, bound_window, discard};
use lasthop_linux::wait::Waiter;
use lasthop_linux::{Attempt, Error};
use lasthop_scenario::ReceiverSpec;
use lasthop_sim::FlowSample;
use nix::sys::epoll::{EpollEvent, EpollFlags};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::house::House;
use crate::plan::{Ip, Plan};
use crate::stage::{SampleTimes, StageCount, StageFlow};
use crate::stalls::Stalls;
use crate::watch::{FlowLook, Teller};

/// The port of the first flow's sink; each of the scenario's tables has the next.
const FIRST_PORT: u16 = 5001;
/// How often the kernel is asked for windows and round-trip times, unless the scenario says so.
const SAMPLE: Duration = Duration::from_millis(10);
/// How long we sleep at most, and so how late we notice that we are to stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);
/// Bytes that a socket may hold beyond those in flight.
const NOT_SENT: u32 = 128 << 10;
/// The largest segment that Linux lets a socket ask for (MAX_TCP_WINDOW).
const MOST_SEGMENT: u64 = 32_767;
/// What is written at once, and read.
const CHUNK: usize = 256 << 10;
/// How a socket closes, even that of a killed process: nothing of the connection is left that could keep its namespace.
const AT_ONCE: Option<std::time::Duration> = Some(std::time::Duration::ZERO);
/// Connections that wait to be accepted.
const BACKLOG: i32 = 4096;

/// What a thread does in less is no stall.
const WATCH: Duration = Duration::from_millis(1);

/// What a number in the event list stands for: sinks are at twice the flow's number, sources at the next, listeners above.
const LISTENER: u64 = 1 << 40;

/// The flows, their sockets, and what they counted.
pub(crate) struct Flows {
    flows: Vec<Live>,
    listeners: Vec<(Socket, bool)>,
    plan: Plan,
    ip: Ip,
    clock: Clock,
    span: Span,
    /// Length of the intervals in which goodput is sampled.
    sample: Duration,
    interval: Duration,
    probe: Option<SampleTimes>,
    waiter: Waiter,
    stalls: Stalls,
    /// Tells a page how they do, if one is shown.
    pub(crate) teller: Option<Teller>,
}

struct Live {
    spec: StageFlow,
    host: usize,
    source: Option<Socket>,
    sink: Option<Socket>,
    /// Payload that is to be written; `u64::MAX` without an end.
    unwritten: u64,
    closing: bool,
    waits_for_room: bool,
    count: StageCount,
    /// What the kernel had counted when the measured span began.
    before: TcpInfo,
    latest: TcpInfo,
    area: Windows,
    congestion_control: String,
    port: u16,
}

/// Sums over the samples of the windows.
#[derive(Clone, Copy, Debug, Default)]
struct Windows {
    samples: u64,
    cwnd: u64,
    awnd: u64,
    limited: u64,
}

impl Flows {
    /// Sets up listeners for the flows; `hosts` and `congestion_controls` are theirs.
    pub(crate) fn new(
        flows: Vec<StageFlow>,
        (hosts, congestion_controls): (Vec<usize>, Vec<String>),
        (plan, ip, house): (Plan, Ip, &House),
        (span, probe, sample): (Span, Option<SampleTimes>, Duration),
        clock: Clock,
    ) -> Result<Self, Error> {
        let waiter = Waiter::new(clock).attempt("make an event list")?;
        let mut listeners: BTreeMap<(Option<usize>, u16), (Socket, bool)> = BTreeMap::new();
        let mut live = vec![];
        for ((spec, host), congestion_control) in flows.into_iter().zip(hosts).zip(congestion_controls) {
            let port = FIRST_PORT.checked_add(spec.table as u16).unwrap_or(FIRST_PORT);
            let place = if spec.is_upload { None } else { Some(host) };
            if let std::collections::btree_map::Entry::Vacant(slot) = listeners.entry((place, port)) {
                let namespace = place.map_or(&house.servers, |host| &house.hosts[host]);
                let made = namespace.within(|| listen(ip, port, &spec.receiver).attempt("listen for the flows"))?;
                slot.insert((made, spec.is_upload));
            }
            let count = StageCount { congestion_control: congestion_control.clone(), ..StageCount::default() };
            live.push(Live {
                spec,
                host,
                source: None,
                sink: None,
                unwritten: 0,
                closing: false,
                waits_for_room: false,
                count,
                before: TcpInfo::default(),
                latest: TcpInfo::default(),
                area: Windows::default(),
                congestion_control,
                port,
            });
        }
        let listeners: Vec<_> = listeners.into_values().collect();
        for (number, (listener, _)) in listeners.iter().enumerate() {
            let number = LISTENER + number as u64;
            waiter.watch(listener, EpollFlags::EPOLLIN, number).attempt("watch a listener")?;
        }
        // Asking takes a microsecond: a hundredth of the time at most.
        let least = Duration::from_micros(100) * live.len() as u64;
        let interval = probe.map_or(SAMPLE, |probe| probe.every.min(SAMPLE)).max(least);
        Ok(Self {
            flows: live,
            listeners,
            plan,
            ip,
            clock,
            span,
            sample,
            interval,
            probe,
            waiter,
            stalls: Stalls::default(),
            teller: None,
        })
    }

    /// Runs the flows until `end`, or until they are told to stop; gives what they counted, and when they stood still.
    pub(crate) fn run(
        mut self,
        house: &House,
        end: Instant,
        stop: &AtomicBool,
    ) -> Result<(Vec<StageCount>, Stalls), Error> {
        let mut next_sample = Instant::ZERO;
        let mut begun = false;
        let mut ready = [EpollEvent::empty(); 64];
        let chunk = vec![0u8; CHUNK];
        let mut woke = self.clock.now();
        let mut watch = WorkWatch::new(woke);
        loop {
            let now = self.clock.now();
            if now >= end || stop.load(Ordering::Relaxed) {
                self.sample(now, begun);
                let stalls = self.stalls;
                return Ok((self.counts(now), stalls));
            }
            for flow in 0..self.flows.len() {
                self.act(flow, now, house, &chunk)?;
            }
            if now >= next_sample {
                if !begun && now >= self.span.from {
                    self.begin();
                    begun = true;
                }
                self.sample(now, begun);
                self.tell(now);
                next_sample += self.interval * (1 + (now - next_sample).as_nanos() / self.interval.as_nanos());
            }
            let apps = self.flows.iter().filter_map(|flow| flow.spec.app.next_wake()).min();
            let wake = apps.map_or(next_sample, |at| at.min(next_sample)).min(now + LONGEST_SLEEP).min(end);
            let asleep = self.clock.now();
            if let Some(idle) = watch.idle(woke, asleep) {
                self.stalls.note(idle);
            }
            let count = self.waiter.wait(wake.max(asleep), &mut ready).attempt("wait for sockets")?;
            woke = self.clock.now();
            watch.slept(asleep, woke);
            self.stalls.note(woke.saturating_since(wake.max(asleep)));
            for event in &ready[..count] {
                match event.data() {
                    number if number >= LISTENER => self.accept((number - LISTENER) as usize)?,
                    number if number % 2 == 0 => self.drain((number / 2) as usize),
                    number => self.serve((number / 2) as usize, event.events(), &chunk),
                }
            }
        }
    }

    /// Does what the application of a flow is to do by now.
    fn act(&mut self, flow: usize, now: Instant, house: &House, chunk: &[u8]) -> Result<(), Error> {
        if self.flows[flow].spec.app.next_wake().is_none_or(|at| at > now) {
            return Ok(());
        }
        while let Some((_, action)) = self.flows[flow].spec.app.poll(now) {
            match action {
                Action::Open => self.open(flow, house)?,
                Action::Write(Bytes::MAX) => self.flows[flow].unwritten = u64::MAX,
                Action::Write(bytes) => {
                    let live = &mut self.flows[flow];
                    live.unwritten = live.unwritten.saturating_add(bytes.get());
                }
                Action::Close => self.flows[flow].closing = true,
                Action::Stop => {
                    let live = &mut self.flows[flow];
                    (live.unwritten, live.closing) = (0, true);
                }
            }
        }
        self.write(flow, chunk);
        Ok(())
    }

    /// Connects a flow's source to its sink.
    fn open(&mut self, flow: usize, house: &House) -> Result<(), Error> {
        let live = &self.flows[flow];
        let (server, host) = (self.plan.server(self.ip, flow), self.plan.host(self.ip, live.host));
        let (namespace, from, to) = match live.spec.is_upload {
            false => (&house.servers, server, host),
            true => (&house.hosts[live.host], host, server),
        };
        let connect = || -> io::Result<Socket> {
            let socket = Socket::new(Domain::for_address(SocketAddr::new(from, 0)), Type::STREAM, Some(Protocol::TCP))?;
            socket.set_nonblocking(true)?;
            socket.set_linger(AT_ONCE)?;
            socket.set_tcp_congestion(live.congestion_control.as_bytes())?;
            socket.set_tcp_nodelay(true)?;
            SockRef::from(&socket).set_tcp_notsent_lowat(NOT_SENT)?;
            // 40 bytes of headers are reckoned with; IPv6 takes 60.
            let headers = if self.ip == Ip::V4 { 40 } else { 60 };
            socket.set_tcp_mss(live.spec.packet.get().saturating_sub(headers).clamp(88, MOST_SEGMENT) as u32)?;
            socket.bind(&SocketAddr::new(from, 0).into())?;
            match socket.connect(&SocketAddr::new(to, live.port).into()) {
                Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
                _ => Ok(socket),
            }
        };
        let name = live.spec.name.clone();
        // This thread stays where it last was: what it has open is of no namespace's. A thread for each connection would wait
        // for a processor behind all that is in real time, and for a locked stack, while all flows wait for it.
        namespace.enter().attempt("enter a network namespace")?;
        let socket = connect().attempt(&format!("connect the flow {name}"))?;
        let events = EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        self.waiter.watch(&socket, events, 2 * flow as u64 + 1).attempt("watch a socket")?;
        self.flows[flow].source = Some(socket);
        Ok(())
    }

    fn accept(&mut self, number: usize) -> Result<(), Error> {
        let (listener, is_upload) = &self.listeners[number];
        loop {
            let (socket, peer) = match listener.accept() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
                accepted => accepted.attempt("accept a connection")?,
            };
            let server = if *is_upload { socket.local_addr() } else { Ok(peer) };
            let server = server.ok().and_then(|address| address.as_socket()).map(|address| address.ip());
            let flow = server.and_then(|server| self.plan.flow_of(server));
            // Somebody else's connection to our port is closed.
            let Some(live) = flow.and_then(|flow| self.flows.get_mut(flow)).filter(|live| live.sink.is_none()) else {
                continue;
            };
            socket.set_nonblocking(true).attempt("set up a connection")?;
            let number = 2 * flow.unwrap_or(0) as u64;
            self.waiter.watch(&socket, EpollFlags::EPOLLIN, number).attempt("watch a connection")?;
            live.sink = Some(socket);
        }
    }

    /// A source has room, or its peer has closed.
    fn serve(&mut self, flow: usize, events: EpollFlags, chunk: &[u8]) {
        let live = &mut self.flows[flow];
        if events.contains(EpollFlags::EPOLLRDHUP) && live.closing && live.count.sender.finished.is_none() {
            // The sink closes when it has everything.
            live.count.sender.finished = Some(self.clock.now());
            live.observe();
            live.source = None;
            return;
        }
        live.waits_for_room = false;
        self.write(flow, chunk);
    }

    fn write(&mut self, flow: usize, chunk: &[u8]) {
        let live = &mut self.flows[flow];
        let Some(socket) = live.source.as_ref().filter(|_| !live.waits_for_room) else { return };
        while live.unwritten > 0 {
            let most = usize::try_from(live.unwritten).unwrap_or(CHUNK).min(CHUNK);
            match socket.send(&chunk[..most]) {
                Ok(written) if live.unwritten != u64::MAX => live.unwritten -= written as u64,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    // Not connected yet, or full: the event list tells when there is room.
                    live.waits_for_room = true;
                    return;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    // The connection has failed: what it has counted stands.
                    live.observe();
                    live.source = None;
                    return;
                }
            }
        }
        if live.closing {
            // A connection that is not there any more needs no end.
            let _ = socket.shutdown(std::net::Shutdown::Write);
        }
    }

    /// Reads what has come to a sink.
    fn drain(&mut self, flow: usize) {
        let now = self.clock.now();
        let (span, sample) = (self.span, self.sample);
        let live = &mut self.flows[flow];
        let Some(socket) = &live.sink else { return };
        match discard(socket.as_fd(), CHUNK) {
            Ok(0) => live.sink = None,
            Ok(count) => {
                if span.contains(now) {
                    live.count.receiver.delivered += Bytes::new(count as u64);
                    let interval = ((now - span.from).as_nanos() / sample.as_nanos()) as usize;
                    let samples = &mut live.count.receiver.samples;
                    samples.resize(samples.len().max(interval + 1), 0);
                    samples[interval] += count as u64;
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => live.sink = None,
        }
    }

    /// The measured span begins.
    fn begin(&mut self) {
        for live in &mut self.flows {
            live.observe();
            live.before = live.latest;
        }
    }

    /// Asks the kernel how the flows stand.
    fn sample(&mut self, now: Instant, counts: bool) {
        let is_probed = self.probe.as_mut().is_some_and(|probe| probe.is_due(now));
        for (flow, live) in self.flows.iter_mut().enumerate() {
            if !live.observe() {
                continue;
            }
            let info = &live.latest;
            let cwnd = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
            let awnd = u64::from(info.snd_wnd);
            if counts {
                live.area.samples += 1;
                live.area.cwnd += cwnd;
                live.area.awnd += awnd;
                live.area.limited += u64::from(awnd < cwnd);
                live.count.sender.rtt.record(Duration::from_micros(u64::from(info.rtt_us)));
            }
            if is_probed {
                let ssthresh = u64::from(info.snd_ssthresh) * u64::from(info.snd_mss);
                let flight = info.bytes_sent.saturating_sub(info.bytes_retrans).saturating_sub(info.bytes_acked);
                let acknowledged = info.bytes_acked;
                let sample = FlowSample {
                    at: now,
                    flow: flow as u32,
                    cwnd,
                    awnd,
                    ssthresh,
                    flight,
                    acknowledged,
                    srtt_s: f64::from(info.rtt_us) / 1e6,
                    // The kernel counts from the start; before the measured span begins nothing counts.
                    retransmits: if counts { u64::from(info.total_retrans - live.before.total_retrans) } else { 0 },
                };
                live.count.samples.push(sample);
            }
        }
    }

    /// Tells the page how the flows do.
    fn tell(&mut self, now: Instant) {
        let Some(teller) = self.teller.as_mut().filter(|teller| teller.is_due(now)) else { return };
        let open = self.flows.iter().filter(|live| live.source.is_some());
        let look = |live: &Live| FlowLook {
            host: live.spec.host.clone(),
            acknowledged: live.latest.bytes_acked,
            window: u64::from(live.latest.snd_wnd)
                .min(u64::from(live.latest.snd_cwnd) * u64::from(live.latest.snd_mss)),
            rtt_s: (live.latest.rtt_us > 0).then(|| f64::from(live.latest.rtt_us) / 1e6),
        };
        teller.flows(now, open.map(look).collect());
    }

    /// What was counted by `now`.
    fn counts(self, now: Instant) -> Vec<StageCount> {
        let measured = now.min(self.span.until).saturating_since(self.span.from);
        let intervals = (measured.as_nanos() / self.sample.as_nanos()) as usize;
        let count = |mut live: Live| {
            let (before, info) = (live.before, live.latest);
            let sender = &mut live.count.sender;
            sender.segments = u64::from(info.data_segs_out.wrapping_sub(before.data_segs_out));
            sender.payload = Bytes::new(info.bytes_sent.saturating_sub(before.bytes_sent));
            sender.repeated = Bytes::new(info.bytes_retrans.saturating_sub(before.bytes_retrans));
            sender.retransmits = u64::from(info.total_retrans.wrapping_sub(before.total_retrans));
            sender.timeouts = u64::from(info.total_rto.wrapping_sub(before.total_rto));
            live.count.receiver.samples.resize(intervals, 0);
            let mss = u64::from(info.snd_mss).max(1);
            live.count.receiver.packets = live.count.receiver.delivered.get().div_ceil(mss);
            let Windows { samples, cwnd, awnd, limited } = live.area;
            live.count.windows = (samples > 0).then(|| WindowMeans {
                cwnd: cwnd as f64 / samples as f64,
                awnd: awnd as f64 / samples as f64,
                awnd_limited: limited as f64 / samples as f64,
            });
            live.count
        };
        self.flows.into_iter().map(count).collect()
    }
}

/// Tells what was done from what was not. What is done for many flows takes its time, and is no stall; but to ask for the
/// processor time costs as much as to read a packet, so it is asked for once in a while.
#[derive(Clone, Copy, Debug)]
struct WorkWatch {
    since: Instant,
    cpu_s: f64,
    asleep: Duration,
}

impl WorkWatch {
    fn new(now: Instant) -> Self {
        Self { since: now, cpu_s: thread_cpu_s(), asleep: Duration::ZERO }
    }

    /// A wait took so long.
    fn slept(&mut self, from: Instant, until: Instant) {
        self.asleep += until.saturating_since(from);
        if until.saturating_since(self.since) > WATCH {
            *self = Self::new(until);
        }
    }

    /// For how long nothing was done since the thread `woke`, if that may be a stall.
    fn idle(&self, woke: Instant, now: Instant) -> Option<Duration> {
        let busy = || Duration::from_secs_f64((thread_cpu_s() - self.cpu_s).max(0.0));
        let awake = now.saturating_since(self.since).saturating_sub(self.asleep);
        (now.saturating_since(woke) > WATCH).then(|| awake.saturating_sub(busy()))
    }
}

impl Live {
    /// Asks the kernel how the flow stands; false if it has no connection.
    fn observe(&mut self) -> bool {
        let Some(socket) = &self.source else { return false };
        match TcpInfo::of(socket.as_fd()) {
            Ok(info) if info.rtt_us > 0 => {
                self.latest = info;
                true
            }
            _ => false,
        }
    }
}

/// A listener for sinks.
fn listen(ip: Ip, port: u16, receiver: &ReceiverSpec) -> io::Result<Socket> {
    let domain = if ip == Ip::V4 { Domain::IPV4 } else { Domain::IPV6 };
    let any = if ip == Ip::V4 { SocketAddr::from(([0; 4], port)) } else { SocketAddr::from(([0u16; 8], port)) };
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    if let ReceiverSpec::Plain(plain) = receiver
        && let Some(buffer) = plain.buffer
    {
        bound_window(socket.as_fd(), buffer.get())?;
    }
    socket.bind(&any.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}
