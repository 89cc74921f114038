// Makes the still pictures live: Vega draws them again, and this adds what the pointer reads off and zooming.
// A drag selects rows in every chart of a group, a double click (or Escape) shows all again; arrow keys move the pointer.
"use strict";
(() => {
  const ROOMY = 520; // pixels: below this the names stand above a chart, not beside its lines
  const TIP = "Drag sideways across a chart to zoom; those over the same axis follow. A double click shows everything again.";
  const FEWEST = 8; // pixels that a drag must cover to be more than a click
  const groups = new Map();

  const percent = (value) => `${Number((100 * value).toPrecision(3))}\u202f%`;
  const number = (value) => {
    const size = Math.abs(value);
    if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(2);
    return size >= 1000 ? whole(value) : String(Number(value.toPrecision(3)));
  };
  const whole = (value) => Math.round(value).toLocaleString("en");
  const FORMATS = { number, percent };
  // Dates as the table has them: no time zone but its own. The time of day is told where there is one.
  const date = (time) => {
    const text = new Date(time).toISOString();
    return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
  };

  const made = (parent, tag, look) => {
    const element = document.createElement(tag);
    element.className = look;
    parent.append(element);
    return element;
  };

  class Chart {
    constructor(figure) {
      const about = JSON.parse(figure.querySelector("script").textContent);
      this.figure = figure;
      figure.chart = this;
      this.spec = about.spec;
      this.readout = about.readout;
      this.plot = figure.querySelector(".plot");
      this.whole = about.spec.signals.find((signal) => signal.name === "span").value;
      this.group = about.group;
      groups.set(this.group, [...(groups.get(this.group) || []), this]);
      this.still = this.plot.firstElementChild;
      this.canvas = made(this.plot, "div", "canvas");
      this.rule = made(this.plot, "div", "rule");
      this.brush = made(this.plot, "div", "brush");
      this.note = made(this.plot, "div", "note");
      this.all = made(figure, "button", "all");
      this.all.type = "button";
      this.all.textContent = "Show all";
      for (const part of [this.rule, this.brush, this.note, this.all]) part.hidden = true;
    }

    async start() {
      const width = this.plot.clientWidth;
      this.figure.classList.toggle("narrow", width < ROOMY);
      const set = (spec) => { spec.width = width; spec.signals.find((signal) => signal.name === "roomy").value = width >= ROOMY; return spec; };
      const options = { mode: "vega", renderer: "svg", actions: false, defaultStyle: false, tooltip: false, patch: set };
      this.view = (await vegaEmbed(this.canvas, this.spec, options)).view;
      this.still.remove();
      this.rows = this.view.data("table");
      this.dots = this.spec.data.some((table) => table.name === "dots") ? this.view.data("dots") : [];
      this.plot.classList.add("live");
      this.plot.tabIndex = 0;
      new ResizeObserver(() => this.resize()).observe(this.plot);
      this.plot.addEventListener("pointermove", (event) => this.move(event));
      this.plot.addEventListener("pointerleave", () => this.leave());
      this.plot.addEventListener("pointerdown", (event) => this.press(event));
      this.plot.addEventListener("pointerup", (event) => this.release(event));
      this.plot.addEventListener("pointercancel", () => this.leave());
      this.plot.addEventListener("dblclick", () => this.zoom(this.whole));
      this.plot.addEventListener("blur", () => this.leave());
      this.plot.addEventListener("keydown", (event) => this.key(event));
      this.all.addEventListener("click", () => this.zoom(this.whole));
    }

    // Other rows for the same picture, on a live page; who has zoomed stays where he is.
    feed(rows, span, reach) {
      const all = this.view.signal("span") === this.whole;
      this.whole = span;
      this.view.data("table", rows).signal("reach", reach);
      if (all) this.view.signal("span", span);
      this.view.run();
      this.rows = this.view.data("table");
    }

    resize() {
      const width = this.plot.clientWidth;
      if (width <= 0 || width === this.view.width()) return;
      this.figure.classList.toggle("narrow", width < ROOMY);
      this.view.width(width).signal("roomy", width >= ROOMY).runAsync();
    }

    get left() { return this.view.origin()[0] + this.view.padding().left; }
    get top() { return this.view.origin()[1] + this.view.padding().top; }
    get wide() { return this.view.signal("width"); }

    // Where a pointer is inside the axes, in pixels; the svg may be drawn smaller than it is, as on paper.
    inside(event) {
      const box = this.plot.getBoundingClientRect();
      return Math.min(this.wide, Math.max(0, event.clientX - box.left - this.left));
    }

    // The first point at or behind a value ends the stretch of rows that the value lies in; elsewhere the nearest counts.
    nearest(value) {
      let low = this.readout.stretch ? 1 : 0, high = this.rows.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.rows[middle].x < value) low = middle + 1; else high = middle;
      }
      const before = this.rows[low - 1];
      if (this.readout.bars) return value < this.rows[low].x && low > 0 ? low - 1 : low;
      return !this.readout.stretch && before && value - before.x < this.rows[low].x - value ? low - 1 : low;
    }

    move(event) {
      const place = this.inside(event);
      if (this.from !== undefined) this.place(this.brush, Math.min(place, this.from), Math.abs(place - this.from));
      this.point(this.nearest(+this.view.scale("x").invert(place)), place);
    }

    point(k, place) {
      if (!this.rows.length) return;
      this.at = k;
      const x = this.rows[k].x;
      for (const chart of groups.get(this.group)) {
        const there = chart === this && place !== undefined && this.readout.stretch ? place : chart.view.scale("x")(x);
        chart.place(chart.rule, there, 0, there < 0 || there > chart.wide);
        chart.note.hidden = true;
      }
      this.tell(k, place === undefined ? this.view.scale("x")(x) : place);
    }

    tell(k, place) {
      const row = this.rows[k], first = this.readout.stretch ? this.rows[k - 1].x : -Infinity;
      this.note.replaceChildren();
      for (const head of this.heads(row, k)) made(this.note, "div", "head").textContent = head;
      for (const field of this.readout.fields) {
        if (row[field.field] === null || !Number.isFinite(row[field.field])) continue;
        const line = made(this.note, "div", "");
        const name = made(line, "span", "");
        name.textContent = field.name;
        name.style.color = `var(--${field.colour})`;
        made(line, "span", "").textContent = FORMATS[field.format](row[field.field]);
      }
      for (const dot of this.dots) {
        if (dot.x > first && dot.x <= row.x) made(this.note, "div", "remark").textContent = dot.remark;
      }
      this.note.hidden = false;
      const right = this.left + place + 14;
      const fits = right + this.note.offsetWidth <= this.plot.clientWidth;
      this.note.style.left = `${fits ? right : Math.max(0, this.left + place - 14 - this.note.offsetWidth)}px`;
      this.note.style.top = `${this.top + 4}px`;
    }

    // What a point is called: rows and, where the axis has them, dates.
    heads(row, k) {
      const dated = this.readout.dated;
      if (this.readout.stretch) {
        const before = this.rows[k - 1];
        return [`rows ${whole(before.row + 1)} to ${whole(row.row)}`, ...(dated ? [`${date(before.x)} to ${date(row.x)}`] : [])];
      }
      if (row.row !== undefined) return [`row ${whole(row.row)}`, ...(dated ? [date(row.x)] : [])];
      if (this.readout.bars) return [`${number(row.x)} to ${number(row.x + this.readout.bars)}`];
      return [`${this.readout.head} ${FORMATS[this.readout.format || "number"](row.x)}`];
    }

    place(part, from, width, hidden = false) {
      part.hidden = hidden;
      part.style.left = `${this.left + from}px`;
      part.style.top = `${this.top}px`;
      part.style.height = `${this.view.signal("height")}px`;
      if (part === this.brush) part.style.width = `${width}px`;
    }

    press(event) {
      if (event.button !== 0) return;
      this.from = this.inside(event);
      if (event.pointerType === "mouse") this.plot.setPointerCapture(event.pointerId);
    }

    release(event) {
      const ends = [this.from, this.inside(event)].sort((a, b) => a - b);
      const dragged = this.from !== undefined && ends[1] - ends[0] >= FEWEST;
      this.from = undefined;
      this.brush.hidden = true;
      if (dragged) this.zoom(ends.map((end) => +this.view.scale("x").invert(end)));
    }

    leave() {
      this.from = undefined;
      for (const chart of groups.get(this.group)) chart.rule.hidden = chart.note.hidden = chart.brush.hidden = true;
    }

    zoom(span) {
      for (const chart of groups.get(this.group)) {
        chart.view.signal("span", span).runAsync();
        chart.all.hidden = span === this.whole;
        chart.rule.hidden = chart.note.hidden = true;
      }
    }

    key(event) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") this.zoom(this.whole);
      if (!step) return;
      event.preventDefault();
      const least = this.readout.stretch ? 1 : 0;
      this.point(Math.min(this.rows.length - 1, Math.max(least, (this.at ?? least - 1) + step)));
    }
  }

  const charts = [...document.querySelectorAll("figure.chart")].map((figure) => new Chart(figure));
  const first = charts.find((chart) => groups.get(chart.group).length > 1);
  if (first) {
    const tip = document.createElement("p");
    tip.className = "tip";
    tip.textContent = TIP;
    first.figure.before(tip);
  }
  Promise.all(charts.map((chart) => chart.start())).then(() => { document.documentElement.dataset.drawn = charts.length; });
})();
