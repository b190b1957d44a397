
"use strict";
const form = document.getElementById("filter");
const rows = [...document.querySelectorAll("#grid tr[data-verdicts]")];
const failures = [...document.querySelectorAll("#failures details[data-verdicts]")];
const texts = new Map([...rows, ...failures].map((each) => [each, `${each.dataset.text} ${each.textContent}`.toLowerCase()]));

function show(parent, children) {
  parent.hidden = children.every((each) => each.hidden);
}

function filter() {
  const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  const chosen = new Set([...form.querySelectorAll("input:checked")].map((each) => each.value));
  for (const [each, text] of texts) {
    const verdicts = each.dataset.verdicts.split(" ");
    each.hidden = !(verdicts.some((name) => chosen.has(name)) && words.every((word) => text.includes(word)));
  }
  for (const suite of document.querySelectorAll("#grid tbody")) show(suite, [...suite.querySelectorAll("[data-verdicts]")]);
  for (const group of document.querySelectorAll("#failures article")) show(group, [...group.querySelectorAll("details")]);
  const count = (list) => `${list.filter((each) => !each.hidden).length} of ${list.length}`;
  document.getElementById("matches").textContent = `${count(rows)} clauses, ${count(failures)} failures shown`;
}

function openTarget() {
  const target = document.getElementById(location.hash.slice(1));
  if (target?.matches("details")) {
    if (target.hidden) { form.reset(); filter(); }
    target.open = true;
    target.scrollIntoView();
    target.querySelector("summary").focus();
  }
}

form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", openTarget);
form.hidden = false;
filter();
openTarget();
