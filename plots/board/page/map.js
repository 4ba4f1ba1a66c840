// Maps of problems: two of n, Q and k across and down, the third fixed.

const MAP_SHOWS = {
  winner: "the fastest, and its lead",
  time: "its time",
  share: "its share of the ceiling",
  tried: "how many algorithms have a time",
};
const LEAST = [1, 2, 4, 8, 16]; // algorithms with a time on a problem, below which it names no winner
const map_state = { scope: null, name: null };

// Fills the selects of a map and draws it. With a name, the map is of that algorithm.
function show_map(name = null) {
  map_state.name = name;
  const wish = chosen_before();
  map_state.scope = make_scope("map", wish, () => {
    // Another choice has other maps: the fullest is shown.
    if (by_id("map-least")) by_id("map-least").value = usual_least();
    fill_map_axes({ at: "" });
    draw_map();
  });
  options(by_id("map-x"), AXES);
  options(by_id("map-y"), AXES);
  by_id("map-x").value = wish.x ?? "n";
  by_id("map-y").value = wish.y ?? "k";
  if (by_id("map-show")) {
    options(by_id("map-show"), Object.entries(MAP_SHOWS));
    by_id("map-show").value = wish.show ?? "winner";
    by_id("map-show").addEventListener("change", draw_map);
    options(by_id("map-least"), LEAST.map((least) => [least, least > 1 ? `${least} algorithms or more` : "any number"]));
    by_id("map-least").value = wish.least ?? usual_least();
    by_id("map-least").addEventListener("change", () => { fill_map_axes({}); draw_map(); });
  }
  by_id("map-form").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["map-x", "map-y"]) {
    by_id(id).addEventListener("change", () => {
      const other = by_id(id === "map-x" ? "map-y" : "map-x");
      if (other.value === by_id(id).value) other.value = AXES.map(([axis]) => axis).find((axis) => axis !== other.value);
      fill_map_axes({});
      draw_map();
    });
  }
  by_id("map-at").addEventListener("change", draw_map);
  fill_map_axes(wish);
  draw_map();
}

// The problems of the choice: those that the algorithm was tried on, if the map is of one.
function mapped_problems() {
  const all = [...problems_of(...Object.values(map_state.scope())).values()];
  return map_state.name ? all.filter((p) => p.tried.some((c) => c.algorithm === map_state.name)) : all;
}

// Whether enough algorithms were measured on a problem for its fastest to mean something.
const enough = (p) => p.timed.length >= (map_state.name ? 1 : Number(by_id("map-least").value));

// The largest bound that a half of the problems meet.
function usual_least() {
  const all = mapped_problems();
  return LEAST.findLast((least) => all.filter((p) => p.timed.length >= least).length >= all.length / 2) ?? 1;
}

// The ways to fix the third axis: one of its values, or, over n and k, one of n times Q; the fullest map first.
function map_planes() {
  const [x, y] = [by_id("map-x").value, by_id("map-y").value];
  const [third, name] = AXES.find(([axis]) => axis !== x && axis !== y);
  const all = mapped_problems().filter(enough);
  const planes = counted(all.map((p) => p[third])).map(([value, count]) => [`${third}=${value}`, `${name} = ${size(value)} (${count})`, count]);
  if (third !== "k") {
    const product = counted(all.map((p) => p.n * p.q)).filter(([value]) =>
      distinct(all.filter((p) => p.n * p.q === value).map((p) => p[third])).length > 1);
    planes.push(...product.map(([value, count]) => [`nq=${value}`, `n·Q = ${size(value)} (${count})`, count]));
  }
  // Problems count that have another one in their row and in their column.
  const worth = new Map(planes.map(([id]) => {
    const own = all.filter(on_plane(id));
    const [columns, rows] = [x, y].map((axis) => new Map(counted(own.map((p) => p[axis]))));
    return [id, own.filter((p) => columns.get(p[x]) > 1 && rows.get(p[y]) > 1).length];
  }));
  planes.sort((a, b) => worth.get(b[0]) - worth.get(a[0]) || b[2] - a[2]);
  // Problems that lie apart in all three make no map of one value; then all are shown.
  const apart = planes.length > 0 && worth.get(planes[0][0]) < 4;
  planes.splice(apart ? 0 : planes.length, 0, ["any=0", `any ${name} (${all.length})`, all.length]);
  return planes;
}

