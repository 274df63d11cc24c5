// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has the kernel's receivers obey the scenario's laws: `lasthop-agent client` at each host that CLAMP's prices go to, or
//! `lasthop-agent proxy` at the gateway in front of access points, in the place of both prices and receivers.

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;

use lasthop_core::law::clamp::{Average, ClampParams, PriceParams};
use lasthop_core::law::kernel::{AVERAGE, MOST_AVERAGE, PROXY_REFILL, ProxyParams, Sight};
use lasthop_core::law::share::{G, ReceiverKeys, ShareRouterParams, THETA};
use lasthop_core::role::Price;
use lasthop_core::units::{Bytes, Duration};
use lasthop_fixed::state::{WEIGHT_RULES, WEIGHTS};
use lasthop_linux::process::Helper;
use lasthop_linux::{Error as SystemError, namespace::Namespace};
use lasthop_scenario::{ReceiverSpec, Scenario, ScenarioError};

use crate::ends::{joined, runs_by_proxy};
use crate::house::{DEVICE, House};
use crate::plan::{Ip, Plan};
use crate::stage::StageFlow;

/// The agent, and the variable that says where it is.
const AGENT: &str = "lasthop-agent";
const AGENT_VARIABLE: &str = "LASTHOP_AGENT";
/// The protocols in which a flow may be, and the bits of an address.
const IPS: [(Ip, u32); 2] = [(Ip::V4, 32), (Ip::V6, 128)];
/// How many flows may have weights of their own: each takes a rule for each protocol.
const MOST_WEIGHTS: usize = WEIGHT_RULES / IPS.len();
/// θ where it is to be nothing: the agent has it above that.
const LEAST_THETA: Duration = Duration::from_micros(1);
/// So short an average is none.
const LEAST_AVERAGE: Duration = Duration::from_micros(1);

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

/// The client at a host.
#[derive(Debug)]
struct Client {
    host: usize,
    /// The tables of its flows.
    tables: Vec<usize>,
    /// What a flow of weight 1 is to hold \[B\].
    held: f64,
    /// By what share of themselves their windows grow in a round trip while the queue is empty.
    refill: f64,
    /// The weights of flows.
    weights: Vec<(usize, f64)>,
}

/// A flow whose receiver has a law.
#[derive(Clone, Copy, Debug)]
struct Receiver<T> {
    flow: usize,
    table: usize,
    host: usize,
    /// What is said of it: its keys, or what weighs it, CLAMP's φτ \[B\] or the share window's φ.
    keys: T,
}

