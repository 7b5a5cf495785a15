/* Steps through a recorded call: the table of its steps is the data, with the matrices in the JSON beside it. */
"use strict";

(() => {
  const LINES_ABOVE = 2;

  /* A new element with attributes and children. */
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  /* Numbers as texts whose decimal points stand below each other in a right-aligned column. */
  function aligned(numbers) {
    const texts = numbers.map(String);
    const tail = (text) => (/^-?\d+(\.\d+)?$/.test(text) ? (text.split(".")[1] ?? "").length : 0);
    const most = Math.max(...texts.map(tail));
    const pad = (text) => {
      if (!/^-?\d/.test(text) || text.includes("e")) return text;
      const point = most && !text.includes(".") ? "\u2008" : "";
      return text + point + "\u2007".repeat(most - tail(text));
    };
    return texts.map(pad);
  }

  /* The first matrix of a tensor, as the site's other matrices look; `old` marks the cells that differ from it. */
  function table(matrix, title, axes, old) {
    const flat = matrix.shape.length < 2;
    const [height, width] = flat ? [1, matrix.shape[0] ?? 1] : matrix.shape;
    const all = matrix.rows.flat();
    const loud = Math.max(...all.map((value) => Math.abs(Number(value)) || 0).filter(Number.isFinite)) || 1;
    const columns = matrix.rows[0].map((_, column) => aligned(matrix.rows.map((row) => row[column])));
    const more = width > matrix.rows[0].length;
    const names = axes.slice(-matrix.shape.length).map((axis, k) => `${flat ? "列" : "行列"[k]} ${axis}`);
    const caption = make("caption", {}, make("code", {}, title), ` ${matrix.shape.length ? names.join("，") : ""}`);
    const head = make("tr", {}, make("td"));
    matrix.rows[0].forEach((_, column) => head.append(make("th", { scope: "col" }, String(column))));
    if (more) head.append(make("th", {}, "…"));
    const body = make("tbody");
    matrix.rows.forEach((row, at) => {
      const line = make("tr", {}, make("th", { scope: "row" }, flat ? "" : String(at)));
      row.forEach((value, column) => {
        const cell = make("td", {}, columns[column][at]);
        cell.style.setProperty("--h", Math.min(1, Math.abs(Number(value)) / loud || 0).toFixed(2));
        if (old && old.rows[at][column] !== value) cell.className = "tsf-changed";
        line.append(cell);
      });
      if (more) line.append(make("td", {}, "…"));
      body.append(line);
    });
    if (height > matrix.rows.length) body.append(make("tr", {}, make("th", {}, "…")));
    return make("table", { class: "tsf-matrix" }, caption, make("thead", {}, head), body);
  }

  const sameShape = (a, b) => String(a.shape) === String(b.shape);

  /* How many cells of the slice changed; null where they cannot be compared. */
  function changes(now, was) {
    if (!was || !sameShape(now, was)) return null;
    const [after, before] = [now.rows.flat(), was.rows.flat()];
    return { count: after.filter((value, k) => value !== before[k]).length, of: after.length };
  }

  const figure = (words, content) => make("figure", {}, make("figcaption", {}, words), content);
  const fold = (summary, content) => make("details", { class: "tsf-chip" }, make("summary", {}, summary), content);

  /* One variable: its line from the table of steps, and its values. */
  function variable(entry, matrices, folded) {
    const line = entry.cloneNode(true);
    line.querySelectorAll(".tsf-new").forEach((other) => other.remove());
    const now = matrices[entry.dataset.m];
    if (!now) return line;
    const name = line.querySelector("code").textContent;
    const shape = line.querySelector(".tsf-shape");
    const listed = (text) => (text ? text.split(", ") : []);
    const axes = listed(shape.dataset.axes);
    const text = shape.textContent;
    const rank = text === "()" ? 0 : text.replace(/,?\)$/, "").split(",").length;
    const leading = rank - now.shape.length;
    const title = leading > 0 ? `${name}[${Array(leading).fill(0).join(", ")}]` : name;
    const was = matrices[entry.dataset.was];
    const change = changes(now, was);
    const values = make("div", { class: "tsf-wide tsf-values", tabindex: "0", role: "group", "aria-label": `${name} 的值` });
    if (was && (!change || change.count)) {
      const old = table(was, title, listed(entry.dataset.wasAxes));
      const partly = change && change.count < change.of;
      const words = partly ? `之后（变了的 ${change.count} 个数加了框）` : "之后";
      values.append(figure(words, table(now, title, axes, partly ? was : null)));
      if (partly) values.prepend(figure("之前", old));
      else values.append(fold("之前", old));
    } else {
      values.append(table(now, title, axes));
      if (was) line.append(make("span", { class: "tsf-quiet" }, " 数值不变"));
    }
    if (!folded) return make("div", {}, line, values);
    return fold(line, values);
  }

  /* What axes mean is said where the page says it first; the table of steps leaves it out. */
  function explain(root) {
    for (const symbol of root.querySelectorAll(".tsf-ax")) {
      const known = document.querySelector(`.tsf-ax[data-symbol="${CSS.escape(symbol.textContent)}"][data-word]`);
      if (known) symbol.dataset.word = known.dataset.word;
    }
  }

  class Player {
    constructor(stepper) {
      this.rows = [...stepper.querySelectorAll("tbody tr")];
      this.names = this.rows.map((row) => row.id);
      this.matrices = JSON.parse(stepper.querySelector("script").textContent);
      this.at = 0;
      this.build(stepper.dataset.title);
      this.collect(stepper.dataset.prefix);
      for (const row of this.rows) row.removeAttribute("id"); // a step's link leads to the player
      stepper.prepend(this.root);
      this.show(0);
    }

    build(title) {
      const button = (text, said, by) => {
        const made = make("button", { type: "button", "aria-label": said }, text);
        made.addEventListener("click", () => this.go(this.at + by));
        return made;
      };
      this.back = button("‹", "上一步", -1);
      this.forth = button("›", "下一步", 1);
      this.slider = make("input", { type: "range", min: 1, max: this.rows.length, value: 1, "aria-label": "第几步" });
      this.slider.addEventListener("input", () => this.go(this.slider.valueAsNumber - 1));
      this.link = make("a", { title: "这一步的链接" });
      this.note = make("span", { class: "tsf-note", "aria-live": "polite" });
      this.code = make("pre", { tabindex: "0", "aria-label": "源码" });
      this.panes = make("div", { class: "tsf-panes" });
      this.root = make(
        "div",
        { class: "tsf-player", role: "group", "aria-label": `逐步运行 ${title}` },
        make("div", { class: "tsf-where" }, "逐步运行 ", make("code", {}, title), this.note),
        make("div", { class: "tsf-bar" }, this.back, this.slider, this.forth, this.link),
        make("div", { class: "highlight tsf-code" }, this.code),
        this.panes,
      );
      this.root.addEventListener("keydown", (event) => this.key(event));
    }

    /* The lines of the source that stands above, and copies of them for the player's own window. */
    collect(prefix) {
      this.lines = new Map();
      for (const line of document.querySelectorAll(`.tsf-line[id^="${prefix}"]`)) {
        const number = line.id.slice(prefix.length);
        if (!/^\d+$/.test(number)) continue;
        const copy = line.cloneNode(true);
        copy.removeAttribute("id");
        copy.querySelector(".tsf-section")?.remove();
        this.code.append(copy);
        this.lines.set(Number(number), [line, copy]);
      }
    }

    key(event) {
      const own = event.target === this.slider || event.target.closest(".tsf-wide") || event.target === this.code;
      const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.rows.length - 1 }[event.key];
      if (own || to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      this.go(to);
    }

    /* Go to a step because the reader asked: the address follows. */
    go(to) {
      if (to < 0 || to >= this.rows.length) return;
      this.show(to);
      history.replaceState(history.state, "", `#${this.names[to]}`);
    }

    show(at) {
      this.at = at;
      const row = this.rows[at];
      const [code, ...groups] = [...row.cells].slice(2);
      const count = `${at + 1} / ${this.rows.length}`;
      this.slider.value = String(at + 1);
      this.slider.setAttribute("aria-valuetext", `${count}：${code.textContent}`);
      this.back.setAttribute("aria-disabled", String(at === 0));
      this.forth.setAttribute("aria-disabled", String(at === this.rows.length - 1));
      this.link.textContent = count;
      this.link.href = `#${this.names[at]}`;
      this.note.textContent = code.querySelector(".tsf-note")?.textContent ?? (at ? "" : "进入函数");
      this.light(Number(row.dataset.line), Number(row.dataset.end));
      const words = ["读", "途中", at ? "写" : "传进来"];
      this.panes.replaceChildren(...groups.map((cell, k) => this.pane(words[k], cell, k)).filter(Boolean));
      explain(this.panes);
      this.panes.dispatchEvent(new CustomEvent("tsf:shown", { bubbles: true }));
    }

    pane(words, cell, kind) {
      const entries = [...cell.children].map((entry) => variable(entry, this.matrices, kind < 2));
      if (!entries.length) return null;
      return make("section", { class: kind === 2 ? "tsf-writes" : "tsf-reads" }, make("h5", {}, words), make("div", {}, ...entries));
    }

    light(first, last) {
      for (const [number, places] of this.lines) {
        for (const place of places) {
          const lit = number >= first && number <= last;
          place.classList.toggle("tsf-now", lit);
          if (lit) place.setAttribute("aria-current", "step");
          else place.removeAttribute("aria-current");
        }
      }
      const copy = this.lines.get(first)?.[1];
      if (copy) this.code.scrollTop = copy.offsetTop - LINES_ABOVE * copy.offsetHeight;
    }
  }

  const players = [...document.querySelectorAll(".tsf-stepper")].map((stepper) => new Player(stepper));

  /* A link to a step, `#s=17` or `#s=2.17`, leads to the player that stands at it. */
  function follow() {
    const name = decodeURIComponent(location.hash.slice(1));
    for (const player of players) {
      const at = player.names.indexOf(name);
      if (at < 0) continue;
      player.root.parentElement.querySelector(".tsf-steps").open = false;
      player.show(at);
      player.root.scrollIntoView({ block: "start" });
    }
  }

  window.addEventListener("hashchange", follow);
  if (players.length) window.addEventListener("load", follow);
})();
