// For every page that shows cells: elements, formatted numbers, looks of series. The page has defined
// `cells`, an array of objects with algorithm, n, q, k, dtype, payload, direction, input, device, status,
// reason, time (median and ci95 in ns, or null) and floor (share, or null).

const by_id = (id) => document.getElementById(id);

// element("td", {class: "number"}, "text" or nodes): null attributes are left out.
function element(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null) made.setAttribute(key, value);
  }
  made.append(...content);
  return made;
}

function svg(name, attributes = {}, ...content) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

// options(select, [[value, text], ...]): fills a select and keeps its choice if it still exists.
function options(select, pairs) {
  const before = select.value;
  select.replaceChildren(...pairs.map(([value, text]) => element("option", { value }, text)));
  if (pairs.some(([value]) => String(value) === before)) select.value = before;
}

const distinct = (values) => [...new Set(values)];
const ascending = (values) => distinct(values).sort((a, b) => a - b);
const in_order = (values) => distinct(values).sort();

// Powers of two from 1024 on as 2^20, other numbers plainly.
function size(value) {
  const exponent = Math.log2(value);
  return value >= 1024 && Number.isInteger(exponent) ? `2^${exponent}` : String(value);
}

const digits = (value, count = 4) => String(Number(value.toPrecision(count)));

const UNITS = [["s", 1e9], ["ms", 1e6], ["µs", 1e3], ["ns", 1]];

function duration(ns) {
  const [unit, length] = UNITS.find(([, each]) => ns >= each) || UNITS[3];
  return `${digits(ns / length)} ${unit}`;
}

// amount(2, "problem") is "2 problems", amount(1, "query") is "1 query".
function amount(count, noun) {
  if (count === 1) return `1 ${noun}`;
  return `${count} ${/[^aeo]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : noun + (/(s|x|ch)$/.test(noun) ? "es" : "s")}`;
}

const percent = (share) => `${digits(100 * share, 3)} %`;

// The properties, besides n, Q and k, that must be equal for two cells in one plot.
const kind_of = (cell) =>
  [cell.input, cell.dtype, cell.payload.replaceAll("_", " "), cell.direction].join(", ");
const kinds = in_order(cells.map(kind_of));
const preferred_kind = (among) => {
  // Uniform rows are what most questions are about; else the kind with the most times.
  const timed = (kind) => cells.filter((c) => c.time && kind_of(c) === kind).length;
  const uniform = among.filter((kind) => kind.startsWith("uniform,"));
  return (uniform.length ? uniform : among).reduce((a, b) => (timed(b) > timed(a) ? b : a), (uniform[0] ?? among[0]));
};
const algorithms = in_order(cells.map((cell) => cell.algorithm));

// The quantities that a plot can show: name, value of a cell or null, and format.
const VALUES = {
  time: ["median time of all Q rows", (cell) => cell.time && cell.time.median, duration],
  query: ["median time per query", (cell) => cell.time && cell.time.median / cell.q, duration],
  share: ["share of the read ceiling", (cell) => cell.floor && cell.floor.share, percent],
};

// The colours of the figures (colours.css, plots/style.py); series also differ in marker and dashes.
const COLOUR_COUNT = 12;
const DASHES = ["", "7 3", "2 2", "9 3 2 3", "5 2 2 2 2 2"];
const SHAPES = [
  (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
  (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
  (x, y, r) => `M${x},${y - r * 1.2}L${x + r * 1.2},${y + r}H${x - r * 1.2}Z`,
  (x, y, r) => `M${x},${y - r * 1.3}L${x + r * 1.3},${y}L${x},${y + r * 1.3}L${x - r * 1.3},${y}Z`,
  (x, y, r) => `M${x},${y + r * 1.2}L${x + r * 1.2},${y - r}H${x - r * 1.2}Z`,
  (x, y, r) => `M${x - r},${y - r}L${x + r},${y + r}L${x + r},${y - r}L${x - r},${y + r}Z`,
  (x, y, r) => `M${x - r * 1.2},${y}L${x + r},${y - r * 1.2}V${y + r * 1.2}Z`,
];

const look = (algorithm) => look_at(algorithms.indexOf(algorithm));

function look_at(place) {
  return {
    colour: `var(--s${place % COLOUR_COUNT})`,
    dash: DASHES[place % DASHES.length],
    shape: SHAPES[place % SHAPES.length],
  };
}

const in_words = (cell) => `${cell.algorithm}, n = ${size(cell.n)}, Q = ${size(cell.q)}, k = ${cell.k}`;

// Several cells may share algorithm and problem (two layouts, two seeds); the fastest is shown.
function fastest(found) {
  const timed = found.filter((cell) => cell.time);
  return timed.reduce((a, b) => (b.time.median < a.time.median ? b : a), timed[0]) || found[0];
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const letter = (place) => LETTERS[place % LETTERS.length];

// A light shade of a series' colour, dark where the page is dark (colours.css).
const tint = (place) => `background-color: color-mix(in srgb, var(--s${place % COLOUR_COUNT}) 32%, var(--paper))`;

// Whether the order of the first two is open: their intervals overlap.
const is_level = ([first, second]) => second !== undefined && second.time.ci95[0] <= first.time.ci95[1];
