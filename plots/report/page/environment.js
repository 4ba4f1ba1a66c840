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
    `${[...gpu, ...host].join(", ")}. ${amount(cells.length, "cell")}, ${ok} ok; every time is of an answer proven before and after.${state}`;
  by_id("about").textContent = about;
  by_id("doubt").textContent = doubt(meta.host || {});
  by_id("doubt").hidden = !by_id("doubt").textContent;
  if (report.warnings.length) {
    by_id("warnings").hidden = false;
    by_id("warnings").append(...report.warnings.map((text) => element("p", {}, text)));
  }
  for (const [name, text] of facts(meta, report.digest)) {
    by_id("facts").append(element("dt", {}, name), element("dd", {}, text));
  }
  by_id("config-text").textContent = JSON.stringify(meta.config ?? {}, null, 2);
  by_id("config-copy").addEventListener("click", copy_config);
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
