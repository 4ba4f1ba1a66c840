// One algorithm over n and k, as a table of values with coloured cells.

function show_heatmap() {
  options(by_id("heatmap-kind"), kinds.map((kind) => [kind, kind]));
  by_id("heatmap-kind").value = preferred_kind(kinds);
  options(by_id("heatmap-algorithm"), algorithms.map((name) => [name, name]));
  options(by_id("heatmap-value"), [...available_values(), ["speedup", "speed-up over"]]);
  by_id("heatmap-controls").addEventListener("submit", (event) => event.preventDefault());
  by_id("heatmap-controls").addEventListener("change", draw_heatmap);
  const winner = cells.filter((c) => over_fastest(c) === 1)[0];
  if (winner) by_id("heatmap-algorithm").value = winner.algorithm;
  const qs = ascending(cells.filter((c) => kind_of(c) === by_id("heatmap-kind").value).map((c) => c.q));
  draw_heatmap();
  if (by_id("heatmap-q").value !== "any") by_id("heatmap-q").value = String(qs.at(-1));
  draw_heatmap();
}

function draw_heatmap() {
  const kind = by_id("heatmap-kind").value;
  const here = cells.filter((c) => kind_of(c) === kind);
  const qs = ascending(here.map((c) => c.q));
  const n_of_q = (q) => distinct(here.filter((c) => c.q === q).map((c) => c.n)).length;
  // If n and Q change together, each Q has one n, so one map shows all of them.
  const together = qs.length > 1 && qs.every((q) => n_of_q(q) === 1);
  options(by_id("heatmap-q"), [...(together ? [["any", "any"]] : []), ...qs.map((q) => [q, size(q)])]);
  options(by_id("heatmap-over"), [["", "the fastest"], ...algorithms.map((name) => [name, name])]);
  const mode = by_id("heatmap-value").value;
  by_id("heatmap-over").disabled = mode !== "speedup";
  const q = by_id("heatmap-q").value;
  const chosen = here.filter((c) => q === "any" || c.q === Number(q));
  const own = chosen.filter((c) => c.algorithm === by_id("heatmap-algorithm").value);
  const ns = ascending(chosen.map((c) => c.n));
  const ks = ascending(chosen.map((c) => c.k)).reverse();
  const at = new Map();
  for (const n of ns) for (const k of ks) at.set(`${n}/${k}`, heat(own, chosen, n, k, mode));
  const values = [...at.values()].filter((h) => h && h.value !== null).map((h) => h.value);
  by_id("heatmap-note").textContent = heat_note(mode, at, values);
  const head = element("tr", {}, element("th", { scope: "col" }, "k \\ n"),
    ...ns.map((n) => element("th", { scope: "col", class: "number" }, size(n))));
  const rows = ks.map((k) => element("tr", {}, element("th", { scope: "row" }, size(k)),
    ...ns.map((n) => heat_cell(at.get(`${n}/${k}`), mode, values))));
  by_id("heatmap-plot").replaceChildren(
    element("table", { class: "map", "aria-label": by_id("heatmap-note").textContent }, element("thead", {}, head), element("tbody", {}, ...rows)));
}

// The content of the map at (n, k); null if the run has no such cell.
function heat(own, chosen, n, k, mode) {
  const cell = fastest(own.filter((c) => c.n === n && c.k === k));
  if (!cell) return null;
  if (mode !== "speedup") return { cell, value: VALUES[mode][1](cell) ?? null, why: "" };
  const over = by_id("heatmap-over").value;
  const others = chosen.filter((c) => c.n === n && c.k === k && c.q === cell.q && (!over || c.algorithm === over));
  const other = fastest(others);
  if (!cell.time || !other || !other.time) return { cell, value: null, why: other ? other.status : `no ${over}` };
  return { cell, value: other.time.median / cell.time.median, why: "" };
}

function heat_note(mode, at, values) {
  const name = by_id("heatmap-algorithm").value;
  const over = by_id("heatmap-over").value || "the fastest of each cell";
  const what = mode === "speedup" ? `speed-up over ${over}` : VALUES[mode][0];
  const failed = [...at.values()].filter((h) => h && h.value === null).length;
  const rest = failed ? ` ${failed} without a value are hatched; each opens to say why.` : "";
  return `${name}: ${what}, ${amount(values.length, "cell")}.${rest}`;
}

// Comparisons: vermillion for slower, blue for faster. Other values: larger is bluer. The colours are
// near enough to the page's own for its text, which shows the value.
function heat_colour(mode, value, values) {
  const logs = values.map(Math.log2);
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  if (mode === "speedup") {
    const extent = Math.max(1, -low, high);
    const part = Math.log2(value) / extent;
    return part < 0 ? mix("var(--slower)", -part) : mix("var(--faster)", part);
  }
  return mix("var(--faster)", high > low ? (Math.log2(value) - low) / (high - low) : 0.5);
}

const mix = (colour, part) => `color-mix(in srgb, ${colour} ${Math.round(60 * part)}%, var(--paper))`;

function heat_cell(found, mode, values) {
  if (!found) return element("td", { class: "absent" }, "–");
  const words = mode === "speedup" ? (v) => `${digits(v, 3)}×` : VALUES[mode][2];
  const failed = found.value === null;
  const text = failed ? found.why || found.cell.status : words(found.value);
  const reason = failed ? `: ${found.cell.reason || found.why}` : "";
  const button = element("button", { type: "button", "aria-label": `${in_words(found.cell)}: ${text}${reason}` }, element("span", {}, text));
  button.addEventListener("click", () => open_cell(found.cell));
  const shade = failed ? null : `background-color: ${heat_colour(mode, found.value, values)}`;
  return element("td", { class: failed ? "hatched" : null, style: shade }, button);
}
