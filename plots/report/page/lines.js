// Lines of any algorithms over n, Q or k. Both axes are logarithmic, except for shares.

const AXES = [["n", "n"], ["q", "Q"], ["k", "k"]];
// The width is set to that of the page, so that text keeps its size on a narrow one (fit_box).
const BOX = { width: 900, height: 440, left: 80, right: 20, top: 14, bottom: 44 };
const lines_off = new Set(); // algorithms that are not drawn

function show_lines() {
  options(by_id("lines-kind"), kinds.map((kind) => [kind, kind]));
  by_id("lines-kind").value = preferred_kind(kinds);
  const axes = AXES.filter(([axis]) => distinct(cells.map((c) => c[axis])).length > 1);
  options(by_id("lines-x"), axes.length ? axes : AXES);
  options(by_id("lines-y"), available_values());
  for (const id of ["lines-kind", "lines-x"]) by_id(id).addEventListener("change", () => { fix_others(); draw_lines(); });
  by_id("lines-y").addEventListener("change", draw_lines);
  by_id("lines-fixed").addEventListener("change", draw_lines);
  by_id("lines-controls").addEventListener("submit", (event) => event.preventDefault());
  by_id("lines-all").addEventListener("click", () => choose_algorithms(true));
  by_id("lines-none").addEventListener("click", () => choose_algorithms(false));
  window.addEventListener("resize", () => { if (fit_box()) draw_lines(); });
  algorithm_boxes();
  fix_others();
  fit_box();
  draw_lines();
}

// Whether the width of the plots changed.
function fit_box() {
  const width = Math.max(300, Math.min(900, by_id("lines-plot").clientWidth || 900));
  const changed = width !== BOX.width;
  BOX.width = width;
  BOX.height = width < 600 ? 340 : 440;
  BOX.right = width < 600 ? 8 : 20;
  return changed;
}

function available_values() {
  const found = Object.entries(VALUES)
    .filter(([, [, value]]) => cells.some((c) => value(c) !== null && value(c) !== undefined));
  // A run without times shows that it has none.
  return (found.length ? found : Object.entries(VALUES).slice(0, 1)).map(([key, [name]]) => [key, name]);
}

function algorithm_boxes() {
  by_id("lines-algorithms").replaceChildren(...algorithms.map((name) => {
    const box = element("input", { type: "checkbox", value: name, checked: "" });
    box.addEventListener("change", () => {
      if (box.checked) lines_off.delete(name); else lines_off.add(name);
      draw_lines();
    });
    return element("label", {}, box, " ", swatch(name), ` ${name}`);
  }));
}

function swatch(name) {
  const { colour, dash, shape } = look(name);
  return svg("svg", { width: 34, height: 12, class: "swatch", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 34, y1: 6, y2: 6, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }),
    svg("path", { d: shape(17, 6, 4), fill: colour }));
}

function choose_algorithms(drawn) {
  for (const box of by_id("lines-algorithms").querySelectorAll("input")) {
    box.checked = drawn;
    if (drawn) lines_off.delete(box.value); else lines_off.add(box.value);
  }
  draw_lines();
}

const of_kind = () => cells.filter((c) => kind_of(c) === by_id("lines-kind").value);

// A select for each of the two axes that are not x. "any" is for sweeps in which two axes change together.
function fix_others() {
  const here = of_kind();
  const x = by_id("lines-x").value;
  const before = Object.fromEntries(
    [...by_id("lines-fixed").querySelectorAll("select")].map((select) => [select.dataset.axis, select.value]));
  by_id("lines-fixed").replaceChildren(...AXES.filter(([axis]) => axis !== x).map(([axis, name]) => {
    const values = ascending(here.map((c) => c[axis]));
    const select = element("select", { "data-axis": axis, id: `lines-fixed-${axis}` });
    options(select, [["any", "any"], ...values.map((v) => [v, size(v)])]);
    const long = values.map((v) => distinct(here.filter((c) => c[axis] === v).map((c) => c[x])).length);
    const fullest = Math.max(...long);
    // Of the values with lines of three points or more: the most rows, where a machine is busy; a k of
    // the middle.
    const lines = values.filter((_, i) => long[i] >= Math.min(3, fullest));
    const chosen = lines[axis === "k" ? (lines.length - 1) >> 1 : lines.length - 1];
    select.value = before[axis] ?? (fullest > 1 || values.length === 1 ? String(chosen) : "any");
    if (!select.value) select.value = "any";
    return element("label", {}, `${name} `, select);
  }));
}

