// Curves of the algorithms that one chooses, over n, Q or k.

const CURVES_DRAWN = 6; // at first
const curves_state = { scope: null, drawn: new Set(), ranked: [] };

function show_curves() {
  const wish = chosen_before();
  const changed = () => { fill_curve_axes({}); rank_curves(null); draw_curves(); };
  curves_state.scope = make_scope("map", wish, changed);
  options(by_id("curves-x"), AXES);
  by_id("curves-x").value = wish.x ?? "n";
  options(by_id("curves-value"), available_values());
  by_id("curves-value").value = wish.value ?? "time";
  by_id("curves-x").addEventListener("change", changed);
  by_id("curves-at").addEventListener("change", () => { rank_curves(null); draw_curves(); });
  by_id("curves-value").addEventListener("change", draw_curves);
  by_id("curves-form").addEventListener("submit", (event) => event.preventDefault());
  by_id("curves-find").addEventListener("input", fill_curve_choice);
  window.addEventListener("resize", draw_curves);
  fill_curve_axes(wish);
  rank_curves(wish.drawn ? wish.drawn.split(" ") : null);
  draw_curves();
}

// The lines of problems along the axis: the other two fixed, or over n one of n times Q and a k.
function curve_lines() {
  const x = by_id("curves-x").value;
  const all = [...problems_of(...Object.values(curves_state.scope())).values()];
  const others = AXES.filter(([axis]) => axis !== x);
  const lines = new Map();
  const add = (id, text, p) => {
    if (!lines.has(id)) lines.set(id, { id, text, problems: [] });
    lines.get(id).problems.push(p);
  };
  for (const p of all) {
    add(others.map(([axis]) => `${axis}=${p[axis]}`).join(","), others.map(([axis, name]) => `${name} = ${size(p[axis])}`).join(", "), p);
    if (x !== "k") add(`nq=${p.n * p.q},k=${p.k}`, `n·Q = ${size(p.n * p.q)}, k = ${size(p.k)}`, p);
  }
  const worth = (line) => distinct(line.problems.map((p) => p[x])).length;
  return [...lines.values()].filter((line) => worth(line) > 1).sort((a, b) => worth(b) - worth(a));
}

function fill_curve_axes(wish) {
  const lines = curve_lines();
  const x = by_id("curves-x").value;
  options(by_id("curves-at"), lines.map((line) => [line.id, `${line.text} (${distinct(line.problems.map((p) => p[x])).length})`]));
  const before = wish.at ?? by_id("curves-at").value;
  // Of the longest lines the one on which most was measured.
  const best = lines.filter((line) => line.problems.length >= 0.7 * lines[0].problems.length)
    .reduce((a, b) => (solved_on(b) > solved_on(a) ? b : a), lines[0]);
  by_id("curves-at").value = lines.some((line) => line.id === before) ? before : best?.id;
}

const solved_on = (line) => line.problems.reduce((sum, p) => sum + p.timed.length, 0);
const chosen_line = () => curve_lines().find((line) => line.id === by_id("curves-at").value);

// Ranks the algorithms of the line by the mean factor over the fastest, those that solved little last.
function rank_curves(drawn) {
  const line = chosen_line();
  const ranks = new Map();
  for (const problem of line?.problems ?? []) {
    for (const cell of problem.timed) {
      const known = ranks.get(cell.algorithm) ?? [];
      known.push(Math.log2(cell.time.median / problem.timed[0].time.median));
      ranks.set(cell.algorithm, known);
    }
  }
  const mean = (logs) => logs.reduce((a, b) => a + b, 0) / logs.length;
  const half = (line?.problems.length ?? 0) / 2;
  curves_state.ranked = [...ranks].sort(([, a], [, b]) => (a.length < half) - (b.length < half) || mean(a) - mean(b)).map(([name]) => name);
  const kept = (drawn ?? []).filter((name) => ranks.has(name));
  curves_state.drawn = new Set(kept.length ? kept : curves_state.ranked.slice(0, CURVES_DRAWN));
  fill_curve_choice();
}

const curve_look = (name) => look_at(curves_state.ranked.indexOf(name));

function fill_curve_choice() {
  const word = by_id("curves-find").value.trim().toLowerCase();
  const shown = curves_state.ranked.filter((name) => name.toLowerCase().includes(word));
  by_id("curves-algorithms").replaceChildren(...shown.map((name) => {
    const box = element("input", { type: "checkbox" });
    box.checked = curves_state.drawn.has(name);
    box.addEventListener("change", () => {
      if (box.checked) curves_state.drawn.add(name); else curves_state.drawn.delete(name);
      draw_curves();
    });
    return element("label", { class: "choice" }, box, " ", swatch(name, curve_look(name)), ` ${name}`);
  }));
  if (!shown.length) by_id("curves-algorithms").textContent = "No algorithm of this line has that name.";
}

function draw_curves() {
  const line = chosen_line();
  const x = by_id("curves-x").value;
  const key = by_id("curves-value").value;
  const [name, value, words] = VALUES[key];
  remember({ ...curves_state.scope(), x, at: line?.id ?? "", value: key, drawn: [...curves_state.drawn].join(" ") });
  const series = new Map();
  for (const algorithm of curves_state.ranked.filter((a) => curves_state.drawn.has(a))) {
    const points = [...line.problems].sort((a, b) => a[x] - b[x]).map((problem) => {
      const own = problem.tried.filter((c) => c.algorithm === algorithm);
      return own.length ? { at: problem[x], cell: fastest(own), y: value(fastest(own)) ?? null } : null;
    });
    series.set(algorithm, points.filter(Boolean));
  }
  const points = [...series.values()].flat();
  const drawn = points.filter((p) => p.y !== null);
  const failed = points.length - drawn.length;
  by_id("curves-note").textContent = !line ? "No two problems of this choice differ in this axis alone."
    : !drawn.length ? "Nothing to draw: choose algorithms."
      : `${series.size} of ${amount(curves_state.ranked.length, "algorithm")}.${failed ? ` Hatched at the foot: ${amount(failed, "cell")} without a value.` : ""}`;
  const box = { ...box_of(by_id("curves-plot")), look: curve_look };
  by_id("curves-plot").replaceChildren(...(drawn.length ? [plot(x, name, words, series, drawn, box, key === "share")] : []));
  by_id("curves-points").replaceChildren(...(drawn.length ? [points_table(x, name, words, series)] : []));
}
