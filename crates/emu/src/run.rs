// SPDX-License-Identifier: MIT OR Apache-2.0
//! An emulation from a scenario's text to its result.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lasthop_core::units::{Duration, Instant};
use lasthop_linux::buffers::LargeBuffers;
use lasthop_linux::cgroup::throttled_s;
use lasthop_linux::clock::{Clock, thread_cpu_s};
use lasthop_linux::realtime::{LockedMemory, Rank, become_realtime};
use lasthop_linux::signals::{Signal, Signals};
use lasthop_linux::sysctl::has_v6;
use lasthop_linux::tun::Splitter;
use lasthop_linux::{Attempt, Error as SystemError};
use lasthop_scenario::{Scenario, ScenarioError};
use lasthop_sim::Outcome;
use lasthop_sim::{Fairness, System};

use crate::agents::{Agents, AgentsAtWork};
use crate::control::Controls;
use crate::driver::Driver;
use crate::edge::Edge;
use crate::ends::{command_host, has_a_law, hosts, no_law, not_kept, not_met};
use crate::endurance::longest_stall;
use crate::error::Error;
use crate::exit::{ExitCounts, Exits, Writer};
use crate::flows::Flows;
use crate::frame::Frame;
use crate::house::{Fittings, House};
use crate::inside::{Commands, Interrupts, variables};
use crate::judge::{Evidence, faults};
use crate::log::Log;
use crate::plan::{Ip, Plan};
use crate::stage::{Stage, StageCount};
use crate::stalls::Stalls;
use crate::summary::Emulation;
use crate::watch;

/// What all threads have until the run starts, and more for each flow and host.
const LEAD: Duration = Duration::from_millis(50);
const LEAD_EACH: Duration = Duration::from_millis(1);
/// What a socket for datagrams holds that does not say otherwise \[B\].
const DATAGRAMS: u64 = 8 << 20;
/// The least MTU: what IPv6 demands.
const LEAST_MTU: u64 = 1280;

/// How a scenario is emulated.
#[derive(Clone, Debug, Default)]
pub struct EmulationOptions {
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
    /// Whether an agent at the gateway takes the place of access points' prices and of receivers' laws.
    pub proxy: bool,
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
    /// Where there is to be a page that shows what runs: an address of this machine alone, and a port.
    pub watch: Option<String>,
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
    options: &EmulationOptions,
    interrupted: &dyn Fn() -> Option<i32>,
) -> Result<Report, Error> {
    let commands = Commands::of(options)?;
    let mut cast = Cast::of(text, directory, overrides, options)?;
    let mut plan = Plan::new(0, cast.host_of.clone());
    let _buffers = LargeBuffers::raise(DATAGRAMS);
    let house = House::build(&mut plan, cast.names.len(), &cast.fittings(options))?;
    let signals = Signals::block(&[Signal::SIGCHLD])?;
    let throttled_before = throttled_s();
    let memory = LockedMemory::lock();
    let mut agents = cast.start_agents(&house, &plan)?;
    let (title, from) = (&cast.title, cast.stage.span.from);
    let page = options.watch.as_ref().map(|address| watch::open(address, title, from)).transpose()?;
    let mut play = Play::new(cast, house, plan, options)?;
    play.driver.edge.is_told.clone_from(&agents.is_told);
    if let Some((_, teller)) = &page {
        play.driver.teller = Some(teller.clone());
        if let Some(flows) = &mut play.flows {
            flows.teller = Some(teller.clone());
        }
    }
    let run = play.run(&commands, options, (&signals, interrupted))?;
    let throttled_s = throttled_s().unwrap_or(0.0) - throttled_before.unwrap_or(0.0);
    play.report(run, options, &mut agents, (throttled_s, memory.is_locked()))
}

/// What is emulated, and what of it the kernel's own flows take part in.
struct Cast {
    title: String,
    stage: Stage<Frame>,
    runs_flows: bool,
    controls: Controls,
    agents: Agents,
    /// What the scenario asks of flows that the kernel does not do.
    not_met: Vec<String>,
    /// The hosts, the one of each flow, and that of the command.
    names: Vec<String>,
    host_of: Vec<usize>,
    command_host: usize,
    mtu: u16,
    /// The access points whose packets are logged.
    logged: Option<(u32, Option<u32>)>,
    /// The longest stall that the scenario bears.
    bears: Duration,
}

