"use strict";
(function () {
  const { findings, axis, shown, escaped, colour, narrow, points, valueAt, axisStyle, parameterAxis, countAxis, tooltip, zoom, chart, heat, bounds, marks } = certune;
  const up = findings.greater_is_better;
  const last = findings.n_rounds;
  const grid = (extra) => Object.assign({ left: narrow() ? 58 : 74, right: 18, top: 40, bottom: 48 }, extra);
  const legend = (names) => ({ top: 0, type: "scroll", textStyle: { color: colour("ink") }, inactiveColor: colour("rule"),
    pageTextStyle: { color: colour("ink") }, pageIconColor: colour("ink"), data: names });
  const rule = () => ({ show: true, lineStyle: { color: colour("rule"), opacity: 0.6 } });
  const parameterHeight = (extra) => parameterAxis(Object.assign({ nameGap: narrow() ? 40 : 52 }, extra));

  // Averages on logarithmic scales; zero, up to rounding, cannot be drawn there.
  chart("regret", () => {
    const curve = findings.curve;
    const row = (key) => curve.map((p) => [p.n_rounds, p[key] === null ? null : p[key] / p.n_rounds]).filter((p) => p[1] !== null && p[1] > 1e-12);
    const series = [["regret, exact", "regret", "line", "solid"], ["expected", "expected", "good", [8, 3, 2, 3]], ["bound", "bound", "optimum", "dashed"]]
      .map(([name, key, shade, type]) => ({ name, type: "line", data: row(key), symbolSize: 5, showSymbol: curve.length < 40,
        lineStyle: { color: colour(shade), width: 2.5, type }, itemStyle: { color: colour(shade) } }))
      .filter((item) => item.data.length);
    return {
      grid: grid(), legend: legend(series.map((item) => item.name)),
      tooltip: tooltip({ trigger: "axis", valueFormatter: (v) => shown(v, 4) }),
      xAxis: countAxis("rounds", 1, last, true),
      yAxis: axisStyle({ type: "log", name: narrow() ? "" : "regret per round", nameLocation: "middle", nameGap: 56, splitLine: rule() }),
      series,
    };
  });

  chart("played", () => {
    const rows = findings.rounds.map((r, i) => [i + 1, r.place, r.score, r.line]).filter((r) => r[3] === findings.line);
    const [low, high] = bounds(findings.rounds.map((r) => r.score));
    return {
      grid: grid({ top: 12 }),
      tooltip: tooltip({ formatter: (p) => { const r = findings.rounds[p.data[0] - 1];
        return `round ${p.data[0]}${r.name ? `, ${escaped(r.name)}` : ""}<br>${escaped(axis.name)} = ${shown(r.place, 6)}<br>${escaped(findings.score)} ${shown(r.score)}, best for it ${shown(r.best)}`; } }),
      xAxis: countAxis("rounds", 1, last, false), yAxis: parameterHeight(),
      series: [{
        type: "scatter", data: rows, symbolSize: last > 400 ? 5 : 8,
        itemStyle: { borderColor: colour("soft"), borderWidth: 0.6,
          color: (p) => heat(high > low ? (up ? p.data[2] - low : high - p.data[2]) / (high - low) : 1) },
        markArea: { silent: true, itemStyle: { color: colour("optimum"), opacity: 0.3 }, data: findings.region.map(([a, b]) => [{ yAxis: a }, { yAxis: b }]) },
      }],
    };
  });

  const described = (x) => [`${axis.name} = ${shown(x, 6)}`, `mean ${findings.score} ${shown(valueAt(findings.landscape, x), 6)}`];
  const hindsight = chart("landscape", () => {
    const known = findings.landscape.values.filter((v) => v !== null).concat(findings.earned);
    const low = Math.min(...known), high = Math.max(...known), margin = 0.08 * (high - low) || 0.05;
    return {
      grid: grid({ bottom: 84 }), legend: legend(["every fixed setting", "earned"]),
      tooltip: tooltip({ trigger: "axis", axisPointer: { type: "line", lineStyle: { color: colour("soft") } },
        formatter: (items) => described(items.length ? items[0].axisValue : axis.low).map(escaped).join("<br>") }),
      xAxis: parameterAxis(), dataZoom: zoom(),
      yAxis: axisStyle({ type: "value", min: low - margin, max: high + margin, name: narrow() ? "" : `mean ${findings.score}`, nameLocation: "middle", nameGap: 56, splitNumber: 4, splitLine: rule(),
        axisLabel: { color: colour("soft"), showMinLabel: false, showMaxLabel: false, formatter: (v) => shown(v, 4) } }),
      series: [
        { name: "every fixed setting", type: "line", data: points(findings.landscape), showSymbol: false, lineStyle: { width: 2.5, color: colour("line") }, itemStyle: { color: colour("line") },
          markArea: { silent: true, itemStyle: { color: colour("optimum"), opacity: 0.45, borderWidth: 2, borderColor: colour("optimum") }, data: findings.region.map(([a, b]) => [{ xAxis: a }, { xAxis: b }]) } },
        { name: "earned", type: "line", showSymbol: false, silent: true, data: [[axis.low, findings.earned], [axis.high, findings.earned]],
          lineStyle: { type: "dashed", width: 1.8, color: colour("default-1") }, itemStyle: { color: colour("default-1") } },
      ],
    };
  });
  if (hindsight) certune.walk(hindsight, findings.landscape, findings.region, described);

  chart("density", () => {
    const { rounds, places, values } = findings.density;
    const scale = axis.logarithmic ? Math.log : (x) => x, back = axis.logarithmic ? Math.exp : (x) => x;
    const edge = (k) => back(scale(axis.low) + ((scale(axis.high) - scale(axis.low)) * k) / places.length);
    const top = Math.max(10, ...values.flat()), faint = 1e-3;
    const share = (v) => Math.log(Math.max(v, faint) / faint) / Math.log(top / faint);
    const data = [];
    // A density reaches half way to its neighbours, on the logarithmic axis, and not beyond the data.
    const half = (i) => (rounds[i] === undefined ? null : rounds[i + 1] === undefined ? null : Math.sqrt(rounds[i] * rounds[i + 1]));
    const first = rounds[0], end = Math.max(rounds[rounds.length - 1], first + 1);
    rounds.forEach((n, i) => {
      const from = half(i - 1) ?? first, until = half(i) ?? end;
      values[i].forEach((v, k) => {
        const before = data[data.length - 1];
        // Neighbours of the same density are one rectangle.
        if (k && before[4] === v) before[3] = edge(k + 1); else data.push([from, until, edge(k), edge(k + 1), v, n]);
      });
    });
    return {
      grid: grid({ top: 12 }),
      tooltip: tooltip({ formatter: (p) => `after ${p.data[5]} round${p.data[5] === 1 ? "" : "s"}<br>${escaped(axis.name)} ${shown(p.data[2], 4)} to ${shown(p.data[3], 4)}<br>${shown(p.data[4], 3)} times an even density` }),
      xAxis: countAxis("rounds", first, end, true), yAxis: parameterHeight(),
      series: [{
        type: "custom", clip: true, progressive: 0, data, encode: { x: [0, 1], y: [2, 3] },
        renderItem: (params, api) => {
          const a = api.coord([api.value(0), api.value(3)]), b = api.coord([api.value(1), api.value(2)]);
          return { type: "rect", shape: { x: a[0], y: a[1], width: b[0] - a[0] + 0.5, height: b[1] - a[1] + 0.5 }, style: { fill: heat(share(api.value(4))) } };
        },
        markLine: marks(findings.region.slice(0, 6).flatMap(([a, b]) => [{ yAxis: a }, { yAxis: b }]),
          { color: colour("optimum"), width: 2, type: "dashed" }),
      }],
    };
  });

  chart("dispersion", () => {
    const { sizes, widths, counts } = findings.dispersion;
    // Every other width keeps the picture readable; the table has all.
    const chosen = widths.map((_, k) => k).filter((k) => k % 2 === 0);
    const names = chosen.map((k) => `width ${shown(widths[k], 2)}`);
    const series = chosen.map((k, at) => ({ name: names[at], type: "line", symbolSize: 5, data: sizes.map((n, i) => [n, counts[i][k]]).filter((p) => p[1] > 0),
      lineStyle: { width: 2, color: certune.shade(at) }, itemStyle: { color: certune.shade(at) } }));
    series.push({ name: "all functions", type: "line", showSymbol: false, data: sizes.map((n) => [n, n]), lineStyle: { type: "dashed", width: 1.5, color: colour("soft") }, itemStyle: { color: colour("soft") } });
    return {
      grid: grid(), legend: legend(series.map((item) => item.name)),
      tooltip: tooltip({ trigger: "axis", valueFormatter: (v) => shown(v) }),
      xAxis: countAxis("functions", Math.min(...sizes), Math.max(...sizes), true),
      yAxis: axisStyle({ type: "log", min: 1, name: narrow() ? "" : "functions that change", nameLocation: "middle", nameGap: 44, splitLine: rule() }),
      series,
    };
  });

  certune.start();
})();
