"use strict";
// Frames come by questions every half second; everything else is drawn from what is kept here.
const token = new URLSearchParams(location.search).get("token") || "";
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg", SERIES_MAX = 8, KEEP_S = 600, EVERY_MS = 500;
const sources = []; // {label, begin, frames, names, ...}
const own = []; // expressions of the user's: {name, tree, text}
const chosen = new Set();
let paused = false, known = "", failures = 0;

function make(parent, name, attributes = {}, text) {
  const svg = parent instanceof SVGElement || name === "svg";
  const element = svg ? document.createElementNS(SVG, name) : document.createElement(name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

function human(value) {
  if (value === null || value === undefined) return "-";
  for (const [size, prefix] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e4, " k"]]) {
    if (Math.abs(value) >= size) return Number((value / (size === 1e4 ? 1e3 : size)).toPrecision(4)) + prefix;
  }
  return value === 0 ? "0" : Number(value.toPrecision(4)).toString();
}

// An expression's value; null where a column is absent or a divisor is zero.
function evaluate(tree, value) {
  if (typeof tree === "number") return tree;
  if (typeof tree === "string") return value(tree);
  const [sign, ...rest] = tree, parts = rest.map((part) => evaluate(part, value));
  if (parts.includes(null)) return null;
  const [a, b] = parts;
  if (parts.length === 1) return -a;
  if (sign === "+") return a + b;
  if (sign === "-") return a - b;
  if (sign === "*") return a * b;
  return b === 0 ? null : a / b;
}

function metrics() {
  const all = new Map();
  for (const { begin } of sources) {
    if (!begin) continue;
    for (const name of [...begin.counts, ...begin.virtuals]) all.set(name, null);
    for (const text of begin.metrics) all.set(text.split("=")[0], null);
  }
  for (const expression of own) all.set(expression.name, expression);
  return all;
}

// The group that a row belongs to, or null where the view has no place for it.
function groupOf(source, index, row) {
  const name = source.names.get(row.id);
  switch ($("group").value) {
    case "source": return `${index}`;
    case "core": return row.subject === "core" ? `${index} cpu${row.id}` : null;
    case "thread": return row.subject === "core" ? null : `${index} ${row.id} ${name ? name.name : ""}`;
    default: return row.subject === "core" ? null : `${index} ${row.process ?? row.id} ${name ? name.process_name : ""}`;
  }
}

// Of one frame: for each group and set the sums of its counts.
function sums(source, index, frame) {
  const groups = new Map();
  for (const row of frame.rows) {
    const group = groupOf(source, index, row);
    if (group === null) continue;
    if (!groups.has(group)) groups.set(group, new Map());
    const sets = groups.get(group);
    const counts = sets.get(row.set) || new Array(row.counts.length).fill(null);
    row.counts.forEach((count, i) => { if (count !== null) counts[i] = (counts[i] ?? 0) + count; });
    sets.set(row.set, counts);
  }
  // A program that did not run in a set's turn counted nothing then, which is not the same as not counted.
  if ($("group").value === "source") {
    if (!groups.has(`${index}`)) groups.set(`${index}`, new Map());
    const sets = groups.get(`${index}`);
    source.begin.sets.forEach((places, set) => {
      if (frame.spans_ns[set] && !sets.has(set)) sets.set(set, source.begin.counts.map((_, place) => places.includes(place) ? 0 : null));
    });
  }
  return groups;
}

function valueOf(source, frame, sets, name, trees) {
  const { begin } = source, column = begin.counts.indexOf(name);
  if (trees.get(name)) {
    for (const [set, counts] of sets) {
      const value = evaluate(trees.get(name), (word) => {
        if (word === "seconds") return frame.spans_ns[set] / 1e9;
        const count = begin.counts.indexOf(word), level = begin.virtuals.indexOf(word);
        return (count >= 0 ? counts[count] : level >= 0 ? frame.virtuals[level] : null) ?? null;
      });
      if (value !== null) return value;
    }
    return null;
  }
  if (column < 0) return frame.virtuals[begin.virtuals.indexOf(name)] ?? null;
  let sum = null, seconds = 0;
  begin.sets.forEach((places, set) => {
    if (!places.includes(column)) return;
    seconds += frame.spans_ns[set] / 1e9;
    const count = sets.get(set) && sets.get(set)[column];
    if (count !== null && count !== undefined) sum = (sum ?? 0) + count;
  });
  return sum === null || seconds === 0 ? null : sum / seconds;
}

