// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a flow has been granted, and when.

use std::collections::VecDeque;

/// The right edge of a flow's window over time, as far back as anybody asks.
#[derive(Clone, Debug)]
pub(super) struct Grants {
    /// When the edge moved \[s\], and to which byte; the first holds for all time before the second.
    moves: VecDeque<(f64, u64)>,
}

impl Grants {
    /// A window that ends at `edge`, and always has.
    pub(super) fn new(edge: u64) -> Self {
        Self { moves: VecDeque::from([(f64::NEG_INFINITY, edge)]) }
    }

    /// The edge now.
    pub(super) fn edge(&self) -> u64 {
        self.moves.back().map_or(0, |&(_, edge)| edge)
    }

    /// The edge as it was at `t_s`.
    pub(super) fn edge_at(&self, t_s: f64) -> u64 {
        let later = self.moves.partition_point(|&(moved_s, _)| moved_s <= t_s);
        self.moves.get(later.saturating_sub(1)).map_or(0, |&(_, edge)| edge)
    }

    /// The edge moves to `edge` at `t_s`.
    pub(super) fn grant(&mut self, t_s: f64, edge: u64) {
        self.moves.push_back((t_s, edge));
    }

    /// Nobody asks for what was before `t_s` any more.
    pub(super) fn forget(&mut self, t_s: f64) {
        while self.moves.get(1).is_some_and(|&(moved_s, _)| moved_s <= t_s) {
            self.moves.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_is_known_as_it_was() {
        let mut grants = Grants::new(1000);
        [(1.0, 2000), (2.0, 4000), (3.0, 4500)].iter().for_each(|&(t_s, edge)| grants.grant(t_s, edge));
        let at = |grants: &Grants| [0.5, 1.0, 1.5, 2.5, 9.0].map(|t_s| grants.edge_at(t_s));
        assert_eq!(at(&grants), [1000, 2000, 2000, 4000, 4500]);
        grants.forget(1.5);
        assert_eq!(at(&grants)[2..], [2000, 4000, 4500], "what held at 1.5 s is still known");
        assert_eq!((grants.edge(), grants.moves.len()), (4500, 3));
    }
}
