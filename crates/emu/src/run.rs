// SPDX-License-Identifier: MIT OR Apache-2.0
//! An emulation from a scenario's text to its result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lasthop_core::units::{Duration, Instant};
use lasthop_linux::buffers::LargeBuffers;
use lasthop_linux::cgroup::throttled_s;
use lasthop_linux::clock::{Clock, thread_cpu_s};
use lasthop_linux::realtime::{LockedMemory, Rank, become_realtime};
use lasthop_linux::signals::Signals;
use lasthop_linux::sysctl::has_v6;
use lasthop_linux::tun::Splitter;
use lasthop_linux::{Attempt, Error as SystemError};
use lasthop_scenario::{Scenario, ScenarioError};
use lasthop_sim::Outcome;
use lasthop_sim::{Fairness, System};

use crate::driver::Driver;
use crate::edge::Edge;
use crate::ends::{command_host, controls_of, hosts, not_met};
use crate::endurance::longest_stall;
use crate::error::Error;
use crate::flows::Flows;
use crate::frame::Frame;
use crate::house::{Fittings, House};
use crate::inside::{Commands, Watch, variables};
use crate::judge::{Evidence, faults};
use crate::log::Log;
use crate::plan::{Ip, Plan};
use crate::stage::{Stage, StageCount};
use crate::stalls::Stalls;
use crate::summary::Emulation;

/// What all threads have until the run starts, and more for each flow and host.
const LEAD: Duration = Duration::from_millis(50);
const LEAD_EACH: Duration = Duration::from_millis(1);
/// What a socket for datagrams holds that does not say otherwise \[B\].
const DATAGRAMS: u64 = 8 << 20;
/// The least MTU: what IPv6 demands.
const LEAST_MTU: u64 = 1280;

/// How a scenario is emulated.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seed of the random streams; the scenario's by default.
    pub seed: Option<u64>,
    /// What runs behind the network; without it the scenario's flows run.
    pub command: Option<Vec<OsString>>,
    /// Commands that run before the network, beside the servers.
    pub serve: Vec<String>,
    /// The host on which the command runs; that of the first flow by default.
    pub host: Option<String>,
    /// Whether the scenario's flows run beside a command.
    pub flows: bool,
    /// The kernel's congestion control, in place of what the scenario says.
    pub congestion_control: Option<String>,
    /// Whether the flows use IPv6.
    pub ipv6: bool,
    /// Whether packets of a flow that leave together are joined.
    pub offload: bool,
    /// Where to write logs of the first access point, without their endings.
    pub log: Option<PathBuf>,
    /// As whom commands run; the caller by default, even through `sudo`.
    pub user: Option<String>,
    /// Whether commands have all of our rights.
    pub privileged: bool,
    /// Whether what commands print on standard output goes to standard error.
    pub apart: bool,
    /// Whether the machine forwards what comes from inside to wherever it can reach.
    pub internet: bool,
}

/// How an emulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At the end of the scenario.
    InTime,
    /// With its command, which had this exit status.
    Command(i32),
    /// By this signal.
    Interrupted(i32),
}

/// What an emulation leaves behind.
#[derive(Debug)]
pub struct Report {
    /// What any run leaves.
    pub outcome: Outcome,
    /// How well real time was kept.
    pub emulation: Emulation,
    /// How it ended.
    pub ended: Ended,
    /// What failed besides: servers, and logs that could not be written. A line each.
    pub complaints: Vec<String>,
}

