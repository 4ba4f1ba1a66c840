// Heading, machine of the run, and its config.

function show_environment() {
  const meta = report.meta;
  const ok = cells.filter((cell) => cell.status === "ok").length;
  by_id("heading").textContent = `Run ${report.run}`;
  const about = meta.config && meta.config.description ? `${meta.config.description} ` : "";
  const state = meta.state === "complete" ? "" : ` The run is ${meta.state}.`;
  const executors = distinct(cells.map((cell) => cell.executor));
  const gpu = executors.includes("cuda") && meta.gpu && meta.gpu[0] ? [meta.gpu[0].name] : [];
  const host = executors.some((name) => name !== "cuda") && meta.host ? [meta.host.cpu] : [];
  by_id("summary").textContent =
    `${[...gpu, ...host].join(", ")}. ${cells.length} cells, ${ok} ok; every time is of an answer proven before and after.${state}`;
  by_id("about").textContent = about;
  by_id("doubt").textContent = doubt(meta.host || {});
  by_id("doubt").hidden = !by_id("doubt").textContent;
  if (report.warnings.length) {
    by_id("warnings").hidden = false;
    by_id("warnings").append(...report.warnings.map((text) => element("p", {}, text)));
  }
  for (const [name, text] of facts(meta)) {
    by_id("facts").append(element("dt", {}, name), element("dd", {}, text));
  }
  by_id("config-text").textContent = JSON.stringify(meta.config ?? {}, null, 2);
  by_id("config-copy").addEventListener("click", copy_config);
}

// `kselect doctor` warns of the same load.
function doubt(host) {
  const threads = host.threads_online || host.threads;
  if (!threads || host.load_1min === undefined || host.load_1min / threads < 0.1) return "";
  return `Other programs took part of the machine as the run began (load ${digits(host.load_1min, 3)} on ${threads} threads): its times deserve doubt.`;
}

function facts(meta) {
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
    ["Processor", host.threads ? `${host.cpu}, ${host.threads} threads` : host.cpu],
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
    ["Records", `runs.jsonl, sha256 ${report.digest}…`],
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

async function copy_config() {
  const text = by_id("config-text").textContent;
  let copied = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // The clipboard is not available (for example in a local file): select the text and copy it.
    getSelection().selectAllChildren(by_id("config-text"));
    copied = document.execCommand("copy");
  }
  by_id("config-copied").textContent = copied ? "Copied." : "Selected; copy it with Ctrl+C.";
}
