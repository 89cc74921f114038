// Feeds the live page: figures, charts, last answers and the list of models, as the server sends them (/events).
"use strict";
(() => {
  const SOME = 100; // answers that a share is taken of, at the least
  const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
  const chosen = new URLSearchParams(location.search);
  const lead = document.querySelector(".lead");
  const charts = () => [...document.querySelectorAll("figure.chart")].map((figure) => figure.chart);

  const number = (value) => {
    if (value === null || value === undefined) return "–";
    if (typeof value !== "number") return String(value);
    const size = Math.abs(value);
    if (size >= 1e7 || (size > 0 && size < 1e-4)) return value.toExponential(2);
    return size >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(4)));
  };
  const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)}\u202f%`);

  const made = (parent, tag, text, look) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (look) element.className = look;
    parent.append(element);
    return element;
  };

  // A table of texts; columns from the second on are numbers.
  const table = (slot, head, rows) => {
    const wide = document.createElement("div");
    wide.className = "wide";
    const whole = made(wide, "table");
    const line = made(made(whole, "thead"), "tr");
    head.forEach((name, k) => made(line, "th", name, k ? "number" : ""));
    const body = made(whole, "tbody");
    for (const row of rows) {
      const cells = made(body, "tr");
      row.forEach((cell, k) => {
        const place = made(cells, "td", undefined, k ? "number" : "");
        if (cell instanceof Node) place.append(cell); else made(place, "bdi", cell);
      });
    }
    slot.replaceChildren(wide);
  };

  const named = (one) => (one.key ? `${one.model}, ${one.key}` : one.model);

  const figures = (picture) => {
    const now = picture.now, wrong = now.target !== "number";
    const error = (value) => (wrong ? percent(value) : number(value));
    const what = wrong ? "share of wrong answers" : "mean error";
    lead.textContent = now.recent.rows
      ? `${named(picture)}: ${what} ${error(now.recent.error)} over the last ${number(now.recent.rows)} answers` +
        (now.recent.coverage === null ? "." : `, and ${percent(now.recent.coverage)} of the truths inside their intervals.`)
      : `${named(picture)}: ${number(now.asks)} asked, no prediction answered yet.`;
    const rows = [
      [what, error(now.recent.error), error(now.ever.error)],
      ...(wrong ? [] : [["truths inside their intervals", percent(now.recent.coverage), percent(now.ever.coverage)]]),
      ["effective step size", number(now.step_size), ""],
      ["pending tickets", number(now.pending), ""],
      ["rows asked, answered, dropped", "", [now.asks, now.tells, now.drops].map(number).join(", ")],
    ];
    table(document.getElementById("live-figures"), ["", "now", "since the first row"], rows);
  };

  const top = (values) => {
    const highest = Math.max(0, ...values);
    if (!highest) return 1;
    const unit = 10 ** Math.floor(Math.log10(highest));
    return unit * ROUND.find((one) => unit * one >= 1.02 * highest || one === 10);
  };

  // Shares of single answers are 0 or 1: each is the mean over so many answers up to there, or all that there are.
  const shares = (points, place) => points.map((_, last) => {
    let rows = 0, inside = 0;
    for (let k = last; k >= 0 && rows < SOME; k--) {
      const count = points[k][0] - (k ? points[k - 1][0] : 0);
      if (points[k][place] === null) continue;
      rows += count;
      inside += count * points[k][place];
    }
    return rows ? inside / rows : null;
  });

  const course = (points, wrong) => {
    const [error, coverage, step] = charts();
    const span = [0, Math.max(1, points.length ? points[points.length - 1][0] : 1)];
    const feed = (chart, values, reach) => {
      const line = points.map((point, k) => ({ x: point[0], y0: values[k] }));
      chart.feed(line, span, [0, reach === undefined ? top(line.map((row) => row.y0 || 0)) : reach]);
    };
    feed(error, wrong ? shares(points, 1) : points.map((point) => point[1]));
    feed(coverage, shares(points, 2), 1);
    feed(step, points.map((point) => point[3]));
    coverage.figure.hidden = wrong;
    for (const chart of [error, coverage, step]) chart.figure.dataset.rows = chart.rows.length;
  };

  const last = (rows, wrong) => {
    const ends = (row) => (row.lower === null || row.upper === null ? "–" : `${number(row.lower)} to ${number(row.upper)}`);
    const head = wrong ? ["id", "prediction", "truth"] : ["id", "prediction", "interval", "truth", "error"];
    const cells = rows.map((row) =>
      wrong
        ? [row.id, number(row.prediction), number(row.y)]
        : [row.id, number(row.prediction), ends(row), number(row.y), number(row.error)],
    );
    if (rows.length) table(document.getElementById("live-last"), head, cells);
  };

  const series = (picture) => {
    const rows = picture.series.map((one) => {
      const link = document.createElement("a");
      link.href = `?${new URLSearchParams({ model: one.model, key: one.key })}`;
      link.textContent = named(one);
      if (one.model === picture.model && one.key === picture.key) link.setAttribute("aria-current", "page");
      return [link, one.target];
    });
    if (rows.length) table(document.getElementById("live-series"), ["model", "predicts"], rows);
  };

  const show = (picture) => {
    series(picture);
    if (!picture.now) {
      lead.textContent = "No row has come yet. POST one to /ask.";
      return;
    }
    const wrong = picture.now.target !== "number";
    figures(picture);
    last(picture.now.last, wrong);
    if (document.documentElement.dataset.drawn) course(picture.now.points, wrong);
    document.documentElement.dataset.event = picture.event;
  };

  let latest = null;
  const source = new EventSource(`/events?${chosen}`);
  source.onmessage = (message) => { latest = JSON.parse(message.data); show(latest); };
  source.onerror = () => { lead.textContent = "The server does not answer; this page goes on as soon as it does."; };
  source.addEventListener("stopped", () => { lead.textContent = "The server has stopped; this page goes on when it is back."; });
  // Charts that were not drawn when the first picture came.
  const drawn = new MutationObserver(() => { if (latest) show(latest); });
  drawn.observe(document.documentElement, { attributeFilter: ["data-drawn"] });
})();
