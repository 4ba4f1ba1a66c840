// The pages of a cell, of runs, of k-NN searches and of papers; and which page this is.

async function show_cell_page() {
  const { run: name, key } = chosen_before();
  const title = by_id("cell-title");
  if (!run_number.has(name)) {
    title.textContent = name ? `No run here is called ${name}` : "No cell is named";
    return;
  }
  try {
    const run = await load_run(run_number.get(name));
    const cell = run.cells.find((c) => c.key === key);
    title.textContent = cell ? in_words(cell) : `Run ${name} has no cell with the key ${key}`;
    if (!cell) return;
    document.title = `${title.textContent}: top-k board`;
    by_id("cell-links").append("Run ", run_link(name), ", algorithm ", algorithm_link(cell.algorithm));
    by_id("cell-page").replaceChildren(...whole_body(cell, run));
  } catch (why) {
    title.textContent = why.message;
  }
}

async function show_runs() {
  const heads = [["Started"], ["Run", "name"], ["On", "wrap"], ["Cells", "number"], ["Proven", "number"], ["Commit", "wide"], ["About", "wide reason"]];
  const rows = board.runs.map((run) => [
    run.started.slice(0, 10), run_link(run.name), run.devices.join("; "), String(run.cells), String(run.ok),
    `${(run.commit || "").slice(0, 9)}${run.dirty ? ", changed" : ""}`, run.about,
  ]);
  fill_table_of("runs", heads, rows.reverse());
  const { run: name } = chosen_before();
  if (!run_number.has(name)) return;
  const run = await load_run(run_number.get(name));
  const list = element("dl", { class: "facts" });
  for (const [term, text] of facts(run.meta, run.digest)) list.append(element("dt", {}, term), element("dd", {}, text));
  by_id("run-page").replaceChildren(element("h2", {}, name), element("p", {}, board.runs[run_number.get(name)].about), list,
    element("details", {}, element("summary", {}, "Config"), element("pre", { tabindex: "0" }, JSON.stringify(run.meta.config ?? {}, null, 2))));
}

function show_results() {
  const { search, algorithm } = chosen_before();
  show_table();
  if (search) by_id("table-search").value = search;
  if (algorithm && algorithm_of.has(algorithm)) by_id("table-algorithm").value = algorithm;
  by_id("table-controls").addEventListener("input", () => {
    const choice = { search: by_id("table-search").value, algorithm: by_id("table-algorithm").value };
    remember(Object.fromEntries(Object.entries(choice).filter(([, value]) => value)));
  });
  fill_table();
}

function show_searches() {
  by_id("searches").replaceChildren(...unpack(searches).map((table) => {
    const rows = unpack(table.rows).map(Object.values);
    const is_number = table.heads.map((_, i) => rows.some((row) => row[i] !== null)
      && rows.every((row) => row[i] === null || /^[\d.,]+( %)?$/.test(String(row[i]))));
    const row_of = (row) => element("tr", {}, ...row.map((value, i) => element("td", { class: is_number[i] ? "number" : null }, value === null ? "" : String(value))));
    return element("section", {}, element("h2", {}, table.title), element("p", {}, table.about), element("p", { class: "muted" }, `Records: ${table.folder}`),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": table.title }, element("table", {},
        element("thead", {}, element("tr", {}, ...table.heads.map((text, i) => element("th", { scope: "col", class: is_number[i] ? "number" : null }, text)))),
        element("tbody", {}, ...rows.map(row_of)))));
  }));
}

const VERDICTS = ["reproduced", "same direction, other size", "contradicted", "cannot test"];

// Several machines can test one claim. It counts once, and once for each of its verdicts, as in REPRODUCTION.md.
const count_of = (claims) => distinct(claims.map((c) => `${c.id} ${c.number}`)).length;

function show_papers() {
  by_id("papers").replaceChildren(...papers.map(({ cite, hardware, claims }) => {
    const counts = VERDICTS.map((verdict) => [verdict, count_of(claims.filter((c) => c.verdict === verdict))]).filter(([, count]) => count);
    const order = [...claims].sort((a, b) => b.headline - a.headline);
    return element("section", {}, element("h2", {}, cite), ...(hardware ? [element("p", { class: "muted" }, `Measured there on: ${hardware}.`)] : []),
      element("p", {}, `${amount(count_of(claims), "claim")}: ${counts.map(([verdict, count]) => `${count} ${verdict}`).join("; ")}. Statements of the abstract or conclusion come first.`),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Claims of ${cite}` }, element("table", { class: "claims" },
        element("thead", {}, element("tr", {}, ...["It states", "Paper's", "Here", "Verdict", "Why"].map((text) => element("th", { scope: "col", class: text === "Why" ? "wide" : null }, text)))),
        element("tbody", {}, ...order.map(claim_row)))));
  }));
}

function claim_row(claim) {
  const place = VERDICTS.indexOf(claim.verdict);
  const why = [claim.why, ...claim.causes].filter(Boolean).join(" ");
  const ours = element("td", { title: claim.at || null }, `${claim.ours || "–"}${claim.older ? " †" : ""}`);
  const says = claim.headline ? element("strong", {}, claim.says) : claim.says;
  return element("tr", {}, element("td", { class: "text" }, says, element("span", { class: "muted" }, `${claim.id}: ${claim.title}${claim.machine ? `; ${claim.machine}` : ""}`)),
    element("td", {}, claim.paper), ours, element("td", {}, element("span", { class: `verdict verdict-${place}` }, claim.verdict)),
    element("td", { class: "reason wide" }, why.length > 160 ? element("details", {}, element("summary", {}, `${why.slice(0, 80)}…`), why) : why));
}

const PAGES = {
  index: show_answer, map: () => show_map(), curves: show_curves, leaderboard: show_leaderboard, algorithms: show_algorithms,
  algorithm: show_algorithm, results: show_results, cell: show_cell_page, runs: show_runs, knn: show_searches, papers: show_papers,
};

async function show_page() {
  show_frame();
  await PAGES[page]();
  document.documentElement.dataset.ready = "true";
}

// A link to this page with another choice, or a step back, shows that choice.
window.addEventListener("hashchange", () => { if (!location.hash.startsWith("#main")) location.reload(); });
show_page();
