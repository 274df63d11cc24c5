// SPDX-License-Identifier: MIT OR Apache-2.0
//! The congestion control of each flow: the kernel's own, or a law of ours that `lasthop-agent` puts into the kernel for as long
//! as the emulation lasts.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use lasthop_core::law::aimd::AfterTimeout;
use lasthop_core::law::gamma::{Arming, CutRule, GammaParams};
use lasthop_core::law::qfcp::QfcpParams;
use lasthop_linux::Error as SystemError;
use lasthop_linux::cgroup::{Inside, OwnGroup, unified};
use lasthop_linux::process::Helper;
use lasthop_linux::sysctl::congestion_controls;
use lasthop_scenario::{ScenarioError, SenderSpec};

use crate::agents::{agent, no_agent};
use crate::error::Error;
use crate::run::EmulationOptions;
use crate::stage::StageFlow;

/// Of the next control or control group of this process: it may run several emulations.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The congestion control of each flow, there as long as this lives.
#[derive(Debug, Default)]
pub(crate) struct Controls {
    /// As sockets name them.
    pub(crate) names: Vec<String>,
    /// As results do.
    pub(crate) labels: Vec<String>,
    /// Whether there are some that ask routers.
    pub(crate) ask: bool,
    /// What is to be said of them.
    pub(crate) notes: Vec<String>,
    _programs: Vec<Helper>,
    /// That of the flows, where some ask routers: whatever runs in a group hears all of its connections. It outlives them.
    group: Option<OwnGroup>,
}

impl Controls {
    /// That of each flow, if they are to `run`.
    pub(crate) fn of(flows: &[StageFlow], options: &EmulationOptions, run: bool) -> Result<Self, Error> {
        let available = congestion_controls()?;
        let check = |key: &str, name: &str| match available.iter().any(|known| known == name) {
            true => Ok(name.to_owned()),
            false => {
                let wanted = format!("wanted one that this kernel has: {}", available.join(", "));
                Err(Error::from(ScenarioError::at(key, format!("{name:?}: {wanted}"))))
            }
        };
        let own = |names: Vec<String>| Self { labels: names.clone(), names, ..Self::default() };
        if let Some(name) = &options.congestion_control {
            return Ok(own(vec![check("--cc", name)?; flows.len()]));
        }
        if !run {
            return Ok(own(vec![String::new(); flows.len()]));
        }
        let mut ours = Ours::default();
        let (mut names, mut labels) = (vec![], vec![]);
        for flow in flows {
            let key = format!("flow[{}].sender", flow.table);
            let name = match &flow.sender {
                SenderSpec::Kernel(kernel) => check(&format!("{key}.congestion_control"), &kernel.congestion_control)?,
                SenderSpec::Reno(_) | SenderSpec::Newreno(_) | SenderSpec::LinuxReno(_) => check(&key, "reno")?,
                SenderSpec::Cubic(_) | SenderSpec::LinuxCubic(_) => check(&key, "cubic")?,
                SenderSpec::Vegas(_) => check(&key, "vegas")?,
                SenderSpec::Veno(_) => check(&key, "veno")?,
                SenderSpec::Westwood(_) => check(&key, "westwood")?,
                SenderSpec::Aimd(with) | SenderSpec::LinuxAimd(with) => {
                    names.push(ours.control(&key, Wanted::Window(with.own))?);
                    labels.push(flow.sender.kind().to_owned());
                    continue;
                }
                SenderSpec::Qfcp(with) => {
                    names.push(ours.control(&key, Wanted::Qfcp(with.own))?);
                    labels.push(flow.sender.kind().to_owned());
                    continue;
                }
                SenderSpec::Xcp(_) => {
                    names.push(ours.control(&key, Wanted::Xcp)?);
                    labels.push(flow.sender.kind().to_owned());
                    continue;
                }
                _ => {
                    let message = "the kernel has no such sender: name one of its own by --cc, such as --cc reno";
                    return Err(ScenarioError::at(&key, message).into());
                }
            };
            names.push(name.clone());
            labels.push(name);
        }
        let ask = ours.laws.iter().any(|(law, _)| matches!(law, Wanted::Qfcp(_) | Wanted::Xcp));
        Ok(Self { names, labels, ask, notes: ours.notes, _programs: ours.programs, group: ours.group })
    }

    /// What the calling thread opens while it has this belongs to these flows alone.
    ///
    /// # Errors
    /// If the system does not let it join their control group.
    pub(crate) fn inside(&self) -> Result<Option<Inside<'_>>, SystemError> {
        self.group.as_ref().map(OwnGroup::enter).transpose()
    }
}

/// A law that is to be in the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted {
    /// A congestion control of `cc load`.
    Window(GammaParams),
    /// A host of QFCP, for those connections that choose its control.
    Qfcp(QfcpParams),
    /// The same of XCP, which has no parameters.
    Xcp,
}

/// Our laws, each once for all flows that have it.
#[derive(Debug, Default)]
struct Ours {
    laws: Vec<(Wanted, String)>,
    programs: Vec<Helper>,
    notes: Vec<String>,
    group: Option<OwnGroup>,
}

