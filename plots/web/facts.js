// The environment of a run, from its meta.json.

// `kselect doctor` warns of the same load.
function doubt(host) {
  const threads = host.threads_online || host.threads;
  if (!threads || host.load_1min === undefined || host.load_1min / threads < 0.1) return "";
  return `Other programs took part of the machine as the run began (load ${digits(host.load_1min, 3)} on ${amount(threads, "thread")}): its times deserve doubt.`;
}

// Pairs of a name and a text: when, where, by what commit and command.
function facts(meta, digest) {
  const host = meta.host || {};
  const build = meta.build || {};
  const git = meta.git || {};
  const found = [["Started", meta.started]];
  for (const gpu of meta.gpu || []) found.push(["GPU", gpu_in_words(gpu)]);
  if (meta.multiprocessors) {
    const { used, of } = meta.multiprocessors;
    found.push(["Confined to", `${used} of ${of} multiprocessors`]);
  }
  found.push(
    ["Processor", host.threads ? `${host.cpu}, ${amount(host.threads, "thread")}` : host.cpu],
    ["Memory", host.memory_gib && `${digits(host.memory_gib)} GiB`],
    ["System", [host.system, host.kernel].filter(Boolean).join(", ")],
    ["Virtual machine", host.virtual_machine === undefined ? null : host.virtual_machine ? "yes" : "no"],
    ["Load before", host.load_1min === undefined ? null : String(host.load_1min)],
    ["Commit", git.commit && git.commit + (git.dirty ? ", with changes not committed" : "")],
    ["Build", [build.version, build.type, build.compiler, build.flags].filter(Boolean).join(", ")],
    ["CUDA compiler", build.nvcc],
  );
  for (const [executor, ceilings] of Object.entries(meta.floor || {})) {
    const rates = Object.entries(ceilings).filter(([, rate]) => typeof rate === "number");
    const text = rates.map(([name, rate]) => `${name.replaceAll("_", " ")} ${digits(rate / 1e9)} GB/s`);
    found.push([`Ceilings, ${executor}`, text.join(", ")]);
  }
  found.push(
    ["Command", (meta.arguments || []).join(" ")],
    ["Records", `runs.jsonl, sha256 ${digest}…`],
  );
  return found.filter(([, text]) => text);
}

function gpu_in_words(gpu) {
  const parts = [gpu.name];
  if (gpu.multiprocessors) parts.push(`${gpu.multiprocessors} multiprocessors`);
  if (gpu.memory_bytes) parts.push(`${digits(gpu.memory_bytes / 2 ** 30)} GiB`);
  if (gpu.l2_bytes) parts.push(`L2 ${digits(gpu.l2_bytes / 2 ** 20)} MiB`);
  if (gpu.driver) parts.push(`driver ${gpu.driver}`);
  return parts.join(", ");
}
