// What every page has: its place in the navigation, search, links that keep a choice, and a cell in a dialog.

const page = document.body.dataset.page;

// The choice that the address keeps behind "#", such as n=4096&device=NVIDIA+H200.
const chosen_before = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const address = (file, choice) => `${file}#${new URLSearchParams(choice)}`;
const remember = (choice) => history.replaceState(null, "", address("", choice));

const algorithm_link = (name) => element("a", { href: address("algorithm.html", { name }) }, name);
const problem_link = (cell, text) => element("a", { href: address("index.html", scope_of(cell)) }, text);
const cell_address = ({ run, key }) => address("cell.html", { run, key });
const run_link = (name) => element("a", { href: address("runs.html", { run: name }) }, name);
const scope_of = (cell) => ({ device: cell.device, what: what_of(cell), input: cell.input, n: cell.n, q: cell.q, k: cell.k });
const problem_words = ({ n, q, k }) => `n = ${size(n)}, Q = ${size(q)}, k = ${size(k)}`;

// In the ranking and in the table of results, an algorithm's name leads to its page.
const opener = (cell) => algorithm_link(cell.algorithm);

function show_frame() {
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `${page}.html`) link.setAttribute("aria-current", "page");
  }
  by_id("search-names").append(...algorithms.map((value) => element("option", { value })));
  by_id("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = by_id("search-text").value.trim();
    go(algorithm_of.has(text) ? address("algorithm.html", { name: text }) : address("results.html", { search: text }));
  });
  const last = board.runs.map((run) => run.started).reduce((a, b) => (a > b ? a : b), "");
  by_id("about-site").textContent = `Made from ${amount(board.runs.length, "run")}, the newest of ${last.slice(0, 10)}. `
    + `Every time is of an answer that was proven before and after it was timed.${board.warnings.map((w) => ` ${w}.`).join("")}`;
}

// A page that is shown already does not load again for another choice, so it is told to.
function go(to) {
  const [file] = to.split("#");
  location.assign(to);
  if (file === `${page}.html`) location.reload();
}

// A choice of the page in its head row: fills a table.
function fill_table_of(id, heads, rows) {
  by_id(id).tHead.replaceChildren(element("tr", {}, ...heads.map(([text, kind]) => element("th", { scope: "col", class: kind ?? null }, text))));
  by_id(id).tBodies[0].replaceChildren(...rows.map((row) => element("tr", {},
    ...row.map((content, i) => element("td", { class: heads[i][1] ?? null }, content ?? "")))));
}

// Opens a cell with its samples; the data of its run are loaded first.
async function open_cell(cell) {
  const dialog = by_id("cell");
  by_id("cell-heading").textContent = in_words(cell);
  by_id("cell-body").replaceChildren(element("p", { class: "muted" }, "Loading the run…"));
  if (!dialog.open) dialog.showModal();
  by_id("cell-close").focus();
  try {
    const run = await load_run(run_number.get(cell.run));
    const whole = run.cells[cell.index];
    by_id("cell-body").replaceChildren(
      element("p", {}, element("a", { href: cell_address(whole) }, "This cell's own page")), ...whole_body(whole, run));
  } catch (why) {
    by_id("cell-body").replaceChildren(element("p", { class: "wrong" }, why.message));
  }
}

// All about a cell: numbers, samples, proof, the command that repeats it, and the environment.
function whole_body(cell, run) {
  const environment = element("dl", { class: "facts" });
  for (const [name, text] of facts(run.meta, run.digest)) {
    environment.append(element("dt", {}, name), element("dd", {}, text));
  }
  const config = run.meta.config ? [element("details", {}, element("summary", {}, "The run's config"),
    element("pre", { tabindex: "0" }, JSON.stringify(run.meta.config, null, 2)))] : [];
  const trouble = doubt(run.meta.host || {});
  return [
    ...cell_body({ ...cell, config: config_of(run.meta) }),
    element("h3", {}, "Environment"),
    ...(trouble ? [element("p", { class: "note" }, trouble)] : []),
    environment, ...config,
  ];
}

// The config that a run was started with: its path as it was given, else its name.
function config_of(meta) {
  const given = (meta.arguments || []).find((word) => word.endsWith(".json"));
  return given ?? meta.config?.name ?? "CONFIG";
}

// A select's values with the counts of what they choose, the largest first.
function counted(values) {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a);
}
