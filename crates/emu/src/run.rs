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
use lasthop_linux::process::{self, Running};
use lasthop_linux::realtime::{LockedMemory, Rank, become_realtime};
use lasthop_linux::signals::{Origin, Signal, Signals};
use lasthop_linux::sysctl::{congestion_controls, has_v6};
use lasthop_linux::tun::Splitter;
use lasthop_linux::{Attempt, Error as SystemError};
use lasthop_sim::Outcome;
use lasthop_sim::scenario::{Receiver, Scenario, ScenarioError, Sender};

use crate::driver::Driver;
use crate::edge::Edge;
use crate::endurance::longest_stall;
use crate::error::Error;
use crate::flows::Flows;
use crate::frame::Frame;
use crate::house::{Fittings, House};
use crate::judge::{Evidence, faults};
use crate::log::Log;
use crate::plan::{Ip, MOST_FLOWS, MOST_HOSTS, Plan};
use crate::stage::{Stage, StageCount, StageFlow};
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
}

/// How an emulation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// At the end of the scenario.
    InTime,
    /// With its command, which had this exit status.
    Command(i32),
    /// By a signal.
    Interrupted,
}

/// Runs the scenario `text` with `overrides` put in; files that it names are looked for in `directory`. It ends early when
/// `interrupted`, which is asked now and then, or a signal says so.
///
/// # Errors
/// A scenario that cannot be run or emulated, or a system that does not give what it takes.
pub fn run(
    text: &str,
    directory: &Path,
    overrides: &[(String, String)],
    options: &Options,
    interrupted: &dyn Fn() -> bool,
) -> Result<(Outcome, Emulation, Ended), Error> {
    let serve = command_lines(&options.serve)?;
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
    let (names, host_of) = hosts(&stage.flows)?;
    let command_host = match &options.host {
        None => 0,
        Some(host) => names
            .iter()
            .position(|name| name == host)
            .ok_or_else(|| ScenarioError::at("--station", format!("{host:?}: wanted one of {}", names.join(", "))))?,
    };
    let mtu = stage.flows.iter().map(|flow| flow.packet.get()).fold(LEAST_MTU, u64::max) as u16;
    let mut plan = Plan::new(0, host_of.clone());
    // The flows set theirs by themselves.
    let must_be_default = options.command.is_some() && !options.flows;
    let congestion_control = options.congestion_control.clone();
    let fittings = Fittings { mtu, joins: options.offload, congestion_control, must_be_default };
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
            inside(
                &house,
                &variables(&house, &plan, &names[command_host], command_host),
                (options, &serve, command_host),
                &watch,
            )
        };
        let relayed = join(relay);
        let counts = running.map_or_else(|| Ok((vec![StageCount::default(); flow_names], Stalls::default())), join);
        (relayed, counts, ended)
    });
    let Driver { network, edge, stalls, .. } = driver;
    if let (Some(log), Some(prefix)) = (edge.log, &options.log) {
        log.finish(until).attempt(&format!("write {}", prefix.display()))?;
    }
    if let Some(failure) = edge.failure {
        return Err(SystemError::of("exchange packets with the kernel", failure).into());
    }
    let ((mut counts, stalls_of_flows), ended) = (counts?, ended?);
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
    Ok((stage.finish(network, until, edge.recorder, &counts), emulation, ended))
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

/// The words of command lines.
fn command_lines(lines: &[String]) -> Result<Vec<Vec<OsString>>, ScenarioError> {
    let words = |line: &String| {
        let words = shlex::split(line)
            .filter(|words| !words.is_empty())
            .ok_or_else(|| ScenarioError::at("--serve", format!("{line:?}: wanted a command, quoted as in a shell")))?;
        Ok(words.into_iter().map(Into::into).collect())
    };
    lines.iter().map(words).collect()
}

/// Runs the commands until the end: that of the one inside, that of the scenario, or a signal.
fn inside(
    house: &House,
    variables: &[(String, String)],
    (options, serve, host): (&Options, &[Vec<OsString>], usize),
    watch: &Watch<'_>,
) -> Result<Ended, Error> {
    let mut servers = vec![];
    for words in serve {
        servers.push(process::start(words, &house.servers, variables)?);
    }
    let command = options.command.as_ref();
    let mut command = command.map(|words| process::start(words, &house.hosts[host], variables)).transpose()?;
    let ended = watch.wait(command.as_mut());
    for (server, line) in servers.iter_mut().zip(&options.serve) {
        // One that could not do its work is not to be searched for.
        if let Ok(Some(status)) = server.status()
            && status != 0
        {
            eprintln!("lasthop: --serve {line:?}: ended with {status}");
        }
    }
    ended
}

/// What ends a run from outside.
struct Watch<'a> {
    signals: &'a Signals,
    stop: &'a AtomicBool,
    interrupted: &'a dyn Fn() -> bool,
}

