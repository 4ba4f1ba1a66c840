// The leaderboard: scores, worst shares and coverage over a grid of problems.

const GROUPS = {
  uniform: "Uniform rows",
  orders: "Uniform rows and rows with order and ties",
  vectors: "Distances of vectors and data sets",
};
const SCORES = [
  ["Algorithm", "name", (s) => s.algorithm],
  ["Score", "number", (s) => s.score],
  ["Worst share", "number", (s) => s.least],
  ["Coverage", "number", (s) => s.solved],
  ["Failures", "number", (s) => s.failed],
  ["Wins", "number", (s) => s.wins],
  ["Beside the fastest", "number wide", (s) => s.beside],
  ["Worst on", "wide", (s) => s.worst],
];
const board_state = { column: null, downwards: true };

const boards_of = (device, what) => board.boards.filter((b) => {
  const arena = arenas[b.arena];
  return arena.device === device && what_of(arena) === what;
});

// Of grids the one on which most families meet on most problems: what compares most.
function fullest_grid(boards) {
  const families = (b) => distinct(unpack(b.scores).filter((s) => s.solved >= 0.5 * b.grid)
    .map((s) => board.algorithms[s.algorithm].family)).length;
  const worth = new Map(boards.map((b) => [b, families(b) * Math.log2(1 + b.grid)]));
  return boards.reduce((a, b) => (worth.get(b) > worth.get(a) ? b : a), boards[0]);
}

function show_leaderboard() {
  const wish = chosen_before();
  const count = (test) => board.boards.filter((b) => test(arenas[b.arena])).reduce((sum, b) => sum + b.scores.rows, 0);
  const fill = (id, values, asked, fallback) => {
    const before = asked ?? (by_id(id).options.length ? by_id(id).value : fallback);
    options(by_id(id), values.map((v) => (Array.isArray(v) ? v : [v, v])));
    const keys = values.map((v) => String(Array.isArray(v) ? v[0] : v));
    by_id(id).value = keys.find((k) => k === String(before)) ?? fallback ?? keys[0];
    by_id(id).parentElement.hidden = values.length < 2;
  };
  const most = (values, test) => values.reduce((a, b) => (count((x) => test(x, b)) > count((x) => test(x, a)) ? b : a));
  const refill = (asked) => {
    const devices = in_order(board.boards.map((b) => arenas[b.arena].device));
    fill("board-device", devices, asked.device, most(devices, (a, v) => a.device === v));
    const device = by_id("board-device").value;
    const whats = in_order(board.boards.map((b) => arenas[b.arena]).filter((a) => a.device === device).map(what_of));
    fill("board-what", whats, asked.what, most(whats, (a, v) => a.device === device && what_of(a) === v));
    const here = boards_of(device, by_id("board-what").value);
    fill("board-group", Object.entries(GROUPS).filter(([group]) => here.some((b) => b.group === group)), asked.group);
    const runs = here.filter((b) => b.group === by_id("board-group").value && !b.alone)
      .map((b) => [b.run ?? "", b.run === null ? "all runs" : board.runs[b.run].name]);
    // The grid that the user chose stays until another choice changes.
    const fullest = fullest_grid(here.filter((b) => b.group === by_id("board-group").value && !b.alone)).run ?? "";
    fill("board-run", runs, asked.run === undefined ? asked.fresh && fullest : run_number.get(asked.run) ?? "");
    const records = [["", "all runs, the newest first"], ["alone", "that run alone"]];
    fill("board-alone", by_id("board-run").value === "" ? records.slice(0, 1) : records, asked.alone);
  };
  by_id("board-form").addEventListener("change", (event) => {
    refill({ fresh: event.target !== by_id("board-run") || undefined });
    draw_leaderboard();
  });
  refill({ ...wish, fresh: true });
  draw_leaderboard();
}

function draw_leaderboard() {
  const [device, what, group, run, alone] = ["device", "what", "group", "run", "alone"].map((name) => by_id(`board-${name}`).value);
  const chosen = boards_of(device, what).find((b) => b.group === group && String(b.run ?? "") === run && b.alone === (alone !== ""));
  remember({ device, what, group, run: run === "" ? "" : board.runs[Number(run)].name, alone });
  const rows = unpack(chosen.scores);
  const without = rows.filter((s) => s.score === null).length;
  by_id("board-note").textContent = `${amount(rows.length, "algorithm")} on ${amount(chosen.grid, "problem")} of ${chosen.run === null ? "all runs" : `run ${board.runs[chosen.run].name}`}. ${GROUPS[group]}.`
    + (without ? ` ${without} have no score: they solved nothing, or no ceiling was measured.` : "");
  if (board_state.column !== null) {
    const value = SCORES[board_state.column][2];
    const sign = board_state.downwards ? -1 : 1;
    rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return x === y ? 0 : sign * (x < y ? -1 : 1);
    });
  }
  fill_leaderboard("board", chosen, rows);
  [...by_id("board").tHead.rows[0].cells].forEach((head, column) => {
    if (!SCORES[column][2] || SCORES[column][0] === "Worst on") return;
    const button = element("button", { type: "button" }, head.textContent);
    button.addEventListener("click", () => {
      board_state.downwards = board_state.column === column ? !board_state.downwards : column !== 0;
      board_state.column = column;
      draw_leaderboard();
      by_id("board").tHead.rows[0].cells[column].firstChild.focus();
    });
    head.replaceChildren(button);
    if (column === board_state.column) head.setAttribute("aria-sort", board_state.downwards ? "descending" : "ascending");
  });
}

function fill_leaderboard(id, { grid, arena }, rows) {
  const share = (value) => (value === null ? "–" : percent(value));
  fill_table_of(id, SCORES, rows.map((s) => {
    const worst = s.worst === null ? "" : problem_link({ ...arenas[arena], ...problems[s.worst] },
      `${problem_words(problems[s.worst])}, ${problems[s.worst].input}`);
    return [
      algorithm_link(board.algorithms[s.algorithm].name), share(s.score), share(s.least),
      element("span", {}, percent(s.solved / grid), element("span", { class: "wide" }, ` (${s.solved})`)), s.failed ? String(s.failed) : "0", String(s.wins),
      s.beside === null ? "–" : digits(s.beside, 3), worst,
    ];
  }));
}
