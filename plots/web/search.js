// Searches of cells by words and conditions.

// The parts of a search such as "heap k=64 n>2^10": every word must occur, every condition must hold.
function search_parts(text) {
  return text.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const condition = word.match(/^([nqk])(<=|>=|=|<|>)(?:2\^)?(\d+)$/);
    if (!condition) {
      const test = (c) => `${c.algorithm} ${c.family} ${kind_of(c)} ${c.status} ${c.reason}`.toLowerCase().includes(word);
      return { word, axis: null, test };
    }
    const [, axis, sign, digits_of] = condition;
    const limit = word.includes("2^") ? 2 ** Number(digits_of) : Number(digits_of);
    const compare = {
      "<=": (v) => v <= limit, ">=": (v) => v >= limit, "=": (v) => v === limit,
      "<": (v) => v < limit, ">": (v) => v > limit,
    }[sign];
    return { word, axis, test: (c) => compare(c[axis]) };
  });
}

// Why a search finds nothing: the values that there are, or a part that holds for no cell.
function why_nothing(parts) {
  const never = parts.find((part) => !cells.some(part.test));
  if (!never) return parts.length > 1 ? " No cell has all of these together." : "";
  if (!never.axis) return ` No cell has the word “${never.word}”.`;
  const name = never.axis === "q" ? "Q" : never.axis;
  const values = ascending(cells.map((c) => c[never.axis]));
  const shown = values.length > 24 ? [...values.slice(0, 12), "…", ...values.slice(-12)] : values;
  return ` No cell has ${never.word.replace(/^q/, "Q")}; ${name} is one of ${shown.join(", ")}.`;
}
