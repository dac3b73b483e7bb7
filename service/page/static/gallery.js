/** `#/gallery`: every picture with examples, for developers. No request is sent. */
import { html } from "./lib.js";
import { curve } from "./pictures/curve.js";
import { frontier } from "./pictures/frontier.js";
import { histogram } from "./pictures/histogram.js";
import { lanes } from "./pictures/lanes.js";
import { loads } from "./pictures/loads.js";
import { multiples } from "./pictures/multiples.js";
import { counted, partitions } from "./pictures/ownership.js";
import { placement } from "./pictures/placement.js";
import { presence } from "./pictures/presence.js";
import { way } from "./pictures/way.js";
import { ownership } from "./workbenches/ownership.js";

const WIDTH = 620;
const upTo = (/** @type {number} */ count) => Array.from({ length: count }, (_, i) => i);

const topics = [
  { topic_name: "orders", partitions_count: 9 },
  { topic_name: "a-topic-with-a-long-name", partitions_count: 3 },
];
const members = [
  { member_id: "c1" },
  { member_id: "c2", change: /** @type {const} */ ("leaves") },
  { member_id: "c3", change: /** @type {const} */ ("joins") },
];
const before = [
  { member_id: "c1", partitions: [{ topic_name: "orders", partition_ids: [0, 1, 2, 3, 4] }] },
  { member_id: "c2", partitions: [{ topic_name: "orders", partition_ids: [5, 6, 7, 8] }] },
];
const after = [
  { member_id: "c1", partitions: [{ topic_name: "orders", partition_ids: [0, 1, 2, 3, 5] }] },
  {
    member_id: "c3",
    partitions: [
      { topic_name: "orders", partition_ids: [4, 6, 7, 8] },
      { topic_name: topics[1].topic_name, partition_ids: [0, 1, 2] },
    ],
  },
];
const owned = ownership(topics, members, before, after);

/** @typedef {{x: number, label: string}} Mark */

/** A curve of one series. @param {import("./pictures/curve.js").Point[]} points @param {Mark[]} marks @param {{y: number, label: string}} limit */
function stairs(points, marks, limit) {
  const series = [{ name: "range", look: "line-before", stairs: true, points }];
  return curve({ series, marks, limit, x: "members", y: "largest load" }, WIDTH);
}

