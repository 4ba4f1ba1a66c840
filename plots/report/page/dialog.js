// A cell in a dialog over the page.

function open_cell(cell) {
  by_id("cell-heading").textContent = in_words(cell);
  by_id("cell-body").replaceChildren(...cell_body(cell));
  const dialog = by_id("cell");
  if (!dialog.open) dialog.showModal();
  by_id("cell-close").focus();
}

function opener(cell) {
  const button = element("button", { type: "button", class: "opener", title: `Samples of ${in_words(cell)}` }, cell.algorithm);
  button.addEventListener("click", () => open_cell(cell));
  return button;
}
