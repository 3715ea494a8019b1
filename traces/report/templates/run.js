// Shows the step that is pointed out: what it took, sent and changed, and what each node is after
// it. Arrow keys go from step to step, Home and End to the first and the last, n to the next of
// which something is said. All text goes into text nodes only. Without it, the drawing and each
// step in words are there.
"use strict";
(() => {
  const { lanes, steps } = JSON.parse(document.getElementById("data").textContent);
  const marks = [...document.querySelectorAll("g.step")];
  const arrows = [...document.querySelectorAll("g.arrow")];
  const panel = document.getElementById("panel");
  const rows = [lanes.map((lane) => lane.row)];
  for (const step of steps) {
    const after = [...rows[rows.length - 1]];
    after[step.lane] = { ...after[step.lane], ...step.changed };
    rows.push(after);
  }
  const made = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const told = (step) => {
    const list = made("dl");
    const say = (word, text, name) => list.append(made("dt", word), made("dd", text, name));
    say("takes", step.input);
    for (const words of step.sent) say("sends", words);
    if (step.ignored) say("ignores it", step.ignored);
    if (!Object.keys(step.changed).length) say("changes", "nothing");
    for (const words of step.said) say("!!", words, "wrong");
    return list;
  };
  const table = (at) => {
    const step = steps[at], before = rows[at], after = rows[at + 1];
    const group = lanes[step.lane].group;
    const shown = lanes.map((_, lane) => lane).filter((lane) =>
      lanes[lane].group === group && Object.keys(after[lane]).length);
    const like = (lane) => Object.keys(after[lane]).join() === Object.keys(after[step.lane]).join();
    const of = shown.filter(like);
    const element = made("table"), head = made("tr");
    head.append(made("th"), ...of.map((lane) =>
      made("th", lanes[lane].name, lane === step.lane ? "here" : "")));
    element.append(head);
    const fields = Object.keys(after[step.lane]);
    for (const field of [...fields.filter((each) => each in step.changed),
      ...fields.filter((each) => !(each in step.changed))]) {
      const line = made("tr");
      line.append(made("th", field));
      for (const lane of of) {
        const value = after[lane][field] || "–";
        const cell = made("td", value);
        if (after[lane][field] !== before[lane][field]) {
          cell.className = "changed";
          cell.textContent = "";
          cell.append(made("del", before[lane][field] || "–"), " ", made("ins", value));
        }
        line.append(cell);
      }
      element.append(line);
    }
    return element;
  };
  let here = 0;
  const show = (at, focus) => {
    here = at;
    const step = steps[at];
    marks.forEach((mark, index) => {
      mark.classList.toggle("here", index === at);
      mark.setAttribute("tabindex", index === at ? "0" : "-1");
    });
    for (const arrow of arrows) {
      const { left, taken } = arrow.dataset;
      arrow.classList.toggle("here", left === String(at) || taken === String(at));
    }
    const scroll = made("div", undefined, "scroll");
    scroll.append(table(at));
    panel.replaceChildren(
      made("h2", `step ${step.number}: ${step.action}`),
      made("p", `${lanes[step.lane].name}, ${step.time}`, "muted"), told(step), scroll);
    if (focus) marks[at].focus();
  };
  const marked = steps.map((step, at) => [step, at]).filter(([step]) => step.said.length);
  const after = (at) => (marked.find(([, next]) => next > at) || marked[0] || [null, at])[1];
  const keys = {
    ArrowDown: () => here + 1, ArrowRight: () => here + 1, ArrowUp: () => here - 1,
    ArrowLeft: () => here - 1, PageDown: () => here + 20, PageUp: () => here - 20,
    Home: () => 0, End: () => steps.length - 1, n: () => after(here),
  };
  document.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    show(Math.max(0, Math.min(steps.length - 1, keys[event.key]())), true);
  });
  marks.forEach((mark, at) => mark.addEventListener("click", () => show(at, true)));
  show(marked.length ? marked[0][1] : 0, false);
  // Of a long run one comes to look at what is wrong, which may be a hundred screens further down.
  if (marks[here].getBoundingClientRect().bottom > innerHeight) {
    marks[here].scrollIntoView({ block: "center" });
  }
})();
