/** @file The service's `/v1` API: types, calls, and what its refusals mean. */

import { readKey } from "./store.js";

/**
 * Offsets are in Unicode characters, as the service counts them, not in the UTF-16 units of JavaScript; see pieces.js.
 * @typedef {[number, number]} Span
 * @typedef {{source: Span, target: Span, flags?: string[], confidence?: number | null}} Sentence
 * @typedef {{source: Span[], target: Span[], links: [number, number, number][]}} Alignment
 * @typedef {{text: string, score: number | null}} Alternative
 * @typedef {object} Translation
 * @property {string} text
 * @property {string} source
 * @property {string} target
 * @property {number | null} confidence
 * @property {string[]} flags
 * @property {Alternative[]} alternatives
 * @property {Sentence[]} sentences
 * @property {Alignment | null} [alignment]
 *
 * @typedef {{source: string, target: string}} Term
 * @typedef {object} Question
 * @property {string | string[]} text
 * @property {string} source
 * @property {string} target
 * @property {Term[]} [glossary]
 * @property {number} [alternatives]
 * @property {string} [prefix]
 * @property {boolean} [alignment]
 *
 * @typedef {{translations: Translation[], model: string, took_ms: number}} Answer
 * @typedef {{code: string, name: string, native: string, targets: string[]}} Language
 * @typedef {{source_tokens: string[], target_tokens: string[], layers: {heads: number[][][]}[]}} Attention
 * @typedef {{status: string, progress: number | null, filename: string, error: string | null, code?: string | null}} Job
 * @typedef {"network" | "key" | "rate" | "busy" | "quota" | "large" | "missing" | "refused" | "server"} Trouble
 */

/** What went wrong with a call: the kind decides what the page does, the detail is the service's own sentence. */
export class ApiError extends Error {
  /**
   * @param {Trouble} kind
   * @param {string} [detail]
   * @param {number | null} [retryAfter] seconds
   * @param {string} [code] the service's word for programs
   */
  constructor(kind, detail = "", retryAfter = null, code = "") {
    super(`${kind}: ${detail}`);
    this.kind = kind;
    this.code = code;
    this.detail = detail;
    this.retryAfter = retryAfter;
  }
}

/** @type {Record<number, Trouble>} */
const TROUBLES = { 401: "key", 404: "missing", 413: "large", 429: "rate", 456: "quota", 502: "busy", 503: "busy", 504: "busy" };

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function refusal(response) {
  let [detail, code] = ["", ""];
  try {
    const told = await response.json();
    if (typeof told.error === "string") detail = told.error;
    if (typeof told.code === "string") code = told.code;
  } catch {
    // A proxy's page instead of the service's JSON: the status says enough.
  }
  const kind = TROUBLES[response.status] ?? (response.status >= 500 ? "server" : "refused");
  const named = response.headers.get("Retry-After") ?? "";
  const seconds = /^\d+$/.test(named) ? Number(named) : (Date.parse(named) - Date.now()) / 1000;
  // "Now" is never at once: whoever is told so by a busy service must not come again without a pause.
  return new ApiError(kind, detail, Number.isFinite(seconds) ? Math.max(Math.ceil(seconds), 1) : null, code);
}

/**
 * @typedef {{method?: string, json?: unknown, form?: FormData, signal?: AbortSignal}} Call
 * @param {string} path below v1/
 * @param {Call} [options]
 * @param {(response: Response) => any} [read] takes the body of a success
 * @returns {Promise<any>} what it makes of it
 * @throws {ApiError} for any other answer, for none, and for one that breaks off
 */
async function call(path, { method = "GET", json, form, signal } = {}, read = (response) => response.json()) {
  const headers = new Headers({ Accept: "application/json" });
  const key = readKey();
  if (key) headers.set("Authorization", `Bearer ${key}`);
  if (json !== undefined) headers.set("Content-Type", "application/json");
  const body = json === undefined ? form : JSON.stringify(json);
  try {
    const response = await fetch(new URL(`v1/${path}`, document.baseURI), { method, headers, body, signal, cache: "no-store" });
    if (!response.ok) throw await refusal(response);
    return await read(response);
  } catch (error) {
    throw signal?.aborted || error instanceof ApiError ? error : new ApiError("network");
  }
}

/**
 * @param {Question} question
 * @param {AbortSignal} [signal]
 * @returns {Promise<Answer>}
 */
export async function translate(question, signal) {
  return call("translate", { method: "POST", json: question, signal });
}

/** @returns {Promise<Language[]>} */
export async function languages() {
  return call("languages");
}

/**
 * @param {{source_text: string, target_text: string, source: string, target: string}} question
 * @returns {Promise<Attention>}
 */
export async function attention(question) {
  return call("attention", { method: "POST", json: question });
}

/** @param {{source: string, target: string, source_text: string, translation: string, correction: string}} correction */
export async function correct(correction) {
  await call("corrections", { method: "POST", json: correction });
}

/**
 * @param {File} file
 * @param {string} source
 * @param {string} target
 * @param {AbortSignal} signal
 * @returns {Promise<string>} the document's id
 */
export async function sendDocument(file, source, target, signal) {
  const form = new FormData();
  form.set("source", source);
  form.set("target", target);
  form.set("file", file);
  return (await call("documents", { method: "POST", form, signal })).id;
}

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Job>}
 */
export async function documentState(id, signal) {
  return call(`documents/${encodeURIComponent(id)}`, { signal });
}

/**
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Blob>}
 */
export async function documentResult(id, signal) {
  return call(`documents/${encodeURIComponent(id)}/result`, { signal }, (response) => response.blob());
}

/** @param {string} id */
export async function forgetDocument(id) {
  await call(`documents/${encodeURIComponent(id)}`, { method: "DELETE" });
}
