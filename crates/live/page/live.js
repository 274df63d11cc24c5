// SPDX-License-Identifier: MIT OR Apache-2.0
// Asks for what is new once a second, and draws the last five minutes.
"use strict";

const KEPT = 300, LINES = 8, EVERY_MS = 1000;
const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a8a00", "#777777"];
const PLOTS = [
  { key: "delay", title: "Queue [ms]", of: "queues", value: (q) => scaled(q.delay_s, 1e3) },
  { key: "price", title: "Price [ms]", of: "queues", value: (q) => scaled(q.price_s, 1e3), optional: true },
  { key: "rate", title: "Rate [Mbit/s]", of: "stations", value: (s) => scaled(s.rate_bps, 1e-6) },
  { key: "window", title: "Window [kB]", of: "stations", value: (s) => scaled(s.window_bytes, 1e-3) },
];
const samples = [];
const drawn = new Map();
let targetS = null;

function scaled(value, factor) {
  return value == null ? null : value * factor;
}

// Those of the last sample come first: what has gone makes room.
function names(of) {
  const found = new Set();
  for (let i = samples.length - 1; i >= 0 && found.size < LINES; i--) {
    for (const item of samples[i][of]) if (found.size < LINES) found.add(item.name);
  }
  return [...found].sort();
}

function lines(plot, shown) {
  const data = [samples.map((sample) => sample.t_s)];
  for (const name of shown) {
    data.push(samples.map((sample) => {
      const item = sample[plot.of].find((item) => item.name === name);
      return item ? plot.value(item) : null;
    }));
  }
  if (plot.key === "delay" && targetS != null) data.push(samples.map(() => targetS * 1e3));
  return data;
}

function width() {
  const box = document.getElementById("plots");
  const columns = getComputedStyle(box).gridTemplateColumns.split(" ");
  return Math.floor(parseFloat(columns[0])) || box.clientWidth;
}

function make(plot, shown, box) {
  const ink = getComputedStyle(document.body).color;
  const axis = { stroke: ink, grid: { stroke: "#8884", width: 1 }, ticks: { stroke: "#8884" } };
  const number = (_, value) => (value == null ? "–" : value.toFixed(plot.key === "price" ? 2 : 1));
  const series = [{ label: "t [s]", value: (_, t) => (t == null ? "–" : t.toFixed(0)) }];
  shown.forEach((name, i) => series.push({ label: name, stroke: COLOURS[i], width: 1.5, value: number }));
  if (plot.key === "delay" && targetS != null) {
    series.push({ label: "target", stroke: ink, width: 1, dash: [4, 4], value: number });
  }
  return new uPlot({
    title: plot.title, width: width(), height: 190, series,
    scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.05] } },
    axes: [axis, { ...axis, size: 48 }],
  }, lines(plot, shown), box);
}

function draw() {
  for (const plot of PLOTS) {
    if (plot.optional && !samples.some((sample) => sample[plot.of].some((item) => plot.value(item) != null))) continue;
    const shown = names(plot.of);
    const key = JSON.stringify([shown, targetS]);
    const old = drawn.get(plot.key);
    if (old && old.key === key) {
      old.plot.setData(lines(plot, shown));
      continue;
    }
    let box = document.getElementById(plot.key);
    if (!box) {
      box = document.createElement("div");
      box.id = plot.key;
      document.getElementById("plots").append(box);
    }
    if (old) old.plot.destroy();
    drawn.set(plot.key, { key, plot: make(plot, shown, box) });
  }
}

function list() {
  const rows = samples[samples.length - 1].stations.map((station) => {
    const row = document.createElement("tr");
    const cells = [station.name, station.flows, (station.rate_bps / 1e6).toFixed(2), (station.window_bytes / 1e3).toFixed(1),
      station.rtt_s == null ? "–" : (station.rtt_s * 1e3).toFixed(1)];
    for (const text of cells) row.insertCell().textContent = text;
    return row;
  });
  document.getElementById("stations").replaceChildren(...rows);
}

function tell(told) {
  const last = samples[samples.length - 1];
  const queue = last.queues[0];
  const parts = [`${last.t_s.toFixed(0)} s`, `${last.stations.reduce((sum, s) => sum + s.flows, 0)} flows`];
  if (queue && queue.delay_s != null) parts.push(`queue ${(queue.delay_s * 1e3).toFixed(1)} ms`);
  if (queue && queue.price_s != null) parts.push(`price ${(queue.price_s * 1e3).toFixed(2)} ms`);
  if (queue && queue.rate_bps != null) parts.push(`at ${(queue.rate_bps / 1e6).toFixed(2)} Mbit/s`);
  document.getElementById("state").textContent = parts.join(", ");
  document.getElementById("title").textContent = told.title;
  document.title = `${told.title} – lasthop`;
}

async function look() {
  const state = document.getElementById("state");
  try {
    const last = samples.length ? samples[samples.length - 1].t_s : -1;
    const answer = await fetch(`samples.json?after=${last}`);
    const told = await answer.json();
    targetS = told.target_s;
    // Something else runs by now, or it began anew.
    if (told.last_s != null && told.last_s < last) samples.length = 0;
    samples.push(...told.samples);
    samples.splice(0, Math.max(0, samples.length - KEPT));
    state.classList.remove("lost");
    if (samples.length) {
      draw();
      list();
      tell(told);
    }
  } catch {
    state.textContent = "it does not answer any more";
    state.classList.add("lost");
  }
  setTimeout(look, EVERY_MS);
}

addEventListener("resize", () => {
  for (const { plot } of drawn.values()) plot.setSize({ width: width(), height: 190 });
});
look();
