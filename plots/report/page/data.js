// The data of the page: `report`, and the cells in the form that plots/web/core.js states.

const report = JSON.parse(document.getElementById("data").textContent);
const cells = report.cells;
const devices_apart = false; // a run may compare a processor with a GPU
