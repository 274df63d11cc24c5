// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands behind and before the network: what they know, when they are ready, and how they end the run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};

use lasthop_core::units::{Duration, Instant};
use lasthop_linux::clock::Clock;
use lasthop_linux::counters::waiting_sockets;
use lasthop_linux::namespace::Namespace;
use lasthop_linux::process::{self, Rights, Running};
use lasthop_linux::signals::{Origin, Signal, Signals};
use lasthop_linux::{Attempt, Error as SystemError};
use lasthop_scenario::ScenarioError;

use crate::error::Error;
use crate::house::House;
use crate::plan::{Ip, Plan};
use crate::run::{EmulationOptions, Ended};

/// How often signals and commands are looked at \[ms\].
const LOOK_MS: u8 = 20;
/// How often a server that starts is looked at \[ms\].
const LOOK_AT_START_MS: u8 = 5;
/// How long a server may take until it listens \[s\].
const READY_S: u64 = 5;
/// After so long we say that we wait.
const SILENCE: Duration = Duration::from_secs(1);

/// What runs inside, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Commands {
    /// The words of those that serve.
    serve: Vec<Vec<OsString>>,
    rights: Rights,
}

impl Commands {
    /// Those of the options.
    pub(crate) fn of(options: &EmulationOptions) -> Result<Self, Error> {
        let serve = options.serve.iter().map(words).collect::<Result<_, _>>()?;
        let rights = match &options.user {
            _ if options.privileged => Rights::All,
            Some(name) => Rights::of_user(name).map_err(|error| ScenarioError::at("--user", error.to_string()))?,
            None => Rights::of_caller(),
        };
        Ok(Self { serve, rights })
    }

    /// Runs them until the end: that of the one inside, that of the scenario, or a signal. The one inside starts when the
    /// servers listen. With the end come complaints about servers that failed.
    pub(crate) fn run(
        &self,
        house: &House,
        variables: &[(String, String)],
        (options, host): (&EmulationOptions, usize),
        watch: &Interrupts<'_>,
    ) -> Result<(Ended, Vec<String>), Error> {
        let start = |words: &[OsString], namespace: &Namespace| {
            process::start(words, namespace, variables, (&self.rights, options.apart))
        };
        let mut servers = vec![];
        for (words, line) in self.serve.iter().zip(&options.serve) {
            let before = listening(&house.servers)?;
            let mut server = start(words, &house.servers)?;
            if let Some(ended) = watch.wait_until_ready(&mut server, &before, (&house.servers, line))? {
                return Ok((ended, vec![]));
            }
            servers.push(server);
        }
        let command = options.command.as_ref();
        let mut command = command.map(|words| start(words, &house.hosts[host])).transpose()?;
        let ended = watch.wait(command.as_mut())?;
        let failed = servers.iter_mut().zip(&options.serve).filter_map(|(server, line)| match server.status() {
            Ok(Some(status)) if status != 0 => Some(format!("--serve {line:?}: ended with {status}")),
            _ => None,
        });
        Ok((ended, failed.collect()))
    }
}

/// The words of a command line.
fn words(line: &String) -> Result<Vec<OsString>, ScenarioError> {
    let words = shlex::split(line)
        .filter(|words| !words.is_empty())
        .ok_or_else(|| ScenarioError::at("--serve", format!("{line:?}: wanted a command, quoted as in a shell")))?;
    Ok(words.into_iter().map(Into::into).collect())
}

/// The sockets of a namespace that wait for somebody.
fn listening(namespace: &Namespace) -> Result<BTreeSet<(&'static str, u16)>, SystemError> {
    namespace.within(|| Ok(waiting_sockets()))
}

/// What ends a run from outside.
pub(crate) struct Interrupts<'a> {
    pub(crate) signals: &'a Signals,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) interrupted: &'a dyn Fn() -> Option<i32>,
}