impl Cast {
    fn of(
        text: &str,
        directory: &Path,
        overrides: &[(String, String)],
        options: &EmulationOptions,
    ) -> Result<Self, Error> {
        if options.ipv6 && !has_v6() {
            return Err(ScenarioError::at("--ipv6", "this kernel has no IPv6: wanted to do without").into());
        }
        let (mut settings, is_endless) = (vec![], options.command.is_some());
        if is_endless && !options.flows {
            // A command has no warm-up, unless it is told to have one.
            settings.push(("warmup".to_owned(), "0 s".to_owned()));
        }
        settings.extend_from_slice(overrides);
        let mut stage: Stage<Frame> =
            Stage::new(text, directory, &settings, options.seed, (is_endless, options.proxy))?;
        let runs_flows = options.command.is_none() || options.flows;
        let controls = Controls::of(&stage.flows, options, runs_flows)?;
        let (names, host_of) = hosts(&mut stage.flows, options.host.as_ref())?;
        let scenario = Scenario::from_toml(text, &settings)?;
        let agents = Agents::of(&scenario, &stage.flows, &host_of, options.proxy)?;
        if runs_flows && let Some(flow) = stage.flows.iter().find(|flow| has_a_law(flow) && !agents.serves(flow)) {
            return Err(no_law(flow, options.proxy).into());
        }
        let not_met = match runs_flows {
            true => not_kept(&stage.flows),
            false => not_met(&stage.flows, |flow| agents.serves(flow)),
        };
        let command_host = command_host(&names, options.host.as_ref())?;
        let mtu = stage.flows.iter().map(|flow| flow.packet.get()).fold(LEAST_MTU, u64::max) as u16;
        let logged = options.log.as_ref().map(|_| logged(&stage)).transpose()?;
        let bears = longest_stall(&scenario);
        let title = scenario.title;
        Ok(Self {
            title,
            stage,
            runs_flows,
            controls,
            agents,
            not_met,
            names,
            host_of,
            command_host,
            mtu,
            logged,
            bears,
        })
    }

    /// Puts the agents where they belong. A command goes on without them, and is told so; flows of the scenario do not, nor does
    /// what an agent refuses.
    fn start_agents(&mut self, house: &House, plan: &Plan) -> Result<AgentsAtWork, Error> {
        let Some(key) = self.agents.key() else { return Ok(AgentsAtWork::default()) };
        match self.agents.start(house, plan) {
            Ok(running) => {
                self.not_met.extend(self.agents.not_kept());
                Ok(running)
            }
            Err(error) if self.runs_flows || error.is_refusal() => {
                Err(ScenarioError::at(key, error.to_string()).into())
            }
            Err(error) => {
                let line = format!("{key}: what the command opens does not obey it: {error}");
                self.not_met.push(line);
                Ok(AgentsAtWork::default())
            }
        }
    }

    fn fittings(&self, options: &EmulationOptions) -> Fittings {
        Fittings {
            mtu: self.mtu,
            congestion_control: options.congestion_control.clone(),
            // The flows set theirs by themselves.
            must_be_default: options.command.is_some() && !options.flows,
            internet: options.internet,
            has_gateway: self.stage.has_gateway,
        }
    }
}

/// All that takes part in the run.
struct Play {
    cast: Cast,
    house: House,
    plan: Plan,
    clock: Clock,
    driver: Driver,
    /// What writes in a thread of its own, if anything does.
    writer: Option<Writer>,
    flows: Option<Flows>,
    flow_count: usize,
}

/// What the threads of a run leave.
struct Run {
    until: Instant,
    /// Whether the relay was a real-time thread.
    realtime: bool,
    /// The processor time of the relay and of what writes for it.
    cpu_s: f64,
    /// What was counted where packets left, and when the thread that writes stood still.
    left: ExitCounts,
    stalls_of_writer: Stalls,
    counts: Vec<StageCount>,
    stalls_of_flows: Stalls,
    ended: Ended,
    complaints: Vec<String>,
}

