/** @file Spans of a text, from the service's characters to pieces that can be drawn. */

/** @typedef {import("./api.js").Span} Span */
/**
 * A stretch of a text; `index` is that of the span it came from, null between spans.
 * @typedef {{start: number, end: number, index: number | null}} Piece
 */

/**
 * Spans counted in Unicode characters, recounted in UTF-16 units: in "a😀b" the span [2, 3] becomes [3, 4].
 * @param {string} text
 * @param {Span[]} spans
 * @returns {Span[]}
 */
export function inUnits(text, spans) {
  if (!/[\ud800-\udfff]/.test(text)) return spans;
  const starts = [0];
  for (const character of text) starts.push(starts[starts.length - 1] + character.length);
  const last = starts.length - 1;
  return spans.map(([start, end]) => [starts[Math.min(start, last)], starts[Math.min(end, last)]]);
}

/**
 * The stretch of a text as pieces that together are all of it. A span that begins inside of the one before, or leaves
 * the stretch, is cut there: what is drawn is always the text itself.
 * @param {Span} stretch in UTF-16 units
 * @param {Span[]} spans in UTF-16 units, in order
 * @param {number} [first] index of the first span
 * @returns {Piece[]}
 */
export function cut([from, to], spans, first = 0) {
  /** @type {Piece[]} */
  const pieces = [];
  let done = from;
  spans.forEach(([spanStart, spanEnd], offset) => {
    const start = Math.min(Math.max(spanStart, done), to);
    const end = Math.min(Math.max(spanEnd, start), to);
    if (start > done) pieces.push({ start: done, end: start, index: null });
    pieces.push({ start, end, index: first + offset });
    done = end;
  });
  if (done < to) pieces.push({ start: done, end: to, index: null });
  return pieces;
}

/**
 * Which spans lie in a stretch: they are in order, so those between two indices.
 * @param {Span[]} spans
 * @param {Span} stretch
 * @returns {[number, number]} first and past the last
 */
export function within(spans, [from, to]) {
  let first = spans.findIndex(([start]) => start >= from);
  if (first < 0) first = spans.length;
  let last = first;
  while (last < spans.length && spans[last][1] <= to) last += 1;
  return [first, last];
}

/**
 * Partners of every word on the other side, strongest first, without the weak ones: a word is linked to what got at
 * least half of the attention that its best partner got.
 * @param {[number, number, number][]} links
 * @returns {{source: Map<number, number[]>, target: Map<number, number[]>}} by source word, by target word
 */
export function partners(links) {
  /** @param {0 | 1} own */
  const bySide = (own) => {
    /** @type {Map<number, [number, number][]>} */
    const found = new Map();
    for (const link of links) {
      const list = found.get(link[own]) ?? [];
      list.push([link[1 - own], link[2]]);
      found.set(link[own], list);
    }
    return new Map(
      [...found].map(([word, list]) => {
        list.sort((a, b) => b[1] - a[1]);
        return [word, list.filter(([, weight]) => weight >= list[0][1] / 2).map(([other]) => other)];
      }),
    );
  };
  return { source: bySide(0), target: bySide(1) };
}
