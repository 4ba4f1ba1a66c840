show_environment();
show_finder();
show_winners();
show_table();
show_lines();
show_heatmap();
document.documentElement.dataset.ready = "true";
