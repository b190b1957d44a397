
"use strict";
// An item has data-kind (what it is counted as), data-tags (one of which must be chosen, separated by commas; without
// any it is always) and data-text (found besides what it shows). A part with data-group is hidden when its items are.
function filtered(form) {
  const sections = form.dataset.sections.split(" ").map((id) => document.getElementById(id)).filter(Boolean);
  const all = (selector) => sections.flatMap((each) => [...each.querySelectorAll(selector)]);
  const items = all("[data-kind]").map((element) => ({
    element,
    kind: element.dataset.kind,
    tags: element.dataset.tags?.split(","),
    text: `${element.dataset.text ?? ""} ${element.textContent}`.toLowerCase(),
  }));
  const groups = all("[data-group]").map((element) => [element, [...element.querySelectorAll("[data-kind]")]]);
  const boxes = [...form.querySelectorAll("input[type=checkbox]")];
  function filter() {
    const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = new Set(boxes.filter((each) => each.checked).map((each) => each.value));
    const shown = new Map();
    for (const { element, kind, tags, text } of items) {
      const show = (!tags || tags.some((tag) => chosen.has(tag))) && words.every((word) => text.includes(word));
      element.hidden = !show;
      const [some, total] = shown.get(kind) ?? [0, 0];
      shown.set(kind, [some + show, total + 1]);
    }
    for (const [element, inside] of groups) element.hidden = inside.every((each) => each.hidden);
    const counts = [...shown].map(([kind, [some, total]]) => `${some} of ${total} ${kind}`);
    form.querySelector(".matches").textContent = counts.length ? `${counts.join(", ")} shown` : "nothing to search";
  }
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
  return { form, filter, has: (element) => items.some((each) => each.element === element) };
}

function sortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const order = new Intl.Collator("en", { numeric: true });
  const key = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.ariaSort !== "ascending";
      for (const each of heads) each.removeAttribute("aria-sort");
      head.ariaSort = up ? "ascending" : "descending";
      const rows = [...body.rows].sort((one, two) => order.compare(key(one, column), key(two, column)));
      body.append(...(up ? rows : rows.reverse()));
    });
  });
}

const filters = [...document.querySelectorAll("form.filter")].map(filtered);
document.querySelectorAll("table[data-sortable]").forEach(sortable);

function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (!target?.matches("details")) return;
  for (const { form, filter, has } of filters) {
    if (target.hidden && has(target)) { form.reset(); filter(); }
  }
  target.open = true;
  target.scrollIntoView();
  target.querySelector("summary").focus();
}
addEventListener("hashchange", openTarget);
openTarget();
