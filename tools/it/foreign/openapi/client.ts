// People imported, an alert sent and its report read, by the types that openapi-typescript has generated, and
// openapi-fetch.
//
// usage: node client.js URL TOKEN FILE.csv; what it saw is one JSON object on its standard output.

import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Alert = components["schemas"]["AlertRequest"];
type Report = components["schemas"]["Report"];

const DONE_WITHIN_MS = 60_000;
const [url, token, people] = process.argv.slice(2);
if (url === undefined || token === undefined || people === undefined) {
  throw new Error("usage: client.js URL TOKEN FILE.csv");
}
const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });

function taken<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(`refused: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

async function report(id: string): Promise<Report> {
  const answer = await client.GET("/api/v1/alerts/{id}/report", { params: { path: { id } } });
  return taken(answer) as Report;
}

async function done(id: string): Promise<Report> {
  const until = Date.now() + DONE_WITHIN_MS;
  for (;;) {
    const seen = await report(id);
    if (seen.state === "done") return seen;
    if (Date.now() > until) throw new Error(`not done in time: ${JSON.stringify(seen)}`);
    await setTimeout(100);
  }
}

const imported = taken(
  await client.POST("/api/v1/recipients:import", {
    body: readFileSync(people, "utf8"),
    bodySerializer: (body) => body,
    headers: { "Content-Type": "text/csv" },
  }),
);
const person = taken(
  await client.PUT("/api/v1/recipients/{id}", {
    params: { path: { id: "by-hand" } },
    body: { name: "By Hand", devices: [{ channel: "sms", address: "+46701740690" }] },
  }),
);
if (person.devices[0]?.enabled !== true) throw new Error(JSON.stringify(person));
const nobody: Alert = { text: "x", audience: ["group:nobody"] };
const refused = await client.POST("/api/v1/alerts", { body: nobody });
if (refused.error?.status !== 422) throw new Error(JSON.stringify(refused));
const alert: Alert = { text: "Leave the building", audience: ["all"], channels: ["sms"], priority: "urgent" };
const submitted = taken(
  await client.POST("/api/v1/alerts", {
    params: { query: { mode: "sync" }, header: { "Idempotency-Key": "from typescript" } },
    body: alert,
  }),
);
const seen = await done(submitted.id);
const page = taken(
  await client.GET("/api/v1/alerts/{id}/deliveries", {
    params: { path: { id: submitted.id }, query: { limit: 1000 } },
  }),
);
console.log(
  JSON.stringify({
    imported: imported.imported,
    state: seen.state,
    counts: seen.counts,
    deliveries: page.items.length,
  }),
);