function fill_map_axes(wish) {
  const planes = map_planes();
  options(by_id("map-at"), planes.map(([id, text]) => [id, text]));
  const before = wish.at ?? by_id("map-at").value;
  by_id("map-at").value = planes.some(([id]) => id === before) ? before : planes[0]?.[0];
}

const on_plane = (at) => {
  const [axis, value] = at.split("=");
  if (axis === "any") return () => true;
  return (p) => (axis === "nq" ? p.n * p.q : p[axis]) === Number(value);
};

function draw_map() {
  const [x, y, at] = ["x", "y", "at"].map((name) => by_id(`map-${name}`).value);
  const show = map_state.name ? "one" : by_id("map-show").value;
  const scope = map_state.scope();
  remember({ ...(map_state.name ? { name: map_state.name } : { show, least: by_id("map-least").value }), ...scope, x, y, at });
  // Of several problems on one field, the one on which most was measured.
  const place = new Map();
  for (const p of mapped_problems().filter(on_plane(at))) {
    const field = `${p[x]}/${p[y]}`;
    if (!(place.get(field)?.timed.length >= p.timed.length)) place.set(field, p);
  }
  const found = [...place.values()];
  const firsts = counted(found.filter(enough).map((p) => p.timed[0].algorithm)).map(([name]) => name);
  draw_map_key(show, found, firsts);
  const ys = ascending(found.map((p) => p[y]));
  if (y === "k") ys.reverse();
  const xs = ascending(found.map((p) => p[x]));
  const head = element("tr", {}, element("th", { scope: "col" }, `${axis_name(y)} \\ ${axis_name(x)}`),
    ...xs.map((value) => element("th", { scope: "col", class: "number" }, size(value))));
  const rows = ys.map((b) => element("tr", {}, element("th", { scope: "row", class: "number" }, size(b)),
    ...xs.map((a) => map_cell(place.get(`${a}/${b}`), show, firsts, found))));
  by_id("winners-maps").replaceChildren(element("table", { class: "map" },
    element("caption", {}, `${by_id("map-at").selectedOptions[0]?.textContent.replace(/ \(\d+\)$/, "") ?? ""}, ${scope.input}`),
    element("thead", {}, head), element("tbody", {}, ...rows)));
}

function draw_map_key(show, found, firsts) {
  const level = found.filter((p) => enough(p) && is_level(p.timed)).length;
  const few = found.filter((p) => !enough(p)).length;
  const lead = show === "winner" ? "A number is the second's time over the fastest's. " : "";
  by_id("map-note").textContent = (show === "one"
    ? "A number is its time over the fastest's; 1 is the fastest. "
    : `${lead}${amount(found.length, "problem")}. ${level ? `≈ marks ${level} in which the first two are level. ` : ""}`
      + `${few ? `In ${few} that are hatched fewer algorithms were measured. ` : ""}`) + "Each opens its ranking.";
  const key = by_id("winners-key");
  if (key) {
    key.replaceChildren(...firsts.map((name, i) => element("li", {},
      element("span", { class: "letter", style: tint(i) }, letter(i)), " ", algorithm_link(name),
      ` fastest in ${found.filter((p) => enough(p) && p.timed[0].algorithm === name).length}`)));
  }
}