/// What the agent keeps of a receiver of CLAMP.
#[derive(Clone, Copy, Debug)]
struct ClampKeys {
    /// φτ \[B\].
    held: f64,
    /// By what share of itself its window grows in a round trip while the queue is empty.
    refill: f64,
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
        let (mut clamp, mut shared) = (vec![], vec![]);
        for (flow, (spec, host)) in flows.iter().zip(host_of).enumerate() {
            if spec.is_upload || proxy && !spec.has_gateway {
                continue;
            }
            let (table, host) = (spec.table, *host);
            match &spec.receiver {
                ReceiverSpec::Clamp(with) => {
                    clamp.push(Receiver { flow, table, host, keys: kept(&with.own, table)? });
                }
                ReceiverSpec::ClampKernel(with) => {
                    let keys = ClampKeys { held: with.own.phi * with.own.tau.as_f64(), refill: with.own.refill };
                    clamp.push(Receiver { flow, table, host, keys });
                }
                ReceiverSpec::Share(with) => shared.push(Receiver { flow, table, host, keys: with.own }),
                _ => {}
            }
        }
        let mut proxies = (0..).zip(&scenario.ap).filter_map(|(i, ap)| Some((i, ap.proxy?)));
        if let Some((number, params)) = proxies.next() {
            let key = format!("ap[{number}].proxy");
            if proxy {
                return Err(ScenarioError::at("--proxy", format!("wanted without {key}: there is one agent")));
            }
            if let Some((other, _)) = proxies.find(|(_, other)| *other != params) {
                let message = format!("one agent has all access points: wanted the same as {key}, or none");
                return Err(ScenarioError::at(&format!("ap[{other}].proxy"), message));
            }
            let words = proxy_words(&params).ok_or_else(|| {
                let message = format!(
                    "{:?}: lasthop-agent does not have it: wanted \"share-kernel\", \"clamp-kernel\" or \"station-kernel\"",
                    params.kind()
                );
                ScenarioError::at(&key, message)
            })?;
            let is_blind =
                format!("{key}: lasthop-agent is in front of the queue and does not see it: it does not keep queue");
            let not_kept = if params.sight() == Sight::Outstanding { vec![] } else { vec![is_blind] };
            let proxy = Some(Proxy { words, weights: vec![], not_kept });
            return Ok(Self { clients: clients_of(&clamp)?, proxy, takes_all: false, key });
        }
        if !proxy {
            let key = clamp.first().map(|first| format!("flow[{}].receiver", first.table)).unwrap_or_default();
            return Ok(Self { clients: clients_of(&clamp)?, key, ..Self::default() });
        }
        let mut proxy = match (clamp.is_empty(), shared.is_empty()) {
            (false, true) => clamp_proxy(scenario, &clamp)?,
            (true, false) => share_proxy(scenario, &shared)?,
            (false, false) => {
                let message = "receivers of two laws: wanted \"clamp\" or \"share\" for all";
                return Err(ScenarioError::at("--proxy", message));
            }
            (true, true) => {
                let message =
                    "no receiver behind an access point with a price has a law: wanted \"clamp\" or \"share\"";
                return Err(ScenarioError::at("--proxy", message));
            }
        };
        let plain = flows
            .iter()
            .filter(|flow| flow.has_gateway && !flow.is_upload && !runs_by_proxy(flow))
            .map(|flow| (format!("flow[{}]", flow.table), "lasthop-agent lowers its windows as well".to_owned()));
        proxy.not_kept.extend(joined(plain));
        Ok(Self { clients: vec![], proxy: Some(proxy), takes_all: true, key: "--proxy".to_owned() })
    }

    /// What the scenario says that agents do not keep.
    pub(crate) fn not_kept(&self) -> Vec<String> {
        self.proxy.as_ref().map_or(vec![], |proxy| proxy.not_kept.clone())
    }

    /// Whether a flow's receiver obeys its law then.
    pub(crate) fn serves(&self, flow: &StageFlow) -> bool {
        match self.takes_all {
            true => flow.has_gateway && !flow.is_upload && runs_by_proxy(flow),
            false => self.clients.iter().any(|client| client.tables.contains(&flow.table)),
        }
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
            let words = [words.clone(), told_weights(plan, weights)].concat();
            running.helpers.push(start(&words, house.gateway.as_ref().unwrap_or(&house.servers))?);
            running.kind = Some("proxy");
        }
        for client in &self.clients {
            let (held, namespace) = (client.held.round(), &house.hosts[client.host]);
            let refill = told_refill(client.refill);
            let mut words = words(&["client", "--dev", DEVICE, "--tau", &format!("{held} B"), "--set", &refill]);
            words.extend(told_weights(plan, &client.weights));
            running.helpers.push(start(&words, namespace)?);
            running.is_told[client.host + 1] = true;
            running.kind.get_or_insert("client");
        }
        Ok(running)
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What the agent keeps of a receiver with the paper's parameters in all else, which it has no others of.
fn kept(params: &ClampParams, table: usize) -> Result<ClampKeys, ScenarioError> {
    let usual = ClampParams { phi: params.phi, refill: params.refill, ..ClampParams::new(params.tau) };
    if *params != usual {
        let message = "the agent has the paper's law with its default parameters: wanted tau, phi and refill alone";
        return Err(ScenarioError::at(&format!("flow[{table}].receiver"), message));
    }
    Ok(ClampKeys { held: params.phi * params.tau.as_f64(), refill: params.refill })
}

