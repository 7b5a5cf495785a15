/* The panel of sizes: every shape on the page that names its axes (data-axes) follows the fields. */
"use strict";

(() => {
  const panel = document.querySelector(".tsf-sizes");
  if (panel === null) return;

  const toy = JSON.parse(panel.querySelector("script").textContent);
  const fields = [...panel.querySelectorAll("input")];
  const said = panel.querySelector(".tsf-said");
  const reset = panel.querySelector(".tsf-reset");
  const exact = (sizes) => Object.fromEntries(Object.entries(sizes).map(([name, size]) => [name, BigInt(size)]));
  const original = exact(toy.sizes);
  const home = Formula.withAxes(original, toy.axes);

  const shapeOf = (axes, known) => axes.split(", ").map((axis) => Formula.evaluate(axis, known));
  const shapeText = (shape) => `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;

  /* Writes what a place has become behind what it is in the run; nothing where it is the same. */
  function show(place, then, now) {
    place.querySelector(":scope > .tsf-new")?.remove();
    if (now === null || now === then) return;
    const shown = document.createElement("span");
    shown.className = "tsf-new";
    shown.textContent = ` ⇒ ${now}`;
    place.append(shown);
  }

  function refresh(root, known) {
    for (const place of root.querySelectorAll("[data-axes]")) {
      if (place.closest("[data-toy]")) continue;
      const text = (sizes) => shapeText(shapeOf(place.dataset.axes, sizes));
      show(place, text(home), known && text(known));
    }
    for (const place of root.querySelectorAll("[data-size]")) {
      const text = (sizes) => String(sizes[place.dataset.size]);
      show(place, text(home), known && text(known));
    }
  }

  /* The sizes in the fields with the axes that follow from them. Throws a FormulaError that says why they cannot be. */
  function chosen() {
    const sizes = { ...original };
    for (const field of fields) {
      if (!/^[1-9]\d{0,8}$/.test(field.value)) throw new Formula.FormulaError(`${field.name} 要写成正整数`);
      sizes[field.name] = BigInt(field.value);
    }
    for (const [formula, message] of toy.conditions)
      if (!Formula.evaluate(formula, sizes)) throw new Formula.FormulaError(message);
    return Formula.withAxes(sizes, toy.axes);
  }

  let known = null; // the sizes and axes at hand; null where they are the run's own, or impossible

  function update() {
    const changed = fields.filter((field) => field.value !== field.defaultValue);
    let message = "";
    try {
      known = changed.length ? chosen() : null;
    } catch (error) {
      if (!(error instanceof Formula.FormulaError)) throw error;
      known = null;
      message = error.message;
    }
    for (const field of fields) {
      field.parentElement.classList.toggle("tsf-moved", changed.includes(field));
    }
    panel.classList.toggle("tsf-impossible", message !== "");
    const moves = changed.map((field) => `${field.name} ${field.defaultValue} ⇒ ${field.value}`);
    said.textContent = message ? `这组尺寸不成立：${message}` : moves.join("，") || "页面上写了轴名的形状会跟着变。";
    reset.disabled = changed.length === 0;
    refresh(document, known);
  }

  panel.addEventListener("input", update);
  panel.addEventListener("click", (event) => {
    const by = event.target.closest("[data-by]")?.dataset.by;
    if (by) {
      const field = event.target.parentElement.querySelector("input");
      field.value = String(Math.max(1, (Number.parseInt(field.value, 10) || 0) + Number(by)));
      update();
    } else if (event.target === reset) {
      for (const field of fields) field.value = field.defaultValue;
      fields[0].focus();
      update();
    }
  });
  // The stepper shows shapes of its own.
  document.addEventListener("tsf:shown", (event) => refresh(event.target, known));

  for (const field of fields) field.value = field.defaultValue; // which a browser may remember from the last visit
  panel.hidden = false;
  update();
})();
