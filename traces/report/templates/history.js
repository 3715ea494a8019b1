// Says what an operation was while it is pointed at or focused, and moves between operations with
// the arrow keys: left and right in time, up and down between processes. All text comes from the
// page's own titles and goes into text nodes only. Without it nothing is lost but the ease.
"use strict";
(() => {
  const said = document.getElementById("said");
  const bars = [...document.querySelectorAll("g.bar")];
  if (!said || !bars.length) return;
  const empty = said.textContent;
  const tell = (bar) => { said.textContent = bar.querySelector("title").textContent; };
  const at = (bar, name) => Number(bar.dataset[name]);
  const focus = (bar) => {
    bars.forEach((each) => each.setAttribute("tabindex", "-1"));
    bar.setAttribute("tabindex", "0");
    bar.focus();
  };
  const nearest = (bar, candidates) => candidates.reduce((best, each) =>
    !best || Math.abs(at(each, "x") - at(bar, "x")) < Math.abs(at(best, "x") - at(bar, "x"))
      ? each : best, null);
  const step = (bar, key) => {
    const here = bars.indexOf(bar);
    if (key === "ArrowRight") return bars[here + 1];
    if (key === "ArrowLeft") return bars[here - 1];
    if (key === "Home") return bars[0];
    if (key === "End") return bars[bars.length - 1];
    const strip = bars.filter((each) => each.ownerSVGElement === bar.ownerSVGElement);
    const rows = [...new Set(strip.map((each) => at(each, "y")))].sort((a, b) => a - b);
    const row = rows[rows.indexOf(at(bar, "y")) + (key === "ArrowDown" ? 1 : -1)];
    return nearest(bar, strip.filter((each) => at(each, "y") === row));
  };
  for (const bar of bars) {
    bar.addEventListener("mouseenter", () => tell(bar));
    bar.addEventListener("focus", () => tell(bar));
    bar.addEventListener("mouseleave", () => { said.textContent = empty; });
    bar.addEventListener("keydown", (event) => {
      const keys = ["ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Home", "End"];
      if (!keys.includes(event.key)) return;
      event.preventDefault();
      const next = step(bar, event.key);
      if (next) focus(next);
    });
  }
})();
