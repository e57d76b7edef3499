// Tells the numbers behind a mark of a picture while the pointer is on it or after a tap. Nothing is ever loaded.
const tip = document.createElement("table");
tip.className = "tip";
tip.setAttribute("role", "tooltip");
document.body.append(tip);

function told(mark) {
  const { titles, rows } = JSON.parse(mark.closest(".chart").nextElementSibling.textContent);
  const row = rows[Number(mark.dataset.row)];
  return titles.filter(([column]) => String(row[column] ?? "").trim()).map(([column, title]) => {
    const line = document.createElement("tr");
    for (const words of [title, row[column]]) {
      line.insertCell().textContent = words;
    }
    return line;
  });
}

function show(event) {
  const mark = event.target.closest(".chart [data-row]");
  tip.classList.toggle("visible", mark !== null);
  if (mark === null) return;
  tip.replaceChildren(...told(mark));
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - width - 4);
  const below = event.clientY + 14;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${below + height > window.innerHeight ? event.clientY - height - 10 : below}px`;
}

for (const kind of ["pointermove", "pointerdown"]) {
  document.addEventListener(kind, show);
}
document.addEventListener("scroll", () => tip.classList.remove("visible"), { passive: true });

window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((folded) => { folded.open = true; });
});