// Lines of the last seconds: name -> {source, points: [[at, {metric: value}]]}.
function series() {
  const span = Number($("span").value), lines = new Map();
  sources.forEach((source, index) => {
    if (!source.begin) return;
    const trees = new Map(own.map(({ name, tree }) => [name, tree]));
    for (const [name, tree] of source.trees) if (!trees.has(name)) trees.set(name, tree);
    const end = source.frames.length ? source.frames[source.frames.length - 1].at_ns / 1e9 : 0;
    for (const frame of source.frames) {
      const at = frame.at_ns / 1e9;
      if (at < end - span) continue;
      for (const [group, sets] of sums(source, index, frame)) {
        if (!lines.has(group)) lines.set(group, { source: index, name: $("group").value === "source" ? source.label : group.slice(group.indexOf(" ") + 1), points: [], total: 0 });
        const values = {};
        for (const name of chosen) values[name] = valueOf(source, frame, sets, name, trees);
        const line = lines.get(group), first = values[[...chosen][0]];
        line.points.push([at, end, values]);
        line.total += first ?? 0;
      }
    }
  });
  return [...lines.values()].sort((a, b) => $("group").value === "source" ? a.source - b.source : b.total - a.total);
}

// The next of 1, 2, 2.5 and 5 times a power of ten.
function round(step) {
  const power = 10 ** Math.floor(Math.log10(step || 1));
  return (step > 0 ? [1, 2, 2.5, 5, 10].find((factor) => factor * power >= step * 0.9999) : 1) * power;
}

// How far back charts go: as far as there is something, within the window.
function reach(lines) {
  const ago = lines.map((line) => line.points[0][1] - line.points[0][0]);
  return Math.min(Number($("span").value), Math.max(10, Math.ceil(Math.max(0, ...ago))));
}

// Seconds between the marks of so long an axis: four of them at most.
function interval(span) {
  return [1, 2, 5, 10, 15, 20, 30, 60, 120].find((step) => span / step <= 4.5) || 150;
}

