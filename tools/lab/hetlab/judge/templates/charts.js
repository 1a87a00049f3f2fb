// SPDX-License-Identifier: GPL-2.0
// Curves of scorecard and report. All panels of a case zoom together: drag to zoom, double click to go back.
"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const PANELS = {
  goodput: "goodput (Mbit/s)", queue: "bottleneck's queue (packets)", cwnd: "congestion window (packets)",
  srtt: "smoothed round trip time (ms)", inflight: "in flight (packets)",
};
const HEIGHT = 200;
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// On dark paper a dark colour is made lighter in its own hue: mixed with white, two of them would both be grey
function colour(cc) {
  const found = DATA.ccs[cc].colour;
  if (!matchMedia("(prefers-color-scheme: dark)").matches) return found;
  const parts = [1, 3, 5].map((i) => parseInt(found.slice(i, i + 2), 16) / 255);
  const most = Math.max(...parts), least = Math.min(...parts), spread = most - least, middle = (most + least) / 2;
  if (0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2] > 0.55) return found;
  const [r, g, b] = parts;
  const sixth = !spread ? 0 : most === r ? (g - b) / spread : most === g ? 2 + (b - r) / spread : 4 + (r - g) / spread;
  const saturation = spread < 0.05 ? 0 : Math.max(0.65, spread / (1 - Math.abs(2 * middle - 1)));
  return `hsl(${Math.round(60 * sixth)}, ${Math.round(100 * saturation)}%, ${Math.round(100 * Math.max(middle, 0.68))}%)`;
}

// Dash of a further flow of the same congestion control
const DASHES = [[], [6, 3], [2, 2], [8, 2, 2, 2], [1, 4]];

function lines(name, of) {
  const series = [{label: "time (s)"}], rows = [];
  for (const [cc, run] of Object.entries(of.curves)) {
    (run.panels[name] || []).forEach((values, i) => {
      const flow = run.names.length > 1 && name !== "queue" ? " " + run.names[i] : "";
      series.push({label: cc + flow, stroke: colour(cc), width: 1.5, dash: i ? DASHES[i % DASHES.length] : DATA.ccs[cc].dash, spanGaps: false});
      rows.push(values);
    });
  }
  return {series, rows};
}

// Changes of links as dotted lines, retransmissions as ticks at the lower edge
function marks(of) {
  return (u) => {
    const {ctx, bbox} = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = css("--soft");
    ctx.setLineDash([3, 3]);
    for (const [at] of of.events) stroke(ctx, u.valToPos(at, "x", true), bbox.top, bbox.top + bbox.height);
    ctx.setLineDash([]);
    Object.entries(of.curves).forEach(([cc, run], i) => {
      ctx.strokeStyle = colour(cc);
      const low = bbox.top + bbox.height - 7 * i;
      for (const at of run.lost) stroke(ctx, u.valToPos(at, "x", true), low - 6, low);
    });
    ctx.restore();
  };
}

function stroke(ctx, x, from, to) {
  ctx.beginPath();
  ctx.moveTo(x, from);
  ctx.lineTo(x, to);
  ctx.stroke();
}

function axes(x, y) {
  const look = {stroke: css("--ink"), grid: {stroke: css("--line"), width: 1}, ticks: {stroke: css("--line"), width: 1}};
  return [{...look, label: x, labelSize: 18, size: 34}, {...look, label: y, labelSize: 18, size: 56}];
}

function panel(box, name, of, sync) {
  const {series, rows} = lines(name, of);
  const t = Object.values(of.curves)[0].t;
  const options = {
    title: PANELS[name], width: box.clientWidth, height: HEIGHT, series, axes: axes("time (s)", ""),
    scales: {x: {time: false}}, cursor: {sync: {key: sync, setSeries: false, scales: ["x", null]}, drag: {x: true, y: false}},
    hooks: {draw: name === "goodput" ? [marks(of)] : []},
  };
  return new uPlot(options, [t, ...rows], box);
}

function distribution(box, of) {
  const found = Object.entries(of.delays).filter(([, values]) => values.length);
  if (!found.length) return null;
  // One x axis for all: the delays of every congestion control, each curve interpolated at them
  const x = [...new Set(found.flatMap(([, values]) => values))].sort((a, b) => a - b);
  const rows = found.map(([, values]) => x.map((at) => share(values, at)));
  const series = [{label: "delay (ms)"}, ...found.map(([cc]) => ({label: cc, stroke: colour(cc), width: 1.5}))];
  const options = {
    title: "one-way delay above the smallest: share of packets (%)", width: box.clientWidth, height: HEIGHT, series,
    axes: axes("delay (ms)", ""), scales: {x: {time: false}, y: {range: [0, 100]}},
  };
  return new uPlot(options, [x, ...rows], box);
}

function share(values, at) {
  if (at < values[0]) return 0;
  let i = values.findIndex((v) => v > at);
  if (i < 0) return 100;
  const [low, high] = [values[i - 1], values[i]], p = DATA.percentiles;
  return p[i - 1] + (p[i] - p[i - 1]) * (at - low) / (high - low || 1);
}