impl Play {
    fn new(mut cast: Cast, mut house: House, plan: Plan, options: &EmulationOptions) -> Result<Self, Error> {
        let stage = &mut cast.stage;
        let clock = Clock::starting_in(LEAD + LEAD_EACH * (stage.flows.len() + cast.names.len()) as u64);
        let uploads = stage.flows.iter().map(|flow| flow.is_upload).collect();
        let devices: Arc<[_]> = std::mem::take(&mut house.devices).into();
        let are_two = thread::available_parallelism().is_ok_and(|processors| processors.get() > 1);
        let (exits, writer) = Exits::new(clock, Arc::clone(&devices), options.offload, are_two);
        let mut edge = Edge::new(clock, (devices, exits), Splitter::new(cast.mtu), plan.clone(), uploads);
        let (network, flows) = stage.take_network();
        edge.gateway = house.gateway_devices();
        edge.recorder = stage.recorder.take();
        edge.asks = cast.controls.ask;
        if let (Some(prefix), Some((down, up))) = (&options.log, cast.logged) {
            let traces = [Some(down), up].map(|ap| network.trace(ap?).cloned());
            let log = Log::start(prefix, (down, up), traces);
            edge.log = Some(log.attempt(&format!("write {}", prefix.display()))?);
        }
        let flow_count = flows.len();
        let driver = Driver::new(network, edge).attempt("set up a timer and an event list")?;
        let ip = if options.ipv6 { Ip::V6 } else { Ip::V4 };
        let inside = cast.controls.inside()?;
        let flows = cast.runs_flows.then(|| {
            let ends = (std::mem::take(&mut cast.host_of), cast.controls.names.clone());
            let Stage { span, probe, sample, .. } = cast.stage;
            Flows::new(flows, ends, (plan.clone(), ip, &house), (span, probe, sample), clock)
        });
        let flows = flows.transpose()?;
        drop(inside);
        Ok(Self { cast, house, plan, clock, driver, writer, flows, flow_count })
    }