function line_points() {
  const x = by_id("lines-x").value;
  const [, value] = VALUES[by_id("lines-y").value];
  const fixed = [...by_id("lines-fixed").querySelectorAll("select")].filter((s) => s.value !== "any");
  const here = of_kind().filter((c) =>
    !lines_off.has(c.algorithm) && fixed.every((s) => c[s.dataset.axis] === Number(s.value)));
  const series = new Map();
  let shared = false;
  for (const name of in_order(here.map((c) => c.algorithm))) {
    const own = here.filter((c) => c.algorithm === name);
    const points = ascending(own.map((c) => c[x])).map((at) => {
      const found = own.filter((c) => c[x] === at);
      shared ||= distinct(found.map((c) => `${c.n}/${c.q}/${c.k}`)).length > 1;
      const cell = fastest(found);
      return { at, cell, y: value(cell) ?? null };
    });
    series.set(name, points);
  }
  return { x, series, shared };
}

function draw_lines() {
  const { x, series, shared } = line_points();
  const [name, , words] = VALUES[by_id("lines-y").value];
  const points = [...series.values()].flat();
  const drawn = points.filter((p) => p.y !== null);
  const failed = points.length - drawn.length;
  const notes = [];
  if (!drawn.length) notes.push("Nothing to draw: choose other values or algorithms.");
  if (failed) notes.push(`${failed} cells without a value are hatched at the foot of the plot.`);
  if (shared) notes.push("Several problems share an x; the fastest of each is drawn.");
  by_id("lines-note").textContent = notes.join(" ");
  by_id("lines-points").replaceChildren(points_table(x, name, words, series));
  by_id("lines-plot").replaceChildren(...(drawn.length ? [plot(x, name, words, series, drawn)] : []));
}

function plot(x, name, words, series, drawn) {
  const share = by_id("lines-y").value === "share";
  const at_x = scale(points_x(series), BOX.left, BOX.width - BOX.right, true, 0.06);
  const at_y = scale(drawn.map((p) => p.y), BOX.height - BOX.bottom, BOX.top, !share, 0.06);
  const root = svg("svg", {
    viewBox: `0 0 ${BOX.width} ${BOX.height}`, width: BOX.width, height: BOX.height, role: "group",
    "aria-label": `${name} over ${axis_name(x)}, ${series.size} lines; arrow keys go from point to point, Enter opens a cell`,
  });
  draw_axes(root, x, name, words, at_x, at_y);
  for (const [algorithm, points] of series) draw_line(root, algorithm, points, at_x, at_y, words);
  const marks = [...root.querySelectorAll(".point")];
  if (marks.length) marks[0].setAttribute("tabindex", "0");
  root.addEventListener("keydown", (event) => move_focus(event, marks));
  return root;
}

const axis_name = (axis) => AXES.find(([key]) => key === axis)[1];
const points_x = (series) => [...series.values()].flat().map((p) => p.at);

// Returns a function from values to places, with its ticks; linear scales begin at 0.
function scale(values, from, to, logarithmic, margin) {
  const forth = logarithmic ? Math.log2 : (v) => v;
  let low = logarithmic ? Math.log2(Math.min(...values)) : 0;
  let high = forth(Math.max(...values));
  const extra = Math.max((high - low) * margin, logarithmic ? 0.2 : 0);
  if (logarithmic) low -= extra;
  high += extra || 1;
  const place = (value) => from + ((forth(value) - low) / (high - low)) * (to - from);
  place.range = [low, high];
  place.logarithmic = logarithmic;
  return place;
}

function ticks_of(place, base, most = 14) {
  const [low, high] = place.range;
  if (!place.logarithmic) {
    const step = 10 ** Math.floor(Math.log10(high)) / (high / 10 ** Math.floor(Math.log10(high)) < 3 ? 2 : 1);
    return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
  }
  if (base === 2) {
    const step = Math.max(1, Math.ceil((high - low) / most));
    const first = Math.ceil(low);
    return Array.from({ length: Math.floor((high - first) / step) + 1 }, (_, i) => 2 ** (first + i * step));
  }
  const ticks = [];
  const subs = high - low > 8 ? [1] : high - low > 3 ? [1, 3] : [1, 1.5, 2, 3, 5, 7];
  for (let decade = Math.floor(low / Math.log2(10)); decade <= high / Math.log2(10); decade += 1) {
    for (const sub of subs) {
      const tick = sub * 10 ** decade;
      if (Math.log2(tick) >= low && Math.log2(tick) <= high) ticks.push(tick);
    }
  }
  if (ticks.length > 1) return ticks;
  // For a range below a factor of two: three ticks at plain numbers.
  return [0.15, 0.5, 0.85].map((part) => Number((2 ** (low + part * (high - low))).toPrecision(3)));
}

