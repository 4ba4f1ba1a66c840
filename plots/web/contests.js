// Who competes with whom. The page has defined `devices_apart`: whether cells of two devices are never compared.

const problem_key = (cell) =>
  [cell.n, cell.q, cell.k, kind_of(cell), devices_apart ? cell.device : ""].join("/");

// For each problem its timed cells, the fastest first.
const contests = new Map();
for (const cell of cells.filter((c) => c.time)) {
  const key = problem_key(cell);
  if (!contests.has(key)) contests.set(key, []);
  contests.get(key).push(cell);
}
for (const found of contests.values()) found.sort((a, b) => a.time.median - b.time.median);

// How many times as long as the fastest of its problem a cell takes; null without a time.
function over_fastest(cell) {
  return cell.time ? cell.time.median / contests.get(problem_key(cell))[0].time.median : null;
}
