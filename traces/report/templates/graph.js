// The state graph: states by their distance from the beginning, a search by a condition on fields,
// and a shortest path to the state that is chosen. All text goes into text nodes only.
"use strict";
(() => {
  const { nodes, rows, states, initial, edges, words, model } =
    JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const made = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const counted = (moves) => moves === 1 ? "1 move" : `${moves} moves`;
  const drawn = (tag, given, within) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(given)) element.setAttribute(name, value);
    if (within) within.append(element);
    return element;
  };

  // --- Distances, and where states stand

  const leaving = states.map(() => []);
  edges.forEach(([from], edge) => leaving[from].push(edge));
  const by = states.map(() => -2), depth = states.map(() => 0), order = [initial];
  by[initial] = -1;
  for (const state of order) for (const edge of leaving[state]) {
    const to = edges[edge][1];
    if (by[to] !== -2) continue;
    by[to] = edge;
    depth[to] = depth[state] + 1;
    order.push(to);
  }
  const layers = [];
  for (const state of order) (layers[depth[state]] ||= []).push(state);
  const high = Math.max(...layers.map((each) => each.length));
  const gap = Math.max(9, Math.min(26, 560 / high)),
    across = Math.max(20, Math.min(90, at("drawing").clientWidth / (layers.length + 1)));
  const width = across * (layers.length + 1), height = gap * (high + 1);
  const x = (state) => across * (depth[state] + 0.7);
  const places = [];
  layers.forEach((layer) => layer.forEach((state, index) => {
    places[state] = height / 2 + gap * (index - (layer.length - 1) / 2);
  }));
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}` });
  const line = (edge) => {
    const [from, to] = edges[edge];
    return from === to ? "" : `M${x(from)} ${places[from]}L${x(to)} ${places[to]}`;
  };
  drawn("path", { class: "edges", d: edges.map((_, edge) => line(edge)).join("") }, svg);
  const way = drawn("path", { class: "way", d: "" }, svg);
  const dots = states.map((_, state) => {
    const given = { cx: x(state), cy: places[state], r: Math.min(6, gap / 2.6) };
    const dot = drawn("circle", given, svg);
    dot.addEventListener("click", () => show(state));
    return dot;
  });
  at("drawing").append(svg);

  // --- A condition: [NODE] field OP value, joined by `and`

  const TERM = /^(?:(.*?)\s+)?([\w.]+)\s*(!=|>=|<=|=|>|<)\s*(.*)$/;
  const read = (text) => text.split(/\s+and\s+/i).map((term) => {
    const parts = TERM.exec(term.trim());
    if (!parts) {
      throw new Error(`“${term.trim()}” is no condition: write field=value, or NODE field>=value`);
    }
    const [, node, field, how, value] = parts;
    const of = nodes.map((_, index) => index).filter((index) => !node
      || nodes[index] === node || nodes[index].split(" ").pop() === node);
    if (!of.length) throw new Error(`there is no node ${node}; there are ${nodes.join(", ")}`);
    // The last part of a field's name is enough.
    const known = [...new Set(rows.flatMap(Object.keys))];
    const named = known.includes(field) ? [field]
      : known.filter((each) => each.endsWith(`.${field}`));
    if (!named.length) {
      throw new Error(`no node has a field ${field}; there are ${known.join(", ")}`);
    }
    return { of, named, how, value: value.trim() };
  });
  const holds = ({ of, named, how, value }, state) => of.some((index) => {
    const row = rows[states[state][index]], found = row[named.find((field) => field in row)];
    if (found === undefined) return false;
    const [a, b] = found !== "" && value !== "" && !isNaN(found) && !isNaN(value)
      ? [Number(found), Number(value)] : [found, value];
    return { "=": a === b, "!=": a !== b, ">": a > b, "<": a < b, ">=": a >= b, "<=": a <= b }[how];
  });

  // --- What is shown

  let matches = [], here = initial, path = [];
  const pathTo = (state) => {
    const found = [];
    for (let to = state; by[to] >= 0; to = edges[by[to]][0]) found.unshift(by[to]);
    return found;
  };
  const moves = () => path.map((edge) => words[edges[edge][2]]);
  const table = (state) => {
    const before = path.length ? edges[path[path.length - 1]][0] : state;
    const element = made("table"), top = made("tr");
    const kindOf = (index) => Object.keys(rows[states[state][index]]).join();
    const kinds = [...new Set(nodes.map((_, index) => kindOf(index)))];
    const tables = kinds.map((kind) => {
      const of = nodes.map((_, index) => index).filter((index) => kindOf(index) === kind);
      const part = element.cloneNode(), line = top.cloneNode();
      line.append(made("th"), ...of.map((index) => made("th", nodes[index])));
      part.append(line);
      for (const field of kind.split(",")) {
        const cells = of.map((index) => {
          const value = rows[states[state][index]][field];
          const changed = rows[states[before][index]][field] !== value;
          return made("td", value || "–", changed ? "changed" : "");
        });
        const row = made("tr");
        row.append(made("th", field), ...cells);
        part.append(row);
      }
      const scroll = made("div", undefined, "scroll");
      scroll.append(part);
      return scroll;
    });
    return tables;
  };
  const show = (state) => {
    dots[here].classList.remove("here");
    here = state;
    path = pathTo(state);
    dots[here].classList.add("here");
    dots[here].scrollIntoView({ block: "nearest", inline: "nearest" });
    way.setAttribute("d", path.map(line).join(""));
    const list = made("ol");
    list.append(...moves().map((each) => made("li", each)));
    const title = `State ${state}: ${counted(path.length)} from the beginning`;
    const said = made("p", "As a schedule of moves: ", "muted");
    said.append(made("code", `kraftcheck spec explore ${model} --state ${state} --moves ${
      model}.moves`));
    at("found").replaceChildren(made("h2", title), said, list, ...table(state));
  };
  const find = () => {
    dots.forEach((dot) => dot.classList.remove("match"));
    try {
      const terms = read(at("condition").value);
      matches = order.filter((state) => terms.every((term) => holds(term, state)));
    } catch (error) {
      matches = [];
      at("said").textContent = error.message;
      return;
    }
    for (const state of matches) dots[state].classList.add("match");
    at("said").textContent = matches.length
      ? `${matches.length} of ${states.length} states;`
        + ` the nearest takes ${counted(depth[matches[0]])}.`
      : "No state satisfies the condition.";
    if (matches.length) show(matches[0]);
  };
  const next = () => matches.length && show(matches[(matches.indexOf(here) + 1) % matches.length]);
  at("form").addEventListener("submit", (event) => { event.preventDefault(); find(); });
  at("next").addEventListener("click", next);
  document.addEventListener("keydown", (event) => {
    if (event.key === "n" && !event.target.matches("input")) next();
  });
  show(initial);
})();
