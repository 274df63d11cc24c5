// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has the kernel's receivers obey the scenario's laws: `lasthop-agent client` at each host that CLAMP's prices go to, or
//! `lasthop-agent proxy` at the gateway in front of access points, in the place of both prices and receivers.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use lasthop_core::law::clamp::ClampParams;
use lasthop_core::law::kernel::ProxyParams;
use lasthop_core::role::Price;
use lasthop_core::units::{Bytes, Duration};
use lasthop_linux::process::Helper;
use lasthop_linux::{Error as SystemError, namespace::Namespace};
use lasthop_scenario::{ReceiverSpec, Scenario, ScenarioError};

use crate::house::{DEVICE, House};
use crate::plan::{Ip, Plan};
use crate::stage::StageFlow;

/// The agent, and the variable that says where it is.
const AGENT: &str = "lasthop-agent";
const AGENT_VARIABLE: &str = "LASTHOP_AGENT";
/// How many weights an agent has.
const WEIGHTS: usize = 16;

/// Where the agent is.
pub(crate) fn agent() -> Option<OsString> {
    env::var_os(AGENT_VARIABLE).filter(|path| Path::new(path).is_file()).or_else(|| {
        let path = env::var_os("PATH")?;
        env::split_paths(&path).map(|folder| folder.join(AGENT)).find(|path| path.is_file()).map(Into::into)
    })
}

/// Says that the agent is wanted, and how to get it.
pub(crate) fn no_agent(what: &str) -> String {
    format!(
        "there is no {AGENT} {what}: `make setup` builds target/release/{AGENT}, the .deb installs it; \
         it is looked for in PATH, and {AGENT_VARIABLE} may name it"
    )
}

/// What agents there are to be.
#[derive(Debug, Default)]
pub(crate) struct Agents {
    /// CLAMP's receivers: the flow's stream, its host, its table, τ \[B\] and φ.
    clients: Vec<Client>,
    /// What the proxy is told.
    proxy: Option<Vec<String>>,
    /// Whether it takes the place of all laws; else access points without one keep theirs.
    takes_all: bool,
    /// The key that wants agents.
    key: String,
}

#[derive(Clone, Copy, Debug)]
struct Client {
    flow: usize,
    host: usize,
    table: usize,
    /// φτ \[B\]: where the flow is to settle.
    held: f64,
}

/// Agents that run; they leave with this.
#[derive(Debug, Default)]
pub(crate) struct AgentsAtWork {
    helpers: Vec<Helper>,
    /// Whether the host of each device is told prices, by the device's number.
    pub(crate) is_told: Vec<bool>,
    /// What runs.
    pub(crate) kind: Option<&'static str>,
}

impl AgentsAtWork {
    /// How one ended that does not run any more, if there is such a one.
    pub(crate) fn ended(&mut self) -> Option<String> {
        self.helpers.iter_mut().find_map(Helper::ended)
    }
}

impl Agents {
    /// Those that a scenario's flows take, each at the host of `host_of`; `proxy` wants one in their place.
    pub(crate) fn of(
        scenario: &Scenario,
        flows: &[StageFlow],
        host_of: &[usize],
        proxy: bool,
    ) -> Result<Self, ScenarioError> {
        let mut clients = vec![];
        let mut shared = None;
        for (flow, (spec, host)) in flows.iter().zip(host_of).enumerate() {
            match &spec.receiver {
                ReceiverSpec::Clamp(with) if !spec.is_upload => {
                    let held = held(&with.own, spec.table)?;
                    clients.push(Client { flow, host: *host, table: spec.table, held });
                }
                ReceiverSpec::ClampKernel(with) if !spec.is_upload => {
                    let held = with.own.phi * with.own.tau.as_f64();
                    clients.push(Client { flow, host: *host, table: spec.table, held });
                }
                ReceiverSpec::Share(_) => _ = shared.get_or_insert(spec.table),
                _ => {}
            }
        }
        let key = clients.first().map(|client: &Client| format!("flow[{}].receiver", client.table));
        let mut proxies = (0..).zip(&scenario.ap).filter_map(|(i, ap)| Some((i, ap.proxy?)));
        if let Some((number, params)) = proxies.next() {
            if let Some((other, _)) = proxies.find(|(_, other)| *other != params) {
                let message =
                    format!("one agent has all access points: wanted the same as ap[{number}].proxy, or none");
                return Err(ScenarioError::at(&format!("ap[{other}].proxy"), message));
            }
            let words = proxy_words(&params).ok_or_else(|| {
                let message = format!(
                    "{:?}: lasthop-agent does not have it: wanted \"share-kernel\", \"clamp-kernel\" or \"station-kernel\"",
                    params.kind()
                );
                ScenarioError::at(&format!("ap[{number}].proxy"), message)
            })?;
            return Ok(Self { clients, proxy: Some(words), takes_all: false, key: format!("ap[{number}].proxy") });
        }
        if !proxy {
            return Ok(Self { clients, key: key.unwrap_or_default(), ..Self::default() });
        }
        let words = match (clients.first(), shared) {
            (Some(client), None) => clamp_words(scenario, client.held)?,
            (None, Some(_)) => share_words(scenario)?,
            (Some(_), Some(_)) => {
                return Err(ScenarioError::at(
                    "--proxy",
                    "receivers of two laws: wanted \"clamp\" or \"share\" for all",
                ));
            }
            (None, None) => {
                return Err(ScenarioError::at("--proxy", "no receiver has a law: wanted \"clamp\" or \"share\""));
            }
        };
        Ok(Self { clients: vec![], proxy: Some(words), takes_all: true, key: "--proxy".to_owned() })
    }

