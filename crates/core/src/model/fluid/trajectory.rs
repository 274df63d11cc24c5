// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fluid over time: Heun's method on a grid that is finer than the shortest delay.

use super::{Fluid, Mixing, Rest, positive, queue_of_window};
use crate::error::{ParameterError, ensure};
use crate::estimator::over_arrivals;

/// So many steps of a queue's own time are mixed step by step; a shorter queue is emptied and filled within one.
const SHORT_QUEUE_STEPS: f64 = 4.0;

/// Where a trajectory begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// With these windows \[B\], each evenly on its path; what no path holds stands in the queue.
    Windows(Vec<f64>),
    /// With so many times q* in the queue, as for longer than any delay; all else as at rest.
    NearRest(f64),
}

/// What was, at equal steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// The times \[s\].
    pub times_s: Vec<f64>,
    /// q \[B\].
    pub queue_bytes: Vec<f64>,
    /// What is priced \[B\]: the router's average, or the queue.
    pub average_bytes: Vec<f64>,
    /// w_i \[B\], a series a flow.
    pub windows_bytes: Vec<Vec<f64>>,
    /// B_i \[B\], a series a flow: what of the queue is the flow's.
    pub buffered_bytes: Vec<Vec<f64>>,
    /// μ_i \[B/s\], a series a flow.
    pub rates: Vec<Vec<f64>>,
}

/// What the receivers' clocked sends were, a series a flow: ē_i before the start, and e_i on the grid.
struct Sent {
    step_s: f64,
    before: Vec<f64>,
    series: Vec<Vec<f64>>,
}

impl Sent {
    /// e_i at a time on or before the last one of the grid, by a straight line.
    fn at(&self, flow: usize, time_s: f64) -> f64 {
        let series = &self.series[flow];
        if time_s < 0.0 || series.is_empty() {
            return self.before[flow];
        }
        let place = time_s / self.step_s;
        let index = (place as usize).min(series.len() - 1);
        let next = (index + 1).min(series.len() - 1);
        series[index] + (place - index as f64).clamp(0.0, 1.0) * (series[next] - series[index])
    }
}

/// All that changes at an instant.
struct Rates {
    /// λ_i: what arrives at the queue.
    arriving: Vec<f64>,
    /// μ_i: what leaves it.
    leaving: Vec<f64>,
    /// dw_i/dt.
    growing: Vec<f64>,
}

struct Course<'a> {
    fluid: &'a Fluid,
    round_trips_s: Vec<f64>,
    rest: Rest,
    step_s: f64,
    sent: Sent,
}

impl Fluid {
    /// Integrates for `duration_s` by steps of `step_s`, of which every `every`-th is kept.
    ///
    /// # Errors
    /// A number outside its domain; a step that is longer than the shortest delay.
    pub fn trajectory(
        &self,
        start: &Start,
        duration_s: f64,
        step_s: f64,
        every: usize,
    ) -> Result<Trajectory, ParameterError> {
        let rest = self.rest()?;
        positive("duration", duration_s)?;
        positive("step", step_s)?;
        let shortest_s = self.paths.iter().fold(f64::INFINITY, |least, path| least.min(path.delay_s));
        ensure(step_s <= shortest_s, "step", step_s, "at most the shortest delay")?;
        ensure(every > 0, "every", every, "at least 1")?;
        let (before, mut buffered) = self.begin(start, &rest)?;
        let delay_s = rest.queue_bytes / self.rate;
        let mut windows: Vec<f64> =
            self.paths.iter().zip(&before).zip(&buffered).map(|((path, sent), b)| b + sent * path.delay_s).collect();
        let mut average = buffered.iter().sum::<f64>();
        let mut course = Course {
            fluid: self,
            round_trips_s: self.paths.iter().map(|path| path.delay_s + delay_s).collect(),
            rest,
            step_s,
            sent: Sent { step_s, before, series: vec![Vec::new(); self.paths.len()] },
        };
        let mut found = Trajectory {
            windows_bytes: vec![Vec::new(); windows.len()],
            buffered_bytes: vec![Vec::new(); windows.len()],
            rates: vec![Vec::new(); windows.len()],
            ..Trajectory::default()
        };
        let steps = (duration_s / step_s).round() as usize;
        for n in 0..=steps {
            let time_s = n as f64 * step_s;
            let here = course.rates(time_s, &buffered, average);
            for (flow, series) in course.sent.series.iter_mut().enumerate() {
                series.push(here.leaving[flow] + here.growing[flow]);
            }
            if n % every == 0 {
                found.push(time_s, &buffered, self.priced(average, buffered.iter().sum()), &windows, &here);
            }
            let queue_bytes: f64 = buffered.iter().sum();
            let ahead = course.filled(&buffered, &here, &here);
            let next_queue: f64 = ahead.iter().sum();
            let next_average = self.averaged(average, 0.5 * (queue_bytes + next_queue), step_s);
            let there = course.rates(time_s + step_s, &ahead, next_average);
            buffered = course.filled(&buffered, &here, &there);
            average = self.averaged(average, 0.5 * (queue_bytes + buffered.iter().sum::<f64>()), step_s);
            for (flow, window) in windows.iter_mut().enumerate() {
                *window += 0.5 * step_s * (here.growing[flow] + there.growing[flow]);
            }
        }
        Ok(found)
    }

