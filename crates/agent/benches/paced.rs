// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent's programs cost packet by packet, by `BPF_PROG_TEST_RUN`. It takes root:
//! `cargo bench -p lasthop-agent --bench paced`.
//!
//! A download over a hidden queue that is busy, an ACK for each two packets, is played at the pace of a link. A program that does
//! nothing sees all packets, too, before or after the agent's in turn: its time is the harness'. `ap` and `client` see the same
//! packets, one after the other. Each figure is the mean of the middle half.
#![allow(missing_docs)]

#[path = "../tests/support/segment.rs"]
mod segment;
#[path = "../tests/support/skipped.rs"]
mod skipped;

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;
use std::time::Duration;

use lasthop_agent::config::{Config, Law, StationConfig};
use lasthop_agent::load::Programs;
use lasthop_agent::mode::Mode;
use lasthop_agent::state::Connection;
use lasthop_linux::clock;

use segment::{ACK, OPTIONS, SYN, from_client, from_server};
use skipped::or_skipped;

const PAYLOAD: u32 = 1448;
/// How many packets are acknowledged at once.
const AT_ONCE: u32 = 2;
/// The queue that the ACKs tell of.
const QUEUE: Duration = Duration::from_millis(25);
/// How long the path is seen without a queue.
const REST: Duration = Duration::from_millis(300);
/// The client's own window, in units of 128 B.
const OWN: u16 = 20_000;
const MEASURED: u64 = 10_000;

/// A program that does nothing.
struct Nothing(OwnedFd);

