// Lines of any algorithms over n, Q or k. Both axes are logarithmic, except for shares.

const lines_off = new Set(); // algorithms that are not drawn
let lines_box = null; // of the plot as it is drawn

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
  window.addEventListener("resize", () => { if (box_of(by_id("lines-plot")).width !== lines_box.width) draw_lines(); });
  algorithm_boxes();
  fix_others();
  draw_lines();
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
  if (failed) notes.push(`Hatched at the foot of the plot: ${amount(failed, "cell")} without a value.`);
  if (shared) notes.push("Several problems share an x; the fastest of each is drawn.");
  by_id("lines-note").textContent = notes.join(" ");
  by_id("lines-points").replaceChildren(points_table(x, name, words, series));
  lines_box = box_of(by_id("lines-plot"));
  const linear = by_id("lines-y").value === "share";
  by_id("lines-plot").replaceChildren(...(drawn.length ? [plot(x, name, words, series, drawn, lines_box, linear)] : []));
}