impl Watch<'_> {
    /// Waits for the end. An interrupt from the terminal goes to the command as well: it decides.
    fn wait(&self, mut command: Option<&mut Running>) -> Result<Ended, Error> {
        loop {
            let signal = self.signals.wait(20)?;
            if let Some(command) = &mut command
                && let Some(status) = command.status().attempt("wait for the command")?
            {
                return Ok(Ended::Command(status));
            }
            match signal {
                Some((Signal::SIGINT | Signal::SIGQUIT, Origin::Terminal)) if command.is_some() => {}
                Some((Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT, _)) => {
                    return Ok(Ended::Interrupted);
                }
                _ => {}
            }
            if (self.interrupted)() {
                return Ok(Ended::Interrupted);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Ended::InTime);
            }
        }
    }
}

/// What a command inside may want to know.
fn variables(house: &House, plan: &Plan, name: &str, host: usize) -> Vec<(String, String)> {
    let flow = plan.stream_from(host, plan.machine(Ip::V4)).unwrap_or(0) as usize;
    let mut variables = vec![
        ("LASTHOP_STATION".to_owned(), name.to_owned()),
        ("LASTHOP_ADDRESS".to_owned(), plan.host(Ip::V4, host).to_string()),
        ("LASTHOP_SERVER".to_owned(), plan.server(Ip::V4, flow).to_string()),
        ("LASTHOP_SERVER6".to_owned(), plan.server(Ip::V6, flow).to_string()),
    ];
    if house.reaches_machine() {
        let machine = plan.machine(Ip::V4).to_string();
        variables.push(("LASTHOP_HOST6".to_owned(), plan.machine(Ip::V6).to_string()));
        variables.push(("LASTHOP_HOST".to_owned(), machine.clone()));
        variables.push(("MAHIMAHI_BASE".to_owned(), machine));
    }
    variables
}

/// The hosts by name, and that of each flow.
fn hosts(flows: &[StageFlow]) -> Result<(Vec<String>, Vec<usize>), ScenarioError> {
    if flows.len() > MOST_FLOWS {
        return Err(ScenarioError::at("flow", format!("{}: wanted at most {MOST_FLOWS} to emulate", flows.len())));
    }
    let mut names: Vec<String> = vec![];
    let mut host_of = vec![];
    for flow in flows {
        let host = names.iter().position(|name| *name == flow.host).unwrap_or_else(|| {
            names.push(flow.host.clone());
            names.len() - 1
        });
        host_of.push(host);
    }
    if names.len() > MOST_HOSTS {
        return Err(ScenarioError::at("flow", format!("{} hosts: wanted at most {MOST_HOSTS}", names.len())));
    }
    Ok((names, host_of))
}

/// Says that a flow's receiver is not to be had.
fn no_clamp(flow: &StageFlow) -> ScenarioError {
    let message = "\"clamp\": the kernel's receivers are plain: wanted receiver = \"plain\"";
    ScenarioError::at(&format!("flow[{}].receiver", flow.table), message)
}

/// The kernel's congestion control for each flow.
fn controls_of(flows: &[StageFlow], options: &Options, run: bool) -> Result<Vec<String>, Error> {
    let available = congestion_controls()?;
    let check = |key: &str, name: &str| match available.iter().any(|known| known == name) {
        true => Ok(name.to_owned()),
        false => {
            let wanted = format!("wanted one that this kernel has: {}", available.join(", "));
            Err(Error::from(ScenarioError::at(key, format!("{name:?}: {wanted}"))))
        }
    };
    if let Some(name) = &options.congestion_control {
        let name = check("--cc", name)?;
        if run && let Some(flow) = flows.iter().find(|flow| matches!(flow.receiver, Receiver::Clamp(_))) {
            return Err(no_clamp(flow).into());
        }
        return Ok(vec![name; flows.len()]);
    }
    if !run {
        return Ok(vec![String::new(); flows.len()]);
    }
    flows
        .iter()
        .map(|flow| {
            let key = format!("flow[{}].sender", flow.table);
            if matches!(flow.receiver, Receiver::Clamp(_)) {
                return Err(no_clamp(flow).into());
            }
            match &flow.sender {
                Sender::Kernel(kernel) => check(&format!("{key}.congestion_control"), &kernel.congestion_control),
                Sender::Reno(_) | Sender::Newreno(_) | Sender::LinuxReno(_) => check(&key, "reno"),
                Sender::Cubic(_) | Sender::LinuxCubic(_) => check(&key, "cubic"),
                Sender::Vegas(_) => check(&key, "vegas"),
                Sender::Veno(_) => check(&key, "veno"),
                Sender::Westwood(_) => check(&key, "westwood"),
                _ => {
                    let message = "the kernel has no such sender: name one of its own by --cc, such as --cc reno";
                    Err(ScenarioError::at(&key, message).into())
                }
            }
        })
        .collect()
}

/// The access points whose packets are logged.
fn logged(stage: &Stage<Frame>) -> Result<(u32, Option<u32>), ScenarioError> {
    let message = "there is no [[ap]] whose packets could be logged";
    stage.first_access_point.ok_or_else(|| ScenarioError::at("--log", message))
}