function chart(parent, title, metric, lines, span, unit) {
  const figure = make(parent, "figure"), width = 520, height = 190, left = 62, right = 8, top = 8, bottom = 22;
  make(figure, "h2", {}, title);
  if (unit) make(figure, "span", { class: "unit" }, unit);
  const values = lines.flatMap((line) => line.points.map((point) => point[2][metric])).filter((value) => value !== null);
  const step = round((Math.max(0, ...values) - Math.min(0, ...values)) / 4);
  const least = Math.floor(Math.min(0, ...values) / step) * step, steps = Math.max(1, Math.ceil((Math.max(0, ...values) - least) / step));
  const most = least + steps * step;
  const svg = make(figure, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title} over time` });
  const x = (ago) => left + (1 - ago / span) * (width - left - right), y = (value) => top + (1 - (value - least) / (most - least)) * (height - top - bottom);
  for (let i = 0; i <= steps; i++) {
    const value = least + i * step;
    make(svg, "line", { class: i ? "grid" : "axis", x1: left, x2: width - right, y1: y(value), y2: y(value) });
    make(svg, "text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, values.length ? human(value) : "");
  }
  for (let ago = 0; ago <= span; ago += interval(span)) {
    const anchor = ago === 0 ? "end" : ago > 0.95 * span ? "start" : "middle";
    make(svg, "text", { x: x(ago), y: height - 5, "text-anchor": anchor }, ago ? `-${ago} s` : "now");
  }
  lines.forEach((line) => {
    let path = "", gap = true;
    for (const [at, end, point] of line.points) {
      const value = point[metric];
      if (value !== null) path += `${gap ? "M" : "L"}${x(end - at).toFixed(1)} ${y(value).toFixed(1)}`;
      gap = value === null;
    }
    const drawn = make(svg, "path", { class: `s${line.color}`, d: path });
    make(drawn, "title", {}, line.name);
  });
}

function draw() {
  const all = metrics(), names = [...all.keys()].join(",");
  if (names !== known) {
    known = names;
    const box = $("metrics");
    box.querySelectorAll("label").forEach((label) => label.remove());
    if (!chosen.size) [...all.keys()].slice(0, 3).concat(sources.flatMap(({ begin }) => begin ? begin.metrics.map((text) => text.split("=")[0]) : [])).forEach((name) => chosen.add(name));
    for (const [name, expression] of all) {
      const label = make(box, "label"), input = make(label, "input", { type: "checkbox" });
      input.checked = chosen.has(name);
      input.addEventListener("change", () => { if (input.checked) chosen.add(name); else chosen.delete(name); draw(); });
      label.append(expression ? expression.text : name);
    }
  }
  const lines = series(), shown = lines.slice(0, SERIES_MAX);
  const bySource = $("group").value === "source";
  shown.forEach((line, i) => { line.color = bySource ? line.source % SERIES_MAX : i; });
  const charts = $("charts"), legend = $("legend");
  charts.replaceChildren(); legend.replaceChildren();
  const span = reach(shown), beside = $("layout").value === "beside" && sources.length > 1;
  charts.style.gridTemplateColumns = beside ? `repeat(${sources.length}, minmax(0, 1fr))` : "";
  for (const metric of chosen) {
    if (!all.has(metric)) continue;
    const counted = sources.find(({ begin }) => begin && begin.counts.includes(metric));
    const unit = counted && !all.get(metric) ? `${counted.units[counted.begin.counts.indexOf(metric)]} per second` : "";
    if (beside) sources.forEach((source, i) => chart(charts, `${metric}: ${source.label}`, metric, shown.filter((line) => line.source === i), span, unit));
    else chart(charts, metric, metric, shown, span, unit);
  }
  for (const line of shown) {
    const item = make(legend, "li"), mark = make(item, "svg", { width: 28, height: 8 });
    make(mark, "path", { class: `s${line.color}`, d: "M0 4L28 4" });
    item.append(sources.length > 1 && !bySource ? `${sources[line.source].label}: ${line.name}` : line.name);
  }
  if (lines.length > shown.length) make(legend, "li", {}, `and ${lines.length - shown.length} more in the table`);
  table(lines, all);
  state();
}

function table(lines, all) {
  const shown = [...chosen].filter((name) => all.has(name)), [head, body] = [$("latest").tHead, $("latest").tBodies[0]];
  head.replaceChildren(); body.replaceChildren();
  const titles = make(head, "tr");
  for (const title of ["latest, per second", ...shown]) make(titles, "th", {}, title);
  for (const line of lines.slice(0, 40)) {
    const row = make(body, "tr"), last = line.points[line.points.length - 1];
    make(row, "td", {}, line.name);
    for (const metric of shown) make(row, "td", {}, last ? human(last[2][metric]) : "-");
  }
}

function state() {
  const mode = $("mode"), lost = failures > 3, over = sources.length && sources.every((source) => source.ended || source.fault);
  mode.textContent = lost ? "solo serve does not answer any more" : paused ? "paused" : over ? "all watches have ended" : sources.some((source) => source.frames.length) ? "live" : "waiting for the first frame";
  mode.className = lost ? "warn" : "";
  const doubts = $("doubts");
  doubts.replaceChildren();
  for (const source of sources) {
    const text = [source.doubts, source.missed ? `${source.missed} frames came and went unseen` : "", source.ended ? `ended: ${source.ended}` : "", source.line ? `program: ${source.line}` : ""];
    make(doubts, "p", {}, `${source.label}: ${text.filter(Boolean).join("; ") || "nothing yet"}`);
    if (source.fault) make(doubts, "p", { class: "warn" }, `${source.label}: ${source.fault}`);
  }
}

async function take(news) {
  for (const [i, said] of news.sources.entries()) {
    const source = sources[i] ||= { frames: [], names: new Map(), trees: new Map(), next: 0, missed: 0 };
    if (said.next < source.next) source.frames = [];
    source.next = said.next; source.missed += source.next && source.frames.length ? said.missed : 0;
    for (const key of ["label", "units", "doubts", "line", "ended", "fault"]) source[key] = said[key];
    for (const name of said.names) source.names.set(name.thread, name);
    source.frames.push(...said.frames);
    const last = source.frames.length ? source.frames[source.frames.length - 1].at_ns : 0;
    source.frames = source.frames.filter((frame) => frame.at_ns > last - KEEP_S * 1e9);
    if (!source.begin && said.begin) {
      for (const text of said.begin.metrics) {
        const answer = await ask("expression", { text });
        if (answer.tree) source.trees.set(answer.name, answer.tree);
      }
    }
    source.begin = said.begin;
  }
}

async function ask(path, query) {
  const answer = await fetch(`${path}?${new URLSearchParams({ ...query, token })}`);
  return answer.json();
}

async function poll() {
  try {
    await take(await ask("frames", { after: sources.map((source) => source.next).join(",") }));
    failures = 0;
    if (!paused) draw();
  } catch (error) {
    failures += 1;
    state();
    console.error(error);
  }
  setTimeout(poll, EVERY_MS);
}

for (const id of ["group", "layout", "span"]) $(id).addEventListener("change", draw);
$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", paused);
  $("pause").textContent = paused ? "Go on" : "Pause";
  if (paused) state(); else draw();
});
$("expression").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await ask("expression", { text: $("text").value });
  $("wrong").textContent = answer.error || "";
  if (answer.error) return;
  const same = own.findIndex(({ name }) => name === answer.name);
  if (same >= 0) own.splice(same, 1);
  own.push(answer);
  chosen.add(answer.name);
  $("text").value = "";
  known = "";
  draw();
});
poll();
