// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a scenario's senders to those of the core.

use lasthop_core::law::aimd::equations::friendly_alpha;
use lasthop_core::law::aimd::{self, AimdParams};
use lasthop_core::law::binomial::BinomialParams;
use lasthop_core::law::cubic::CubicParams;
use lasthop_core::law::gamma::{self, Boost, Cut, GammaParams};
use lasthop_core::law::linux;
use lasthop_core::law::qfcp::QfcpParams;
use lasthop_core::law::vegas::VegasParams;
use lasthop_core::law::veno::VenoParams;
use lasthop_core::law::westwood::WestwoodParams;
use lasthop_core::law::xcp::XcpParams;
use lasthop_core::role::SenderParams;
use lasthop_core::tcp::{Recovery, RttEstimator, SenderConfig, TIMESTAMPS_OPTION, Validation};
use lasthop_core::units::{Bytes, Duration};

use super::HEADER;
use crate::scenario::{self, ScenarioError, Sender, SenderOptions};

/// Payload of a flow's full segments.
pub(super) fn payload(flow: &scenario::Flow) -> Result<Bytes, ScenarioError> {
    let options = flow.sender.options();
    if let Some(mss) = options.and_then(|options| options.mss) {
        if mss == Bytes::ZERO || mss.get() > 65_535 {
            return Err(ScenarioError::refused("sender.mss", format!("{:?}", mss), "1 B to 65535 B"));
        }
        return Ok(mss);
    }
    let header = options.and_then(|options| options.header).map_or(HEADER, |header| header.get());
    let has_options = flow.sender.is_linux() && flow.sender.has_timestamps();
    let headers = header.saturating_add(if has_options { u64::from(TIMESTAMPS_OPTION) } else { 0 });
    let packet = flow.packet;
    if packet.get() <= headers || packet.get() > 65_535 {
        let least = headers.saturating_add(1);
        let wanted = format!("{least} B to 65535 B, {headers} of them headers");
        return Err(ScenarioError::refused("packet", format!("{packet:?}"), wanted));
    }
    Ok(Bytes::new(packet.get() - headers))
}

/// A sender with segments of `payload` bytes on a path of `queues` queues, and its kind's name.
pub(super) fn sender(sender: &Sender, payload: Bytes, queues: usize) -> (SenderConfig, &'static str) {
    let (law, kind) = law(sender);
    let none = SenderOptions::default();
    let options = sender.options().unwrap_or(&none);
    let is_linux = sender.is_linux();
    let is_aimd = matches!(sender, Sender::Aimd(_));
    let defaults = if is_linux { linux() } else { SenderConfig::default() };
    let config = SenderConfig {
        mss: payload.get() as u32,
        header: options.header.map_or(defaults.header, |size| size.get().min(u64::from(u32::MAX)) as u32),
        law,
        recovery: recovery(sender),
        limited_transmit: options.limited_transmit,
        timestamps: sender.has_timestamps(),
        initial_window: options.initial_window.or(defaults.initial_window),
        initial_ssthresh: options.initial_ssthresh.map(|amount| amount.in_bytes(payload)),
        window_limit: options.window_limit.map(|amount| amount.in_bytes(payload)),
        strict_duplicate_acks: options.strict_duplicate_acks,
        cut_at_each_timeout: options.cut_at_each_timeout.unwrap_or(is_aimd),
        one_fast_retransmit: options.one_fast_retransmit.unwrap_or(is_aimd),
        cut_of_window: options.cut_of_window.unwrap_or(is_aimd),
        grow_at_recovery_end: options.grow_at_recovery_end,
        new_ack_ends_back_off: options.new_ack_ends_back_off.unwrap_or(matches!(sender, Sender::Qfcp(_))),
        find_lost_retransmissions: options.find_lost_retransmissions.unwrap_or(matches!(sender, Sender::Qfcp(_))),
        queues: queues.min(usize::from(u8::MAX)) as u8,
        rto_min: options.rto_min.unwrap_or(defaults.rto_min),
        rto_initial: options.rto_initial.unwrap_or(defaults.rto_initial),
        rto_max: options.rto_max.unwrap_or(defaults.rto_max),
        rack: options.rack.unwrap_or(defaults.rack),
        tail_loss_probe: options.tail_loss_probe.unwrap_or(defaults.tail_loss_probe),
        rate_reduction: options.rate_reduction.unwrap_or(defaults.rate_reduction),
        rtt_estimator: options.rtt_estimator.map_or(defaults.rtt_estimator, |estimator| match estimator {
            scenario::RttEstimator::Rfc6298 => RttEstimator::Rfc6298,
            scenario::RttEstimator::Linux => RttEstimator::Linux,
        }),
        validation: options.validation.map_or(defaults.validation, |validation| match validation {
            scenario::Validation::Always => Validation::Always,
            scenario::Validation::Full => Validation::Full,
            scenario::Validation::Linux => Validation::Linux,
        }),
        handshake: options.handshake.unwrap_or(defaults.handshake),
        ..defaults
    };
    (config, kind)
}

