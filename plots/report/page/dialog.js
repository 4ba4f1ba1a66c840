// A cell in a dialog over the page.

function open_cell(cell) {
  by_id("cell-heading").textContent = in_words(cell);
  by_id("cell-body").replaceChildren(...cell_body(cell));
  const dialog = by_id("cell");
  if (!dialog.open) dialog.showModal();
  by_id("cell-close").focus();
}
