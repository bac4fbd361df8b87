// Draws the figures in the colors and sizes of the page. `data-height` tells how tall the page is,
// with or without its charts, `data-ready` how many of them are drawn.
"use strict";
const figures = JSON.parse(document.getElementById("figures").textContent);
const root = document.documentElement;
const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();
const config = { displayModeBar: false, responsive: true, showTips: false };

function themed(layout) {
  const axis = { gridcolor: color("--grid"), linecolor: color("--line"), zerolinecolor: color("--line"), tickcolor: color("--line") };
  return {
    ...layout,
    xaxis: { showgrid: false, ...axis, ...layout.xaxis },
    yaxis: { fixedrange: true, ...axis, automargin: true, ...layout.yaxis },
    font: { color: color("--soft"), size: 11, family: getComputedStyle(document.body).fontFamily },
    hoverlabel: { bgcolor: color("--panel"), bordercolor: color("--line"), font: { color: color("--ink"), size: 11 }, namelength: 40 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 40, r: 8, t: 8, b: 24 }, showlegend: false, dragmode: "zoom",
  };
}

function draw(place) {
  const figure = figures[Number(place.dataset.figure)];
  return Plotly.react(place, figure.data, themed(figure.layout), config);
}

const places = [...document.querySelectorAll(".chart")];
const drawn = new Set();
const seen = new IntersectionObserver((entries) => {
  const now = entries.filter((entry) => entry.isIntersecting && !drawn.has(entry.target));
  now.forEach((entry) => drawn.add(entry.target));
  Promise.all(now.map((entry) => draw(entry.target))).then(() => { root.dataset.ready = String(drawn.size); });
}, { rootMargin: "800px" });
root.dataset.height = String(Math.ceil(document.body.getBoundingClientRect().height));
if (globalThis.Plotly) places.forEach((place) => seen.observe(place));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(draw));
addEventListener("beforeprint", () => places.filter((place) => !drawn.has(place)).forEach(draw));
