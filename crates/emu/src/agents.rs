// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has the kernel's receivers obey the scenario's laws: `lasthop-agent client` at each host that CLAMP's prices go to, or
//! `lasthop-agent proxy` at the gateway in front of access points, in the place of both prices and receivers.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use lasthop_core::law::clamp::{ClampParams, PriceParams};
use lasthop_core::law::kernel::{ProxyParams, Sight};
use lasthop_core::law::share::{ReceiverKeys, ShareRouterParams};
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
/// The protocols in which a flow may be, and the bits of an address.
const IPS: [(Ip, u32); 2] = [(Ip::V4, 32), (Ip::V6, 128)];

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
    proxy: Option<Proxy>,
    /// Whether it takes the place of all laws; else access points without one keep theirs.
    takes_all: bool,
    /// The key that wants agents.
    key: String,
}

/// The proxy at the gateway.
#[derive(Debug, Default)]
struct Proxy {
    /// What it is told.
    words: Vec<String>,
    /// The weights of flows.
    weights: Vec<(usize, f64)>,
    /// What the scenario says that it does not keep.
    not_kept: Vec<String>,
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
        let (mut clients, mut shared) = (vec![], vec![]);
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
                ReceiverSpec::Share(with) if !spec.is_upload => shared.push((flow, spec.table, with.own)),
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
            let is_blind = format!(
                "ap[{number}].proxy: lasthop-agent is in front of the queue and does not see it: it does not keep queue"
            );
            let not_kept = if params.sight() == Sight::Outstanding { vec![] } else { vec![is_blind] };
            let proxy = Some(Proxy { words, weights: vec![], not_kept });
            return Ok(Self { clients, proxy, takes_all: false, key: format!("ap[{number}].proxy") });
        }
        if !proxy {
            return Ok(Self { clients, key: key.unwrap_or_default(), ..Self::default() });
        }
        let proxy = match (clients.is_empty(), shared.is_empty()) {
            (false, true) => clamp_proxy(scenario, &clients)?,
            (true, false) => share_proxy(scenario, &shared)?,
            (false, false) => {
                return Err(ScenarioError::at(
                    "--proxy",
                    "receivers of two laws: wanted \"clamp\" or \"share\" for all",
                ));
            }
            (true, true) => {
                return Err(ScenarioError::at("--proxy", "no receiver has a law: wanted \"clamp\" or \"share\""));
            }
        };
        Ok(Self { clients: vec![], proxy: Some(proxy), takes_all: true, key: "--proxy".to_owned() })
    }

    /// What the scenario says that agents do not keep.
    pub(crate) fn not_kept(&self) -> Vec<String> {
        self.proxy.as_ref().map_or(vec![], |proxy| proxy.not_kept.clone())
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
        if let Some(Proxy { words, weights, .. }) = &self.proxy {
            let words = [words.clone(), told_weights(plan, weights, "behind the proxy")?].concat();
            running.helpers.push(start(&words, house.gateway.as_ref().unwrap_or(&house.servers))?);
            running.kind = Some("proxy");
        }
        for (host, namespace) in house.hosts.iter().enumerate() {
            let own: Vec<_> = self.clients.iter().filter(|client| client.host == host).collect();
            let Some(first) = own.first() else { continue };
            let mut words = words(&["client", "--dev", DEVICE, "--tau", &format!("{} B", first.held.round())]);
            let weights: Vec<_> = own.iter().map(|client| (client.flow, client.held / first.held)).collect();
            words.extend(told_weights(plan, &weights, "at one host")?);
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

/// The weights of flows, by their servers' addresses; those of weight 1 need no words.
fn told_weights(plan: &Plan, weights: &[(usize, f64)], whose: &str) -> Result<Vec<String>, SystemError> {
    let others: Vec<_> = weights.iter().filter(|(_, weight)| *weight != 1.0).collect();
    let most = WEIGHTS / IPS.len();
    if others.len() > most {
        return Err(SystemError::new(format!(
            "{} flows {whose} have other weights: wanted {most} at most",
            others.len()
        )));
    }
    let rules: Vec<_> = others
        .into_iter()
        .flat_map(|(flow, weight)| {
            IPS.map(|(ip, bits)| format!("{{ weight = {weight:?}, prefix = \"{}/{bits}\" }}", plan.server(ip, *flow)))
        })
        .collect();
    match rules.is_empty() {
        true => Ok(vec![]),
        false => Ok(vec!["--set".to_owned(), format!("weight=[{}]", rules.join(", "))]),
    }
}

/// Which of all the keys of a table have other values in another.
macro_rules! changed {
    ($table:ident { $($key:ident),+ $(,)? }: $params:expr, $usual:expr) => {{
        // So that none is left out.
        let ($table { $($key: _),+ }, usual) = ($params, $usual);
        let all = [$((stringify!($key), $params.$key != usual.$key)),+];
        all.into_iter().filter(|(_, is_other)| *is_other).map(|(key, _)| key.to_owned()).collect::<Vec<_>>()
    }};
}

/// The keys of a price that are not as usual.
fn changed_price(price: &PriceParams) -> Vec<String> {
    changed!(PriceParams { a, b, average, departures }: price, PriceParams::new(price.a))
}

/// That the agent does not keep some keys, if there are any.
fn unkept(table: &str, keys: &[String]) -> Option<String> {
    (!keys.is_empty()).then(|| format!("{table}: lasthop-agent does not keep {}", keys.join(", ")))
}

/// What all access points that have one say of prices alike, as one proxy is in front of all, and what is not kept of it.
fn price_of<T: PartialEq>(
    scenario: &Scenario,
    of: impl Fn(&Price) -> Option<(T, Vec<String>)>,
) -> Result<Option<(T, Vec<String>)>, ScenarioError> {
    let mut found: Option<(usize, T, Vec<String>)> = None;
    for (number, price) in (0..).zip(&scenario.ap).filter_map(|(number, ap)| Some((number, ap.price.as_ref()?))) {
        let Some((told, keys)) = of(price) else { continue };
        let table = format!("ap[{number}].price");
        let line = unkept(&table, &keys);
        match &mut found {
            None => found = Some((number, told, line.into_iter().collect())),
            Some((_, first, lines)) if *first == told => lines.extend(line),
            Some((first, ..)) => {
                let message = format!("one agent has all access points: wanted the same as ap[{first}].price");
                return Err(ScenarioError::at(&table, message));
            }
        }
    }
    Ok(found.map(|(_, told, lines)| (told, lines)))
}

/// The proxy with CLAMP.
fn clamp_proxy(scenario: &Scenario, clients: &[Client]) -> Result<Proxy, ScenarioError> {
    let price = price_of(scenario, |price| match price {
        Price::Linear(price) => Some((price.a, changed_price(price))),
        Price::Mice(own) | Price::Smooth(own) => {
            let kind = vec![format!("kind = {:?}", price.kind())];
            Some((own.a, [kind, changed_price(own)].concat()))
        }
        Price::ClampKernel(price) => Some((price.a, vec![])),
        _ => None,
    })?;
    let (a, not_kept) = price.ok_or_else(|| ScenarioError::at("--proxy", "no [[ap]] has a price that says `a`"))?;
    let held = clients[0].held;
    let weights = clients.iter().map(|client| (client.flow, client.held / held)).collect();
    Ok(Proxy { words: told_clamp(a, held.round() as u64), weights, not_kept })
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

/// The proxy with the share window.
fn share_proxy(scenario: &Scenario, flows: &[(usize, usize, ReceiverKeys)]) -> Result<Proxy, ScenarioError> {
    let price = price_of(scenario, |price| match price {
        Price::Share(share) => {
            let usual = ShareRouterParams { target: share.target, ..ShareRouterParams::default() };
            let keys =
                changed!(ShareRouterParams { target, form, fair, memory, limited, overbooking, horizon }: share, usual);
            Some((share.target, keys))
        }
        _ => None,
    })?;
    let (target, mut not_kept) =
        price.ok_or_else(|| ScenarioError::at("--proxy", "no [[ap]] has price = \"share\""))?;
    let mut words = told_share(target);
    let (_, first, keys) = flows[0];
    if let Some((_, other, _)) = flows.iter().find(|(.., other)| (other.g, other.theta) != (keys.g, keys.theta)) {
        let message = format!("one agent has all flows: wanted g and theta as in flow[{first}].receiver");
        return Err(ScenarioError::at(&format!("flow[{other}].receiver"), message));
    }
    let g = keys.g.map(|g| format!("law.g={g:?}"));
    let theta = keys.theta.map(|theta| format!("law.theta=\"{theta}\""));
    words.extend(g.into_iter().chain(theta).flat_map(|word| ["--set".to_owned(), word]));
    for (_, table, keys) in flows {
        let usual = ReceiverKeys { weight: keys.weight, g: keys.g, theta: keys.theta, ..ReceiverKeys::default() };
        let keys = changed!(ReceiverKeys { weight, fair, g, theta, balance, rise, fall, dither, memory }: keys, usual);
        not_kept.extend(unkept(&format!("flow[{table}].receiver"), &keys));
    }
    // Flows of one table say the same.
    not_kept.dedup();
    let weights = flows.iter().map(|(flow, _, keys)| (*flow, keys.weight)).collect();
    Ok(Proxy { words, weights, not_kept })
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
