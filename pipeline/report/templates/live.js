// Turns the static pictures into live ones with tooltips, one by one as they come into view.
// Expressions are interpreted (ast), so the page needs no eval; nothing is ever loaded.
const options = {
  actions: false,
  ast: true,
  defaultStyle: false,
  renderer: "svg",
  tooltip: { disableDefaultStyle: true },
};

function enliven(chart) {
  const spec = JSON.parse(chart.nextElementSibling.textContent);
  const stage = document.createElement("div");
  vegaEmbed(stage, spec, options)
    .then(() => chart.replaceChildren(stage))
    .catch((error) => console.warn("the static picture stays:", error));
}

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      watcher.unobserve(entry.target);
      enliven(entry.target);
    }
  },
  { rootMargin: "400px" },
);
document.querySelectorAll(".chart").forEach((chart) => watcher.observe(chart));

window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((folded) => { folded.open = true; });
});