function draw_axes(root, x, name, words, at_x, at_y) {
  const bottom = BOX.height - BOX.bottom;
  for (const tick of ticks_of(at_x, 2, Math.floor((BOX.width - BOX.left) / 48))) {
    root.append(svg("line", { class: "grid", x1: at_x(tick), x2: at_x(tick), y1: BOX.top, y2: bottom }),
      svg("text", { x: at_x(tick), y: bottom + 16, "text-anchor": "middle" }, size(tick)));
  }
  for (const tick of ticks_of(at_y, 10)) {
    root.append(svg("line", { class: "grid", x1: BOX.left, x2: BOX.width - BOX.right, y1: at_y(tick), y2: at_y(tick) }),
      svg("text", { x: BOX.left - 6, y: at_y(tick) + 4, "text-anchor": "end" }, tick ? words(tick) : "0"));
  }
  root.append(
    svg("rect", { class: "axis", x: BOX.left, y: BOX.top, width: BOX.width - BOX.left - BOX.right, height: bottom - BOX.top }),
    svg("text", { x: (BOX.left + BOX.width - BOX.right) / 2, y: BOX.height - 8, "text-anchor": "middle" }, axis_name(x)),
    svg("text", { x: 14, y: bottom / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${bottom / 2})` }, name));
  root.append(svg("defs", {}, svg("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    svg("rect", { width: 5, height: 5, fill: "var(--soft)" }), svg("line", { x1: 0, x2: 0, y1: 0, y2: 5, stroke: "var(--frame)", "stroke-width": 2 }))));
}

// A line is broken at cells without a value.
function draw_line(root, algorithm, points, at_x, at_y, words) {
  const { colour, dash, shape } = look(algorithm);
  let path = "";
  let pen_down = false;
  for (const p of points) {
    if (p.y !== null) path += `${pen_down ? "L" : "M"}${at_x(p.at)},${at_y(p.y)}`;
    pen_down = p.y !== null;
  }
  root.append(svg("path", { d: path, fill: "none", stroke: colour, "stroke-width": 1.8, "stroke-dasharray": dash }));
  for (const p of points) {
    const text = p.y === null
      ? `${in_words(p.cell)}: ${p.cell.status}, ${p.cell.reason}` : `${in_words(p.cell)}: ${words(p.y)}`;
    const place = { class: "point", tabindex: "-1", role: "button", "aria-label": text };
    const mark = p.y === null
      ? svg("rect", { ...place, x: at_x(p.at) - 5, y: BOX.height - BOX.bottom - 11, width: 10, height: 10, fill: "url(#hatch)", stroke: colour })
      : svg("path", { ...place, d: shape(at_x(p.at), at_y(p.y), 4.5), fill: colour });
    mark.append(svg("title", {}, text));
    mark.addEventListener("click", () => open_cell(p.cell));
    mark.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open_cell(p.cell); }
    });
    root.append(mark);
  }
}

// Tab reaches one point; arrow keys move along its line and then to the next line.
function move_focus(event, marks) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const here = marks.indexOf(event.target);
  if (!step || here < 0) return;
  event.preventDefault();
  const next = marks[(here + step + marks.length) % marks.length];
  event.target.setAttribute("tabindex", "-1");
  next.setAttribute("tabindex", "0");
  next.focus();
}

function points_table(x, name, words, series) {
  const xs = ascending(points_x(series));
  const head = element("tr", {}, element("th", { scope: "col" }, "Algorithm"),
    ...xs.map((at) => element("th", { scope: "col", class: "number" }, `${axis_name(x)} = ${size(at)}`)));
  const rows = [...series].map(([algorithm, points]) => element("tr", {},
    element("th", { scope: "row" }, algorithm),
    ...xs.map((at) => {
      const point = points.find((p) => p.at === at);
      const text = !point ? "–" : point.y === null ? point.cell.status : words(point.y);
      return element("td", { class: "number", title: point && point.y === null ? point.cell.reason : null }, text);
    })));
  return element("table", {}, element("caption", {}, name), element("thead", {}, head), element("tbody", {}, ...rows));
}
