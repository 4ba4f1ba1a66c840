// The first screen: three fields, the fastest algorithm, those behind it, and a curve. The page defines
// opener(cell), what an algorithm's name is in the table, and open_cell(cell).

const FIELDS = [["n", "n"], ["q", "Q"], ["k", "k"]];
const FEW = 8; // rows of the ranking at first
const DRAWN = 6; // lines of the curve at first
const find_state = { scope: null, problem: null, all: false, drawn: null };

// A size as people write it: 4096, 4,096, 2^12, 1e6, 64k, 1M, 16Ki. null if it is none.
function read_size(text) {
  const plain = text.trim().replaceAll(/[\s,_']/g, "");
  const power = plain.match(/^(\d+)(?:\^|\*\*)(\d+)$/);
  if (power) return sane(Number(power[1]) ** Number(power[2]));
  const unit = plain.match(/^(\d+(?:\.\d+)?(?:e\d+)?)([kKMG]i?)?$/);
  if (!unit) return null;
  const steps = { k: 1, K: 1, M: 2, G: 3 }[(unit[2] || "")[0]] || 0;
  return sane(Number(unit[1]) * (unit[2]?.endsWith("i") ? 1024 : 1000) ** steps);
}

const sane = (value) => (Number.isSafeInteger(value) && value > 0 ? value : null);

// The problems on record of a device, kind of answer and input: name -> {n, q, k, timed: the fastest first}.
const problem_tables = new Map();
function problems_of(device, what, input) {
  const key = [device, what, input].join("\n");
  if (!problem_tables.has(key)) {
    const found = new Map();
    for (const cell of cells) {
      if (cell.device !== device || cell.input !== input || what_of(cell) !== what) continue;
      const name = `${cell.n}/${cell.q}/${cell.k}`;
      if (!found.has(name)) found.set(name, { n: cell.n, q: cell.q, k: cell.k, tried: [] });
      found.get(name).tried.push(cell);
    }
    for (const problem of found.values()) problem.timed = one_each(problem.tried);
    problem_tables.set(key, new Map([...found].filter(([, problem]) => problem.timed.length)));
  }
  return problem_tables.get(key);
}

// The timed cells, of several of one algorithm (layouts, seeds) the fastest; the fastest first.
function one_each(tried) {
  const best = new Map();
  for (const cell of tried) {
    const known = best.get(cell.algorithm);
    if (cell.time && (!known || cell.time.median < known.time.median)) best.set(cell.algorithm, cell);
  }
  return [...best.values()].sort((a, b) => a.time.median - b.time.median);
}

// The recorded problem that is nearest in powers of two. Where only one algorithm was measured, nothing was
// compared, so such a problem counts as half a power farther.
function nearest_problem(problems, wish) {
  let best = null;
  for (const problem of problems.values()) {
    const far = FIELDS.reduce((sum, [axis]) => sum + Math.abs(Math.log2(problem[axis] / wish[axis])), 0);
    const distance = far && far + (problem.timed.length > 1 ? 0 : 0.5);
    if (!best || distance < best.distance - 1e-9
      || (distance < best.distance + 1e-9 && problem.timed.length > best.problem.timed.length)) {
      best = { problem, distance };
    }
  }
  return best && best.problem;
}

// What the page begins with: the problem that most algorithms solved, of several the one with most neighbours.
function first_problem(problems) {
  let best = null;
  for (const problem of problems.values()) {
    const along = Math.max(...slices(problems, problem).map(([, , points]) => points.length));
    const worth = Math.min(problem.timed.length, 12) + Math.min(along, 8);
    if (!best || worth > best.worth) best = { problem, worth };
  }
  return best.problem;
}

function show_finder(wish = {}) {
  const timed = cells.filter((c) => c.time);
  by_id("find").hidden = !timed.length;
  if (!timed.length) return;
  find_state.scope = make_scope("find", wish, find);
  set_fields(FIELDS.every(([axis]) => wish[axis]) ? wish : first_problem(problems_here()));
  options(by_id("find-value"), available_values());
  by_id("find-form").addEventListener("submit", (event) => event.preventDefault());
  by_id("find-curve-form").addEventListener("submit", (event) => event.preventDefault());
  for (const [axis] of FIELDS) by_id(`find-${axis}`).addEventListener("input", find);
  by_id("find-axis").addEventListener("change", draw_curve);
  by_id("find-value").addEventListener("change", draw_curve);
  by_id("find-all").addEventListener("click", () => { find_state.all = true; show_ranking(); });
  window.addEventListener("resize", () => { if (find_state.problem) draw_curve(); });
  find();
}

function set_fields(problem) {
  for (const [axis] of FIELDS) by_id(`find-${axis}`).value = size(Number(problem[axis]));
}

const problems_here = () => problems_of(...Object.values(find_state.scope()));

function find() {
  const wish = {};
  let wrong = "";
  for (const [axis, name] of FIELDS) {
    const field = by_id(`find-${axis}`);
    wish[axis] = read_size(field.value);
    field.toggleAttribute("aria-invalid", wish[axis] === null);
    if (wish[axis] === null && !wrong) wrong = `${name} is no size: write 4096, 2^12 or 1e6.`;
  }
  if (!wrong && wish.k > wish.n) wrong = `k is larger than n: of ${size(wish.n)} elements no ${size(wish.k)} can be selected.`;
  by_id("find-verdict").classList.toggle("wrong", Boolean(wrong));
  if (wrong) {
    by_id("find-verdict").textContent = wrong;
    by_id("find-note").textContent = "";
    return;
  }
  const problem = nearest_problem(problems_here(), wish);
  if (problem !== find_state.problem) Object.assign(find_state, { problem, all: false, drawn: null });
  say_verdict(problem, wish);
  show_ranking();
  fill_axis();
  draw_curve();
  document.dispatchEvent(new CustomEvent("found", { detail: wish }));
}

function say_verdict(problem, wish) {
  const [first, second] = problem.timed;
  const share = first.floor ? `, ${percent(first.floor.share)} of the ceiling` : "";
  const next = !second ? "No other algorithm was measured on it."
    : is_level(problem.timed) ? `${second.algorithm} is level with it.`
      : `The next, ${second.algorithm}, takes ${digits(second.time.median / first.time.median, 3)} times as long.`;
  by_id("find-verdict").replaceChildren(element("strong", {}, first.algorithm),
    ` takes ${duration(first.time.median)}${share}. ${next}`);
  const exact = FIELDS.every(([axis]) => problem[axis] === wish[axis]);
  const where = FIELDS.map(([axis, name]) => `${name} = ${size(problem[axis])}`).join(", ");
  by_id("find-note").textContent = exact ? `On record, proven: ${where}.`
    : `No record has exactly this problem. The nearest on record is ${where}.`;
  by_id("find-note").classList.toggle("far", !exact);
}

function show_ranking() {
  const { timed } = find_state.problem;
  find_state.drawn ??= new Set(timed.slice(0, DRAWN).map((c) => c.algorithm));
  const shown = find_state.all ? timed : timed.slice(0, FEW);
  const shares = shown.some((c) => c.floor);
  const runs = distinct(timed.map((c) => c.run)).length > 1;
  const heads = [["Curve"], ["Algorithm"], ["Time", "number"], ["× fastest", "number"], ...(shares ? [["Of ceiling", "number"]] : []), ...(runs ? [["Run", "wide"]] : [])];
  by_id("find-ranking").tHead.replaceChildren(element("tr", {}, ...heads.map(([name, kind]) => element("th", { scope: "col", class: kind ?? null }, name))));
  by_id("find-ranking").tBodies[0].replaceChildren(...shown.map((cell) => ranking_row(cell, timed[0], shares, runs)));
  by_id("find-all").hidden = shown.length === timed.length;
  by_id("find-all").textContent = `Show all ${amount(timed.length, "algorithm")}`;
}

function ranking_row(cell, first, shares, runs) {
  const box = element("input", { type: "checkbox", "aria-label": `Draw ${cell.algorithm}` });
  box.checked = find_state.drawn.has(cell.algorithm);
  box.addEventListener("change", () => {
    if (box.checked) find_state.drawn.add(cell.algorithm); else find_state.drawn.delete(cell.algorithm);
    draw_curve();
  });
  const ratio = cell.time.median / first.time.median;
  const open = element("button", { type: "button", class: "opener", title: `Samples of ${in_words(cell)}` }, duration(cell.time.median));
  open.addEventListener("click", () => open_cell(cell));
  const bar = element("span", { class: "bar", style: `width: ${Math.max(2, 100 / ratio).toFixed(1)}%` });
  return element("tr", {},
    element("td", { class: "key" }, element("label", {}, box, " ", swatch(cell.algorithm, find_look(cell.algorithm)))),
    element("td", { class: "name" }, opener(cell)),
    element("td", { class: "number" }, open),
    element("td", { class: "number bars" }, bar, element("span", {}, `${digits(ratio, 3)}×`)),
    ...(shares ? [element("td", { class: "number" }, cell.floor ? percent(cell.floor.share) : "")] : []),
    ...(runs ? [element("td", { class: "wide muted" }, cell.run)] : []));
}

// Looks by the place in the ranking, so that neighbours differ whatever their names are.
const find_look = (name) => look_at(find_state.problem.timed.findIndex((c) => c.algorithm === name));

// The curves through a problem: [id, name, problems along it by x, axis of x].
function slices(problems, at) {
  const all = [...problems.values()];
  const along = (axis, test) => all.filter(test).sort((a, b) => a[axis] - b[axis]);
  return [
    ["n", `n, Q = ${size(at.q)}, k = ${size(at.k)}`, along("n", (p) => p.q === at.q && p.k === at.k), "n"],
    ["nq", `n, n·Q = ${size(at.n * at.q)}, k = ${size(at.k)}`, along("n", (p) => p.n * p.q === at.n * at.q && p.k === at.k), "n"],
    ["k", `k, n = ${size(at.n)}, Q = ${size(at.q)}`, along("k", (p) => p.n === at.n && p.q === at.q), "k"],
    ["q", `Q, n = ${size(at.n)}, k = ${size(at.k)}`, along("q", (p) => p.n === at.n && p.k === at.k), "q"],
  ];
}

function fill_axis() {
  const found = slices(problems_here(), find_state.problem).filter(([, , points]) => points.length > 1);
  by_id("find-curve").hidden = !found.length;
  const before = by_id("find-axis").value;
  options(by_id("find-axis"), found.map(([id, name]) => [id, name]));
  const kept = found.find(([id]) => id === before);
  const longest = found.reduce((a, b) => (b[2].length > (a?.[2].length ?? 0) ? b : a), null);
  if (longest && (!kept || kept[2].length < 3)) by_id("find-axis").value = longest[0];
}

function draw_curve() {
  const chosen = slices(problems_here(), find_state.problem).find(([id]) => id === by_id("find-axis").value);
  if (!chosen) return;
  const [, , along, axis] = chosen;
  const [name, value, words] = VALUES[by_id("find-value").value];
  const series = new Map();
  for (const algorithm of find_state.problem.timed.map((c) => c.algorithm).filter((a) => find_state.drawn.has(a))) {
    const points = along.map((problem) => {
      const own = problem.tried.filter((c) => c.algorithm === algorithm);
      return own.length ? { at: problem[axis], cell: fastest(own), y: value(fastest(own)) ?? null } : null;
    });
    series.set(algorithm, points.filter(Boolean));
  }
  const drawn = [...series.values()].flat().filter((p) => p.y !== null);
  const box = { ...box_of(by_id("find-plot")), look: find_look };
  const picture = drawn.length ? [plot(axis, name, words, series, drawn, box, by_id("find-value").value === "share")] : [];
  by_id("find-plot").replaceChildren(...picture);
  by_id("find-points").replaceChildren(...(drawn.length ? [points_table(axis, name, words, series)] : []));
}

function available_values() {
  const found = Object.entries(VALUES)
    .filter(([, [, value]]) => cells.some((c) => value(c) !== null && value(c) !== undefined));
  // A run without times shows that it has none.
  return (found.length ? found : Object.entries(VALUES).slice(0, 1)).map(([key, [name]]) => [key, name]);
}
