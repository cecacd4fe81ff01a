"use strict";
(function () {
  const { findings, axis, shown, escaped, colour, narrow, points, valueAt, axisStyle, parameterAxis, countAxis, tooltip, zoom, chart, draw, heat, bounds, lines, legend, marks, shade } = certune;
  const up = findings.greater_is_better;

  // The landscape, with instances that the reader asks for.
  const visible = new Set();
  function extent() {
    const values = findings.landscape.values.filter((v) => v !== null);
    for (const i of visible) values.push(...findings.instances[i].curve.values.filter((v) => v !== null));
    let low = Math.min(...values), high = Math.max(...values);
    const reach = (high - low) || 0.05;
    for (const value of Object.values(findings.defaults))
      if (value >= low - reach && value <= high + reach) { low = Math.min(low, value); high = Math.max(high, value); }
    const margin = 0.08 * (high - low) || 0.05;
    return [low - margin, high + margin];
  }
  function landscape() {
    const [low, high] = extent();
    const areas = findings.region.map(([a, b]) => [{ xAxis: a }, { xAxis: b }]);
    const robust = findings.n_free === 1 ? [{ xAxis: robustPlace(), name: "robust" }] : [];
    const series = [{
      name: `exact ${findings.measure}`, type: "line", data: points(findings.landscape), symbol: "none",
      lineStyle: { width: 2.5, color: colour("line") }, itemStyle: { color: colour("line") }, z: 5,
      markArea: { silent: true, itemStyle: { color: colour("optimum"), opacity: 0.45, borderWidth: 2, borderColor: colour("optimum") }, data: areas },
      markLine: marks(robust, { color: colour("good"), type: "solid", width: 2 }, { formatter: "robust", color: colour("good"), position: "end" }),
    }];
    if (findings.n_free === 1) series.push({
      icon: "roundRect", name: "plateau", type: "line", data: [], itemStyle: { color: colour("good") },
      markArea: { silent: true, itemStyle: { color: colour("good"), opacity: 0.13 }, data: [[{ xAxis: findings.plateau[0] }, { xAxis: findings.plateau[1] }]] },
    });
    series.push({ icon: "roundRect", name: "optimal set", type: "line", data: [], itemStyle: { color: colour("optimum") } });
    // Defaults that are far away would be names without a line, and many lines cannot be told apart: the tables have all.
    const near = Object.entries(findings.defaults).filter(([, value]) => low <= value && value <= high);
    near.sort(([, a], [, b]) => (up ? b - a : a - b)).slice(0, 4).forEach(([name, value], i) => series.push({
      name: `${name} ${shown(value, 4)}`, type: "line", symbol: "none", silent: true,
      data: [[axis.low, value], [axis.high, value]],
      lineStyle: { type: ["dashed", "dotted", [8, 3, 2, 3]][i % 3], width: 1.8, color: colour(`default-${(i % 4) + 1}`) },
      itemStyle: { color: colour(`default-${(i % 4) + 1}`) },
    }));
    for (const i of visible) series.push({
      name: findings.instances[i].name, type: "line", symbol: "none", data: points(findings.instances[i].curve),
      lineStyle: { width: 1, color: colour("soft") }, itemStyle: { color: colour("soft") }, z: 3,
    });
    const names = legend(landscapeChart.box, series.slice(0, 40).map(({ name, icon }) => ({ name, icon })));
    return {
      grid: { left: narrow() ? 56 : 70, right: 18, top: names.height + 28, bottom: 84 },
      legend: names.option,
      tooltip: tooltip({ trigger: "axis", axisPointer: { type: "line", lineStyle: { color: colour("soft") } },
        formatter: (items) => described(items.length ? items[0].axisValue : axis.low).map(escaped).join("<br>") }),
      xAxis: parameterAxis(), dataZoom: zoom(),
      yAxis: axisStyle({ type: "value", min: low, max: high, name: narrow() ? "" : findings.measure, nameLocation: "middle", nameGap: 52,
        splitLine: { show: true, lineStyle: { color: colour("rule"), opacity: 0.6 } }, splitNumber: 4,
        axisLabel: { color: colour("soft"), showMinLabel: false, showMaxLabel: false, formatter: (v) => shown(v, 4) } }),
      series,
    };
  }
  function robustPlace() {
    const [a, b] = findings.plateau;
    return axis.logarithmic ? Math.sqrt(a * b) : (a + b) / 2;
  }
  function described(x) {
    const rows = [`${axis.name} = ${shown(x, 6)}`, `${findings.measure} ${shown(valueAt(findings.landscape, x), 6)}`];
    for (const i of Array.from(visible).slice(0, 6))
      rows.push(`${findings.instances[i].name}: ${shown(valueAt(findings.instances[i].curve, x), 5)}`);
    return rows;
  }
  const landscapeChart = chart("landscape", landscape);

  if (landscapeChart) certune.walk(landscapeChart, findings.landscape, findings.region, described);

  // Instances as a strip of colours, sortable; a click shows the function in the landscape.
  const stripped = findings.instances.map((item, i) => i).filter((i) => findings.instances[i].curve);
  const orders = {
    given: (i) => i,
    tuned: (i) => (up ? -1 : 1) * findings.instances[i].tuned,
    missed: (i) => -Math.abs((findings.instances[i].attainable ?? findings.instances[i].tuned) - findings.instances[i].tuned),
    name: (i) => findings.instances[i].name,
  };
  function ordered() {
    const key = orders[document.getElementById("order")?.value || "given"];
    return stripped.slice().sort((a, b) => { const x = key(a), y = key(b); return x < y ? -1 : x > y ? 1 : a - b; });
  }
  function strip() {
    const order = ordered(), named = order.length <= 40;
    const [low, high] = bounds(stripped.flatMap((i) => findings.instances[i].curve.values));
    const data = [], longest = Math.max(...order.map((i) => findings.instances[i].name.length));
    order.forEach((i, row) => {
      const { places, values, steps } = findings.instances[i].curve;
      const n = steps ? values.length : values.length - 1;
      for (let k = 0; k < n; k++) {
        const value = steps ? values[k] : values[k] === null || values[k + 1] === null ? null : (values[k] + values[k + 1]) / 2;
        data.push([places[k], places[k + 1], row, value, i]);
      }
    });
    return {
      grid: { left: named ? (narrow() ? 92 : Math.max(70, Math.min(150, 24 + 7 * longest))) : narrow() ? 56 : 70, right: 18, top: 8, bottom: 84 },
      tooltip: tooltip({ formatter: (item) => item.seriesType !== "custom" ? "" :
        `${escaped(findings.instances[item.data[4]].name)}<br>${escaped(axis.name)} ${shown(item.data[0])} to ${shown(item.data[1])}<br>${escaped(findings.score)} ${shown(item.data[3])}` }),
      xAxis: parameterAxis(), dataZoom: zoom(),
      yAxis: axisStyle({ type: "category", inverse: true, data: order.map((i) => findings.instances[i].name), axisTick: { show: false },
        name: named ? "" : `${order.length} instances`, nameLocation: "middle", nameGap: 20,
        axisLabel: { show: named, color: colour("ink"), fontSize: 11, width: narrow() ? 80 : 138, overflow: "truncate", interval: 0 } }),
      series: [{
        type: "custom", progressive: 0, data, encode: { x: [0, 1], y: 2 }, clip: true,
        renderItem: (params, api) => {
          const start = api.coord([api.value(0), api.value(2)]), stop = api.coord([api.value(1), api.value(2)]);
          const height = Math.max(1, api.size([0, 1])[1] * (order.length > 60 ? 1 : 0.86));
          const value = api.value(3);
          // Half a pixel more leaves no seams between pieces.
          return { type: "rect", shape: { x: start[0], y: start[1] - height / 2, width: Math.max(0.5, stop[0] - start[0] + 0.5), height },
            style: { fill: Number.isNaN(value) || value === null ? colour("rule") : heat(high > low ? ((up ? value - low : high - value) / (high - low)) : 1) } };
        },
        markLine: marks(findings.region.slice(0, 6).map(([a, b]) => ({ xAxis: axis.logarithmic ? Math.sqrt(a * b) : (a + b) / 2 })),
          { color: colour("optimum"), width: 2, type: "solid" }),
      }],
    };
  }
  const stripChart = chart("strip", strip);
  if (stripChart) {
    stripChart.box.style.height = `${Math.min(760, Math.max(200, 100 + stripped.length * (stripped.length <= 40 ? 19 : 5)))}px`;
    stripChart.after = (view) => view.on("click", (item) => { if (item.data) toggle(item.data[4]); });
    document.getElementById("order").addEventListener("change", draw);
    document.getElementById("all").addEventListener("click", () => {
      const every = visible.size < stripped.length;
      visible.clear();
      if (every) stripped.forEach((i) => visible.add(i));
      draw();
    });
  }
  function toggle(i) { if (visible.has(i)) visible.delete(i); else visible.add(i); draw(); }

  chart("held-out", () => {
    const rows = findings.held_out.comparisons;
    return {
      grid: { left: narrow() ? 84 : 120, right: 24, top: 10, bottom: 48 },
      tooltip: tooltip({ trigger: "item", formatter: (p) => { const r = rows[p.dataIndex]; return `against ${escaped(r.name)}: ${shown(r.difference, 3)} [${shown(r.low, 3)}, ${shown(r.high, 3)}]`; } }),
      xAxis: axisStyle({ type: "value", name: "advantage of the tuned setting", nameLocation: "middle", nameGap: 30, splitNumber: narrow() ? 2 : 6,
        splitLine: { show: true, lineStyle: { color: colour("rule") } } }),
      yAxis: axisStyle({ type: "category", data: rows.map((r) => r.name), axisLabel: { color: colour("ink") } }),
      series: [{
        type: "custom", progressive: 0, data: rows.map((r, i) => [r.low, r.high, i, r.difference]), encode: { x: [0, 1, 3], y: 2 },
        renderItem: (params, api) => {
          const y = api.coord([0, api.value(2)])[1], a = api.coord([api.value(0), 0])[0], b = api.coord([api.value(1), 0])[0], m = api.coord([api.value(3), 0])[0];
          return { type: "group", children: [
            { type: "line", shape: { x1: a, y1: y, x2: b, y2: y }, style: { stroke: colour("line"), lineWidth: 3 } },
            { type: "circle", shape: { cx: m, cy: y, r: 6 }, style: { fill: colour("line") } }] };
        },
        markLine: marks([{ xAxis: 0 }], { color: colour("ink"), type: "dashed" }),
      }],
    };
  });

  chart("learning", () => {
    const { sizes, tuning, held_out } = findings.learning;
    const line = (name, values, shade, symbol) => ({ name, type: "line", symbol, symbolSize: 8, data: sizes.map((n, i) => [n, values[i]]),
      lineStyle: { color: colour(shade), width: 2.5 }, itemStyle: { color: colour(shade) } });
    return lines(["on the tuning instances", "on others"],
      [line("on the tuning instances", tuning, "optimum", "rect"), line("on others", held_out, "line", "circle")],
      countAxis("tuning instances", Math.min(...sizes), Math.max(...sizes), true), findings.score);
  });
  chart("history", () => {
    const line = (name, k, shade) => ({ name, type: "line", step: "end", showSymbol: false, data: findings.history.map((row) => [row[0], row[k]]),
      lineStyle: { color: colour(shade), width: 2.5 }, itemStyle: { color: colour(shade) } });
    return lines(["best", "bound"], [line("best", 1, "line"), line("bound", 2, "optimum")],
      axisStyle({ type: "value", name: "seconds", nameLocation: "middle", nameGap: 28, min: 0 }), findings.score);
  });
  chart("cells", () => {
    const { names, outlines, lower, upper } = findings.cells;
    const [low, high] = bounds(lower.concat(upper));
    const along = (outline, axis) => bounds(outline.filter((_, i) => i % 2 === axis));
    const frames = outlines.map((outline) => [...along(outline, 0), ...along(outline, 1)]);
    const [x0, x1] = bounds(frames.flatMap((f) => f.slice(0, 2))), [y0, y1] = bounds(frames.flatMap((f) => f.slice(2)));
    const best = up ? Math.max(...lower) : Math.min(...upper);
    const rows = frames.map((f, i) => [...f, lower[i], upper[i], i]);
    const top = (row) => row[4] === row[5] && row[4] === best;
    const layer = (chosen, frame) => ({
      type: "custom", progressive: 0, clip: true, silent: Boolean(frame), data: rows.filter(chosen), encode: { x: [0, 1], y: [2, 3] },
      renderItem: (params, api) => {
        const outline = outlines[api.value(6)], points = [];
        for (let k = 0; k < outline.length; k += 2) points.push(api.coord([outline[k], outline[k + 1]]));
        const value = (api.value(4) + api.value(5)) / 2, decided = api.value(4) === api.value(5);
        const fill = heat(high > low ? (up ? value - low : high - value) / (high - low) : 1);
        return { type: "polygon", shape: { points },
          style: { fill, opacity: decided ? 1 : 0.55, stroke: frame || (decided ? fill : null), lineWidth: frame ? 6 : 2, lineJoin: "round" } };
      },
    });
    return {
      grid: { left: narrow() ? 56 : 70, right: 18, top: 10, bottom: 84 },
      tooltip: tooltip({ formatter: (p) => p.seriesType !== "custom" ? "" : `${escaped(names[0])} ${shown(p.data[0], 4)} to ${shown(p.data[1], 4)}<br>${escaped(names[1])} ${shown(p.data[2], 4)} to ${shown(p.data[3], 4)}<br>${escaped(findings.score)} ${p.data[4] === p.data[5] ? shown(p.data[4]) : `${shown(p.data[4])} to ${shown(p.data[5])}`}` }),
      xAxis: axisStyle({ type: "value", name: names[0], nameLocation: "middle", nameGap: 28, min: x0, max: x1 }),
      yAxis: axisStyle({ type: "value", name: names[1], nameLocation: "middle", nameGap: 44, min: y0, max: y1 }),
      dataZoom: zoom(),
      // The frame of the optimum is drawn round each of its cells; the cells above it hide what is inside.
      series: [layer((row) => !top(row)), layer(top, colour("optimum")), layer(top)],
    };
  });
  chart("importance", () => ({
    grid: { left: narrow() ? 100 : 140, right: 50, top: 6, bottom: 40 },
    tooltip: tooltip({ formatter: (p) => `${escaped(p.name)}: ${shown(100 * p.value, 3)}% of the variance` }),
    xAxis: axisStyle({ type: "value", max: 1, axisLabel: { color: colour("soft"), formatter: (v) => `${Math.round(100 * v)}%` } }),
    yAxis: axisStyle({ type: "category", inverse: true, data: findings.importance.map((r) => r.name), axisLabel: { color: colour("ink") } }),
    series: [{ type: "bar", data: findings.importance.map((r) => r.share), itemStyle: { color: colour("line") }, barMaxWidth: 26,
      label: { show: true, position: "right", color: colour("ink"), formatter: (p) => `${shown(100 * p.value, 3)}%` } }],
  }));


  // What the algorithm does at the optimum: a tree, a path of coefficients or a graph.
  const portraits = {
    dendrogram: ({ joints, leaves, cut }) => {
      // Where a few merges are far above all others, their logarithms leave something to be seen.
      const heights = joints.map((j) => j[4]).sort((a, b) => a - b), n = leaves.length;
      const middle = heights[heights.length >> 1], floor = 10 ** Math.floor(Math.log10((heights.find((h) => h > 0) || 1) / 1.5));
      const skewed = middle > 0 && heights[heights.length - 1] > 20 * middle;
      const raised = (h) => skewed ? Math.log10(Math.max(h, floor) / floor) : h;
      const lowered = (v) => skewed ? floor * 10 ** v : v;
      const top = Math.max(raised(heights[heights.length - 1]), cut === undefined ? 0 : raised(cut)) || 1;
      const line = cut === undefined ? undefined : marks([{ yAxis: raised(cut) }], { color: colour("optimum"), width: 2, type: "dashed" });
      return {
        grid: { left: narrow() ? 56 : 70, right: 18, top: 12, bottom: 30 },
        tooltip: tooltip({ formatter: (p) => p.seriesIndex === 0 ? `merge at ${shown(lowered(p.data[4]))}` : `point ${p.data[0] + 1} from the left: cluster ${p.data[2] + 1}${p.data[3] < 0 ? "" : `, truly ${p.data[3] + 1}`}` }),
        xAxis: axisStyle({ type: "value", min: -1, max: n, show: false }),
        yAxis: axisStyle({ type: "value", min: -0.06 * top, max: 1.02 * top, name: narrow() ? "" : skewed ? "linkage value, logarithmic" : "linkage value", nameLocation: "middle", nameGap: 52,
          axisLabel: { color: colour("soft"), showMinLabel: false, showMaxLabel: false, formatter: (v) => v < 0 || (skewed && v === 0) ? "" : shown(lowered(v), skewed ? 2 : 3) } }),
        series: [
          { type: "custom", progressive: 0, data: joints.map(([a, b, x, y, h, k]) => [a, b, raised(x), raised(y), raised(h), k]), encode: { x: [0, 1], y: [2, 3, 4] }, clip: true,
            renderItem: (params, api) => {
              const at = (x, y) => api.coord([x, y]);
              const points = [at(api.value(0), api.value(2)), at(api.value(0), api.value(4)), at(api.value(1), api.value(4)), at(api.value(1), api.value(3))];
              return { type: "polyline", shape: { points }, style: { stroke: shade(api.value(5)), fill: "none", lineWidth: 1.5 } };
            } },
          { type: "custom", progressive: 0, markLine: line, data: leaves.map((leaf, i) => [i, -0.03 * top, ...leaf]), encode: { x: 0, y: 1 }, clip: true,
            renderItem: (params, api) => {
              const [cx, cy] = api.coord([api.value(0), api.value(1)]);
              return { type: "circle", shape: { cx, cy, r: Math.max(1.5, Math.min(4.5, 0.35 * api.size([1, 0])[0])) }, style: { fill: shade(api.value(3) < 0 ? api.value(2) : api.value(3)) } };
            } },
        ],
      };
    },
    path: ({ places, names, values }) => ({
      grid: { left: narrow() ? 56 : 70, right: 18, top: legend(portraitChart.box, names).height + 16, bottom: 48 },
      legend: legend(portraitChart.box, names).option,
      tooltip: tooltip({ trigger: "axis", valueFormatter: (v) => shown(v, 4) }),
      xAxis: axisStyle({ type: "log", name: axis.name, nameLocation: "middle", nameGap: 28, min: axis.low, max: axis.high }),
      yAxis: axisStyle({ type: "value", name: narrow() ? "" : "coefficient", nameLocation: "middle", nameGap: 52, splitNumber: 4,
        splitLine: { show: true, lineStyle: { color: colour("rule"), opacity: 0.6 } } }),
      series: names.map((name, k) => ({ name, type: "line", showSymbol: false, data: places.map((x, i) => [x, values[k][i]]),
        lineStyle: { color: shade(k), width: 2 }, itemStyle: { color: shade(k) },
        markLine: k ? undefined : marks([{ xAxis: findings.best_params[axis.name] }], { color: colour("optimum"), width: 2, type: "solid" }) })),
    }),
    graph: ({ nodes, edges, classes }) => {
      const ends = (k) => { const v = nodes.map((r) => r[k]), m = 0.06 * (Math.max(...v) - Math.min(...v)) || 1; return { min: Math.min(...v) - m, max: Math.max(...v) + m }; };
      return {
        grid: { left: 12, right: 12, top: legend(portraitChart.box, classes).height + 12, bottom: 12 },
        legend: legend(portraitChart.box, classes).option,
        tooltip: tooltip({ formatter: (p) => p.seriesIndex === 0 ? "" : `${escaped(classes[p.value[2]])}, ${p.value[3] ? "label given" : p.value[4] === null ? "predicted" : p.value[4] ? "predicted, right" : "predicted, wrong"}` }),
        xAxis: axisStyle({ type: "value", show: false, ...ends(0) }), yAxis: axisStyle({ type: "value", show: false, ...ends(1) }),
        series: [
          { type: "custom", progressive: 0, silent: true, data: edges.map(([a, b, w]) => [nodes[a][0], nodes[a][1], nodes[b][0], nodes[b][1], w]), encode: { x: [0, 2], y: [1, 3] },
            renderItem: (params, api) => {
              const a = api.coord([api.value(0), api.value(1)]), b = api.coord([api.value(2), api.value(3)]);
              return { type: "line", shape: { x1: a[0], y1: a[1], x2: b[0], y2: b[1] }, style: { stroke: colour("soft"), opacity: 0.15 + 0.6 * api.value(4), lineWidth: 1 } };
            } },
          ...classes.map((name, k) => ({ name, type: "scatter", itemStyle: { color: shade(k) }, data: nodes.filter((r) => r[2] === k).map((r) => ({ value: r.slice(), symbolSize: r[3] ? 15 : 8,
            symbol: r[4] === false ? "path://M2,0 L5,3 L8,0 L10,2 L7,5 L10,8 L8,10 L5,7 L2,10 L0,8 L3,5 L0,2 Z" : "circle" })) })),
        ],
      };
    },
  };
  const portraitChart = chart("portrait", () => portraits[findings.portrait.kind](findings.portrait));

  certune.start();
})();