// Goodput against delay; the axis of delays is reversed: up and right is better
function tradeoff(box, of) {
  const all = Object.values(of.points).flat().filter(([x]) => x !== null);
  if (!all.length) return;
  const w = box.clientWidth, h = HEIGHT + 40, left = 56, low = 34, top = 26;
  const maxX = Math.max(...all.map((p) => p[0]), 1e-3) * 1.1, maxY = Math.max(...all.map((p) => p[1])) * 1.1 || 1;
  const X = (v) => w - 12 - (w - left - 24) * v / maxX, Y = (v) => h - low - (h - low - top) * v / maxY;
  const svg = node("svg", {width: w, height: h, role: "img", "aria-label": "goodput against queueing delay"});
  const text = (x, y, words, anchor = "middle") => svg.append(Object.assign(node("text", {x, y, "text-anchor": anchor}), {textContent: words}));
  text(w / 2, 14, "goodput (Mbit/s) against delay: up and right is better");
  for (const x of ticks(maxX)) {
    svg.append(node("line", {x1: X(x), x2: X(x), y1: top, y2: h - low, stroke: css("--line")}));
    text(X(x), h - low + 13, x);
  }
  for (const y of ticks(maxY)) {
    svg.append(node("line", {x1: left, x2: w - 12, y1: Y(y), y2: Y(y), stroke: css("--line")}));
    text(left - 5, Y(y) + 4, y, "end");
  }
  text(w / 2, h - 4, "95th percentile of the queueing delay (ms)");
  const named = [];
  for (const [cc, found] of Object.entries(of.points)) ellipse(svg, cc, found.filter(([x]) => x !== null), X, Y, named);
  box.append(svg);
}

// Equal steps of 1, 2 or 5 times a power of ten from 0 on, two to five of them
function ticks(most) {
  const least = most / 5, power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((n) => n * power >= least);
  return Array.from({length: Math.floor(most / step + 1e-9) + 1}, (_, i) => Number((i * step).toPrecision(6)));
}

// Mean of the seeds, one standard deviation around it, a dot for each; ``named``: where names stand already
function ellipse(svg, cc, found, X, Y, named) {
  if (!found.length) return;
  const fill = colour(cc), mean = (k) => found.reduce((sum, p) => sum + p[k], 0) / found.length;
  const spread = (k) => Math.sqrt(found.reduce((sum, p) => sum + (p[k] - mean(k)) ** 2, 0) / found.length);
  const [x, y] = [mean(0), mean(1)];
  svg.append(node("ellipse", {
    cx: X(x), cy: Y(y), rx: Math.abs(X(x) - X(x + spread(0))), ry: Math.abs(Y(y) - Y(y + spread(1))), fill, "fill-opacity": 0.2,
  }));
  for (const p of found) svg.append(node("circle", {cx: X(p[0]), cy: Y(p[1]), r: 3, fill}));
  const early = X(x) < 160;  // no room for a name on the left
  const at = {x: X(x) + (early ? 7 : -7), y: Y(y) - 6};
  // Below a name that is near: none covers another
  while (named.some((other) => Math.abs(other.x - at.x) < 80 && Math.abs(other.y - at.y) < 12)) at.y += 6;
  named.push(at);
  const label = node("text", {...at, "text-anchor": early ? "start" : "end", "font-weight": 600, style: `fill: ${fill}`});
  label.textContent = cc;
  svg.append(label);
}

function node(name, attributes) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  return found;
}

function draw(details) {
  const room = details.querySelector(".charts"), of = room && DATA.cases[room.dataset.case];
  if (!of || room.childElementCount || !Object.keys(of.curves).length) return;
  const names = Object.keys(PANELS).filter((name) => Object.values(of.curves).some((run) => run.panels[name]));
  const makers = [tradeoff, distribution, ...names.map((name) => (box) => panel(box, name, of, room.dataset.case))];
  // All boxes first: the width of one depends on how many there are
  const boxes = makers.map(() => room.appendChild(Object.assign(document.createElement("div"), {className: "chart"})));
  makers.forEach((make, i) => make(boxes[i], of));
}

function caseAt(hash) {
  const found = document.getElementById(decodeURIComponent(hash.slice(1)));
  return found instanceof HTMLDetailsElement ? found : null;
}

// The case of the address: opened, and what Tab goes on from
function open() {
  const details = caseAt(location.hash);
  if (!details) return;
  details.open = true;
  details.scrollIntoView();
  details.querySelector("summary").focus({preventScroll: true});
}

// Escape closes a case and goes back to the link that opened it. At once: when the browser tells of a new address, it
// has taken the focus away, and of one that stays the same it does not tell
const openedBy = new Map();
for (const link of document.querySelectorAll('a[href^="#"]')) {
  link.addEventListener("click", (event) => {
    const details = caseAt(link.hash);
    if (!details || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState(null, "", link.hash);
    openedBy.set(details, link);
    open();
  });
}
addEventListener("keydown", (event) => {
  const details = event.key === "Escape" && document.activeElement.closest("details[open]");
  if (!details) return;
  details.open = false;
  (openedBy.get(details) || details.querySelector("summary")).focus();
});

// What is open for printing alone
const closed = new Set();
for (const details of document.querySelectorAll("details")) {
  details.addEventListener("toggle", () => details.open && !closed.has(details) && draw(details));
  if (details.open) draw(details);
}
document.getElementById("all")?.addEventListener("click", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
for (const swatch of document.querySelectorAll(".swatch[data-cc]")) {
  swatch.style.setProperty("--c", colour(swatch.dataset.cc));
}
// On paper nothing opens: all tables are printed, and what was closed is closed again
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details:not([open])")) {
    closed.add(details);
    details.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
  closed.clear();
});
addEventListener("hashchange", open);
open();