impl Interrupts<'_> {
    /// Waits for the end. An interrupt from the terminal goes to the command as well: it decides.
    fn wait(&self, mut command: Option<&mut Running>) -> Result<Ended, Error> {
        loop {
            if let Some(ended) = self.look(LOOK_MS, command.as_deref_mut())? {
                return Ok(ended);
            }
        }
    }

    /// Waits for a while; how the run has ended, if it has.
    fn look(&self, most_ms: u8, mut command: Option<&mut Running>) -> Result<Option<Ended>, Error> {
        let signal = self.signals.wait(most_ms)?;
        if let Some(command) = &mut command
            && let Some(status) = command.status().attempt("wait for the command")?
        {
            return Ok(Some(Ended::Command(status)));
        }
        match signal {
            Some((Signal::SIGINT | Signal::SIGQUIT, Origin::Terminal)) if command.is_some() => {}
            Some((signal @ (Signal::SIGINT | Signal::SIGTERM | Signal::SIGHUP | Signal::SIGQUIT), _)) => {
                return Ok(Some(Ended::Interrupted(signal as i32)));
            }
            _ => {}
        }
        if let Some(signal) = (self.interrupted)() {
            return Ok(Some(Ended::Interrupted(signal)));
        }
        Ok(self.stop.load(Ordering::Relaxed).then_some(Ended::InTime))
    }

    /// Waits until a server listens at something new, or has done its work; how the run has ended, if it has.
    fn wait_until_ready(
        &self,
        server: &mut Running,
        before: &BTreeSet<(&'static str, u16)>,
        (namespace, line): (&Namespace, &str),
    ) -> Result<Option<Ended>, Error> {
        let clock = Clock::starting_in(Duration::ZERO);
        let mut is_silent = true;
        loop {
            if let Some(ended) = self.look(LOOK_AT_START_MS, None)? {
                return Ok(Some(ended));
            }
            match server.status().attempt("wait for a server")? {
                Some(0) => return Ok(None),
                Some(status) => {
                    let message = format!("--serve {line:?}: ended with {status} before it listened");
                    return Err(SystemError::new(message).into());
                }
                None => {}
            }
            if listening(namespace)?.difference(before).next().is_some() {
                return Ok(None);
            }
            let waited = clock.now().saturating_since(Instant::ZERO);
            if waited > Duration::from_secs(READY_S) {
                let message = format!("--serve {line:?}: did not listen within {READY_S} s: wanted a server");
                return Err(SystemError::new(message).into());
            }
            if is_silent && waited > SILENCE {
                is_silent = false;
                eprintln!("lasthop: waits for --serve {line:?} to listen, {READY_S} s at most");
            }
        }
    }
}

/// What a command inside may want to know.
pub(crate) fn variables(
    house: &House,
    plan: &Plan,
    name: &str,
    (host, serves): (usize, bool),
) -> Vec<(String, String)> {
    let flow = plan.stream_from(host, plan.machine(Ip::V4)).unwrap_or(0) as usize;
    let mut variables = vec![
        ("LASTHOP_STATION".to_owned(), name.to_owned()),
        ("LASTHOP_ADDRESS".to_owned(), plan.host(Ip::V4, host).to_string()),
    ];
    // Inside another emulation its servers, and the machine, are those of the outermost: through all of them.
    if serves || !house.is_nested() {
        variables.push(("LASTHOP_SERVER".to_owned(), plan.server(Ip::V4, flow).to_string()));
        variables.push(("LASTHOP_SERVER6".to_owned(), plan.server(Ip::V6, flow).to_string()));
    }
    if house.reaches_machine() && !house.is_nested() {
        let machine = plan.machine(Ip::V4).to_string();
        variables.push(("LASTHOP_HOST6".to_owned(), plan.machine(Ip::V6).to_string()));
        variables.push(("LASTHOP_HOST".to_owned(), machine.clone()));
        variables.push(("MAHIMAHI_BASE".to_owned(), machine));
    }
    variables
}
