"use strict";
// What every page of certune shares: numbers, colours, themes, axes, tables that sort, files to save.
const certune = (function () {
  const findings = JSON.parse(document.getElementById("findings").textContent);
  const root = document.documentElement;
  const axis = findings.axis;
  const charts = [];

  // Numbers as people write them.
  function shown(value, digits = 5) {
    if (value === null || value === undefined) return "unknown";
    const rounded = Number(Number(value).toPrecision(digits));
    // As Python writes them: JavaScript has zeros down to 1e-6.
    return rounded && Math.abs(rounded) < 1e-4 ? rounded.toExponential() : String(rounded);
  }
  const escaped = (text) =>
    String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
  const colour = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const narrow = () => window.innerWidth < 640;

  // Themes: that of the system until the reader chooses.
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  function applyTheme() {
    root.dataset.theme = chosen || (prefersDark.matches ? "dark" : "light");
    const button = document.getElementById("theme");
    button.textContent = root.dataset.theme === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Change to ${root.dataset.theme === "dark" ? "light" : "dark"} colours`);
    draw();
  }
  prefersDark.addEventListener("change", applyTheme);

  // Functions of the parameter as points of a line: steps have two points for each piece.
  function points(curve) {
    const rows = [];
    if (!curve.steps) {
      curve.places.forEach((x, i) => rows.push([x, curve.values[i]]));
      return rows;
    }
    curve.values.forEach((value, i) => {
      rows.push([curve.places[i], value], [curve.places[i + 1], value]);
    });
    return rows;
  }
  function valueAt(curve, x) {
    const { places, values, steps } = curve;
    let low = 0, high = places.length - 2;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (places[middle] <= x) low = middle; else high = middle - 1;
    }
    if (steps) return values[low];
    const a = values[low], b = values[low + 1];
    if (a === null || b === null) return null;
    return a + ((b - a) * (x - places[low])) / (places[low + 1] - places[low] || 1);
  }

  // Lines across a picture. ECharts rounds where they are to two digits unless it is told not to.
  const marks = (data, lineStyle, label = { show: false }) => ({ symbol: "none", silent: true, precision: -1, label, lineStyle, data });

  function textStyle() { return { color: colour("ink"), fontFamily: getComputedStyle(document.body).fontFamily }; }
  function axisStyle(extra) {
    return Object.assign({
      axisLabel: { color: colour("soft"), hideOverlap: true, formatter: (v) => shown(v, 4) },
      axisLine: { lineStyle: { color: colour("rule") } }, axisTick: { lineStyle: { color: colour("rule") } },
      splitLine: { show: false }, nameTextStyle: { color: colour("ink"), fontSize: 13 },
    }, extra);
  }
  // Ticks from end to end of an axis: both ends, and simple numbers between that leave them room.
  function ticks(low, high, { logarithmic = false, whole = false, most = 6 } = {}) {
    const between = [], scale = logarithmic ? Math.log : (x) => x, width = scale(high) - scale(low);
    if (logarithmic) {
      const decades = Math.log10(high / low), powers = Math.max(1, Math.ceil(decades / most));
      const digits = decades <= 1 ? [1, 1.5, 2, 3, 4, 5, 7] : decades <= 2.5 ? [1, 2, 5] : [1];
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
        if (digits.length > 1 || power % powers === 0) digits.forEach((d) => between.push(Number(`${d}e${power}`)));
    } else {
      const rough = (high - low) / most, size = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((d) => d * size).find((s) => s >= rough && (!whole || s >= 1)) || 1;
      for (let k = Math.ceil(low / step); k * step <= high; k += 1) between.push(Number((k * step).toPrecision(12)));
    }
    const room = (x) => Math.min(scale(x) - scale(low), scale(high) - scale(x)) > 0.06 * width;
    return [low, ...between.filter((x) => room(x) && (!whole || Number.isInteger(x))), high];
  }
  // An axis of rounds or counts, which ends where the data do.
  function countAxis(name, low, high, logarithmic, extra) {
    const last = Math.max(high, low + 1), customValues = ticks(low, last, { logarithmic, whole: true, most: narrow() ? 4 : 8 });
    return axisStyle(Object.assign({
      type: logarithmic ? "log" : "value", name, nameLocation: "middle", nameGap: 28, min: low, max: last,
      axisTick: { customValues, lineStyle: { color: colour("rule") } },
      axisLabel: { customValues, color: colour("soft"), hideOverlap: true, formatter: (v) => shown(v, 12) },
    }, extra));
  }
  function parameterAxis(extra) {
    return axisStyle(Object.assign({
      type: axis.logarithmic ? "log" : "value", name: axis.name, nameLocation: "middle", nameGap: 28,
      min: axis.low, max: axis.high,
    }, extra));
  }
  function tooltip(extra) {
    return Object.assign({
      confine: true, backgroundColor: colour("raised"), borderColor: colour("rule"), textStyle: textStyle(),
    }, extra);
  }
  const zoom = () => [{ type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl" }, {
    type: "slider", show: !root.classList.contains("paper"), filterMode: "none", height: 22, bottom: 6, textStyle: { color: colour("soft") },
    labelFormatter: (v) => shown(v, 4), showDataShadow: false, brushSelect: false,
  }];

  function chart(id, make) {
    const box = document.getElementById(id);
    if (!box) return null;
    const made = { box, make, view: null };
    charts.push(made);
    return made;
  }
  function draw() {
    for (const item of charts) {
      if (item.view) item.view.dispose();
      item.view = echarts.init(item.box, null, { renderer: "canvas" });
      item.view.setOption(Object.assign({
        animation: false, textStyle: textStyle(), backgroundColor: "transparent",
        aria: { enabled: false },
      }, item.make()));
      if (item.after) item.after(item.view);
    }
  }

  // Cividis, which colour-blind readers can tell apart.
  const ramp = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
  function heat(share) {
    const at = Math.max(0, Math.min(1, share)) * (ramp.length - 1), i = Math.min(ramp.length - 2, Math.floor(at)), t = at - i;
    const [a, b] = [ramp[i], ramp[i + 1]].map((hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16)));
    return `rgb(${a.map((v, k) => Math.round(v + t * (b[k] - v))).join(",")})`;
  }
  function bounds(values) { const known = values.filter((v) => v !== null); return [Math.min(...known), Math.max(...known)]; }
  function lines(names, series, xAxis, label) {
    return {
      grid: { left: narrow() ? 56 : 70, right: 18, top: 40, bottom: 48 },
      legend: { top: 0, textStyle: { color: colour("ink") }, data: names },
      tooltip: tooltip({ trigger: "axis", valueFormatter: (v) => shown(v) }),
      xAxis, yAxis: axisStyle({ type: "value", scale: true, name: narrow() ? "" : label, nameLocation: "middle", nameGap: 52, splitNumber: 4,
        splitLine: { show: true, lineStyle: { color: colour("rule"), opacity: 0.6 } } }),
      series,
    };
  }
  // Names above a chart: on several lines if these are few, otherwise to be leafed through.
  function legend(box, names, right = 18) {
    const pen = document.createElement("canvas").getContext("2d"), wide = box.clientWidth - right;
    pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    let n = 1, used = 0;
    for (const name of names) {
      const width = 20 + 5 + pen.measureText(name.name ?? name).width + 12;
      if (used && used + width > wide) { n += 1; used = 0; }
      used += width;
    }
    const few = n <= 3;
    return { height: few ? 24 * n : 28, option: {
      top: 0, left: 0, right, type: few ? "plain" : "scroll", itemWidth: 20, itemGap: 12, textStyle: { color: colour("ink"), fontSize: 12 }, inactiveColor: colour("rule"),
      pageTextStyle: { color: colour("ink") }, pageIconColor: colour("ink"), pageIconInactiveColor: colour("rule"), data: names } };
  }
  const palette = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A6D3B", "#7A5CA8", "#A3A500", "#B0413E"];
  const shade = (k) => (k < 0 ? colour("soft") : palette[k % palette.length]);

  // Keyboard: left and right walk over the pieces of a curve, and what stands there is read out.
  function walk(drawn, curve, region, described) {
    const { places, steps } = curve;
    const stops = steps
      ? places.slice(0, -1).map((a, i) => axis.logarithmic ? Math.sqrt(a * places[i + 1]) : (a + places[i + 1]) / 2)
      : places.filter((_, i) => i % 6 === 0);
    let at = stops.findIndex((x) => region.some(([a, b]) => a <= x && x <= b));
    if (at < 0) at = Math.floor(stops.length / 2);
    drawn.box.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      at = Math.max(0, Math.min(stops.length - 1, at + step));
      const place = drawn.view.convertToPixel({ seriesIndex: 0 }, [stops[at], valueAt(curve, stops[at])]);
      drawn.view.dispatchAction({ type: "showTip", x: place[0], y: place[1] });
      document.getElementById("spoken").textContent = described(stops[at]).join(", ");
    });
  }

  // Tables sort by the column whose title is pressed.
  for (const button of document.querySelectorAll("th button")) {
    button.addEventListener("click", () => {
      const cell = button.closest("th"), table = cell.closest("table"), body = table.tBodies[0];
      const column = Array.from(cell.parentNode.children).indexOf(cell);
      const down = cell.getAttribute("aria-sort") === "ascending";
      for (const other of cell.parentNode.children) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => { const text = row.children[column].textContent; const n = Number(text); return text.trim() === "" || Number.isNaN(n) ? text : n; };
      const rows = Array.from(body.rows).sort((a, b) => { const x = key(a), y = key(b); return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1); });
      rows.forEach((row) => body.appendChild(row));
    });
  }
  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  document.getElementById("theme").addEventListener("click", () => { chosen = root.dataset.theme === "dark" ? "light" : "dark"; applyTheme(); });
  let pending = null;
  window.addEventListener("resize", () => { clearTimeout(pending); pending = setTimeout(draw, 120); });
  // The width of paper is not told before it is too late: pictures are drawn for a fixed one, in light.
  window.addEventListener("beforeprint", () => {
    const before = chosen;
    chosen = "light"; root.classList.add("paper"); applyTheme(); chosen = before;
  });
  window.addEventListener("afterprint", () => { root.classList.remove("paper"); applyTheme(); });
  const written = (id) => document.getElementById(id).textContent;
  document.getElementById("save-json").addEventListener("click", () => save("findings.json", "application/json", written("findings")));
  const table = document.getElementById("save-csv");
  table.addEventListener("click", () => save(table.dataset.file, "text/csv", JSON.parse(written("table"))));
  return { findings, charts, axis, shown, escaped, colour, narrow, points, valueAt, axisStyle, parameterAxis, countAxis, ticks, tooltip, zoom, chart, draw, heat, bounds, lines, legend, marks, shade, walk, start: applyTheme };
})();