/** @type {[string, any][]} */
const EXAMPLES = [
  ["ownership: one cell per partition", partitions(owned, WIDTH)],
  ["ownership: empty", partitions(ownership(topics, [], [], []), WIDTH)],
  [
    "ownership: counts",
    counted(
      {
        rows: [
          { label: "c1", change: "" },
          { label: "c2", change: "leaves" },
        ],
        columns: ["orders", "payments"],
        before: [
          [12, 3],
          [4, 0],
        ],
        after: [
          [16, 3],
          [0, 0],
        ],
      },
      WIDTH,
    ),
  ],
  ["loads: bars", loads(owned.members, WIDTH)],
  [
    "loads: many",
    loads(
      upTo(300).map((i) => ({ id: `m${i}`, before: 100 - (i % 7), after: 100 + (i % 3) })),
      WIDTH,
    ),
  ],
  [
    "histogram: few, one above the band",
    histogram({ counts: [4, 9, 31, 6], mean: 12.5, band: { low: 15, high: 22 } }, WIDTH),
  ],
  [
    "histogram: a thousand",
    histogram({ counts: upTo(1000).map((i) => 50 + ((i * 37) % 23)), mean: 61, band: { low: 70, high: 74 } }, WIDTH),
  ],
  ["histogram: none", histogram({ counts: [0], mean: 0, band: null }, WIDTH)],
  [
    "multiples",
    multiples(
      ["java", "sarama", "a-partitioner-with-a-long-name"].map((name, i) => ({
        name,
        note: "skew 1.24",
        counts: upTo(12).map((id) => 40 + ((id * (i + 3)) % 9)),
        mean: 44,
        band: { low: 46, high: 60 },
      })),
      WIDTH,
    ),
  ],
  [
    "placement",
    placement(
      {
        brokers: [
          { id: 1, rack: "rack a", change: "" },
          { id: 2, rack: "rack b", change: "leaves" },
          { id: 3, rack: "rack b", change: "joins" },
        ],
        rows: [
          { label: "orders-0", before: [2, 1, 0], after: [2, 0, 1] },
          { label: "orders-1", before: [1, 2, 0], after: [1, 0, 2] },
        ],
        single: true,
      },
      WIDTH,
    ),
  ],
  [
    "placement: topics on many brokers",
    placement(
      {
        brokers: upTo(40).map((id) => ({ id, rack: `rack ${id % 2}`, change: id === 7 ? "leaves" : "" })),
        rows: ["orders", "payments"].map((label, i) => ({
          label,
          before: upTo(40).map((id) => (id * (i + 3)) % 9),
          after: upTo(40).map((id) => (id === 7 ? 0 : ((id * (i + 3)) % 9) + (id === 9 ? 3 : 0))),
        })),
        single: false,
      },
      WIDTH,
    ),
  ],
  [
    "frontier",
    frontier(
      {
        points: [
          { price: 0, goal: 9 },
          { price: 2, goal: 4 },
          { price: 5, goal: 1 },
        ],
        chosen: 2,
        here: { price: 4, goal: 7, label: "this change" },
        price: "copies",
        goal: "spread",
      },
      WIDTH,
    ),
  ],
  [
    "lanes",
    lanes(
      {
        lanes: [
          {
            name: "range",
            at: [0, 3000, 20_000, 24_000],
            idle: [6, 0, 6, 0],
            rebalances: [
              { from: 0, to: 3000, number: 1 },
              { from: 20_000, to: 24_000, number: 2 },
            ],
          },
        ],
        end: 30_000,
        partitions: 6,
        events: [{ at: 20_000, label: "c3 joins" }],
        chosen: 1,
      },
      WIDTH,
    ),
  ],
  [
    "curve: up to a thousand",
    stairs(
      [1, 2, 5, 10, 100, 1000].map((x) => ({ x, y: 1000 / x, dot: true, note: "" })),
      [{ x: 500, label: "now: 500" }],
      { y: 20, label: "limit: 20" },
    ),
  ],
  [
    "curve",
    stairs(
      upTo(12).map((i) => ({ x: i + 1, y: Math.ceil(12 / (i + 1)), dot: 12 % (i + 1) === 0, note: "" })),
      [
        { x: 5, label: "now: 5" },
        { x: 6, label: "recommended: 6" },
      ],
      { y: 2, label: "limit: 2" },
    ),
  ],
  [
    "presence: members and rebalances",
    presence(
      {
        marks: [
          { from: 0, to: 3000, label: "1: c1 joined", members: ["c1"] },
          { from: 20_000, to: 24_000, label: "2: c2 joined", members: ["c1", "c2"] },
          { from: 40_000, to: 41_000, label: "3: not told", members: null },
        ],
        from: 0,
        to: 60_000,
      },
      WIDTH,
    ),
  ],
  [
    "way: now and planned",
    way(
      ["now", "planned"].map((name, i) => ({
        name,
        steps: [
          { title: "key", lines: [{ text: "order-1042" }] },
          { title: "partition", lines: [{ text: `orders-${6 * i}`, mark: "joins", note: `of ${6 + 6 * i}` }] },
          { title: "brokers", lines: upTo(8).map((id) => ({ text: `broker ${id}`, mark: id === 3 ? "leaves" : "" })) },
        ],
      })),
      WIDTH,
    ),
  ],
];

/** All pictures. */
export function Gallery() {
  return html`<h1>Every picture</h1>
    ${EXAMPLES.map(
      ([name, picture]) =>
        html`<figure class="example">
          <h3>${name}</h3>
          <div class="picture" tabindex="0" role="group" aria-label=${name}>${picture}</div>
        </figure>`,
    )}`;
}
