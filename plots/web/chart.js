// Plots of lines over n, Q or k, as SVG. Both axes are logarithmic, except for shares.

const AXES = [["n", "n"], ["q", "Q"], ["k", "k"]];

// The size of a plot: as wide as where it goes, so that text keeps its size on a narrow page.
function box_of(place) {
  const width = Math.max(300, Math.min(900, place.clientWidth || 900));
  const narrow = width < 600;
  return { width, height: narrow ? 340 : 440, left: 80, right: narrow ? 8 : 20, top: 14, bottom: 44, look };
}

// Lines of `series`, a map from a name to points {at, cell, y or null}. y is logarithmic unless `linear`.
// `box.look` gives a name its look.
function plot(x, name, words, series, drawn, box, linear) {
  draw_hatch();
  const at_x = scale(points_x(series), box.left, box.width - box.right, true, 0.06);
  const at_y = scale(drawn.map((p) => p.y), box.height - box.bottom, box.top, !linear, 0.06);
  const root = svg("svg", {
    viewBox: `0 0 ${box.width} ${box.height}`, width: box.width, height: box.height, role: "group",
    "aria-label": `${name} over ${axis_name(x)}, ${amount(series.size, "line")}; arrow keys go from point to point, Enter opens a cell`,
  });
  draw_axes(root, x, name, words, at_x, at_y, box);
  for (const [algorithm, points] of series) draw_line(root, algorithm, points, at_x, at_y, words, box);
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

function draw_axes(root, x, name, words, at_x, at_y, box) {
  const bottom = box.height - box.bottom;
  for (const tick of ticks_of(at_x, 2, Math.floor((box.width - box.left) / 48))) {
    root.append(svg("line", { class: "grid", x1: at_x(tick), x2: at_x(tick), y1: box.top, y2: bottom }),
      svg("text", { x: at_x(tick), y: bottom + 16, "text-anchor": "middle" }, size(tick)));
  }
  for (const tick of ticks_of(at_y, 10)) {
    root.append(svg("line", { class: "grid", x1: box.left, x2: box.width - box.right, y1: at_y(tick), y2: at_y(tick) }),
      svg("text", { x: box.left - 6, y: at_y(tick) + 4, "text-anchor": "end" }, tick ? words(tick) : "0"));
  }
  root.append(
    svg("rect", { class: "axis", x: box.left, y: box.top, width: box.width - box.left - box.right, height: bottom - box.top }),
    svg("text", { x: (box.left + box.width - box.right) / 2, y: box.height - 8, "text-anchor": "middle" }, axis_name(x)),
    svg("text", { x: 14, y: bottom / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${bottom / 2})` }, name));
}

// The pattern of what failed, once for all plots of the page.
function draw_hatch() {
  if (by_id("hatch")) return;
  document.body.append(svg("svg", { width: 0, height: 0, style: "position: absolute", "aria-hidden": "true" },
    svg("defs", {}, svg("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      svg("rect", { width: 5, height: 5, fill: "var(--soft)" }), svg("line", { x1: 0, x2: 0, y1: 0, y2: 5, stroke: "var(--frame)", "stroke-width": 2 })))));
}

// A line is broken at cells without a value.
function draw_line(root, algorithm, points, at_x, at_y, words, box) {
  const { colour, dash, shape } = box.look(algorithm);
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
      ? svg("rect", { ...place, x: at_x(p.at) - 5, y: box.height - box.bottom - 11, width: 10, height: 10, fill: "url(#hatch)", stroke: colour })
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

function swatch(name, { colour, dash, shape } = look(name)) {
  return svg("svg", { width: 34, height: 12, class: "swatch", "aria-hidden": "true" },
    svg("line", { x1: 0, x2: 34, y1: 6, y2: 6, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash }),
    svg("path", { d: shape(17, 6, 4), fill: colour }));
}
