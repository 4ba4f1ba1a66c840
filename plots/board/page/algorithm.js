// The list of algorithms, and an algorithm's own page: contract, where it is best, worst inputs, history.

const WORST_ROWS = 10;

function show_algorithms() {
  const wins = new Map();
  for (const [first] of contests.values()) wins.set(first.algorithm, (wins.get(first.algorithm) ?? 0) + 1);
  const own = new Map(board.algorithms.map((a) => [a.name, { timed: 0, failed: 0, devices: new Set() }]));
  for (const cell of cells) {
    const counts = own.get(cell.algorithm);
    if (cell.time) { counts.timed += 1; counts.devices.add(cell.device); }
    if (!cell.time && !["unsupported", "throttled"].includes(cell.status)) counts.failed += 1;
  }
  const heads = [["Algorithm", "name"], ["Family"], ["Fastest in", "number"], ["Times", "number"], ["Failures", "number"], ["Devices", "number wide"], ["Source", "wide reason"]];
  const fill = () => {
    const word = by_id("algorithms-find").value.trim().toLowerCase();
    const shown = board.algorithms.filter((a) => `${a.name} ${a.family} ${a.source}`.toLowerCase().includes(word));
    by_id("algorithms-count").textContent = `${shown.length} of ${amount(board.algorithms.length, "algorithm")}`;
    fill_table_of("algorithms", heads, shown.map((a) => {
      const counts = own.get(a.name);
      return [algorithm_link(a.name), a.family, String(wins.get(a.name) ?? 0), String(counts.timed), String(counts.failed), String(counts.devices.size), a.source];
    }));
  };
  by_id("algorithms-form").addEventListener("submit", (event) => event.preventDefault());
  by_id("algorithms-find").addEventListener("input", fill);
  fill();
}

function show_algorithm() {
  const { name } = chosen_before();
  const found = algorithm_of.get(name);
  by_id("name").textContent = found ? name : `No algorithm ${name ? `is called ${name}` : "is named"}`;
  for (const section of document.querySelectorAll("main section")) section.hidden = !found;
  if (!found) return;
  document.title = `${name}: top-k board`;
  for (const [term, text] of algorithm_facts(found)) by_id("contract").append(element("dt", {}, term), element("dd", {}, text));
  by_id("name-results").href = address("results.html", { algorithm: name });
  const own = cells.filter((c) => c.algorithm === name);
  show_where(name, own);
  show_worst(name, own);
  by_id("past").replaceChildren(...(found.past.length ? found.past.map((past) => past_of(found, past))
    : [element("p", { class: "muted" }, "No cell of it is on record in two runs of one device.")]));
}

function algorithm_facts({ family, source, file, link, contract }) {
  const found = [["Family", family], ["Source", source]];
  if (file) found.push(["Written in", link ? element("a", { href: link }, file) : file]);
  if (!contract) {
    found.push(["Contract", "Not known here: it is no entry of the program that the site was made with."]);
    return found;
  }
  const promised = contract.contract;
  const bounds = [["n", "n"], ["q", "Q"], ["k", "k"]].filter(([key]) => contract.limits[key] !== null)
    .map(([key, text]) => `${text} ≤ ${size(contract.limits[key])}`);
  if (contract.limits.alignment_bytes) bounds.push(`rows aligned to ${amount(contract.limits.alignment_bytes, "byte")}`);
  const words = (list) => list.join(", ").replaceAll("_", " ");
  found.push(
    ["Order of the answer", words([promised.ordering])], ["Ties", words([promised.tie_break])],
    ["Determinism", words([promised.determinism])], ["NaN", words([promised.nan])], ["Zeros", words([promised.zeros])],
    ["Limits", bounds.join(", ") || "none"], ["Types", `${words(contract.dtypes)}; indices ${words(contract.index_types)}`],
    ["Answers", words(contract.payloads)], ["Layouts", words(contract.layouts)], ["Executors", words(contract.executors)],
  );
  const more = [!promised.infinities && "takes no infinities", promised.synchronises && "synchronises",
    promised.modifies_input && "modifies its input", contract.threaded && "has threads"].filter(Boolean);
  if (more.length) found.push(["Besides", more.join(", ")]);
  return found;
}

function show_where(name, own) {
  const timed = own.filter((c) => c.time);
  const kinds_won = new Map();
  for (const cell of timed) {
    const all = contests.get(problem_key(cell));
    if (all.length < 2) continue; // nothing was compared
    const key = `${cell.device}, ${what_of(cell)}, ${cell.input}`;
    const known = kinds_won.get(key) ?? { wins: 0, of: 0 };
    known.of += 1;
    if (cell === all[0] || cell.time.ci95[0] <= all[0].time.ci95[1]) known.wins += 1;
    kinds_won.set(key, known);
  }
  const won = [...kinds_won].filter(([, { wins }]) => wins).sort(([, a], [, b]) => b.wins - a.wins);
  by_id("where-note").textContent = !timed.length ? "It has no time." : !won.length ? "It wins none of the problems that others solved, too."
    : `It wins ${won.slice(0, 3).map(([key, { wins, of }]) => `${wins} of ${amount(of, "problem")} (${key})`).join("; ")}`
      + `${won.length > 3 ? `; and some of ${amount(won.length - 3, "more kind")}` : ""}.`;
  by_id("map-form").hidden = !timed.length;
  if (!timed.length) return;
  // Where it was measured most, unless the address asks for another.
  const wish = chosen_before();
  if (!wish.device) {
    const [[most]] = counted(timed.map((c) => JSON.stringify([c.device, what_of(c), c.input])));
    const [device, what, input] = JSON.parse(most);
    remember({ name, device, what, input });
  }
  show_map(name);
}