    /// Runs relay, flows and commands, each in a thread of its own. Whichever ends first ends the others, however it ends.
    fn run(
        &mut self,
        commands: &Commands,
        options: &EmulationOptions,
        (signals, interrupted): (&Signals, &dyn Fn() -> Option<i32>),
    ) -> Result<Run, Error> {
        let Self { cast, house, plan, clock, driver, writer, flows, flow_count } = self;
        let (clock, end, stop) = (*clock, cast.stage.span.until, AtomicBool::new(false));
        let ((until, realtime, cpu_s), (left, stalls_of_writer, more_s), counts, ended) = thread::scope(|scope| {
            let writing = writer.take().map(|writer| {
                let stop = &stop;
                scope.spawn(move || {
                    let _stop = StopAtEnd(stop);
                    writer.run(become_realtime(Rank::First))
                })
            });
            let relay = scope.spawn(|| {
                let _stop = StopAtEnd(&stop);
                let realtime = become_realtime(Rank::First);
                clock.wait_for_start();
                let relay = CloseAtEnd(driver);
                (relay.0.run(end, realtime, &stop), realtime, thread_cpu_s())
            });
            let running = flows.take().map(|flows| {
                let (house, controls, stop) = (&*house, &cast.controls, &stop);
                scope.spawn(move || {
                    let stop_at_end = StopAtEnd(stop);
                    let _inside = controls.inside()?;
                    become_realtime(Rank::Second);
                    clock.wait_for_start();
                    let counts = flows.run(house, end, stop);
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
                let watch = Interrupts { signals, stop: &stop, interrupted };
                let serves = cast.runs_flows || !options.serve.is_empty();
                let variables = variables(house, plan, &cast.names[cast.command_host], (cast.command_host, serves));
                commands.run(house, &variables, (options, cast.command_host), &watch)
            };
            let relayed = join(relay);
            let written = writing.map_or_else(Default::default, join);
            let none = || Ok((vec![StageCount::default(); *flow_count], Stalls::default()));
            let counts = running.map_or_else(none, join);
            (relayed, written, counts, ended)
        });
        let mut left = driver.edge.take_counts().and(left);
        if let Some(failure) = driver.edge.failure.take().or(left.failure.take()) {
            return Err(SystemError::of("exchange packets with the kernel", failure).into());
        }
        let ((mut counts, stalls_of_flows), (ended, complaints)) = (counts?, ended?);
        for (count, control) in counts.iter_mut().zip(&cast.controls.labels) {
            count.congestion_control.clone_from(control);
        }
        let cpu_s = cpu_s + more_s;
        Ok(Run { until, realtime, cpu_s, left, stalls_of_writer, counts, stalls_of_flows, ended, complaints })
    }

    /// What the run has shown, and how well real time was kept.
    fn report(
        mut self,
        mut run: Run,
        options: &EmulationOptions,
        agents: &mut AgentsAtWork,
        (throttled_s, is_locked): (f64, bool),
    ) -> Result<Report, Error> {
        if let (Some(log), Some(prefix)) = (self.driver.edge.log.take(), &options.log) {
            let written = log.finish(run.until).attempt(&format!("write {}", prefix.display()));
            run.complaints.extend(written.err().map(|error| error.to_string()));
        }
        let emulation = self.judged(&run, agents, (throttled_s, is_locked));
        let Self { mut cast, driver: Driver { network, edge, .. }, .. } = self;
        if !cast.runs_flows {
            cast.stage.without_flows();
        }
        let Run { until, counts, ended, complaints, .. } = run;
        let span = cast.stage.span;
        let sampled_until = edge.recorder.as_ref().map(|recorder| recorder.last());
        let mut outcome = cast.stage.finish(network, until, edge.recorder, &counts);
        if !cast.runs_flows {
            outcome.summary.flows.clear();
            outcome.summary.system = System { overhead: None, cov: None, success: None, ..outcome.summary.system };
            outcome.summary.fairness = Fairness { jain: None, short_term: None };
        }
        outcome.summary.notes.extend(cast.not_met);
        outcome.summary.notes.extend(cast.controls.notes);
        if let Some(last) = sampled_until.filter(|last| *last < until) {
            let last = (last - Instant::ZERO).as_secs_f64();
            outcome
                .summary
                .notes
                .push(format!("there was room for samples until {last} s: wanted a longer probe.every"));
        }
        if until < span.from {
            let warmup = (span.from - Instant::ZERO).as_secs_f64();
            let note = format!("it ended before its warm-up of {warmup} s was over: nothing was measured");
            outcome.summary.notes.push(note);
        }
        Ok(Report { outcome, emulation, ended, complaints })
    }

    fn judged(&self, run: &Run, agents: &mut AgentsAtWork, (throttled_s, is_locked): (f64, bool)) -> Emulation {
        let Self { cast, house, driver: Driver { edge, stalls: relay, .. }, .. } = self;
        let ExitCounts { lag, longest_lag, refused, .. } = &run.left;
        let stalls = relay.and(&run.stalls_of_writer);
        let drops = house.endpoint_drops();
        let evidence = Evidence {
            length: run.until - Instant::ZERO,
            packets: lag.count(),
            lag_p99: lag.quantile_s(0.99).map(Duration::from_secs_f64),
            emulator: stalls,
            flows: run.stalls_of_flows,
            longest_stall: cast.bears,
            overruns: edge.refused + house.overruns(),
            throttled_s,
            agent_ended: agents.ended(),
            drops: &drops,
        };
        Emulation {
            faults: faults(&evidence),
            stalls: stalls.count,
            stall_max_s: stalls.longest.as_secs_f64(),
            stall_limit_s: cast.bears.as_secs_f64(),
            stalled_fraction: stalls.total.as_secs_f64() / evidence.length.as_secs_f64().max(f64::MIN_POSITIVE),
            throttled_s,
            overruns: evidence.overruns,
            wait_p99_s: edge.waits.quantile_s(0.99).unwrap_or(0.0),
            packets: lag.count(),
            cpu_s: run.cpu_s,
            lag_p50_s: lag.quantile_s(0.5).unwrap_or(0.0),
            lag_p99_s: lag.quantile_s(0.99).unwrap_or(0.0),
            lag_max_s: longest_lag.as_secs_f64(),
            strays: edge.strays + refused,
            realtime: run.realtime && is_locked,
            endpoint_drops: drops,
            congestion_control: if cast.runs_flows { cast.controls.labels.clone() } else { vec![] },
            agent: agents.kind,
            sysctls: house.settings(),
        }
    }
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Closes the way to the thread that writes when it goes, however that happens: so that one ends, too.
struct CloseAtEnd<'a>(&'a mut Driver);

impl Drop for CloseAtEnd<'_> {
    fn drop(&mut self) {
        self.0.edge.close();
    }
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
