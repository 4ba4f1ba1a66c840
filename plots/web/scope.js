// The choice of a device, of a type and answer, and of an input, by three selects that narrow each other.

const what_of = (cell) => [cell.dtype, cell.payload.replaceAll("_", " "), cell.direction].join(", ");
const SCOPE = [
  ["device", (cell) => cell.device],
  ["what", what_of],
  ["input", (cell) => cell.input],
];

// Fills the selects PREFIX-device, PREFIX-what and PREFIX-input, as `wish` ({device, what, input}) asks where
// there is such a cell. Returns a function that gives the choice; `changed` is called when it changes. A select
// with one value is hidden with its label.
function make_scope(prefix, wish, changed) {
  const selects = SCOPE.map(([name]) => by_id(`${prefix}-${name}`));
  const timed = cells.filter((c) => c.time);
  const fill = (from, wishes) => {
    let here = timed.filter((c) => SCOPE.slice(0, from).every(([, value], i) => value(c) === selects[i].value));
    for (let i = from; i < SCOPE.length; i += 1) {
      const [name, value] = SCOPE[i];
      const counts = new Map();
      for (const cell of here) counts.set(value(cell), (counts.get(value(cell)) ?? 0) + 1);
      const values = in_order(counts.keys());
      const before = wishes[name] ?? selects[i].value;
      options(selects[i], values.map((v) => [v, v]));
      // What was asked for, else uniform rows, else what there is most of.
      selects[i].value = [before, "uniform"].find((v) => counts.has(v))
        ?? values.reduce((a, b) => (counts.get(b) > counts.get(a) ? b : a));
      selects[i].parentElement.hidden = values.length < 2;
      here = here.filter((c) => value(c) === selects[i].value);
    }
  };
  fill(0, wish);
  selects.forEach((select, i) => select.addEventListener("change", () => { fill(i + 1, {}); changed(); }));
  return () => Object.fromEntries(SCOPE.map(([name], i) => [name, selects[i].value]));
}

// The cells of a choice.
const cells_of = ({ device, what, input }) =>
  cells.filter((c) => c.device === device && c.input === input && what_of(c) === what);
