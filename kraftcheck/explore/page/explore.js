// The page of `explore`. A path is a list of moves in words; the server says what it led to. What
// was seen of a path is kept, so that undo asks nobody. All text goes into text nodes only, but for
// the figure of the likelihood, which the server has drawn and escaped.
"use strict";
(() => {
  const VIEWS = 300, BRANCHES = 12;
  const at = (id) => document.getElementById(id);
  const made = (tag, text, name) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    if (name) element.className = name;
    return element;
  };
  const button = (text, title, name, act) => {
    const element = made("button", text, name);
    if (title) element.title = title;
    element.type = "button";
    element.addEventListener("click", act);
    return element;
  };
  let machines = [], head = null, path = [], here = 0, view = null, branches = [];
  let open = new Set(), busy = false;
  const views = new Map();

  // --- What the server is asked

  const ask = async (where, body) => {
    let answer;
    try {
      answer = await fetch(where, {
        method: body ? "POST" : "GET", body: body && JSON.stringify(body),
        headers: body && { "Content-Type": "application/json" },
      });
    } catch {
      throw new Error("The server does not answer: start it again with kraftcheck explore. " +
        "The address of this page keeps the path.");
    }
    const found = await answer.json();
    if (found.error) throw new Error(found.error);
    return found;
  };
  const key = (moves) => JSON.stringify([head, moves]);
  const keep = (found) => {
    views.set(key(found.moves), found);
    if (views.size > VIEWS) views.delete(views.keys().next().value);
  };
  const asked = () => ({ ...head, moves: path.slice(0, here) });

  // One request at a time; what goes wrong is one line, and the page stays as it is.
  const work = (act) => async (...given) => {
    if (busy) return;
    busy = true;
    document.body.classList.add("busy");
    try { say(""); await act(...given); } catch (error) { say(error.message, "bad"); }
    busy = false;
    document.body.classList.remove("busy");
  };
  const say = (text, name) => {
    at("said").hidden = !text;
    at("said").className = name || "";
    at("said").textContent = text;
  };

  // --- Where the path goes

  const show = (found, whole) => {
    head = { machine: found.machine, bug: found.bug, options: found.options };
    keep(found);
    const moves = found.moves;
    const goesOn = whole || moves.every((words, index) => path[index] === words);
    if (!goesOn || moves.length > path.length) {
      const left = path.slice(0, path.length);
      const grown = left.every((words, index) => moves[index] === words);
      if (!grown && left.length && !whole) branches = [left, ...branches].slice(0, BRANCHES);
      path = [...moves];
    }
    here = moves.length;
    view = found;
    draw();
    if (found.note) say(found.note);
  };
  const go = async (moves) => {
    const known = views.get(key(moves));
    show(known || await ask("view", { ...head, moves }));
  };
  const begin = async (given) => {
    const found = await ask("view", given);
    path = []; branches = []; open = new Set();
    at("filter").value = "";
    show(found, true);
  };
  const jump = work((to) => go(path.slice(0, Math.max(0, Math.min(path.length, to)))));
  const make = work((words) => go([...path.slice(0, here), words]));
  const walk = work(async (count) => show(await ask("walk", { ...asked(), count })));
  const run = work(async () => show(await ask("run", { ...asked(), role: at("role").value })));
  const end = work(async () => {
    const found = await ask("end", asked());
    say(found.ended, found.failed ? "bad" : "good");
  });
  const likelihood = work(async () => {
    say("Futures of each prefix are drawn; this takes some seconds…");
    const found = await ask("likelihood", { ...asked(), futures: 20 });
    say("");
    at("curve").hidden = false;
    const figure = made("div");
    figure.innerHTML = found.svg;
    at("curve").replaceChildren(made("p", found.says), figure, made("p",
      "Across: moves that are kept. Up: the share of futures that fail, with its 95 % interval. " +
      "A dot below: it fails although all faults end there.", "muted"));
    if (found.decisive !== null) {
      const title = `Go to move ${found.decisive}`;
      at("curve").append(button(title, "", "", () => jump(found.decisive)));
    }
  });
  const restart = work(async (bug) => {
    const machine = at("machine").value;
    const options = head.machine === machine ? head.options
      : machines.find((each) => each.name === machine).options;
    await begin({ machine, options, bug, moves: [] });
  });
  const rebug = work(async (bug) => {
    const moves = path.slice(0, here);
    await begin({ ...head, bug, moves, fitting: true });
  });
  const openText = async (text) => {
    if (busy) return;
    try {
      await begin({ text });
      say("");
      at("opening").close();
    } catch (error) {
      at("refused").hidden = false;
      at("refused").textContent = error.message;
    }
  };

  // --- The address

  const packed = async (text) => {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    let binary = "";
    for (const byte of bytes) binary += String.fromCharCode(byte);
    return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };
  const unpacked = async (word) => {
    const binary = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (each) => each.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return await new Response(stream).text();
  };
  let own = "";
  const remember = async (text) => {
    const word = await packed(text);
    if (view && view.text === text) {
      own = `#${word}`;
      history.replaceState(null, "", own);
    }
  };
  const restore = async () => {
    let text;
    try { text = await unpacked(location.hash.slice(1)); } catch {
      throw new Error("The address holds no path: a part of it is missing.");
    }
    await begin({ text });
  };

  // --- What is shown

  const short = (words, node) => {
    const name = node.split(", ").pop();
    const number = name.split(" ").pop();
    let text = words.replace(/^(quorum|partition \d+): /, "");
    for (const begin of [`${name} `, `${number} `]) {
      if (node && text.startsWith(begin)) return text.slice(begin.length);
    }
    if (node) text = text.replace(new RegExp(`^(\\S+) -> ${number} `), "from $1: ");
    return text;
  };
  const words = (text) => {
    // The kind of an input stands out, its fields do not.
    const [first, ...rest] = text.split(/ (?=\S+=|\()/);
    const parts = [made("span", first)];
    if (rest.length) parts.push(" ", made("small", rest.join(" ")));
    return parts;
  };
  const groupOf = (group) => {
    const line = made("div", undefined, `group ${group.kind}`);
    const [first, ...others] = group.moves;
    const main = button("", first[0] ? `${first[0]}: ${first[1]}` : first[1], "main",
      () => make(first[1]));
    main.append(...words(short(group.words, group.node)));
    if (first[0]) main.append(made("small", ` (${first[0]})`));
    main.dataset.move = first[1];
    line.append(main);
    for (const [what, move] of others) {
      const mark = /nobody/.test(what) ? "✕→" : /lose/.test(what) ? "✕" : /late/.test(what)
        ? (/again/.test(what) ? "late ↻" : "late") : "↻";
      const more = button(mark, `${what}: ${move}`, "more", () => make(move));
      more.setAttribute("aria-label", `${what}: ${group.words}`);
      more.dataset.move = move;
      line.append(more);
    }
    return line;
  };
  const folded = (name, summary, filled) => {
    const element = made("details");
    element.open = open.has(name);
    element.append(made("summary", summary), filled);
    element.addEventListener("toggle", () => open[element.open ? "add" : "delete"](name));
    return element;
  };
  const list = (groups) => {
    const element = made("div", undefined, "moves");
    element.append(...groups.map(groupOf));
    return element;
  };
  const table = (node, names) => {
    const element = made("table");
    for (const name of names) {
      const changed = name in node.was;
      const row = made("tr", undefined, changed ? "changed" : "");
      const cell = made("td");
      if (changed) cell.append(made("del", node.was[name] || "–"), " → ");
      cell.append(made(changed ? "ins" : "span", node.fields[name] || "–"));
      row.append(made("th", name.replaceAll(".", ".\u200b").replaceAll("_", "_\u200b")), cell);
      element.append(row);
    }
    return element;
  };
  const matches = (group) => {
    const wanted = at("filter").value.trim().toLowerCase();
    return !wanted || group.words.toLowerCase().includes(wanted);
  };
  const movesOf = (name, card) => {
    const groups = view.groups.filter((each) => each.node === name);
    const fits = groups.filter(matches);
    const faults = fits.filter((each) => each.kind === "fault");
    const order = ["message", "own", "client"];
    const usual = fits.filter((each) => each.kind !== "fault")
      .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind));
    card.append(list(usual));
    if (faults.length) {
      const filtered = at("filter").value.trim() !== "";
      const part = folded(`${name}!`, `Faults and rare moves (${faults.length})`, list(faults));
      if (filtered) part.open = true;
      card.append(part);
    }
    if (!fits.length && name && groups.length) {
      card.append(made("p", "No move fits the filter.", "empty"));
    }
    if (!groups.length && name) card.append(made("p", view.violation
      ? "The run has ended." : "Nothing can happen here now.", "empty"));
    return fits.length;
  };
  const card = (node) => {
    const moved = Object.keys(node.was).length ? " moved" : "";
    const element = made("section", undefined, `node${moved}`);
    const title = made("h2", node.name);
    const mood = /leader|controller/i.test(node.role) ? "lead"
      : /down|dead|crash|fenced|off$/i.test(node.role) ? "down" : "";
    title.append(made("em", node.role, mood));
    const shown = Object.keys(node.fields).filter((name) =>
      name in node.was || node.shown.includes(name))
      .sort((a, b) => (b in node.was) - (a in node.was));
    const rest = Object.keys(node.fields).filter((name) => !shown.includes(name));
    element.append(title);
    movesOf(node.name, element);
    if (shown.length) element.append(table(node, shown));
    if (rest.length) {
      const title = `${shown.length ? "Unchanged" : "As at first"} (${rest.length} fields)`;
      element.append(folded(`${node.name}?`, title, table(node, rest)));
    }
    return element;
  };
  const drawNodes = () => {
    const cards = view.nodes.map(card);
    const others = made("section", undefined, "node");
    others.append(made("h2", "Clients and network"));
    if (view.groups.some((each) => !each.node) && movesOf("", others)) cards.push(others);
    at("nodes").replaceChildren(...cards);
  };
  const drawPath = () => {
    const lines = path.map((move, index) => {
      const name = index + 1 === here ? "here" : index >= here ? "ahead" : "";
      const item = made("li", undefined, name);
      if (view.violation && index + 1 === here) item.className = "here wrong";
      const line = button("", "Go to this move", "", () => jump(index + 1));
      line.append(made("span", String(index + 1)), document.createTextNode(move));
      item.append(line);
      return item;
    });
    const start = made("li", undefined, here === 0 ? "here" : "");
    const line = button("", "Go to the beginning", "", () => jump(0));
    line.append(made("span", "0"), document.createTextNode("the beginning"));
    start.append(line);
    at("path").replaceChildren(start, ...lines);
    const side = document.querySelector("aside"), now = at("path").querySelector(".here");
    side.scrollTop = Math.max(0, now.offsetTop - side.clientHeight / 2);
    at("count").textContent = path.length ? `move ${here} of ${path.length}` : "no move yet";
    at("branches").replaceChildren(...branches.map((moves, index) =>
      button(`Branch ${branches.length - index} (${moves.length})`, moves.at(-1), "",
        work(async () => {
        branches = branches.filter((each) => each !== moves);
        if (path.length) branches = [[...path], ...branches].slice(0, BRANCHES);
        path = [];
        await go(moves);
      }))));
  };
  const drawLast = () => {
    const told = view.told.at(-1) || [];
    const parts = here === 0
      ? [made("b", "Choose a move below."), made("code", "A blue edge: a message arrives. Grey: " +
        "a node acts by itself. Green: a client asks. Red: a fault.")]
      : [made("b", `Move ${here}: ${view.moves[here - 1]}`),
        ...told.map((each) => made("code", each))];
    at("last").replaceChildren(...parts);
  };
  const drawVerdict = () => {
    const wrong = view.violation;
    at("violated").hidden = !wrong;
    at("likelihood").hidden = !wrong;
    if (wrong) {
      at("violated").replaceChildren(made("strong", `${wrong.name} is violated`),
        made("p", wrong.sentence), made("p", wrong.what));
    }
    const { properties } = view;
    const [summary, told] = at("properties").children;
    const asked = properties.length === 1 ? "1 property is" : `${properties.length} properties are`;
    summary.textContent = properties.length ? `${asked} evaluated after each move`
      : "No property is evaluated (watched=false)";
    told.replaceChildren(...properties.flatMap((each) => [
      made("dt", each.name, wrong && wrong.name === each.name ? "broken" : ""),
      made("dd", each.sentence)]));
  };
  const drawHead = () => {
    at("machine").value = head.machine;
    const own = machines.find((each) => each.name === head.machine);
    const none = made("option", "off: correct protocol");
    none.value = "";
    at("bug").replaceChildren(none, ...own.bugs.map((each) => {
      const option = made("option", `${each.id}: ${each.title}`);
      option.value = each.id;
      return option;
    }));
    at("bug").value = head.bug || "";
    at("undo").disabled = here === 0;
    at("redo").disabled = here >= path.length;
    for (const id of ["walk1", "walk10", "run"]) at(id).disabled = Boolean(view.violation);
    at("timeline").disabled = here === 0;
    at("roles").replaceChildren(...[...new Set(view.nodes.map((each) => each.role))].map((role) => {
      const option = made("option");
      option.value = role;
      return option;
    }));
  };
  const draw = () => {
    const focused = document.activeElement && document.activeElement.dataset.move
      && buttons().indexOf(document.activeElement);
    at("curve").hidden = true;
    drawHead(); drawVerdict(); drawPath(); drawLast(); drawNodes();
    const bug = head.bug ? ` ${head.bug}` : "";
    document.title = `${head.machine}${bug}, move ${here} · kraftcheck explore`;
    remember(view.text);
    const now = buttons();
    if (focused !== null && focused !== undefined && now.length) {
      now[Math.max(0, Math.min(focused, now.length - 1))].focus({ preventScroll: true });
    }
  };
  const buttons = () => [...document.querySelectorAll("#nodes button[data-move]")]
    .filter((each) => each.offsetParent !== null);

  // --- What a person does

  const timeline = () => {
    const form = made("form"), field = made("textarea");
    Object.assign(form, { method: "post", action: "timeline", target: "_blank", hidden: true });
    Object.assign(field, { name: "text", value: view.text });
    form.append(field);
    document.body.append(form);
    form.submit();
    form.remove();
  };
  const step = (by) => {
    const all = buttons();
    const index = all.indexOf(document.activeElement);
    const next = all[index < 0 ? 0 : Math.max(0, Math.min(all.length - 1, index + by))];
    if (next) next.focus();
  };
  const opening = () => {
    at("refused").hidden = true;
    at("opening").showModal();
    at("text").focus();
  };
  const keys = {
    u: () => jump(here - 1), r: () => jump(here + 1), w: () => walk(1), W: () => walk(10),
    l: run, e: end, t: () => here && timeline(), "/": () => at("filter").focus(),
    "?": () => at("keys").showModal(), ArrowDown: () => step(1), ArrowUp: () => step(-1),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    if (event.target.matches("select, textarea")) return;
    if (event.target.matches("input")) {
      if (event.key === "Escape") { at("filter").value = ""; drawNodes(); event.target.blur(); }
      if (event.key === "Enter" && event.target.id === "role") run();
      if (event.key === "ArrowDown" && event.target.id === "filter") step(1);
      return;
    }
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  at("undo").addEventListener("click", () => jump(here - 1));
  at("redo").addEventListener("click", () => jump(here + 1));
  at("walk1").addEventListener("click", () => walk(1));
  at("walk10").addEventListener("click", () => walk(10));
  at("run").addEventListener("click", () => run());
  at("end").addEventListener("click", () => end());
  at("likelihood").addEventListener("click", () => likelihood());
  at("timeline").addEventListener("click", timeline);
  at("anew").addEventListener("click", () => restart(head.bug));
  at("open").addEventListener("click", opening);
  at("help").addEventListener("click", () => at("keys").showModal());
  at("machine").addEventListener("change", () => restart(null));
  at("bug").addEventListener("change", () => rebug(at("bug").value || null));
  at("filter").addEventListener("input", drawNodes);
  at("take").addEventListener("click", (event) => {
    event.preventDefault();
    openText(at("text").value);
  });
  at("file").addEventListener("change", async () => {
    const [file] = at("file").files;
    if (file && file.size < 4e6) at("text").value = await file.text();
  });
  at("download").addEventListener("click", () => {
    const link = made("a");
    link.href = URL.createObjectURL(new Blob([view.text], { type: "text/plain" }));
    link.download = `${head.machine}${head.bug ? `-${head.bug}` : ""}.moves`;
    link.click();
    URL.revokeObjectURL(link.href);
  });
  at("link").addEventListener("click", work(async () => {
    await remember(view.text);
    await navigator.clipboard.writeText(location.href);
    say("The address of this path is copied.", "good");
  }));
  addEventListener("hashchange", work(async () => { if (location.hash !== own) await restore(); }));

  work(async () => {
    const start = await ask("start");
    machines = start.machines;
    at("machine").replaceChildren(...machines.map((each) => made("option", each.name)));
    let wrong = "";
    if (location.hash.length > 1) {
      try { await restore(); return; } catch (error) { wrong = error.message; }
    }
    await begin({ text: start.text });
    if (wrong) say(wrong, "bad");
  })();
})();