/// The weights of flows, by their servers' addresses.
fn told_weights(plan: &Plan, weights: &[(usize, f64)]) -> Vec<String> {
    let rule = |(flow, weight): &(usize, f64)| {
        IPS.map(|(ip, bits)| format!("{{ weight = {weight:?}, prefix = \"{}/{bits}\" }}", plan.server(ip, *flow)))
    };
    let rules: Vec<_> = weights.iter().flat_map(rule).collect();
    match rules.is_empty() {
        true => vec![],
        false => vec!["--set".to_owned(), format!("weight=[{}]", rules.join(", "))],
    }
}

/// What most receivers have, and the weights of the others, for whom it counts as 1.
fn weights_of(receivers: &[Receiver<f64>]) -> Result<(f64, Vec<(usize, f64)>), ScenarioError> {
    let common = |one: f64| receivers.iter().filter(|receiver| receiver.keys == one).count();
    let unit = receivers.iter().map(|receiver| receiver.keys).rev().max_by_key(|one| common(*one)).unwrap_or(1.0);
    let others: Vec<_> = receivers.iter().filter(|receiver| receiver.keys != unit).collect();
    for (number, other) in others.iter().enumerate() {
        let (table, weight) = (format!("flow[{}].receiver", other.table), other.keys / unit);
        if number == MOST_WEIGHTS {
            let message =
                format!("the weights of {} flows differ from most: one agent has {MOST_WEIGHTS} at most", others.len());
            return Err(ScenarioError::at(&table, message));
        }
        if !WEIGHTS.contains(&weight) {
            let (least, most) = (WEIGHTS.start(), WEIGHTS.end());
            let message = format!("it has {weight} of what most flows have: wanted from {least} to {most}");
            return Err(ScenarioError::at(&table, message));
        }
    }
    Ok((unit, others.into_iter().map(|other| (other.flow, other.keys / unit)).collect()))
}

/// Receivers by what weighs them.
fn weighed<T: Copy>(receivers: &[Receiver<T>], weight: impl Fn(T) -> f64) -> Vec<Receiver<f64>> {
    let weighed = |one: &Receiver<T>| {
        let Receiver { flow, table, host, keys } = *one;
        Receiver { flow, table, host, keys: weight(keys) }
    };
    receivers.iter().map(weighed).collect()
}

/// What receivers of one agent have alike: by what share of themselves their windows grow while the queue is empty.
fn refill_of(receivers: &[Receiver<ClampKeys>]) -> Result<f64, ScenarioError> {
    let (first, refill) = (receivers[0].table, receivers[0].keys.refill);
    match receivers.iter().find(|one| one.keys.refill != refill) {
        None => Ok(refill),
        Some(other) => {
            let message = format!(
                "refill = {}: one agent has both flows: wanted {refill} as in flow[{first}]",
                other.keys.refill
            );
            Err(ScenarioError::at(&format!("flow[{}].receiver", other.table), message))
        }
    }
}

