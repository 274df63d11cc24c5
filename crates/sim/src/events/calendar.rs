// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wakes of a long event list that are not near: by days, unsorted.
//!
//! In a heap of thousands a wake moves through half a dozen levels on its way out. Here it is put into its day, and taken out with
//! the few others of that as the day begins (R. Brown, Calendar queues, CACM 31, 1988). What is of a later year stays. The list of a
//! day is in no order, so how long days are changes nothing but the work.

use super::Entry;

/// The wakes of the days that have not begun.
#[derive(Debug, Default)]
pub(super) struct Calendar {
    /// The first slot of each day of a year; a power of two of them.
    days: Vec<u32>,
    slots: Vec<Slot>,
    /// The first slot of what may be due today, and the first that is free.
    today: u32,
    free: u32,
    len: usize,
    /// A day has 2 to this power ns.
    shift: u32,
    /// The next day, from time zero, and when it begins.
    day: u64,
    start: u64,
    /// Since the length of a day was looked at: days and wakes that were, wakes that were due, and the day then.
    looked_at: usize,
    due: u64,
    since: u64,
}

/// A wake, and the slot of the next one of its day.
#[derive(Clone, Copy, Debug)]
struct Slot {
    entry: Entry,
    next: u32,
}

/// No slot.
const END: u32 = u32::MAX;
/// The least number of days of a year.
const LEAST_DAYS: usize = 64;
/// A day of about a millisecond, until it is known how many wakes come in one.
const FIRST_SHIFT: u32 = 20;
/// Wakes of a day: with fewer more days are looked at, with more those that are near are more.
const WAKES_A_DAY: u64 = 8;
/// With more its length is looked at.
const MOST_OF_A_DAY: u64 = 16;

impl Calendar {
    /// One without wakes.
    pub(super) fn new() -> Self {
        Self { days: vec![END; LEAST_DAYS], today: END, free: END, shift: FIRST_SHIFT, ..Self::default() }
    }

    /// From now on it takes what comes at `start` or later, and holds nothing before that.
    pub(super) fn start_at(&mut self, start: u64) {
        // Perhaps in the midst of a day.
        (self.start, self.day) = (start, start >> self.shift);
        if self.len == 0 || self.day < self.since {
            (self.looked_at, self.due, self.since) = (0, 0, self.day);
        }
    }

    /// The instant before which it holds nothing.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Puts a wake into its day, which has not begun.
    #[inline]
    pub(super) fn put(&mut self, entry: Entry) {
        let day = (entry.at >> self.shift) as usize & (self.days.len() - 1);
        let first = &mut self.days[day];
        let slot = Slot { entry, next: *first };
        if let Some(free) = self.slots.get_mut(self.free as usize) {
            *first = self.free;
            self.free = std::mem::replace(free, slot).next;
        } else {
            *first = self.slots.len() as u32;
            self.slots.push(slot);
        }
        self.len += 1;
    }

    /// The next day begins, what is of it is [due](Self::take_due). False if there is nothing of any day.
    pub(super) fn begin_day(&mut self) -> bool {
        let has_too_many = self.due > MOST_OF_A_DAY * (self.day - self.since) && self.due > self.len as u64;
        if has_too_many || self.looked_at > 16 * self.len.max(LEAST_DAYS) {
            self.measure();
        }
        let place = self.day as usize & (self.days.len() - 1);
        self.today = std::mem::replace(&mut self.days[place], END);
        self.day += 1;
        self.start = self.day.saturating_mul(1 << self.shift);
        self.looked_at += 1;
        self.len > 0
    }

    /// Takes out a wake of the day that has begun; those of later years stay.
    #[inline]
    pub(super) fn take_due(&mut self) -> Option<Entry> {
        while let Some(slot) = self.slots.get_mut(self.today as usize) {
            let here = std::mem::replace(&mut self.today, slot.next);
            self.looked_at += 1;
            if slot.entry.at < self.start {
                slot.next = std::mem::replace(&mut self.free, here);
                self.due += 1;
                self.len -= 1;
                return Some(slot.entry);
            }
            let place = (slot.entry.at >> self.shift) as usize & (self.days.len() - 1);
            slot.next = std::mem::replace(&mut self.days[place], here);
        }
        None
    }

    /// Days become longer or shorter if too few or too many wakes were due in one, and a year as long as there are wakes.
    #[cold]
    #[inline(never)]
    fn measure(&mut self) {
        let nanos = ((self.day - self.since) << self.shift).saturating_mul(WAKES_A_DAY) / self.due.max(1);
        let (shift, days) = (nanos.max(1).ilog2(), self.len.next_power_of_two().max(LEAST_DAYS));
        if shift.abs_diff(self.shift) > 1 || days > self.days.len() {
            let slots = std::mem::take(&mut self.slots);
            let lists = std::mem::replace(&mut self.days, vec![END; days]);
            (self.shift, self.free, self.len) = (shift, END, 0);
            self.start_at(self.start);
            for mut at in lists {
                while let Some(slot) = slots.get(at as usize) {
                    self.put(slot.entry);
                    at = slot.next;
                }
            }
        }
        (self.looked_at, self.due, self.since) = (0, 0, self.day);
    }
}
