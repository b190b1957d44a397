
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
  // The address says what is chosen, so that it can be sent: ?filter=words&filter-not=PASS,UNSUPPORTED
  const [words, without] = [form.id, `${form.id}-not`];
  function recall() {
    const address = new URLSearchParams(location.search);
    form.elements.text.value = address.get(words) ?? "";
    const left = new Set((address.get(without) ?? "").split(","));
    for (const each of boxes) each.checked = !left.has(each.value);
    filter();
  }
  function remember() {
    const address = new URLSearchParams(location.search);
    const said = { [words]: form.elements.text.value, [without]: boxes.filter((each) => !each.checked).map((each) => each.value).join(",") };
    for (const [name, value] of Object.entries(said)) value ? address.set(name, value) : address.delete(name);
    history.replaceState(null, "", `${address.size ? `?${address}` : location.pathname}${location.hash}`);
  }
  form.addEventListener("input", () => { filter(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  recall();
  const reset = () => { form.reset(); filter(); remember(); };
  return { reset, has: (element) => items.some((each) => each.element === element) };
}

// What a square of a grid says by its title is shown below the page when it is chosen, or reached by the arrow keys. Of
// all squares of a grid one is reached by Tab.
const why = document.getElementById("why");
function explained(table) {
  const marks = [...table.querySelectorAll("tbody :is(a, button)[title]")];
  for (const each of marks.slice(1)) each.tabIndex = -1;
  const show = (mark) => { why.textContent = mark.title; why.hidden = false; };
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  function beside(mark, [down, right]) {
    const cell = mark.closest("th, td");
    for (let row = cell.parentElement.rowIndex + down, column = cell.cellIndex + right; ; row += down, column += right) {
      const other = table.rows[row]?.cells[column];
      if (!other) break;
      const found = other.closest("tr").hidden ? null : other.querySelector("[title]");
      if (found) return found;
    }
    // A column that ends: the next row that says anything, so that no square stands alone.
    for (let row = cell.parentElement.rowIndex + down; down && table.rows[row]; row += down) {
      const found = table.rows[row].hidden ? null : table.rows[row].querySelector("td [title], th [title]");
      if (found) return found;
    }
    return null;
  }
  table.addEventListener("focusin", (event) => {
    const mark = event.target.closest("[title]");
    if (!mark) return;
    for (const each of marks) each.tabIndex = each === mark ? 0 : -1;
    show(mark);
  });
  table.addEventListener("click", (event) => { const mark = event.target.closest("[title]"); if (mark) show(mark); });
  table.addEventListener("focusout", () => { why.hidden = true; });
  table.addEventListener("keydown", (event) => {
    if (event.key === "Escape") why.hidden = true;
    const mark = event.target.closest("[title]");
    if (!mark || !(event.key in steps)) return;
    event.preventDefault();
    beside(mark, steps[event.key])?.focus();
  });
}

function copying(button) {
  const text = document.getElementById(button.dataset.copies);
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
    } catch {
      getSelection().selectAllChildren(text);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
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

document.querySelectorAll("table.explained").forEach(explained);
document.querySelectorAll("button.copy").forEach(copying);

function openTarget() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.matches("details, tr")) return;
  for (const { reset, has } of filters) {
    if (target.hidden && has(target)) reset();
  }
  for (let each = target.closest("details"); each; each = each.parentElement.closest("details")) each.open = true;
  target.scrollIntoView();
  target.querySelector("summary, button").focus();
}
addEventListener("hashchange", openTarget);
openTarget();