function show_worst(name, own) {
  const failed = own.filter((c) => !c.time && !["unsupported", "throttled"].includes(c.status));
  const slow = own.filter((c) => c.time && over_fastest(c) > 1).sort((a, b) => over_fastest(b) - over_fastest(a));
  const low = own.filter((c) => c.floor).sort((a, b) => a.floor.share - b.floor.share);
  const rows = distinct([...failed, ...slow.slice(0, WORST_ROWS), ...low.slice(0, WORST_ROWS / 2)]).slice(0, 2 * WORST_ROWS);
  const excluded = own.filter((c) => c.status === "unsupported").length;
  by_id("worst-note").textContent = `${amount(failed.length, "failure")}. Then where others are the most times as fast, and its least shares.`
    + (excluded ? ` Outside its contract: ${amount(excluded, "problem")}.` : "");
  const heads = [["Problem"], ["Time", "number"], ["× fastest", "number"], ["Of ceiling", "number"], ["The fastest"], ["On", "wide"]];
  fill_table_of("worst", heads, rows.map((cell) => {
    const text = cell.time ? duration(cell.time.median) : `${cell.status.replaceAll("_", " ")}: ${cell.reason}`;
    const open = element("button", { type: "button", class: "opener", title: `Samples of ${in_words(cell)}` }, text);
    open.addEventListener("click", () => open_cell(cell));
    const first = contests.get(problem_key(cell))?.[0];
    return [
      problem_link(cell, `${problem_words(cell)}, ${cell.input}`), open, cell.time ? `${digits(over_fastest(cell), 3)}×` : "",
      cell.floor ? percent(cell.floor.share) : "", first && first !== cell ? algorithm_link(first.algorithm) : "", `${cell.device}, ${what_of(cell)}`,
    ];
  }));
}

// The level of an algorithm at each run of a device, as a plot and a table.
function past_of(found, past) {
  const levels = past.logs.map((log, i) => ({ run: board.runs[past.runs[i]], number: past.runs[i], level: Math.exp(log) }));
  const { change } = past;
  const verdict = change
    ? `It is ${digits(100 * Math.abs(change.ratio - 1), 3)} % ${change.ratio > 1 ? "slower" : "faster"} since run ${board.runs[change.run].name} (p = ${change.p}).`
    : past.tested ? "The test tells no change." : "It is not tested for a change.";
  const machine = past.machine ? "What the machine did to all is taken off." : "What the machine did to all is not known.";
  const rows = levels.map(({ run, level }) => element("tr", {}, element("td", {}, run.started.slice(0, 10)), element("td", {}, run_link(run.name)),
    element("td", {}, (run.commit || "").slice(0, 9)), element("td", { class: "number" }, digits(level, 4))));
  return element("div", {}, element("h3", {}, past.device),
    element("p", {}, `${amount(past.cells, "cell")} over ${amount(levels.length, "run")}. ${verdict} ${machine}`), past_plot(found.name, levels),
    element("details", {}, element("summary", {}, "The runs as a table"), element("div", { class: "scroll" }, element("table", {},
      element("thead", {}, element("tr", {}, ...["Started", "Run", "Commit", "Time over the last run's"].map((text) => element("th", { scope: "col" }, text)))),
      element("tbody", {}, ...rows)))));
}

function past_plot(name, levels) {
  const [width, height, left, right, top, bottom] = [760, 180, 60, 12, 10, 30];
  const at_y = scale(levels.map((l) => l.level).concat([0.9, 1.1]), height - bottom, top, true, 0.08);
  const at_x = (i) => left + ((i + 0.5) / levels.length) * (width - left - right);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `Time of ${name} over that of the last run, in ${amount(levels.length, "run")}: ${levels.map((l) => digits(l.level, 3)).join(", ")}` });
  for (const tick of ticks_of(at_y, 10)) {
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: at_y(tick), y2: at_y(tick) }),
      svg("text", { x: left - 6, y: at_y(tick) + 4, "text-anchor": "end" }, digits(tick, 3)));
  }
  root.append(svg("path", { d: levels.map((l, i) => `${i ? "L" : "M"}${at_x(i)},${at_y(l.level)}`).join(""), fill: "none", stroke: "var(--s0)", "stroke-width": 1.6 }));
  levels.forEach(({ run, level }, i) => {
    const mark = svg("circle", { cx: at_x(i), cy: at_y(level), r: 4, fill: "var(--s0)" });
    mark.append(svg("title", {}, `${run.name}, ${run.started.slice(0, 10)}, commit ${(run.commit || "").slice(0, 9)}: ${digits(level, 4)}`));
    root.append(mark);
  });
  root.append(svg("text", { x: (left + width) / 2, y: height - 8, "text-anchor": "middle" }, "runs in order; time over that of the last run"));
  return root;
}
