// One cell: its numbers, all samples in the order of measurement, and the command to run it again.

// The body of a cell's page or dialog.
function cell_body(cell) {
  const list = element("dl", { class: "facts" });
  for (const [name, text] of cell_facts(cell)) list.append(element("dt", {}, name), element("dd", {}, text));
  const body = [list];
  if (cell.time && cell.time.samples.length) {
    body.push(element("h3", {}, "Raw samples"), sample_plot(cell.time), sample_list(cell.time));
  }
  if (cell.counters) body.push(element("h3", {}, "Counted work"), counter_table(cell.counters));
  return body;
}

function cell_facts(cell) {
  const found = [["Status", cell.reason ? `${cell.status}: ${cell.reason}` : cell.status], ["Problem", kind_of(cell)]];
  found.push(["Layout", cell.layout.replaceAll("_", " ")], ["Source", [cell.source, cell.file].filter(Boolean).join(", ")]);
  found.push(["Ran on", `${cell.executor}, ${amount(cell.threads, "thread")} of the host`]);
  const time = cell.time;
  if (time) {
    found.push(["Median", `${duration(time.median)}, 95 % interval ${time.ci95.map(duration).join(" to ")}`]);
    found.push(["Per query", duration(time.median / cell.q)]);
    found.push(["Samples", `${time.samples.length} from ${duration(time.min)} to ${duration(time.max)}; stopped by ${time.stop.replaceAll("_", " ")}`]);
    found.push(["Clock", [time.clock, time.cache].filter(Boolean).join(", ").replaceAll("_", " ")]);
    if (time.wall) found.push(["Wall time", duration(time.wall)]);
    if (time.batch) found.push(["Share of a batch", duration(time.batch)]);
  }
  if (cell.verify) found.push(["Proof", proof_in_words(cell.verify)]);
  if (cell.floor) {
    found.push(["Bytes that must move", `${cell.floor.bytes}, moved at ${percent(cell.floor.share)} of the ${cell.floor.ceiling.replaceAll("_", " ")} ceiling`]);
  }
  if (cell.workspace !== undefined && cell.workspace !== null) found.push(["Workspace", amount(cell.workspace, "byte")]);
  found.push(["Key", cell.key], ["Again", `kselect run ${cell.config ?? "CONFIG"} --filter '${filter_of(cell)}'`]);
  return found;
}

function proof_in_words({ method, rows, answers, before, after }) {
  if (!before) return "The answer was not proven.";
  const when = after ? "before and after it was timed" : "before it was timed";
  return `${method}, ${amount(rows, "row")}${answers ? ` of ${amount(answers, "answer")}` : ""}, ${when}`;
}

// The filter that matches only this cell in `kselect run --dry-run`.
function filter_of(cell) {
  const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const problem = [cell.dtype, cell.direction, `Q=${cell.q}`, `n=${cell.n}`, `k=${cell.k}`,
    cell.payload, cell.layout, `${cell.distribution}#${cell.seed}`].join("/");
  return `^${literal(cell.algorithm)} ${literal(problem)}$`;
}

// The samples in order, separated by rounds, over the median and its interval.
function sample_plot(time) {
  const [width, height, left, right, top, bottom] = [820, 230, 80, 10, 10, 26];
  const at_y = scale([...time.samples, ...time.ci95], height - bottom, top, true, 0.1);
  const at_x = (i) => left + ((i + 0.5) / time.samples.length) * (width - left - right);
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `${amount(time.samples.length, "sample")} in order, from ${duration(time.min)} to ${duration(time.max)}, median ${duration(time.median)}`,
  });
  for (const tick of ticks_of(at_y, 10)) {
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: at_y(tick), y2: at_y(tick) }),
      svg("text", { x: left - 6, y: at_y(tick) + 4, "text-anchor": "end" }, duration(tick)));
  }
  const [low, high] = time.ci95;
  root.append(svg("rect", { x: left, width: width - left - right, y: at_y(high), height: Math.max(1, at_y(low) - at_y(high)), fill: "var(--s0)", opacity: 0.18 }),
    svg("line", { x1: left, x2: width - right, y1: at_y(time.median), y2: at_y(time.median), stroke: "var(--s0)", "stroke-width": 1.5 }));
  let i = 0;
  const rounds = time.round_sizes || [time.samples.length];
  rounds.forEach((count, round) => {
    for (let j = 0; j < count && i < time.samples.length; j += 1, i += 1) {
      root.append(svg("circle", { cx: at_x(i), cy: at_y(time.samples[i]), r: 2.6, fill: round % 2 ? "var(--s1)" : "var(--s3)" }));
    }
  });
  root.append(svg("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" },
    `samples in order${rounds.length > 1 ? `; colours change with the ${rounds.length} rounds` : ""}`));
  return root;
}

function sample_list(time) {
  return element("details", {}, element("summary", {}, "Samples in ns"),
    element("pre", { class: "samples", tabindex: "0" }, time.samples.join("\n")));
}

function counter_table(counters) {
  const rows = Object.entries(counters).filter(([, count]) => count).map(([name, count]) => element("tr", {},
    element("th", { scope: "row" }, name.replaceAll("_", " ")), element("td", { class: "number" }, String(count))));
  return element("table", {}, element("tbody", {}, ...rows));
}