/// Runs the scenario `text` with `overrides` put in; files that it names are looked for in `directory`. It ends early when
/// a signal says so, or `interrupted`, which is asked now and then for the number of one.
///
/// # Errors
/// A scenario that cannot be run or emulated, or a system that does not give what it takes.
pub fn run(
    text: &str,
    directory: &Path,
    overrides: &[(String, String)],
    options: &Options,
    interrupted: &dyn Fn() -> Option<i32>,
) -> Result<Report, Error> {
    let commands = Commands::of(options)?;
    if options.ipv6 && !has_v6() {
        return Err(ScenarioError::at("--ipv6", "this kernel has no IPv6: wanted to do without").into());
    }
    let (mut settings, is_endless) = (vec![], options.command.is_some());
    if is_endless && !options.flows {
        // A command has no warm-up, unless it is told to have one.
        settings.push(("warmup".to_owned(), "0 s".to_owned()));
    }
    settings.extend_from_slice(overrides);
    let mut stage: Stage<Frame> = Stage::new(text, directory, &settings, options.seed, is_endless)?;
    let runs_flows = options.command.is_none() || options.flows;
    let controls = controls_of(&stage.flows, options, runs_flows)?;
    let not_met = if runs_flows { vec![] } else { not_met(&stage.flows) };
    let (names, host_of) = hosts(&mut stage.flows, options.host.as_ref())?;
    let command_host = command_host(&names, options.host.as_ref())?;
    let mtu = stage.flows.iter().map(|flow| flow.packet.get()).fold(LEAST_MTU, u64::max) as u16;
    let mut plan = Plan::new(0, host_of.clone());
    // The flows set theirs by themselves.
    let must_be_default = options.command.is_some() && !options.flows;
    let congestion_control = options.congestion_control.clone();
    let internet = options.internet;
    let fittings = Fittings { mtu, joins: options.offload, congestion_control, must_be_default, internet };
    let _buffers = LargeBuffers::raise(DATAGRAMS);
    let mut house = House::build(&mut plan, names.len(), &fittings)?;
    let logged = match &options.log {
        Some(prefix) => Some((prefix, logged(&stage)?)),
        None => None,
    };

    let bears = longest_stall(&Scenario::from_toml(text, &settings)?);
    let signals = Signals::block()?;
    let throttled_before = throttled_s();
    let memory = LockedMemory::lock();
    let clock = Clock::starting_in(LEAD + LEAD_EACH * (stage.flows.len() + names.len()) as u64);
    let span = stage.span;
    let ip = if options.ipv6 { Ip::V6 } else { Ip::V4 };
    let uploads = stage.flows.iter().map(|flow| flow.is_upload).collect();
    let mut edge = Edge::new(clock, std::mem::take(&mut house.devices), Splitter::new(mtu), plan.clone(), uploads);
    let (network, flows) = stage.take_network();
    edge.recorder = stage.recorder.take();
    if let Some((prefix, (down, up))) = logged {
        let traces = [Some(down), up].map(|ap| network.trace(ap?).cloned());
        let log = Log::start(prefix, (down, up), traces);
        edge.log = Some(log.attempt(&format!("write {}", prefix.display()))?);
    }
    let flow_names = flows.len();
    let mut driver = Driver::new(network, edge).attempt("set up a timer and an event list")?;
    let flows = runs_flows
        .then(|| {
            let ends = (host_of, controls.clone());
            Flows::new(flows, ends, (plan.clone(), ip, &house), (span, stage.probe, stage.sample), clock)
        })
        .transpose()?;

    let stop = AtomicBool::new(false);
    let ((until, realtime, cpu_s), counts, ended) = thread::scope(|scope| {
        // Whichever ends first ends the others, however it ends.
        let relay = scope.spawn(|| {
            let _stop = StopAtEnd(&stop);
            let realtime = become_realtime(Rank::First);
            clock.wait_for_start();
            (driver.run(span.until, realtime, &stop), realtime, thread_cpu_s())
        });
        let running = flows.map(|flows| {
            scope.spawn(|| {
                let stop_at_end = StopAtEnd(&stop);
                become_realtime(Rank::Second);
                clock.wait_for_start();
                let counts = flows.run(&house, span.until, &stop);
                if counts.is_ok() {
                    // The relay ends at the same instant, by itself.
                    std::mem::forget(stop_at_end);
                }
                counts
            })
        });
        clock.wait_for_start();
        let ended = {
            let _stop = StopAtEnd(&stop);
            let watch = Watch { signals: &signals, stop: &stop, interrupted };
            let serves = runs_flows || !options.serve.is_empty();
            let variables = variables(&house, &plan, &names[command_host], (command_host, serves));
            commands.run(&house, &variables, (options, command_host), &watch)
        };
        let relayed = join(relay);
        let counts = running.map_or_else(|| Ok((vec![StageCount::default(); flow_names], Stalls::default())), join);
        (relayed, counts, ended)
    });
    let Driver { network, edge, stalls, .. } = driver;
    let logged = match (edge.log, &options.log) {
        (Some(log), Some(prefix)) => log.finish(until).attempt(&format!("write {}", prefix.display())),
        _ => Ok(()),
    };
    if let Some(failure) = edge.failure {
        return Err(SystemError::of("exchange packets with the kernel", failure).into());
    }
    let ((mut counts, stalls_of_flows), (ended, mut complaints)) = (counts?, ended?);
    complaints.extend(logged.err().map(|error| error.to_string()));
    for (count, control) in counts.iter_mut().zip(&controls) {
        count.congestion_control.clone_from(control);
    }
    let drops = house.endpoint_drops();
    let evidence = Evidence {
        length: until - Instant::ZERO,
        packets: edge.lag.count(),
        lag_p99: edge.lag.quantile_s(0.99).map(Duration::from_secs_f64),
        relay: stalls,
        flows: stalls_of_flows,
        longest_stall: bears,
        overruns: edge.refused + house.overruns(),
        throttled_s: throttled_s().unwrap_or(0.0) - throttled_before.unwrap_or(0.0),
        drops: &drops,
    };
    let emulation = Emulation {
        faults: faults(&evidence),
        stalls: stalls.count,
        stall_max_s: stalls.longest.as_secs_f64(),
        stall_limit_s: bears.as_secs_f64(),
        stalled_fraction: stalls.total.as_secs_f64() / evidence.length.as_secs_f64().max(f64::MIN_POSITIVE),
        throttled_s: evidence.throttled_s,
        overruns: evidence.overruns,
        wait_p99_s: edge.waits.quantile_s(0.99).unwrap_or(0.0),
        packets: edge.lag.count(),
        cpu_s,
        lag_p50_s: edge.lag.quantile_s(0.5).unwrap_or(0.0),
        lag_p99_s: edge.lag.quantile_s(0.99).unwrap_or(0.0),
        lag_max_s: edge.longest_lag.as_secs_f64(),
        strays: edge.strays,
        realtime: realtime && memory.is_locked(),
        endpoint_drops: drops,
        congestion_control: if runs_flows { controls } else { vec![] },
        sysctls: house.settings(),
    };
    let mut outcome = stage.finish(network, until, edge.recorder, &counts);
    if !runs_flows {
        // Nobody has opened them.
        outcome.summary.flows.clear();
        outcome.summary.system = System { overhead: None, cov: None, success: None, ..outcome.summary.system };
        outcome.summary.fairness = Fairness { jain: None, short_term: None };
    }
    outcome.summary.notes.extend(not_met);
    if until < span.from {
        let warmup = (span.from - Instant::ZERO).as_secs_f64();
        outcome.summary.notes.push(format!("it ended before its warm-up of {warmup} s was over: nothing was measured"));
    }
    Ok(Report { outcome, emulation, ended, complaints })
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Tells the others to stop when it goes.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The access points whose packets are logged.
fn logged(stage: &Stage<Frame>) -> Result<(u32, Option<u32>), ScenarioError> {
    let message = "there is no [[ap]] whose packets could be logged";
    stage.first_access_point.ok_or_else(|| ScenarioError::at("--log", message))
}