/// An agent at each host that has receivers.
fn clients_of(receivers: &[Receiver<ClampKeys>]) -> Result<Vec<Client>, ScenarioError> {
    let mut hosts: Vec<_> = receivers.iter().map(|receiver| receiver.host).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let client = |host| {
        let own: Vec<_> = receivers.iter().filter(|receiver| receiver.host == host).copied().collect();
        let (held, weights) = weights_of(&weighed(&own, |keys| keys.held))?;
        let tables = own.iter().map(|receiver| receiver.table).collect();
        Ok(Client { host, tables, held, refill: refill_of(&own)?, weights })
    };
    hosts.into_iter().map(client).collect()
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

/// The keys of a price that are not as usual and that the agent does not have.
fn changed_price(price: &PriceParams) -> Vec<String> {
    let usual = PriceParams { average: price.average, ..PriceParams::new(price.a) };
    changed!(PriceParams { a, b, average, departures }: price, usual)
}

/// Over how long the agent averages a queue as a price does, as near as it can.
fn averaged_over(price: &Price) -> Option<Duration> {
    let average = match price {
        Price::Linear(own) | Price::Mice(own) | Price::Smooth(own) => own.average,
        Price::ClampKernel(own) => return Some(own.average),
        _ => return None,
    };
    let span = match average {
        Average::AtArrivals(average) => Duration::from_secs_f64(1.0 / average.gain),
        Average::OverTime(average) => average.time_constant,
        Average::Raw => LEAST_AVERAGE,
    };
    Some(span.max(LEAST_AVERAGE).min(MOST_AVERAGE))
}

/// That the agent does not keep some keys of a table, if there are any.
fn unkept(table: String, keys: &[String]) -> Option<(String, String)> {
    (!keys.is_empty()).then(|| (table, format!("lasthop-agent does not keep {}", keys.join(", "))))
}

/// What all prices say alike, as one proxy is in front of all access points, and what is not kept of them.
struct Told<T> {
    value: T,
    not_kept: Vec<(String, String)>,
}

/// `of` is what a price says by the `key`, and the keys that are not kept; none for another law's.
fn price_of<T: Display + PartialEq>(
    scenario: &Scenario,
    key: &str,
    of: impl Fn(&Price) -> Option<(T, Vec<String>)>,
) -> Result<Told<T>, ScenarioError> {
    let mut found: Option<(String, Told<T>)> = None;
    let own = (0..).zip(&scenario.ap).filter_map(|(i, ap)| Some((format!("ap[{i}].price"), ap.price.as_ref()?)));
    let stations = (0..).zip(&scenario.ap).flat_map(|(i, ap)| {
        (0..).zip(&ap.station).filter_map(move |(j, station)| {
            Some((format!("ap[{i}].station[{j}].price"), station.common.price.as_ref()?))
        })
    });
    for (table, price) in own.chain(stations) {
        let Some((value, keys)) = of(price) else {
            let message =
                format!("{:?}: receivers behind the proxy have another law: wanted a price for it", price.kind());
            return Err(ScenarioError::at(&table, message));
        };
        let line = unkept(table.clone(), &keys);
        match &mut found {
            None => found = Some((table, Told { value, not_kept: line.into_iter().collect() })),
            Some((_, told)) if told.value == value => told.not_kept.extend(line),
            Some((first, told)) => {
                let message =
                    format!("{key} = {value}: one agent has all access points: wanted {} as in {first}", told.value);
                return Err(ScenarioError::at(&table, message));
            }
        }
    }
    let none = || ScenarioError::at("--proxy", format!("no [[ap]] has a price that says {key}"));
    found.map(|(_, told)| told).ok_or_else(none)
}

/// The proxy with CLAMP.
fn clamp_proxy(scenario: &Scenario, receivers: &[Receiver<ClampKeys>]) -> Result<Proxy, ScenarioError> {
    let told = price_of(scenario, "a", |price| match price {
        Price::Linear(price) => Some((price.a, changed_price(price))),
        Price::Mice(own) | Price::Smooth(own) => {
            let kind = vec![format!("kind = {:?}", price.kind())];
            Some((own.a, [kind, changed_price(own)].concat()))
        }
        Price::ClampKernel(price) => Some((price.a, vec![])),
        _ => None,
    })?;
    let average = price_of(scenario, "average", |price| Some((averaged_over(price)?, vec![])))?;
    let (held, weights) = weights_of(&weighed(receivers, |keys| keys.held))?;
    let refill = refill_of(receivers)?;
    Ok(Proxy {
        words: told_clamp(told.value, held.round() as u64, average.value, refill),
        weights,
        not_kept: joined(told.not_kept),
    })
}

fn told_clamp(a: Bytes, tau_bytes: u64, average: Duration, refill: f64) -> Vec<String> {
    let (a, tau) = (format!("{} B", a.get()), format!("law.tau=\"{tau_bytes} B\""));
    let mut told = words(&["proxy", "--dev", DEVICE, "--law", "clamp", "--a", &a, "--set", &tau]);
    if average != AVERAGE {
        told.extend(words(&["--set", &format!("law.average=\"{average}\"")]));
    }
    if refill != PROXY_REFILL {
        told.extend(words(&["--set", &told_refill(refill)]));
    }
    told
}

fn told_refill(refill: f64) -> String {
    format!("law.refill={refill:?}")
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
        ProxyParams::Clamp(clamp) => Some(told_clamp(clamp.a, clamp.tau.get(), clamp.average, clamp.refill)),
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

/// g and θ of a receiver with the share window.
fn share_of(keys: &ReceiverKeys) -> (f64, Duration) {
    let (g, theta) = if keys.fair { (1.0, Duration::ZERO) } else { (G, THETA) };
    (keys.g.unwrap_or(g), keys.theta.unwrap_or(theta))
}

/// The proxy with the share window.
fn share_proxy(scenario: &Scenario, receivers: &[Receiver<ReceiverKeys>]) -> Result<Proxy, ScenarioError> {
    let mut told = price_of(scenario, "target", |price| match price {
        Price::Share(share) => {
            let usual = ShareRouterParams { target: share.target, ..ShareRouterParams::default() };
            let keys =
                changed!(ShareRouterParams { target, form, fair, memory, limited, overbooking, horizon }: share, usual);
            Some((share.target, keys))
        }
        _ => None,
    })?;
    let first = receivers[0];
    let (g, theta) = share_of(&first.keys);
    for receiver in receivers {
        let (table, keys) = (format!("flow[{}].receiver", receiver.table), &receiver.keys);
        let (other_g, other_theta) = share_of(keys);
        if (other_g, other_theta) != (g, theta) {
            let message = format!(
                "g = {other_g} and theta = {other_theta}: one agent has all flows: wanted {g} and {theta} as in flow[{}]",
                first.table
            );
            return Err(ScenarioError::at(&table, message));
        }
        let usual = ReceiverKeys { weight: keys.weight, g: keys.g, theta: keys.theta, ..ReceiverKeys::default() };
        let keys = changed!(ReceiverKeys { weight, fair, g, theta, balance, rise, fall, dither, memory }: keys, usual);
        told.not_kept.extend(unkept(table, &keys));
    }
    let (_, weights) = weights_of(&weighed(receivers, |keys| keys.weight))?;
    let mut words = told_share(told.value);
    // Next to nothing is as little as the agent takes.
    for set in [format!("law.g={g:?}"), format!("law.theta=\"{}\"", theta.max(LEAST_THETA))] {
        words.extend(["--set".to_owned(), set]);
    }
    Ok(Proxy { words, weights, not_kept: joined(told.not_kept) })
}

#[cfg(test)]
mod tests {
    use lasthop_core::law::clamp::AtArrivals;
    use lasthop_core::law::kernel::StationKernelParams;

    use super::*;

    #[test]
    fn a_queue_is_averaged_as_the_scenario_says() {
        let over =
            |average| averaged_over(&Price::Linear(PriceParams { average, ..PriceParams::new(Bytes::new(5500)) }));
        // clamp#4.1: e^(-2I).
        assert_eq!(over(Average::default()), Some(Duration::from_millis(500)));
        assert_eq!(over(Average::AtArrivals(AtArrivals { gain: 0.01 })), Some(MOST_AVERAGE));
        assert_eq!(over(Average::Raw), Some(LEAST_AVERAGE));
        let told = |average| told_clamp(Bytes::new(5500), 500, average, PROXY_REFILL).join(" ");
        assert!(
            told(Duration::from_millis(500))
                .ends_with("--a 5500 B --set law.tau=\"500 B\" --set law.average=\"500 ms\"")
        );
        assert!(told(AVERAGE).ends_with("--set law.tau=\"500 B\""));
        let paper = told_clamp(Bytes::new(5500), 500, AVERAGE, 0.0).join(" ");
        assert!(paper.ends_with("--set law.tau=\"500 B\" --set law.refill=0.0"), "{paper}");
    }

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
