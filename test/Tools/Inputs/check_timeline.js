// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Draws a page of bagua-sim --timeline on a canvas that only notes texts, at several widths and zooms, and says whether two
// of them overlap: node check_timeline.js PAGE. A digit is as wide as a letter here, 7 pixels.
"use strict";
const fs = require("fs"), vm = require("vm");
const page = fs.readFileSync(process.argv[2], "utf8");
const [, json, script] = page.match(/<script id="data"[^>]*>(.*?)<\/script>\s*<script>(.*?)<\/script>/s);
const textWidth = text => 7 * text.length;
let texts = [];
const context = new Proxy({measureText: text => ({width: textWidth(text)}),
                           fillText(text, x, y) {
                             const left = this.textAlign === "right" ? x - textWidth(text) : x;
                             texts.push({text, left, right: left + textWidth(text), y});
                           }},
                          {get: (target, name) => name in target ? target[name] : () => {}});
const handlers = {};
const element = id => ({id, style: {}, textContent: id === "data" ? json : "", value: "", clientWidth: 1000,
                        addEventListener: (name, handler) => { handlers[id + " " + name] = handler; },
                        getContext: () => context, getBoundingClientRect: () => ({left: 0, top: 0})});
const elements = {};
const window = {addEventListener: (name, handler) => { handlers["window " + name] = handler; }};
vm.runInNewContext(script, {document: {getElementById: id => elements[id] ||= element(id)}, window, location: {hash: ""},
                            decodeURIComponent});
let views = 0, most = 0;
for (const width of [600, 1000, 1800])
  for (let zoom = 0; zoom < 40; ++zoom) {
    elements.view.clientWidth = width;
    texts = [];
    handlers["view wheel"]({preventDefault() {}, clientX: 400, deltaY: -97});
    const axis = texts.filter(one => one.text.endsWith(" ms") || one.text === "next step");
    for (const one of axis)
      for (const other of axis)
        if (one !== other && Math.abs(one.y - other.y) < 12 && one.left < other.right && other.left < one.right) {
          console.log(`'${one.text}' at ${one.left} and '${other.text}' at ${other.left} overlap, ${width} pixels wide`);
          process.exit(1);
        }
    most = Math.max(most, axis.length);
    ++views;
    if (zoom === 39)
      handlers["view dblclick"]({});
  }
console.log(`${views} views, no labels overlap, up to ${most > 3 ? "many" : most} labels`);