/// What Linux's senders have beside their laws.
fn linux() -> SenderConfig {
    SenderConfig {
        initial_window: Some(10),
        rack: true,
        tail_loss_probe: true,
        rate_reduction: true,
        rtt_estimator: RttEstimator::Linux,
        validation: Validation::Linux,
        rto_min: Duration::from_millis(200),
        rto_max: Duration::from_secs(120),
        syn_size: 60,
        ..SenderConfig::default()
    }
}

/// CUBIC, QFCP and Linux's senders come with selective acknowledgements unless told otherwise, as in every system that has it.
pub(super) fn recovery(sender: &Sender) -> Recovery {
    let (has_sack, without) = match sender {
        Sender::Reno(_) | Sender::Xcp(_) => (false, Recovery::Reno),
        Sender::Aimd(with) => match with.own.recovery {
            scenario::Recovery::Reno => (false, Recovery::Reno),
            scenario::Recovery::Newreno => (false, Recovery::NewReno),
            scenario::Recovery::Sack => (true, Recovery::NewReno),
        },
        Sender::Cubic(_) | Sender::Qfcp(_) | Sender::LinuxReno(_) | Sender::LinuxCubic(_) => (true, Recovery::NewReno),
        Sender::Newreno(_)
        | Sender::Vegas(_)
        | Sender::Veno(_)
        | Sender::Westwood(_)
        | Sender::Binomial(_)
        | Sender::Tfrc(_)
        | Sender::Kernel(_) => (false, Recovery::NewReno),
    };
    if sender.options().and_then(|options| options.sack).unwrap_or(has_sack) { Recovery::Sack } else { without }
}

fn law(sender: &Sender) -> (SenderParams, &'static str) {
    match sender {
        Sender::Newreno(_) => (SenderParams::default(), "newreno"),
        Sender::Reno(_) => (SenderParams::default(), "reno"),
        Sender::Aimd(with) => (aimd(&with.own), "aimd"),
        Sender::Cubic(with) => {
            let scenario::Cubic { c, beta, fast_convergence, reno_friendly } = with.own;
            (SenderParams::Cubic(CubicParams { c, beta, fast_convergence, reno_friendly }), "cubic")
        }
        Sender::LinuxReno(_) => (SenderParams::LinuxReno, "linux-reno"),
        Sender::LinuxCubic(with) => {
            let scenario::LinuxCubic { fast_convergence, reno_friendly, hystart, tick } = with.own;
            let params = linux::CubicParams { fast_convergence, reno_friendly, hystart, tick };
            (SenderParams::LinuxCubic(params), "linux-cubic")
        }
        Sender::Vegas(with) => {
            let scenario::Vegas { alpha, beta, gamma, loss_share } = with.own;
            (SenderParams::Vegas(VegasParams { alpha, beta, gamma, loss_share }), "vegas")
        }
        Sender::Veno(with) => {
            let scenario::Veno { beta, random_loss_share, reset_base_rtt } = with.own;
            (SenderParams::Veno(VenoParams { beta, random_loss_share, reset_base_rtt }), "veno")
        }
        Sender::Westwood(with) => {
            let scenario::Westwood { filter, least_interval } = with.own;
            (SenderParams::Westwood(WestwoodParams { filter, least_interval }), "westwood")
        }
        Sender::Binomial(with) => {
            let scenario::Binomial { k, l, alpha, beta } = with.own;
            (SenderParams::Binomial(BinomialParams { k, l, alpha, beta }), "binomial")
        }
        Sender::Xcp(_) => (SenderParams::Xcp(XcpParams::default()), "xcp"),
        Sender::Qfcp(with) => {
            let scenario::Qfcp { heed_loss } = with.own;
            (SenderParams::Qfcp(QfcpParams { heed_loss, ..QfcpParams::default() }), "qfcp")
        }
        // A rate-based sender is none of TCP's: `rate` builds it.
        Sender::Tfrc(_) => (SenderParams::default(), "tfrc"),
        // Nor is the kernel's: nothing is simulated of it.
        Sender::Kernel(_) => (SenderParams::default(), "kernel"),
    }
}

fn aimd(own: &scenario::Aimd) -> SenderParams {
    let aimd = AimdParams {
        alpha: own.alpha.unwrap_or_else(|| friendly_alpha(own.beta)),
        beta: own.beta,
        after_timeout: match own.after_timeout {
            scenario::AfterTimeout::Half => aimd::AfterTimeout::Half,
            scenario::AfterTimeout::Beta => aimd::AfterTimeout::Beta,
        },
    };
    if own.gamma.is_none() && own.delta.is_none() {
        return SenderParams::Aimd(aimd);
    }
    SenderParams::Gamma(GammaParams {
        aimd,
        gamma: own.gamma.map(|cut| Cut {
            threshold: cut.threshold,
            variant: match cut.variant {
                scenario::GammaVariant::Knee => gamma::Variant::Knee,
                scenario::GammaVariant::Drain => gamma::Variant::Drain,
            },
        }),
        delta: own.delta.map(|delta| Boost { threshold: delta.threshold, increase: delta.increase }),
        arming: match own.arming {
            scenario::Arming::AfterLoss => gamma::Arming::AfterLoss,
            scenario::Arming::RunningMaximum => gamma::Arming::RunningMaximum,
        },
    })
}