impl Nothing {
    /// # Panics
    /// If the kernel does not take it.
    fn load() -> Self {
        // r0 = TCX_NEXT; exit.
        let instruction = |code: u8, imm: i32| libbpf_sys::bpf_insn { code, imm, ..Default::default() };
        let all = [instruction(0xb7, -1), instruction(0x95, 0)];
        let (kind, license) = (libbpf_sys::BPF_PROG_TYPE_SCHED_CLS, c"GPL");
        // SAFETY: both instructions are there as long as the call takes.
        let fd = unsafe {
            libbpf_sys::bpf_prog_load(
                kind,
                c"nothing".as_ptr(),
                license.as_ptr(),
                all.as_ptr(),
                all.len() as _,
                null_mut(),
            )
        };
        assert!(fd >= 0, "the kernel does not take a program that does nothing");
        // SAFETY: it is new, and nobody else's.
        Self(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// What it takes on a packet [ns].
    fn time_ns(&self, packet: &[u8]) -> u64 {
        let mut how = libbpf_sys::bpf_test_run_opts {
            sz: size_of::<libbpf_sys::bpf_test_run_opts>() as _,
            data_in: packet.as_ptr().cast(),
            data_size_in: packet.len() as u32,
            ..Default::default()
        };
        // SAFETY: the packet is there as long as the call takes, and nothing is given back.
        assert_eq!(unsafe { libbpf_sys::bpf_prog_test_run_opts(self.0.as_raw_fd(), &raw mut how) }, 0);
        how.duration.into()
    }
}

/// The mean of the middle half: the kernel's clock moves in steps, and others' work interrupts.
fn middle(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    let quarter = times.len() / 4;
    let half = &times[quarter..times.len() - quarter];
    half.iter().sum::<u64>() / half.len() as u64
}

/// Agents and their names, in the order in which data pass them.
struct Agents(Vec<(&'static str, Programs)>);

impl Agents {
    fn load(modes: &[(&'static str, Mode)], config: &Config) -> Option<Self> {
        let load = |(name, mode): &(&'static str, Mode)| {
            let settings = config.settings(14, *mode == Mode::Proxy);
            Some((*name, or_skipped(Programs::load(*mode, &settings))?))
        };
        modes.iter().map(load).collect::<Option<_>>().map(Self)
    }

    /// What each takes for a packet [ns].
    ///
    /// # Panics
    /// If the kernel does not run one.
    fn pass(&self, to_client: bool, mut packet: Vec<u8>) -> Vec<u64> {
        let mut times = vec![0; self.0.len()];
        for at in 0..times.len() {
            // ACKs come the other way.
            let (at, program) = if to_client { (at, "to_client") } else { (times.len() - 1 - at, "to_server") };
            let tried = self.0[at].1.time_packet(program, &packet).expect("a run");
            packet = tried.left;
            times[at] = tried.took.as_nanos() as u64;
        }
        times
    }
}

/// Plays a download and prints what its packets cost.
fn play(agents: &Agents, nothing: &Nothing, pace: Duration) {
    let stamped = |value: u32, echo: u32| [&[1, 1, 8, 10][..], &value.to_be_bytes(), &echo.to_be_bytes()].concat();
    let syn = [&OPTIONS[..], &stamped(1, 0)].concat();
    agents.pass(false, from_client(99, 0, SYN, 64_240, &syn).frame());
    agents.pass(true, from_server(999, 100, SYN | ACK, &syn, 0).frame());
    let began_ns = clock::monotonic_ns();
    let pace_ns = pace.as_nanos() as u64;
    let rest = REST.as_nanos() as u64 / pace_ns;
    // So many packets are in the queue; it grows by one with each ACK.
    let queued = (QUEUE.as_nanos() as u64 * u64::from(AT_ONCE) / pace_ns) as u32;
    let first = rest + 2 * u64::from(queued);
    let (mut sent, mut acked) = (1000u32, 1000u32);
    let mut data_ns = vec![vec![]; agents.0.len()];
    let (mut ack_ns, mut nothing_ns) = (data_ns.clone(), vec![]);
    for step in 0..first + MEASURED {
        while clock::monotonic_ns() < began_ns + step * pace_ns {
            std::hint::spin_loop();
        }
        let is_measured = step >= first;
        // What comes back tells of what was sent a queue ago.
        let now_ms = |step: u64| (step * pace_ns / 1_000_000) as u32 + 2;
        let (now, then) = (now_ms(step), now_ms(step.saturating_sub(u64::from((sent - acked) / PAYLOAD / AT_ONCE))));
        let is_first = step % 2 == 0;
        let mut pass = |of: &mut Vec<Vec<u64>>, to_client: bool, packet: Vec<u8>| {
            let before = is_first.then(|| nothing.time_ns(&packet));
            let times = agents.pass(to_client, packet.clone());
            let took = before.unwrap_or_else(|| nothing.time_ns(&packet));
            if is_measured {
                nothing_ns.push(took);
                of.iter_mut().zip(times).for_each(|(all, time)| all.push(time));
            }
        };
        let grows = step >= rest && (sent - acked) / PAYLOAD < queued;
        for _ in 0..AT_ONCE + u32::from(grows) {
            pass(&mut data_ns, true, from_server(sent, 100, ACK, &stamped(now, then), PAYLOAD as usize).frame());
            sent += PAYLOAD;
        }
        acked += AT_ONCE * PAYLOAD;
        pass(&mut ack_ns, false, from_client(100, acked, ACK, OWN, &stamped(now, then)).frame());
    }
    let harness = middle(nothing_ns);
    for (((name, programs), data), ack) in agents.0.iter().zip(data_ns).zip(ack_ns) {
        // No device has a queue here, so that prices are of rates that are not known, and `client` lowers nothing.
        if programs.mode() == Mode::Proxy {
            let flows = programs.flows().expect("the connections");
            let is_lowered = |connection: &Connection| match connection {
                Connection::Steered(flow) => (1..u64::from(OWN) << 7).contains(&flow.window_bytes),
                Connection::Priced(_) => false,
            };
            assert!(matches!(&flows[..], [(_, flow)] if is_lowered(flow)), "{name} lowers no window");
        }
        let (data, ack) = (middle(data), middle(ack));
        println!(
            "{name}, an ACK each {} us: {data} ns a packet of data, {ack} ns an ACK; less the {harness} ns of nothing {} and {}",
            pace.as_micros(),
            data.saturating_sub(harness),
            ack.saturating_sub(harness)
        );
    }
}

fn main() {
    let (usual, station) =
        (Config::default(), Config { law: Law::Station(StationConfig::default()), ..Config::default() });
    let proxy = |name| vec![(name, Mode::Proxy)];
    let pair = vec![("ap", Mode::Ap), ("client", Mode::Client)];
    for pace in [100, 200, 1000].map(Duration::from_micros) {
        for (modes, config) in [(proxy("share"), &usual), (proxy("station"), &station), (pair.clone(), &usual)] {
            let Some(agents) = Agents::load(&modes, config) else { return };
            play(&agents, &Nothing::load(), pace);
        }
    }
}
