// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers in the format that Prometheus reads, `OpenMetrics`.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeMetric;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::{self, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{self, Gauge};
use prometheus_client::registry::{Metric, Registry, Unit};

/// The type of what [`written`] gives.
pub(crate) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What tells a metric's values apart: names, and what each stands for.
pub(crate) type LabelSet = Vec<(String, String)>;
/// What goes up and down, and need not be whole.
pub(crate) type Real = Gauge<f64, AtomicU64>;

/// A metric to which numbers `N` are added.
pub(crate) trait Sum<N>: Default + EncodeMetric + TypedMetric + Metric {
    fn add(&self, number: N);
}

impl<N, A: counter::Atomic<N>> Sum<N> for Counter<N, A>
where
    Self: Default + EncodeMetric + Metric,
{
    fn add(&self, number: N) {
        self.inc_by(number);
    }
}

impl<N, A: gauge::Atomic<N>> Sum<N> for Gauge<N, A>
where
    Self: Default + EncodeMetric + Metric,
{
    fn add(&self, number: N) {
        self.inc_by(number);
    }
}

/// Tells `values` by a metric `M`; those of the same labels count together. What its name ends in is its unit.
pub(crate) fn tell<M: Sum<N>, N>(
    registry: &mut Registry,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (LabelSet, N)>,
) {
    let family = Family::<LabelSet, M>::default();
    for (labels, value) in values {
        family.get_or_create(&labels).add(value);
    }
    match name.strip_suffix("_seconds") {
        Some(stem) => registry.register_with_unit(stem, help, Unit::Seconds, family),
        None => registry.register(name, help, family),
    }
}

/// The text.
pub(crate) fn written(registry: &Registry) -> String {
    let mut text = String::new();
    // Writing to text does not fail.
    let _ = encode(&mut text, registry);
    text
}