function map_cell(problem, show, firsts, found) {
  if (!problem) return element("td", { class: "absent" }, "–");
  const [text, label, style] = show === "one" ? own_words(problem) : winner_words(problem, show, firsts, found);
  const button = element("button", { type: "button", title: label, "aria-label": label }, element("span", {}, text));
  button.addEventListener("click", () => open_problem(problem));
  return element("td", { style, class: style ? null : "hatched" }, button);
}

const shade = (colour, part) =>
  `background-color: color-mix(in srgb, ${colour} ${Math.round(60 * Math.min(1, part))}%, var(--paper))`;

// Text, label and style of the winner's cell.
function winner_words(problem, show, firsts, found) {
  const [first, second] = problem.timed;
  const place = firsts.indexOf(first.algorithm);
  const lead = second ? `${is_level(problem.timed) ? "≈" : ""}${digits(second.time.median / first.time.median, 3)}×` : "alone";
  const label = `${in_words(first)}: ${duration(first.time.median)}`
    + (second ? `; second ${second.algorithm}, ${lead.replace("≈", "level, ")}` : "; no other has a time");
  if (show !== "tried" && !enough(problem)) return [`of ${problem.timed.length}`, `${label}; timed: ${amount(problem.timed.length, "algorithm")}`, null];
  if (show === "winner") return [`${letter(place)} ${lead}`, label, tint(place)];
  if (show === "tried") return [String(problem.timed.length), label, shade("var(--faster)", problem.timed.length / 20)];
  if (show === "share") {
    return first.floor ? [percent(first.floor.share), label, shade("var(--faster)", first.floor.share)] : ["?", label, null];
  }
  const logs = found.filter(enough).map((p) => Math.log2(p.timed[0].time.median));
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  return [duration(first.time.median), label, shade("var(--slower)", (Math.log2(first.time.median) - low) / (high - low || 1))];
}

// The same of one algorithm: its time over the fastest's, or why it has none.
function own_words(problem) {
  const own = fastest(problem.tried.filter((c) => c.algorithm === map_state.name));
  const [first] = problem.timed;
  if (!own.time) return [own.status === "unsupported" ? "n/a" : own.status.replaceAll("_", " "), `${in_words(own)}: ${own.status}, ${own.reason}`, null];
  const ratio = own.time.median / first.time.median;
  const label = `${in_words(own)}: ${duration(own.time.median)}`
    + (ratio > 1 ? `; ${first.algorithm} takes ${duration(first.time.median)}` : "; the fastest");
  return [digits(ratio, 3), label, ratio === 1 ? shade("var(--faster)", 0.7) : shade("var(--slower)", Math.log2(ratio) / 4)];
}

// All that was tried on a problem, in the dialog.
function open_problem(problem) {
  const dialog = by_id("cell");
  const [first] = problem.timed;
  by_id("cell-heading").textContent = `${problem_words(problem)}, ${first.input}`;
  const heads = [["Algorithm"], ["Time", "number"], ["× fastest", "number"], ["Of ceiling", "number"], ["Run", "wide"]];
  const failed = problem.tried.filter((c) => !problem.timed.some((t) => t.algorithm === c.algorithm));
  const table = element("table", { id: "problem" }, element("thead"), element("tbody"));
  by_id("cell-body").replaceChildren(
    element("p", {}, problem_link(first, "This problem on the first page"), `. ${first.device}, ${what_of(first)}.`),
    element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Ranking" }, table));
  if (!dialog.open) dialog.showModal();
  fill_table_of("problem", heads, [...problem.timed, ...failed].map((cell) => {
    const text = cell.time ? duration(cell.time.median) : cell.status.replaceAll("_", " ");
    const open = element("button", { type: "button", class: "opener", title: `Samples of ${in_words(cell)}` }, text);
    open.addEventListener("click", () => open_cell(cell));
    return [
      algorithm_link(cell.algorithm), open,
      cell.time ? `${digits(cell.time.median / first.time.median, 3)}×` : "", cell.floor ? percent(cell.floor.share) : "", cell.run,
    ];
  }));
  by_id("cell-close").focus();
}
