// The data of all pages: `board` (plots/board/data.py), the cells in the form that plots/web/core.js states, and the
// runs, which are loaded when they are needed.

// Rows from columns, as plots/board/pack.py makes them.
function unpack({ rows, columns }) {
  const made = Array.from({ length: rows }, () => ({}));
  for (const [name, column] of Object.entries(columns)) {
    const numbers = column.steps && numbers_of_runs(column.steps);
    for (let i = 0; i < rows; i += 1) {
      made[i][name] = numbers ? numbers[i]
        : column.at ? column.of[column.at[i]] : column.is ? column.is[i] : column.same;
    }
  }
  return made;
}

// The numbers of runs, of which each has a first number, a step and a length.
function numbers_of_runs(steps) {
  const numbers = [];
  for (let at = 0; at < steps.length; at += 3) {
    for (let i = 0; i < steps[at + 2]; i += 1) numbers.push(steps[at] + steps[at + 1] * i);
  }
  return numbers;
}

const arenas = unpack(board.arenas);
const problems = unpack(board.problems);
const algorithm_of = new Map(board.algorithms.map((a) => [a.name, a]));
const run_number = new Map(board.runs.map((run, number) => [run.name, number]));

const cells = unpack(board.cells).map((row) => {
  const { n, q, k, input } = problems[row.problem];
  const { device, dtype, payload, direction } = arenas[row.arena];
  const { name, family } = board.algorithms[row.algorithm];
  return {
    n, q, k, input, dtype, payload, direction, device, executor: device, algorithm: name, family,
    status: row.status, reason: row.reason, run: board.runs[row.run].name, index: row.index,
    time: row.median === null ? null : { median: row.median, ci95: [row.low, row.high] },
    floor: row.share === null ? null : { share: row.share },
  };
});
const devices_apart = true;

const loading = new Map(); // number of a run -> {promise, arrived}

// The whole data of a run: name, meta, digest, and its cells in the run's order.
function load_run(number) {
  if (!loading.has(number)) {
    const state = {};
    state.promise = new Promise((resolve, reject) => { Object.assign(state, { resolve, reject }); });
    const script = document.createElement("script");
    script.src = `data/run-${String(number).padStart(3, "0")}.js`;
    script.addEventListener("error", () => {
      loading.delete(number);
      state.reject(new Error(`${script.src} cannot be read; copy the whole folder of the site`));
    });
    loading.set(number, state);
    document.head.append(script);
  }
  return loading.get(number).promise;
}

// What data/run-NNN.js calls: base 64 of JSON that zlib compressed.
async function run_arrived(number, packed) {
  const { resolve, reject } = loading.get(number);
  try {
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const run = JSON.parse(await new Response(stream).text());
    run.cells = unpack(run.cells).map((row) => whole_cell(row, run.name));
    resolve(run);
  } catch (why) {
    reject(why);
  }
}

// A cell with its samples in ns, which are stored in 1e-4 of their median (plots/board/details.py).
function whole_cell(row, run) {
  const cell = { run, time: null };
  for (const [name, value] of Object.entries(row)) {
    if (!name.startsWith("time_")) cell[name] = value;
    else if (row.time_median !== null) (cell.time ??= {})[name.slice(5)] = value;
  }
  if (cell.time) cell.time.samples = cell.time.samples.map((part) => cell.time.median * (1 + part / 1e4));
  return cell;
}
