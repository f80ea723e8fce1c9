// What the page does beyond showing: a cursor over charts that share a time axis, a schedule to zoom into, data to
// save. It reads the same without.
"use strict";
const make = (name, where, words) => {
  const element = document.createElement(name);
  if (words !== undefined) element.textContent = words;
  if (where) where.append(element);
  return element;
};
const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];
const unitOf = (ns) => UNITS.find(([size]) => Math.abs(ns) >= size) || UNITS[3];
const time = (ns, digits = 3) => { const [size, name] = unitOf(ns); return (ns / size).toFixed(digits) + " " + name; };

for (const figure of document.querySelectorAll("figure.time")) {
  const line = make("i", figure), said = make("b", figure);
  line.className = "cursor"; said.className = "cursor";
  const lane = () => (figure.querySelector(".lane") || figure.querySelector("svg.plot")).getBoundingClientRect();
  figure.addEventListener("mousemove", (event) => {
    const plot = lane(), outer = figure.getBoundingClientRect(), share = (event.clientX - plot.left) / plot.width;
    const shown = share >= 0 && share <= 1, from = Number(figure.dataset.from), to = Number(figure.dataset.to);
    line.style.display = said.style.display = shown ? "block" : "none";
    line.style.left = event.clientX - outer.left + "px";
    said.style[share > 0.5 ? "right" : "left"] = (share > 0.5 ? outer.right - event.clientX : event.clientX - outer.left) + 6 + "px";
    said.style[share > 0.5 ? "left" : "right"] = "auto";
    said.textContent = time(from + share * (to - from));
  });
  figure.addEventListener("mouseleave", () => { line.style.display = said.style.display = "none"; });
}

