// The table of cells: sorted by any column, filtered by words and conditions, split into pages.

const PAGE_ROWS = 25;
const ALL_COLUMNS = [
  ["Algorithm", (c) => c.algorithm],
  ["On", (c) => c.executor],
  ["n", (c) => c.n, true],
  ["Q", (c) => c.q, true],
  ["k", (c) => c.k, true],
  ["Problem", kind_of],
  ["Status", (c) => c.status],
  ["Median", (c) => (c.time ? c.time.median : null), true, duration],
  ["95 % interval", (c) => (c.time ? c.time.ci95[1] - c.time.ci95[0] : null), true, null],
  ["Share of ceiling", (c) => (c.floor ? c.floor.share : null), true, percent],
  ["Reason", (c) => c.reason],
];
// A column with one value for all cells of the run is left out, except these three.
const COLUMNS = ALL_COLUMNS.filter(([name, value]) =>
  ["Algorithm", "Status", "Median"].includes(name) || distinct(cells.map(value)).length > 1);

const table_state = { column: null, downwards: false, page: 0 };

function show_table() {
  options(by_id("table-status"), [["", "all"], ...in_order(cells.map((c) => c.status)).map((s) => [s, s])]);
  options(by_id("table-algorithm"), [["", "all"], ...algorithms.map((name) => [name, name])]);
  const head = element("tr");
  COLUMNS.forEach(([name, , numeric], column) => {
    const button = element("button", { type: "button" }, name);
    button.addEventListener("click", () => sort_by(column));
    head.append(element("th", { scope: "col", class: numeric ? "number" : null }, button));
  });
  head.append(element("th", { scope: "col" }, "Samples"));
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

// "heap k=64 n>1024": every word must occur, every condition on n, q, k must hold.
function search_filter(text) {
  const tests = text.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const condition = word.match(/^([nqk])(<=|>=|=|<|>)(?:2\^)?(\d+)$/);
    if (!condition) {
      return (c) => `${c.algorithm} ${c.family} ${kind_of(c)} ${c.status} ${c.reason}`.toLowerCase().includes(word);
    }
    const [, name, sign, digits_of] = condition;
    const limit = word.includes("2^") ? 2 ** Number(digits_of) : Number(digits_of);
    const compare = {
      "<=": (v) => v <= limit, ">=": (v) => v >= limit, "=": (v) => v === limit,
      "<": (v) => v < limit, ">": (v) => v > limit,
    }[sign];
    return (c) => compare(c[name]);
  });
  return (c) => tests.every((test) => test(c));
}

function chosen_rows() {
  const matches = search_filter(by_id("table-search").value);
  const status = by_id("table-status").value;
  const algorithm = by_id("table-algorithm").value;
  const rows = cells.filter((c) =>
    (!status || c.status === status) && (!algorithm || c.algorithm === algorithm) && matches(c));
  if (table_state.column === null) return rows;
  const value = COLUMNS[table_state.column][1];
  const direction = table_state.downwards ? -1 : 1;
  // Cells without a value come last in both directions.
  return rows.sort((a, b) => {
    const [x, y] = [value(a), value(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return direction * (x < y ? -1 : x > y ? 1 : 0);
  });
}

function fill_table() {
  const rows = chosen_rows();
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  table_state.page = Math.min(Math.max(table_state.page, 0), pages - 1);
  const first = table_state.page * PAGE_ROWS;
  by_id("table").tBodies[0].replaceChildren(...rows.slice(first, first + PAGE_ROWS).map(table_row));
  by_id("table-count").textContent = `${rows.length} of ${cells.length} cells`;
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
    else if (text === null) text = "";
    else if (words) text = words(text);
    else if (numeric) text = size(text);
    row.append(element("td", { class: name === "Reason" ? "reason" : numeric ? "number" : null }, text));
  });
  const button = element("button", { type: "button", "aria-label": `Samples of ${in_words(cell)}` }, "show");
  button.addEventListener("click", () => open_cell(cell));
  row.append(element("td", {}, button));
  return row;
}
