/** The report on one translation: everything stands in the element "data", nothing is fetched. */
"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const el = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const shape = (name, attributes = {}, text = "") => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };
  const percent = (share) => (share >= 0.0995 ? `${Math.round(share * 100)} %` : `${(share * 100).toFixed(1)} %`);
  const plain = (token) => (token === "<s>" ? "⟨start⟩" : token === "</s>" ? "⟨end⟩" : token.replaceAll("\u2581", " ").trim() || "␣");

  /** Weights travel as bytes, deflated, in base64: shares of 255, or signed values around 128. */
  async function unpacked({ shape, bytes }) {
    const packed = Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return { shape, values: new Uint8Array(await new Response(stream).arrayBuffer()) };
  }
  const maps = {};
  for (const [kind, packed] of Object.entries(data.maps)) maps[kind] = await unpacked(packed);

  const KINDS = {
    cross: ["Target looks at source", "Cross-attention: each row is the step that writes a target subword, each column a source subword."],
    encoder: ["Source at itself", "Self-attention of the encoder: how each source subword gathers what it needs from the others."],
    decoder: ["Target at itself", "Masked self-attention of the decoder: a step sees what was written before it and never what comes after."],
    erasure: ["Erasure", "How much less likely a target subword becomes when the embedding of a source subword is set to zero (red: more likely); each row is scaled to its largest."],
    gradient: ["Gradient × input", "How strongly a target subword hangs on the embedding of a source subword, to first order; each row is scaled to its largest."],
  };
  const isSigned = (kind) => kind === "gradient" || kind === "erasure";
  const labelsOf = (kind) => ({
    rows: kind === "encoder" ? data.src_tokens : data.tgt_tokens,
    columns: kind === "decoder" ? data.tgt_inputs : data.src_tokens,
  });

  at("about").textContent = `${data.languages[0]} → ${data.languages[1]} · ${data.src_tokens.length} and ${data.tgt_tokens.length} subwords, ends counted · `
    + (data.is_given ? "the translation was given" : "found by beam search") + (data.left_out ? ` · ${data.left_out}` : "");

  /* Words */
  const sides = { source: data.source, target: data.target };
  const spans = { source: data.alignment.src, target: data.alignment.tgt };
  const words = { source: [], target: [] };
  for (const side of ["source", "target"]) {
    let end = 0;
    const chars = Array.from(sides[side]);
    const cut = (from, to) => chars.slice(from, to).join("");
    at(side).setAttribute("lang", data.languages[side === "source" ? 0 : 1]);
    spans[side].forEach(([start, stop], index) => {
      at(side).append(cut(end, start));
      const word = el("span", { class: "word", tabindex: "0" }, cut(start, stop));
      for (const event of ["mouseenter", "focus"]) word.addEventListener(event, () => light(side, index));
      words[side].push(word);
      at(side).append(word);
      end = stop;
    });
    at(side).append(cut(end));
  }
  /** Curves between linked words: all of a short pair, and those of the chosen word stronger. */
  const curves = shape("svg");
  at("pair").append(curves);
  function join() {
    const box = at("pair").getBoundingClientRect();
    const isShort = words.source.length + words.target.length <= 60;
    curves.replaceChildren();
    for (const [i, j, weight] of data.links[linkKind]) {
      const isLit = (lit[0] === "source" ? i : j) === lit[1];
      if (!isLit && !(isShort && weight >= 0.2)) continue;
      const [above, below] = [words.source[i].getBoundingClientRect(), words.target[j].getBoundingClientRect()];
      const [x, y, u, v] = [above.x + above.width / 2 - box.x, above.bottom - box.y, below.x + below.width / 2 - box.x, below.top - box.y];
      const opacity = (Math.min(1, weight) * (isLit ? 0.9 : 0.25)).toFixed(2);
      curves.append(shape("path", { d: `M${x} ${y} C${x} ${(y + v) / 2} ${u} ${(y + v) / 2} ${u} ${v}`, opacity }));
    }
  }
  new ResizeObserver(join).observe(at("pair"));
  const linkNames = { alignment: "Alignment", ...(data.links.erasure && { erasure: "Erasure" }), ...(data.links.gradient && { gradient: "Gradient × input" }) };
  let linkKind = "alignment";
  let lit = ["target", 0];
  function light(side, index) {
    lit = [side, index];
    const other = side === "source" ? "target" : "source";
    for (const word of [...words.source, ...words.target]) {
      word.classList.remove("chosen");
      word.style.removeProperty("--weight");
    }
    words[side][index].classList.add("chosen");
    const found = [];
    for (const [i, j, weight] of data.links[linkKind]) {
      const [here, there] = side === "source" ? [i, j] : [j, i];
      if (here !== index) continue;
      words[other][there].style.setProperty("--weight", Math.min(1, weight).toFixed(3));
      found.push([weight, words[other][there].textContent]);
    }
    join();
    found.sort((a, b) => b[0] - a[0]);
    const shown = found.filter(([weight]) => weight >= 0.05).slice(0, 5).map(([weight, text]) => `${text} ${linkKind === "alignment" ? percent(weight) : `${weight.toFixed(2)} of the largest`}`);
    at("words-readout").textContent = `${words[side][index].textContent} — ${shown.join(", ") || "no word of the other side"}`;
  }
  for (const [kind, name] of Object.entries(linkNames)) {
    const button = el("button", { "aria-pressed": kind === linkKind }, name);
    button.addEventListener("click", () => {
      linkKind = kind;
      for (const other of at("links-by").children) other.setAttribute("aria-pressed", other === button);
      light(...lit);
    });
    at("links-by").append(button);
  }
  if (words.target.length) light("target", 0);

  /* Maps */
  const canvas = at("map");
  const view = { kind: "cross", layer: data.place.layer, head: data.place.head ?? 0, cell: 0, x: 0, y: 0, row: -1, column: -1 };
  const sheets = new Map();

  /** A map as a picture of one pixel a cell; drawn once, stretched by the canvas ever after. */
  function sheet(kind, layer, head) {
    const name = `${kind} ${layer} ${head}`;
    if (sheets.has(name)) return sheets.get(name);
    const { shape: [, H, rows, columns], values } = maps[kind];
    const start = (layer * H + head) * rows * columns;
    const picture = new ImageData(columns, rows);
    const [ink, against] = [rgb("--accent"), [200, 60, 40]];
    for (let i = 0; i < rows * columns; i++) {
      const value = values[start + i];
      picture.data.set(isSigned(kind) && value < 128 ? against : ink, 4 * i);
      picture.data[4 * i + 3] = 255 * Math.sqrt(isSigned(kind) ? Math.abs(value - 128) / 127 : value / 255);
    }
    const drawn = document.createElement("canvas");
    [drawn.width, drawn.height] = [columns, rows];
    drawn.getContext("2d").putImageData(picture, 0, 0);
    if (sheets.size > 200) sheets.clear();
    sheets.set(name, drawn);
    return drawn;
  }
  /** What the theme makes of a colour; a canvas cannot ask by itself. */
  const colours = new Map();
  function rgb(name) {
    if (!colours.has(name)) colours.set(name, resolved(name));
    return colours.get(name);
  }
  const colour = (name) => `rgb(${rgb(name).join(" ")})`;
  function resolved(name) {
    const probe = document.createElement("canvas").getContext("2d");
    const element = el("i", { style: `color: var(${name})` });
    document.body.append(element);
    probe.fillStyle = getComputedStyle(element).color;
    element.remove();
    probe.fillRect(0, 0, 1, 1);
    return [...probe.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  }
  const weightAt = (row, column) => {
    const { shape: [, H, rows, columns], values } = maps[view.kind];
    const value = values[((view.layer * H + view.head) * rows + row) * columns + column];
    return isSigned(view.kind) ? (value - 128) / 127 : value / 255;
  };
  const MARGIN = { left: 84, top: 84 };
  const margins = () => (canvas.clientWidth < 300 ? { left: 24, top: 24 } : MARGIN);
  function wholeCell() {
    const { rows, columns } = labelsOf(view.kind);
    const { left, top } = margins();
    const highest = Math.min(576, 0.8 * window.innerHeight);
    return Math.max(0.25, Math.min(44, (canvas.clientWidth - left) / columns.length, (highest - top) / rows.length));
  }
  function fit() {
    canvas.style.height = `${Math.ceil(margins().top + labelsOf(view.kind).rows.length * wholeCell()) + 3}px`;
    Object.assign(view, { cell: wholeCell(), x: 0, y: 0 });
    draw();
  }
  function zoom(by) {
    const { left, top } = margins();
    const [middle, centre] = [(canvas.clientWidth - left) / 2, (canvas.clientHeight - top) / 2];
    const cell = Math.min(48, Math.max(wholeCell(), view.cell * by));
    view.x = (view.x + middle) * (cell / view.cell) - middle;
    view.y = (view.y + centre) * (cell / view.cell) - centre;
    view.cell = cell;
    draw();
  }
  let isDue = false;
  function draw() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      paint();
    });
  }
  function paint() {
    const { rows, columns } = labelsOf(view.kind);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const { left, top } = margins();
    const scale = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      [canvas.width, canvas.height] = [Math.round(width * scale), Math.round(height * scale)];
    }
    view.x = Math.max(0, Math.min(view.x, columns.length * view.cell - (width - left)));
    view.y = Math.max(0, Math.min(view.y, rows.length * view.cell - (height - top)));
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    context.imageSmoothingEnabled = view.cell < 1;
    const drawn = sheet(view.kind, view.layer, view.head);
    context.save();
    context.beginPath();
    context.rect(left, top, width - left, height - top);
    context.clip();
    context.drawImage(drawn, left - view.x, top - view.y, columns.length * view.cell, rows.length * view.cell);
    context.strokeStyle = colour("--line");
    context.strokeRect(left - view.x, top - view.y, columns.length * view.cell, rows.length * view.cell);
    if (view.row >= 0) {
      context.strokeStyle = colour("--ink");
      context.lineWidth = 1.5;
      context.strokeRect(left - view.x + view.column * view.cell, top - view.y + view.row * view.cell, Math.max(2, view.cell), Math.max(2, view.cell));
    }
    context.restore();
    label(context, rows, view.y, height - top, false);
    label(context, columns, view.x, width - left, true);
  }
  /** Labels that are in sight: all where there is room for them, else every n-th. */
  function label(context, labels, offset, room, isTop) {
    const { left, top } = margins();
    const every = Math.ceil(13 / view.cell);
    context.font = `${Math.min(14, Math.max(11, view.cell - 2))}px system-ui, "Noto Sans CJK SC", sans-serif`;
    context.textBaseline = "middle";
    const first = Math.floor(offset / view.cell);
    for (let i = first - (first % every); i < labels.length && i * view.cell < offset + room; i += every) {
      const place = (i + 0.5) * view.cell - offset;
      if (place < 0) continue;
      context.fillStyle = colour(i === (isTop ? view.column : view.row) ? "--accent" : "--quiet");
      context.save();
      if (isTop) {
        context.translate(left + place, top - 5);
        context.rotate(-Math.PI / 2);
        context.textAlign = "left";
      } else {
        context.translate(left - 5, top + place);
        context.textAlign = "right";
      }
      context.fillText(fitted(context, plain(labels[i]), (isTop ? top : left) - 8), 0, 0);
      context.restore();
    }
  }
  function fitted(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let chars = Array.from(text);
    while (chars.length > 1 && context.measureText(chars.join("") + "…").width > room) chars = chars.slice(0, -1);
    return chars.join("") + "…";
  }
  function point(row, column) {
    const { rows, columns } = labelsOf(view.kind);
    view.row = Math.max(0, Math.min(rows.length - 1, row));
    view.column = Math.max(0, Math.min(columns.length - 1, column));
    const weight = weightAt(view.row, view.column);
    const said = isSigned(view.kind) ? `${weight.toFixed(2)} of the largest` : percent(weight);
    const verb = view.kind === "encoder" ? "at" : "writing";
    at("map-readout").textContent = `${verb} ${plain(rows[view.row])} (${view.row + 1}) — ${plain(columns[view.column])} (${view.column + 1}): ${said}`;
    draw();
  }
  function cellOf(event) {
    const box = canvas.getBoundingClientRect();
    const { left, top } = margins();
    return [Math.floor((event.clientY - box.top - top + view.y) / view.cell), Math.floor((event.clientX - box.left - left + view.x) / view.cell)];
  }
  let dragged = null;
  canvas.addEventListener("pointerdown", (event) => {
    dragged = [event.clientX + view.x, event.clientY + view.y];
    canvas.setPointerCapture(event.pointerId);
  });
  // Comes after "pointerup", and where a gesture or a menu takes the pointer away.
  canvas.addEventListener("lostpointercapture", () => { dragged = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged) {
      [view.x, view.y] = [dragged[0] - event.clientX, dragged[1] - event.clientY];
      draw();
    }
    point(...cellOf(event));
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step) return;
    event.preventDefault();
    point(Math.max(0, view.row) + step[0], Math.max(0, view.column) + step[1]);
    const { left, top } = margins();
    view.x = Math.max(Math.min(view.x, view.column * view.cell), (view.column + 1) * view.cell - (canvas.clientWidth - left));
    view.y = Math.max(Math.min(view.y, view.row * view.cell), (view.row + 1) * view.cell - (canvas.clientHeight - top));
  });
  at("smaller").addEventListener("click", () => zoom(1 / 1.5));
  at("larger").addEventListener("click", () => zoom(1.5));
  at("fit").addEventListener("click", fit);
  let seenWidth = 0;
  new ResizeObserver(() => {
    if (canvas.clientWidth !== seenWidth) fit();
    seenWidth = canvas.clientWidth;
  }).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    sheets.clear();
    colours.clear();
    at("heads").replaceChildren();
    choose(view.kind, view.layer, view.head);
  });

  function choose(kind, layer, head) {
    const isSame = kind === view.kind && at("heads").childElementCount > 0;
    Object.assign(view, { kind, layer, head, row: -1, column: -1 });
    at("map-readout").textContent = "";
    at("kind-says").textContent = KINDS[kind][1];
    for (const button of at("kinds").children) button.setAttribute("aria-pressed", button.dataset.kind === kind);
    if (!isSame) showHeads(kind);
    for (const button of at("heads").querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.head === `${layer} ${head}`);
    const bits = data.entropy[kind]?.[layer][head];
    const isAligning = kind === "cross" && layer === data.place.layer && (data.place.head ?? head) === head;
    const who = data.place.head === null ? "the mean of this layer’s heads aligns the words" : "the alignment head";
    at("map-title").textContent = isSigned(kind) ? KINDS[kind][0]
      : `Layer ${layer + 1}, head ${head + 1} · entropy ${bits.toFixed(1)} bits · importance ${data.importance[kind][layer][head].toFixed(2)}`
        + (isAligning ? ` · ${who}${data.place.is_late ? ", read a row below" : ""}` : "");
    canvas.setAttribute("aria-label", `${KINDS[kind][0]}: ${at("map-title").textContent}`);
    fit();
  }
  function showHeads(kind) {
    const [L, H] = maps[kind].shape;
    at("heads").replaceChildren();
    if (isSigned(kind)) return;
    const waiting = [];
    for (let layer = 0; layer < L; layer++) {
      const row = el("div");
      for (let head = 0; head < H; head++) {
        const small = el("canvas", { width: 112, height: 112 });
        const button = el("button", { class: "head", "aria-label": `Layer ${layer + 1}, head ${head + 1}` }, small);
        button.dataset.head = `${layer} ${head}`;
        button.addEventListener("click", () => choose(kind, layer, head));
        row.append(button);
        waiting.push([small, layer, head]);
      }
      at("heads").append(el("span", { class: "quiet" }, `Layer ${layer + 1}`), row);
    }
    (function next() {
      const until = performance.now() + 8;
      while (waiting.length && performance.now() < until) {
        const [small, layer, head] = waiting.shift();
        const context = small.getContext("2d");
        const drawn = sheet(kind, layer, head);
        context.imageSmoothingEnabled = drawn.width > 112;
        context.drawImage(drawn, 0, 0, 112, 112);
      }
      if (waiting.length && view.kind === kind) requestAnimationFrame(next);
    })();
  }
  for (const kind of Object.keys(KINDS)) {
    if (!maps[kind]) continue;
    const button = el("button", {}, KINDS[kind][0]);
    button.dataset.kind = kind;
    button.addEventListener("click", () => choose(kind, kind === "cross" ? data.place.layer : 0, kind === "cross" ? data.place.head ?? 0 : 0));
    at("kinds").append(button);
  }
  choose(view.kind, view.layer, view.head);

  /* Search */
  /** As much of a token as a column has room for: five Chinese characters or nine letters. */
  function brief(token) {
    let [room, end] = [9, 0];
    const chars = Array.from(token);
    while (end < chars.length && (room -= chars[end] > "\u2e7f" ? 1.8 : 1) >= 0) end++;
    return end < chars.length ? chars.slice(0, end - 1).join("") + "…" : token;
  }
  function showTree() {
    const [WIDE, HIGH] = [104, 26];
    const withDropped = at("dropped").checked;
    const won = new Set(data.winner);
    const rank = new Map();
    const place = data.tree.map((node) => {
      if (node.fate === "dropped" && !withDropped) return null;
      const y = rank.get(node.step) ?? 0;
      rank.set(node.step, y + 1);
      return [12 + (node.step + 1) * WIDE, 16 + y * HIGH];
    });
    const highest = Math.max(1, ...rank.values());
    const svg = shape("svg", { width: (Math.max(0, ...rank.keys()) + 3) * WIDE, height: highest * HIGH + 12, role: "img", "aria-label": "Tree of hypotheses" });
    const top = [12, 16];
    svg.append(shape("text", { x: 12, y: 20 }, "⟨start⟩"));
    data.tree.forEach((node, i) => {
      if (!place[i]) return;
      const [x, y] = place[i];
      const [px, py] = node.parent < 0 ? top : place[node.parent];
      const kind = won.has(i) ? "won" : node.fate;
      svg.append(shape("path", { class: kind, d: `M${px + 56} ${py} C${px + 78} ${py} ${x - 26} ${y} ${x - 6} ${y}` }));
      svg.append(shape("text", { class: kind, x, y: y + 4 }, brief(plain(data.node_tokens[i]))));
      if (node.score !== null) svg.append(shape("text", { class: "ended", x: x + 46, y: y + 4 }, node.score.toFixed(3)));
    });
    at("tree").replaceChildren(svg);
  }
  if (data.candidates.length) {
    data.candidates.forEach((candidate, i) => {
      const text = candidate.text + (candidate.is_finished ? "" : " (cut by the length limit)");
      at("candidates").tBodies[0].append(el("tr", { class: i ? "" : "first" }, el("td", {}, candidate.score.toFixed(3)), el("td", {}, candidate.log_prob.toFixed(2)), el("td", { lang: data.languages[1] }, text)));
    });
    at("verdict").textContent = data.verdict;
    at("dropped").addEventListener("change", showTree);
    showTree();
  } else at("beam").remove();

  /* Next subwords */
  data.tgt_tokens.forEach((token, i) => {
    const others = data.alternatives[i].filter(([piece, p]) => piece !== token && p >= 0.001).map(([piece, p]) =>
      el("span", { class: "chance" }, ...(p >= 0.02 ? [el("i", { style: `width: ${(60 * p).toFixed(1)}px` })] : []), `${plain(piece)} ${percent(p)}`));
    const p = Math.exp(data.log_probs[i]);
    const own = el("span", { class: "chance" }, el("i", { style: `width: ${(60 * p).toFixed(1)}px` }), percent(p));
    at("next").tBodies[0].append(el("tr", {}, el("td", { lang: data.languages[1] }, plain(token)), el("td", {}, own), el("td", {}, ...others)));
  });
  document.documentElement.dataset.ready = "yes";
})();
