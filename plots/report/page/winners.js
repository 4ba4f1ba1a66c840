// The first screen: the answer in a sentence, and who wins where.

function show_winners() {
  by_id("answer").textContent = report.answer.title;
  by_id("answer-detail").textContent = report.answer.detail;
  const timed = kinds.filter((kind) => cells.some((c) => c.time && kind_of(c) === kind));
  by_id("winners").hidden = !timed.length;
  options(by_id("winners-kind"), timed.map((kind) => [kind, kind]));
  by_id("winners-kind").value = preferred_kind(timed);
  by_id("winners-kind").addEventListener("change", draw_winners);
  by_id("winners-controls").addEventListener("submit", (event) => event.preventDefault());
  draw_winners();
}

function draw_winners() {
  const kind = by_id("winners-kind").value;
  const here = cells.filter((c) => kind_of(c) === kind);
  const found = [...contests.values()].filter(([first]) => kind_of(first) === kind);
  // As in plots/answer.py: who is level with the fastest wins, too.
  const wins = (name) => found.filter((all) =>
    all.some((c) => c.algorithm === name && c.time.ci95[0] <= all[0].time.ci95[1])).length;
  const firsts = (name) => found.filter(([first]) => first.algorithm === name).length;
  const names = in_order(found.map(([first]) => first.algorithm)).sort((a, b) => wins(b) - wins(a));
  by_id("winners-key").replaceChildren(...names.map((name, i) => element("li", {},
    element("span", { class: "letter", style: tint(i) }, letter(i)),
    ` ${name} wins ${wins(name)} of ${found.length}, fastest in ${firsts(name)}`)));
  const open = found.filter(is_level).length;
  by_id("winners-note").textContent = "A number is the second's time over the fastest's."
    + (open ? ` ≈ marks ${open} of ${amount(found.length, "problem")} in which their 95 % intervals overlap, so that their order is open.` : "");
  by_id("winners-maps").replaceChildren(...winner_panels(here).map(([title, part]) => winner_map(title, part, names)));
}

// A panel for each Q; one for all if n and Q change together, so that each Q has one n.
function winner_panels(here) {
  const qs = ascending(here.map((c) => c.q));
  const n_of_q = (q) => distinct(here.filter((c) => c.q === q).map((c) => c.n)).length;
  if (qs.length > 1 && qs.every((q) => n_of_q(q) === 1)) return [["n and Q together", here]];
  return qs.reverse().map((q) => [`Q = ${size(q)}`, here.filter((c) => c.q === q)]);
}

function winner_map(title, part, names) {
  const ns = ascending(part.map((c) => c.n));
  const ks = ascending(part.map((c) => c.k)).reverse();
  const head = element("tr", {}, element("th", { scope: "col" }, "k \\ n"),
    ...ns.map((n) => element("th", { scope: "col", class: "number" }, size(n))));
  const rows = ks.map((k) => element("tr", {}, element("th", { scope: "row", class: "number" }, size(k)),
    ...ns.map((n) => winner_cell(part.filter((c) => c.n === n && c.k === k), names))));
  return element("table", { class: "map" }, element("caption", {}, title),
    element("thead", {}, head), element("tbody", {}, ...rows));
}

function winner_cell(tried, names) {
  if (!tried.length) return element("td", { class: "absent" }, "–");
  const timed = tried.filter((c) => c.time).sort((a, b) => a.time.median - b.time.median);
  const [first, second] = timed;
  if (!first) {
    return element("td", { class: "hatched" }, cell_button(tried[0], "none", `${in_words(tried[0])}: no algorithm has a time`));
  }
  const place = names.indexOf(first.algorithm);
  const lead = second ? `${is_level(timed) ? "≈" : ""}${digits(second.time.median / first.time.median, 3)}×` : "";
  const words = `${in_words(first)}: ${duration(first.time.median)}`
    + (second ? `; second ${second.algorithm}, ${lead.replace("≈", "level, ")}` : "; no other has a time");
  return element("td", { style: tint(place) }, cell_button(first, `${letter(place)} ${lead}`, words));
}

function cell_button(cell, text, label) {
  const button = element("button", { type: "button", title: label, "aria-label": label }, element("span", {}, text));
  button.addEventListener("click", () => open_cell(cell));
  return button;
}