// The schedule of any window that the page keeps.
for (const figure of document.querySelectorAll("figure.gantt")) {
  const kept = JSON.parse(figure.querySelector("script").textContent), zero = Number(figure.dataset.zero);
  const home = [Number(figure.dataset.from) + zero, Number(figure.dataset.to) + zero];
  const whole = [Math.min(...kept.spans.map((span) => span[0])), Math.max(...kept.spans.map((span) => span[1]))];
  const lanes = [...figure.querySelectorAll(".track")].map((track) => {
    const numbers = kept.cores[track.dataset.core] || [], runs = [];
    let at = 0;
    for (let i = 0; i < numbers.length; i += 3) {
      const from = at + numbers[i];
      at = from + numbers[i + 1];
      runs.push([from, at, numbers[i + 2]]);
    }
    return { track, runs };
  });
  let view = home;
  const draw = () => {
    const [from, to] = view, place = (at) => (at - from) / (to - from) * 100;
    const inside = (at) => at >= from && at <= to;
    figure.dataset.from = from - zero; figure.dataset.to = to - zero;
    for (const { track, runs } of lanes) {
      let drawn = "", last = null;
      const names = track.querySelector(".names");
      names.textContent = "";
      const flush = () => {
        if (!last) return;
        const [a, b, task] = last;
        const fill = task < 0 ? "url(#mixed)" : `var(--t${kept.tasks[task][1]})`;
        drawn += `<rect x="${a * 10}" y="3.5" width="${Math.max(b - a, 0.05) * 10}" height="19" fill="${fill}"/>`;
        if (task >= 0 && b - a > 3) {
          const name = make("span", names, kept.tasks[task][0]);
          name.style.left = a + "%"; name.style.width = b - a + "%";
        }
      };
      for (const [start, end, task] of runs) {
        if (end <= from || start >= to) continue;
        const a = Math.max(place(start), 0), b = Math.min(place(end), 100);
        if (last && a - last[1] < 0.05 && (last[2] === task || b - a < 0.05 && last[1] - last[0] < 0.05)) {
          if (last[2] !== task) last[2] = -1;
          last[1] = b;
          continue;
        }
        flush();
        last = [a, b, task];
      }
      flush();
      // What is not kept is not idle.
      const spans = [...kept.spans].sort((a, b) => a[0] - b[0]);
      let known = from;
      for (const [a, b] of [...spans, [Infinity, Infinity]]) {
        if (a > known && known < to) {
          const x = place(known), end = Math.min(place(a), 100);
          drawn += `<rect class="unknown" x="${x * 10}" y="3.5" width="${(end - x) * 10}" height="19"><title>not kept on this page</title></rect>`;
        }
        known = Math.max(known, b);
      }
      track.querySelector(".runs").innerHTML = drawn;
      track.querySelector(".marks").style.display = view === home ? "" : "none";
    }
    for (const mark of figure.querySelectorAll(".at span")) {
      const at = Number(mark.parentElement.dataset.at) + zero, share = place(at);
      mark.style.display = inside(at) ? "" : "none";
      mark.style.left = share + "%";
      mark.className = mark.className.replace(/before|after/, share > 50 ? "before" : "after");
    }
    const ticks = figure.querySelector(".strip:last-of-type .ticks:not(.at)");
    ticks.textContent = "";
    const raw = (to - from) / 6, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw);
    const [size, unit] = unitOf(Math.max(Math.abs(from - zero), Math.abs(to - zero)));
    const digits = Math.max(0, Math.min(6, Math.ceil(Math.log10(size / step))));
    const found = [];
    for (let i = Math.ceil((from - zero) / step); i * step <= to - zero; i++) found.push(i * step);
    found.forEach((at, i) => {
      const label = make("span", ticks, (at / size).toFixed(digits) + (i === found.length - 1 ? " " + unit : ""));
      const share = place(at + zero);
      label.className = "soft" + (share < 2 ? " first" : share > 95 ? " last" : ""); label.style.left = share + "%";
    });
    said.textContent = `${time(to - from)} from ${time(from)} of the run`;
  };
  const show = (from, to) => {
    const length = Math.min(Math.max(to - from, 100), whole[1] - whole[0]);
    const start = Math.min(Math.max(from, whole[0]), whole[1] - length);
    view = [start, start + length];
    draw();
  };
  const zoom = (factor) => {
    const [from, to] = view, middle = (from + to) / 2, half = (to - from) / 2 * factor;
    show(middle - half, middle + half);
  };
  const move = (share) => { const by = (view[1] - view[0]) * share; show(view[0] + by, view[1] + by); };
  const tools = make("p");
  tools.className = "tools";
  figure.querySelector("figcaption").before(tools);
  const deeds = [["−", "wider", () => zoom(2)], ["+", "closer", () => zoom(0.5)], ["◀", "earlier", () => move(-0.5)],
    ["▶", "later", () => move(0.5)], ["worst job", "back to the worst job", () => { view = home; draw(); }],
    ["all", "all that the page keeps", () => show(...whole)]];
  for (const [face, title, deed] of deeds) {
    const button = make("button", tools, face);
    button.title = title; button.setAttribute("aria-label", title); button.addEventListener("click", deed);
  }
  const said = make("span", tools, "drag over the rows to look closer");
  let pressed = null;
  const shareOf = (event) => {
    const box = figure.querySelector(".lane").getBoundingClientRect();
    return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
  };
  for (const { track } of lanes) track.addEventListener("mousedown", (event) => { pressed = shareOf(event); event.preventDefault(); });
  window.addEventListener("mouseup", (event) => {
    if (pressed === null) return;
    const [a, b] = [pressed, shareOf(event)].sort((x, y) => x - y), [from, to] = view;
    pressed = null;
    if (b - a > 0.005) show(from + a * (to - from), from + b * (to - from));
  });
}

// The numbers behind the page, as a file.
for (const button of document.querySelectorAll("button[data-save]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const text = document.getElementById(button.dataset.save).textContent, link = make("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = button.dataset.name;
    link.click();
  });
}
window.addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details.numbers")) one.open = true; });
