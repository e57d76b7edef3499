// Explanations on hover, sorting, downloads. Nothing is loaded: everything is in this page.
const tip = document.createElement("div");
tip.className = "tip";
tip.setAttribute("role", "tooltip");
document.body.append(tip);

function tipLines(target) {
  const mark = target.closest(".chart .role-mark [aria-label]");
  if (mark) return mark.getAttribute("aria-label").split("\n");
  const term = target.closest("a.term");
  return term && [document.querySelector(term.hash).nextElementSibling.textContent];
}

function hide() {
  tip.classList.remove("visible");
}

function show({ target, clientX, clientY }) {
  const lines = target.closest ? tipLines(target) : null;
  if (!lines) return hide();
  tip.replaceChildren(...lines.map((line) => Object.assign(document.createElement("p"), { textContent: line })));
  tip.classList.add("visible");
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(clientX + 14, document.documentElement.clientWidth - width - 4);
  const below = clientY + 14;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${below + height > window.innerHeight ? clientY - height - 10 : below}px`;
}

document.addEventListener("pointermove", show);
document.addEventListener("pointerdown", show);
document.addEventListener("focusin", ({ target }) => {
  const { left, bottom } = target.getBoundingClientRect();
  show({ target, clientX: left, clientY: bottom });
});
document.addEventListener("focusout", hide);
document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
document.addEventListener("scroll", hide, { passive: true });

// A table becomes sortable when it comes into view: a page has dozens.
const awaited = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting) {
      awaited.unobserve(target);
      sortable(target);
    }
  }
}, { rootMargin: "300px" });

function sortable(table) {
  new SortableTable(table, {
    autoWidth: false, info: false, layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    order: [], paging: false, searching: false,
  });
}

document.querySelectorAll("table.sortable").forEach((table) => awaited.observe(table));

const files = JSON.parse(document.getElementById("files").textContent);

async function download(name) {
  const packed = Uint8Array.from(atob(files[name]), (letter) => letter.charCodeAt(0));
  const text = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await new Response(text, { headers: { "Content-Type": "text/csv" } }).blob());
  link.download = `${name}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

document.querySelectorAll("button[data-file]").forEach((button) => {
  button.hidden = !(button.dataset.file in files);
  button.addEventListener("click", () => download(button.dataset.file));
});

// A link to the numbers of a picture opens what they are folded into.
function unfold() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  let folded = target && target.closest("details:not([open])");
  if (!folded) return;
  for (; folded; folded = folded.parentElement.closest("details:not([open])")) folded.open = true;
  target.scrollIntoView();
}

window.addEventListener("hashchange", unfold);
unfold();