    /// Whether a flow's receiver obeys its law then.
    pub(crate) fn serves(&self, flow: &StageFlow) -> bool {
        self.takes_all || self.clients.iter().any(|client| client.table == flow.table)
    }

    /// The key that wants one, if any does.
    pub(crate) fn key(&self) -> Option<&str> {
        (self.proxy.is_some() || !self.clients.is_empty()).then_some(&self.key)
    }

    /// Starts them where they belong.
    pub(crate) fn start(&self, house: &House, plan: &Plan) -> Result<AgentsAtWork, SystemError> {
        let mut running = AgentsAtWork { is_told: vec![false; house.hosts.len() + 1], ..AgentsAtWork::default() };
        let start = |words: &[String], namespace: &Namespace| {
            let agent = agent().ok_or_else(|| SystemError::new(no_agent("to obey prices or to be the proxy")))?;
            Helper::start(&agent, words, Some(namespace))
        };
        if let Some(words) = &self.proxy {
            running.helpers.push(start(words, house.gateway.as_ref().unwrap_or(&house.servers))?);
            running.kind = Some("proxy");
        }
        for (host, namespace) in house.hosts.iter().enumerate() {
            let own: Vec<_> = self.clients.iter().filter(|client| client.host == host).collect();
            let Some(first) = own.first() else { continue };
            let mut words = words(&["client", "--dev", DEVICE, "--tau", &format!("{} B", first.held.round())]);
            let weights: Vec<String> = own
                .iter()
                .filter(|client| client.held != first.held)
                .flat_map(|client| {
                    let weight = client.held / first.held;
                    [(Ip::V4, 32), (Ip::V6, 128)].map(|(ip, bits)| {
                        format!("{{ weight = {weight:?}, prefix = \"{}/{bits}\" }}", plan.server(ip, client.flow))
                    })
                })
                .collect();
            if weights.len() > WEIGHTS {
                return Err(SystemError::new(format!(
                    "{} flows of other φτ at one host: wanted {} at most",
                    weights.len() / 2,
                    WEIGHTS / 2
                )));
            }
            if !weights.is_empty() {
                words.extend(["--set".to_owned(), format!("weight=[{}]", weights.join(", "))]);
            }
            running.helpers.push(start(&words, namespace)?);
            running.is_told[host + 1] = true;
            running.kind.get_or_insert("client");
        }
        Ok(running)
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// φτ of a receiver with the paper's parameters in all else, which the agent has no others of.
fn held(params: &ClampParams, table: usize) -> Result<f64, ScenarioError> {
    let usual = ClampParams { phi: params.phi, ..ClampParams::new(params.tau) };
    if *params != usual {
        let message = "the agent has the paper's law with its default parameters: wanted tau and phi alone";
        return Err(ScenarioError::at(&format!("flow[{table}].receiver"), message));
    }
    Ok(params.phi * params.tau.as_f64())
}

/// What the proxy is told as CLAMP: the first price of the scenario.
fn clamp_words(scenario: &Scenario, tau: f64) -> Result<Vec<String>, ScenarioError> {
    let a = scenario.ap.iter().find_map(|ap| match &ap.price {
        Some(Price::Linear(price) | Price::Mice(price) | Price::Smooth(price)) => Some(price.a),
        Some(Price::ClampKernel(price)) => Some(price.a),
        _ => None,
    });
    let a = a.ok_or_else(|| ScenarioError::at("--proxy", "no [[ap]] has a price that says `a`"))?;
    Ok(told_clamp(a, tau.round() as u64))
}

fn told_clamp(a: Bytes, tau_bytes: u64) -> Vec<String> {
    let (a, tau) = (format!("{} B", a.get()), format!("law.tau=\"{tau_bytes} B\""));
    words(&["proxy", "--dev", DEVICE, "--law", "clamp", "--a", &a, "--set", &tau])
}

fn told_share(target: Duration) -> Vec<String> {
    told_target("share", target)
}

fn told_target(law: &str, target: Duration) -> Vec<String> {
    words(&["proxy", "--dev", DEVICE, "--law", law, "--target", &target.to_string()])
}

/// What the proxy of an access point is told; it finds out by itself what it sees of the queue. None for a law that it does not have.
fn proxy_words(params: &ProxyParams) -> Option<Vec<String>> {
    match params {
        ProxyParams::Share(share) => Some(told_share(share.target)),
        ProxyParams::Clamp(clamp) => Some(told_clamp(clamp.a, clamp.tau.get())),
        ProxyParams::StationKernel(station) => {
            let mut told = told_target("station", station.target);
            if !station.clock {
                told.extend(words(&["--set", "law.clock=false"]));
            }
            Some(told)
        }
        ProxyParams::Station(_) => None,
    }
}

/// The same as the share window.
fn share_words(scenario: &Scenario) -> Result<Vec<String>, ScenarioError> {
    let target = scenario.ap.iter().find_map(|ap| match &ap.price {
        Some(Price::Share(share)) => Some(share.target),
        _ => None,
    });
    let target = target.ok_or_else(|| ScenarioError::at("--proxy", "no [[ap]] has price = \"share\""))?;
    Ok(told_share(target))
}

#[cfg(test)]
mod tests {
    use lasthop_core::law::kernel::StationKernelParams;

    use super::*;

    #[test]
    fn the_station_window_in_integers_is_the_agents() {
        let words = |station| proxy_words(&ProxyParams::StationKernel(station)).unwrap().join(" ");
        let usual = StationKernelParams::default();
        let told = format!("proxy --dev {DEVICE} --law station --target {}", usual.target);
        assert_eq!(words(usual), told);
        let still = StationKernelParams { clock: false, ..usual };
        assert_eq!(words(still), format!("{told} --set law.clock=false"));
    }
}
