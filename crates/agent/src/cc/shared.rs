// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the programs of a congestion control are told and tell, as `bpf/cc.bpf.c` lays it out.

use lasthop_core::law::aimd::AfterTimeout;
use lasthop_core::law::gamma::{Arming, CutRule, GammaParams};
use lasthop_core::law::linux::LEAST;
use serde::Serialize;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// What the settings begin with.
pub const MAGIC: u32 = 0x6c68_6363;
/// What the programs count as 1.
const ONE: f64 = 1.0 / LEAST;

/// What the programs are told, and may be told anew: `struct settings`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CcSettings {
    /// [`MAGIC`].
    pub magic: u32,
    /// The number of the link, once the control is registered.
    pub link: u32,
    /// Whose process holds it; 0: it is pinned.
    pub pid: u32,
    alpha_q16: u32,
    alpha_is_friendly: u32,
    beta_q16: u32,
    gamma_q16: u32,
    drains: u32,
    delta_q16: u32,
    delta_threshold_q16: u32,
    running_maximum: u32,
    beta_after_timeout: u32,
    name: [u8; 16],
    law: [u8; 16],
}

/// What the programs tell: `struct counts`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct CcCounts {
    /// Connections that it steers now.
    pub connections: u64,
    /// Connections so far.
    pub opened: u64,
    /// Windows that γ has cut.
    pub cuts: u64,
    /// Windows that a loss has cut.
    pub losses: u64,
    /// Those of them that a time-out told of.
    pub timeouts: u64,
}

impl CcSettings {
    /// A control of this name and law; what the name or law has beyond 15 bytes is left out.
    pub fn new(name: &str, law: &str, params: &GammaParams) -> Self {
        let q16 = |value: f64| ((value * ONE).round() as u32).max(1);
        // 0 is a threshold of δ, and stays one.
        let threshold = |value: f64| (value * ONE).round() as u32;
        let (gamma, delta) = (params.gamma, params.delta);
        let beta_q16 = q16(params.beta).min(65_535);
        // An α that follows from β follows from the β that the programs count with.
        let counted = GammaParams { beta: f64::from(beta_q16) / ONE, ..*params };
        Self {
            magic: MAGIC,
            link: 0,
            pid: 0,
            alpha_q16: q16(counted.aimd().alpha),
            alpha_is_friendly: params.alpha.is_none().into(),
            beta_q16,
            gamma_q16: gamma.map_or(0, |cut| q16(cut.threshold)),
            drains: gamma.is_some_and(|cut| cut.variant == CutRule::Drain).into(),
            delta_q16: delta.map_or(0, |boost| q16(boost.increase)),
            delta_threshold_q16: delta.map_or(0, |boost| threshold(boost.threshold).min(65_535)),
            running_maximum: (params.arming == Arming::RunningMaximum).into(),
            beta_after_timeout: (params.after_timeout == AfterTimeout::Beta).into(),
            name: padded(name),
            law: padded(law),
        }
    }

    /// The name of the control.
    pub fn name(&self) -> String {
        text(&self.name)
    }

    /// The law that it was loaded as.
    pub fn law(&self) -> String {
        text(&self.law)
    }

    /// The law's parameters, as a file has them.
    pub fn written(&self) -> String {
        let mut lines = vec![];
        if self.alpha_is_friendly == 0 {
            lines.push(format!("alpha = {}", value(self.alpha_q16)));
        }
        let after_timeout = if self.beta_after_timeout == 1 { AfterTimeout::Beta } else { AfterTimeout::Half };
        let arming = if self.running_maximum == 1 { Arming::RunningMaximum } else { Arming::AfterLoss };
        lines.push(format!("beta = {}", value(self.beta_q16)));
        lines.push(format!("after_timeout = {:?}", after_timeout.kind()));
        if self.gamma_q16 > 0 {
            let variant = if self.drains == 1 { CutRule::Drain } else { CutRule::Knee };
            lines.push(format!("gamma = {{ threshold = {}, variant = {:?} }}", value(self.gamma_q16), variant.kind()));
        }
        if self.delta_q16 > 0 {
            let (threshold, increase) = (value(self.delta_threshold_q16), value(self.delta_q16));
            lines.push(format!("delta = {{ threshold = {threshold}, increase = {increase} }}"));
        }
        lines.push(format!("arming = {:?}", arming.kind()));
        lines.join("\n") + "\n"
    }

    /// α, whether given or following from β.
    pub fn alpha(&self) -> f64 {
        f64::from(self.alpha_q16) / ONE
    }
}

/// The shortest decimal that the programs count as this.
fn value(q16: u32) -> f64 {
    let exact = f64::from(q16) / ONE;
    let rounded = |digits: i32| (exact * 10f64.powi(digits)).round() / 10f64.powi(digits);
    (0..6).map(rounded).find(|short| (short * ONE).round() as u32 == q16).unwrap_or(exact)
}

fn padded(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(name.bytes().take(15)).for_each(|(place, byte)| *place = byte);
    bytes
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use lasthop_core::law::gamma::{Boost, Cut};
    use lasthop_fixed::gamma;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_reads_as_the_same(
            alpha in prop::option::of(0.0001..256.0f64), beta in 0.0001..0.9999f64,
            cut in prop::option::of((0.0001..=1.0f64, any::<bool>())),
            boost in prop::option::of((0.0..0.9999f64, 0.0001..256.0f64)),
            (running, by_beta) in any::<(bool, bool)>(),
        ) {
            let params = GammaParams {
                alpha,
                beta,
                after_timeout: if by_beta { AfterTimeout::Beta } else { AfterTimeout::Half },
                gamma: cut.map(|(threshold, drains)| Cut {
                    threshold,
                    variant: if drains { CutRule::Drain } else { CutRule::Knee },
                }),
                delta: boost.map(|(threshold, increase)| Boost { threshold, increase }),
                arming: if running { Arming::RunningMaximum } else { Arming::AfterLoss },
            };
            let settings = CcSettings::new("lasthop_a", "gamma", &params);
            let read: GammaParams = lasthop_scenario::read(&settings.written()).unwrap();
            prop_assert_eq!(CcSettings::new("lasthop_a", "gamma", &read), settings);
        }

        #[test]
        fn a_friendly_alpha_is_that_of_the_kernel(beta in 0.01..0.99f64) {
            let settings = CcSettings::new("lasthop_a", "gaimd", &GammaParams { beta, ..GammaParams::default() });
            let own = gamma::friendly_alpha_q16(settings.beta_q16);
            prop_assert!(settings.alpha_q16.abs_diff(own) <= 3, "{} {}", settings.alpha_q16, own);
        }
    }

    #[test]
    fn names_have_fifteen_bytes() {
        let settings = CcSettings::new("lasthop_gamma_and_more", "drain", &GammaParams::default());
        assert_eq!((settings.name().as_str(), settings.law().as_str()), ("lasthop_gamma_a", "drain"));
        assert_eq!(settings.alpha(), 1.0);
    }
}