impl Ours {
    /// The name of the control of this law.
    fn control(&mut self, key: &str, law: Wanted) -> Result<String, Error> {
        if let Some((_, name)) = self.laws.iter().find(|(known, _)| *known == law) {
            return Ok(name.clone());
        }
        // By our process's number and this one no other emulation has it.
        let name = format!("lh{:x}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let Some(agent) = agent() else {
            return Err(ScenarioError::at(key, no_agent("to put this law into the kernel")).into());
        };
        let words = match law {
            Wanted::Window(params) => Ok(words(&params, &name)),
            Wanted::Qfcp(params) => self.folder().map(|group| host_words("qfcp", params.heed_loss, &name, &group)),
            Wanted::Xcp => self.folder().map(|group| host_words("xcp", false, &name, &group)),
        }
        .map_err(|error| ScenarioError::at(key, error))?;
        let started = Helper::start(&agent, &words, None);
        self.programs.push(started.map_err(|error| ScenarioError::at(key, error.to_string()))?);
        self.laws.push((law, name.clone()));
        Ok(name)
    }

    /// That of the control group of the flows; of one that others may share where we can make none.
    fn folder(&mut self) -> Result<PathBuf, String> {
        if let Some(group) = &self.group {
            return Ok(group.folder().to_owned());
        }
        match OwnGroup::make(&NUMBER.fetch_add(1, Ordering::Relaxed).to_string()) {
            Ok(group) => Ok(self.group.insert(group).folder().to_owned()),
            Err(error) => {
                let shared =
                    unified().ok_or("wanted cgroup2 to be mounted: connections are told apart by control groups")?;
                let note = format!("flows share {} with other emulations there: {error}", shared.display());
                self.notes.push(note);
                Ok(shared)
            }
        }
    }
}

/// What the agent is told.
fn words(params: &GammaParams, name: &str) -> Vec<String> {
    let GammaParams { alpha, beta, after_timeout, gamma, delta, arming } = *params;
    let law = match (gamma.map(|cut| cut.variant), delta) {
        (None, None) => "gaimd",
        (None, Some(_)) => "delta",
        (Some(CutRule::Drain), None) => "drain",
        (Some(CutRule::Knee), None) => "gamma",
        (Some(_), Some(_)) => "gamma-delta",
    };
    let mut words = ["cc", "load", law, "--name", name].map(str::to_owned).to_vec();
    let mut set = |key: &str, value: String| words.extend(["--set".to_owned(), format!("{key}={value}")]);
    // As TOML has numbers: whole ones would be refused in the place of others.
    let number = |value: f64| format!("{value:?}");
    if let Some(alpha) = alpha {
        set("alpha", number(alpha));
    }
    set("beta", number(beta));
    set("after_timeout", AfterTimeout::kind(&after_timeout).to_owned());
    if let Some(cut) = gamma {
        set("gamma.threshold", number(cut.threshold));
        set("gamma.variant", CutRule::kind(&cut.variant).to_owned());
    }
    if let Some(boost) = delta {
        set("delta.threshold", number(boost.threshold));
        set("delta.increase", number(boost.increase));
    }
    set("arming", Arming::kind(&arming).to_owned());
    words
}

/// What the agent is told that serves those of our own connections that choose its control.
fn host_words(law: &str, heeds_loss: bool, name: &str, group: &Path) -> Vec<String> {
    let group = group.display().to_string();
    // The simulator's sender does not pace.
    let words = [law, "host", "--chosen-only", "--unpaced", "--name", name, "--cgroup", &group];
    let mut words = words.map(str::to_owned).to_vec();
    if heeds_loss {
        words.push("--heed-loss".to_owned());
    }
    words
}

#[cfg(test)]
mod tests {
    use lasthop_core::law::gamma::{Boost, Cut};

    use super::*;

    #[test]
    fn the_agent_is_told_every_parameter() {
        let params = GammaParams {
            alpha: Some(1.0),
            beta: 0.75,
            after_timeout: AfterTimeout::Beta,
            gamma: Some(Cut { threshold: 1.0, variant: CutRule::Drain }),
            delta: Some(Boost { threshold: 0.1, increase: 3.0 }),
            arming: Arming::RunningMaximum,
        };
        let words = words(&params, "lh1_0");
        assert_eq!(words[..5], ["cc", "load", "gamma-delta", "--name", "lh1_0"]);
        let keys: Vec<(String, String)> = words[5..]
            .chunks(2)
            .map(|pair| pair[1].split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap())
            .collect();
        let text = lasthop_scenario::effective("", &keys).unwrap();
        assert_eq!(lasthop_scenario::read::<GammaParams>(&text).unwrap(), params);
    }

    #[test]
    fn the_law_is_that_of_the_parameters() {
        let cut = |variant| Some(Cut { variant, ..Cut::default() });
        for (gamma, delta, law) in [
            (None, None, "gaimd"),
            (None, Some(Boost::default()), "delta"),
            (cut(CutRule::Knee), None, "gamma"),
            (cut(CutRule::Drain), None, "drain"),
            (cut(CutRule::Drain), Some(Boost::default()), "gamma-delta"),
        ] {
            assert_eq!(words(&GammaParams { gamma, delta, ..GammaParams::default() }, "lh1_0")[2], law);
        }
    }
}
