// The first page: the finder, and the leaders of the device that it is set to.

const LEADERS = 5;

function show_answer() {
  const timed = cells.filter((c) => c.time).length;
  by_id("summary").textContent = `Say your n, Q and k. ${amount(algorithms.length, "algorithm")} on ${amount(problems.length, "problem")} and `
    + `${amount(distinct(cells.map((c) => c.device)).length, "device")}, ${amount(timed, "time")}, each of a proven answer.`;
  document.addEventListener("found", (event) => {
    const choice = { ...find_state.scope(), ...event.detail };
    remember(choice);
    show_leaders(choice);
  });
  show_finder(chosen_before());
}

function show_leaders({ device, what, input }) {
  const found = boards_of(device, what).filter((b) => !b.alone);
  const group = input === "uniform" ? "uniform" : found.some((b) => b.group === "vectors") && /[ (]/.test(input) ? "vectors" : "orders";
  const own = found.filter((b) => b.group === group);
  const chosen = fullest_grid(own.length ? own : found);
  by_id("leaders").closest("section").hidden = !chosen;
  if (!chosen) return;
  by_id("leaders-note").textContent = `${GROUPS[chosen.group]}, ${what}, ${amount(chosen.grid, "problem")} of ${chosen.run === null ? "all runs" : `run ${board.runs[chosen.run].name}`}. `
    + "The score is the geometric mean of the shares of what memory allows.";
  fill_leaderboard("leaders", chosen, unpack(chosen.scores).slice(0, LEADERS));
  const run = chosen.run === null ? "" : board.runs[chosen.run].name;
  by_id("leaders-all").href = address("leaderboard.html", { device, what, group: chosen.group, run });
}