    /// What was sent before the start, and what stands in the queue at it.
    fn begin(&self, start: &Start, rest: &Rest) -> Result<(Vec<f64>, Vec<f64>), ParameterError> {
        match start {
            Start::NearRest(times) => {
                ensure(*times >= 0.0 && times.is_finite(), "start", times, "a number of at least 0")?;
                let part_s = rest.queue_bytes * times / self.rate;
                let price_s = self.price_s(rest.queue_bytes * times);
                let waiting_s = rest.queue_bytes / self.rate;
                let each = self.paths.iter().zip(&rest.rates);
                let sent = each
                    .map(|(path, &rate)| rate + self.window_change(path, price_s, rate, path.delay_s + waiting_s))
                    .collect();
                Ok((sent, rest.rates.iter().map(|rate| rate * part_s).collect()))
            }
            Start::Windows(windows) => {
                ensure(windows.len() == self.paths.len(), "windows", windows.len(), "one for each flow")?;
                windows.iter().try_for_each(|&window| positive("window", window))?;
                let offered: Vec<f64> = windows.iter().zip(&self.paths).map(|(w, path)| w / path.delay_s).collect();
                let share = (self.rate / offered.iter().sum::<f64>()).min(1.0);
                let sent: Vec<f64> = offered.iter().map(|rate| rate * share).collect();
                let buffered = windows.iter().zip(&self.paths).zip(&sent);
                let buffered = buffered.map(|((&w, path), &rate)| queue_of_window(w, rate, path.delay_s)).collect();
                Ok((sent, buffered))
            }
        }
    }

    fn averaged(&self, before: f64, queue_bytes: f64, step_s: f64) -> f64 {
        self.average.map_or(queue_bytes, |gain| over_arrivals(before, queue_bytes, gain, step_s))
    }

    fn priced(&self, average_bytes: f64, queue_bytes: f64) -> f64 {
        if self.average.is_some() { average_bytes } else { queue_bytes }
    }
}

impl Course<'_> {
    fn rates(&self, time_s: f64, buffered: &[f64], average_bytes: f64) -> Rates {
        let fluid = self.fluid;
        let queue_bytes: f64 = buffered.iter().sum();
        let price_s = fluid.price_s(fluid.priced(average_bytes, queue_bytes));
        let arriving: Vec<f64> =
            fluid.paths.iter().enumerate().map(|(flow, path)| self.sent.at(flow, time_s - path.delay_s)).collect();
        let leaving = self.leaving(buffered, queue_bytes, &arriving);
        let each = fluid.paths.iter().zip(&leaving).zip(&self.round_trips_s);
        let growing = each.map(|((path, &rate), &round_s)| fluid.window_change(path, price_s, rate, round_s)).collect();
        Rates { arriving, leaving, growing }
    }

    /// μ_i. Of a queue that would be empty within a few steps goes what can go within one.
    fn leaving(&self, buffered: &[f64], queue_bytes: f64, arriving: &[f64]) -> Vec<f64> {
        if self.fluid.mixing == Mixing::AtRest {
            return self.rest.rates.clone();
        }
        if queue_bytes > SHORT_QUEUE_STEPS * self.fluid.rate * self.step_s {
            return buffered.iter().map(|b| b / queue_bytes * self.fluid.rate).collect();
        }
        let ready: Vec<f64> = buffered.iter().zip(arriving).map(|(b, rate)| rate + b / self.step_s).collect();
        let share = (self.fluid.rate / ready.iter().sum::<f64>()).min(1.0);
        ready.iter().map(|rate| rate * share).collect()
    }

    /// B_i a step later, by what came and went at its two ends.
    fn filled(&self, buffered: &[f64], here: &Rates, there: &Rates) -> Vec<f64> {
        //= clamp-report#9a  dB_i/dt = dw_i/dt at t − d_i + μ_i(t − d_i) − μ_i(t)
        let grown: Vec<f64> = (0..buffered.len())
            .map(|flow| {
                let net = |rates: &Rates| rates.arriving[flow] - rates.leaving[flow];
                buffered[flow] + 0.5 * self.step_s * (net(here) + net(there))
            })
            .collect();
        if self.fluid.mixing == Mixing::Perfect {
            return grown.iter().map(|b| b.max(0.0)).collect();
        }
        //= clamp#2  dq/dt = (τ − bq(t − d))/d
        //= clamp#8  dq/dt = Σ_i dw_i/dt at t − d_i
        //= clamp#9  dq/dt = Σ_i (τ − (bq(t − d_i) − a)μ_i/μ_c)/d_i
        //= clamp#12  dq/dt = (kτ + a − bq(t − d))/d
        let queue_bytes = grown.iter().sum::<f64>().max(0.0);
        self.rest.rates.iter().map(|rate| queue_bytes * rate / self.fluid.rate).collect()
    }
}

impl Trajectory {
    fn push(&mut self, time_s: f64, buffered: &[f64], average_bytes: f64, windows: &[f64], rates: &Rates) {
        self.times_s.push(time_s);
        self.queue_bytes.push(buffered.iter().sum());
        self.average_bytes.push(average_bytes);
        for flow in 0..windows.len() {
            self.windows_bytes[flow].push(windows[flow]);
            self.buffered_bytes[flow].push(buffered[flow]);
            self.rates[flow].push(rates.leaving[flow]);
        }
    }
}
