/* The theme's search is a dialog without a name. Without scripts there is no search either. */
document.querySelector(".md-search")?.setAttribute("aria-label", "搜索")
