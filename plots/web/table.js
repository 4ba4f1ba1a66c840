// The table of cells: sorted by any column, filtered by words and conditions, split into pages. The page defines
// opener(cell), what an algorithm's name is in a row.

const PAGE_ROWS = 25;
const ALL_COLUMNS = [
  ["Algorithm", (c) => c.algorithm],
  ["n", (c) => c.n, true],
  ["Q", (c) => c.q, true],
  ["k", (c) => c.k, true],
  ["Median", (c) => (c.time ? c.time.median : null), true, duration],
  ["× fastest", over_fastest, true, (ratio) => `${digits(ratio, 3)}×`],
  ["Problem", kind_of],
  ["On", (c) => c.executor],
  ["Status", (c) => c.status],
  ["95 % interval", (c) => (c.time ? c.time.ci95[1] - c.time.ci95[0] : null), true, null],
  ["Share of ceiling", (c) => (c.floor ? c.floor.share : null), true, percent],
  ["Reason", (c) => c.reason],
];
// A column with one value for all cells of the run is left out, except these three.
const COLUMNS = ALL_COLUMNS.filter(([name, value]) =>
  ["Algorithm", "Status", "Median"].includes(name) || distinct(cells.map(value)).length > 1);
// These stay on a narrow screen; a cell's own page has the rest.
const NARROW = ["Algorithm", "n", "Q", "k", "Median", "× fastest"];
const class_of = (name, numeric) =>
  [name === "Reason" ? "reason" : numeric ? "number" : "", NARROW.includes(name) ? "" : "wide",
    name === "Algorithm" ? "name" : ""].filter(Boolean).join(" ") || null;

// At first the fastest cell of each problem comes first, the quickest of them on top.
const table_state = { column: COLUMNS.findIndex(([name]) => name === "× fastest"), downwards: false, page: 0 };

function show_table() {
  options(by_id("table-status"), [["", "all"], ...in_order(cells.map((c) => c.status)).map((s) => [s, s])]);
  options(by_id("table-algorithm"), [["", "all"], ...algorithms.map((name) => [name, name])]);
  const head = element("tr");
  COLUMNS.forEach(([name, , numeric], column) => {
    const button = element("button", { type: "button" }, name);
    button.addEventListener("click", () => sort_by(column));
    head.append(element("th", { scope: "col", class: class_of(name, numeric) }, button));
  });
  by_id("table").tHead.replaceChildren(head);
  by_id("table-controls").addEventListener("submit", (event) => event.preventDefault());
  by_id("table-controls").addEventListener("input", () => { table_state.page = 0; fill_table(); });
  by_id("table-previous").addEventListener("click", () => { table_state.page -= 1; fill_table(); });
  by_id("table-next").addEventListener("click", () => { table_state.page += 1; fill_table(); });
  fill_table();
}

function sort_by(column) {
  table_state.downwards = table_state.column === column && !table_state.downwards;
  table_state.column = column;
  table_state.page = 0;
  fill_table();
}

function chosen_rows() {
  const parts = search_parts(by_id("table-search").value);
  const status = by_id("table-status").value;
  const algorithm = by_id("table-algorithm").value;
  const rows = cells.filter((c) =>
    (!status || c.status === status) && (!algorithm || c.algorithm === algorithm)
    && parts.every((part) => part.test(c)));
  if (table_state.column < 0) return rows;
  const value = COLUMNS[table_state.column][1];
  const direction = table_state.downwards ? -1 : 1;
  // Cells without a value come last in both directions.
  return rows.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    if (x !== y) return direction * (x < y ? -1 : 1);
    return a.time && b.time ? a.time.median - b.time.median : 0;
  });
}

function fill_table() {
  const rows = chosen_rows();
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  table_state.page = Math.min(Math.max(table_state.page, 0), pages - 1);
  const first = table_state.page * PAGE_ROWS;
  by_id("table").tBodies[0].replaceChildren(...rows.slice(first, first + PAGE_ROWS).map(table_row));
  by_id("table-count").textContent = `${rows.length} of ${amount(cells.length, "cell")}`
    + (rows.length ? "" : `.${why_nothing(search_parts(by_id("table-search").value))}`);
  by_id("table-page").textContent = `page ${table_state.page + 1} of ${pages}`;
  by_id("table-previous").disabled = table_state.page === 0;
  by_id("table-next").disabled = table_state.page === pages - 1;
  [...by_id("table").tHead.rows[0].cells].forEach((head, column) => {
    const sorted = column === table_state.column;
    if (sorted) head.setAttribute("aria-sort", table_state.downwards ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

function table_row(cell) {
  const row = element("tr", { class: cell.status === "ok" ? null : "failed" });
  COLUMNS.forEach(([name, value, numeric, words]) => {
    let text = value(cell);
    if (name === "95 % interval") text = cell.time ? cell.time.ci95.map(duration).join(" – ") : "";
    else if (text === null) text = name === "Median" ? cell.status.replaceAll("_", " ") : "";
    else if (words) text = words(text);
    else if (numeric) text = size(text);
    row.append(element("td", { class: class_of(name, numeric) }, name === "Algorithm" ? opener(cell) : text));
  });
  return row;
}
