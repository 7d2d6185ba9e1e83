// Prisma: `db push` twice and after a change of the models, `db pull`, and its client: relations, filters, groups, upserts,
// nested writes, transactions, JSON, arrays, enums, errors. The schema engine is the one in the package (WebAssembly), which
// reaches the server by the adapter of node-postgres.
//
//     node bench/clients/prisma_client.js ADDRESS
//
// Needs `npm install prisma@6.19 @prisma/client@6.19 @prisma/adapter-pg@6.19 pg`; --ignore-scripts if binaries cannot be fetched.
const { execFileSync } = require("child_process");
const assert = require("assert");
const fs = require("fs");
const os = require("os");
const path = require("path");

const address = process.argv[2];
const modules = path.dirname(path.dirname(require.resolve("prisma/package.json")));

const MODELS = (changed) => `
generator client {
  provider   = "prisma-client-js"
  engineType = "client"
  output     = "./client"
}
datasource db {
  provider = "postgresql"
  url      = env("DATABASE_URL")
}
enum Kind {
  ASSET
  DEBT
  ${changed ? "GIFT" : ""}
}
model Account {
  id      Int      @id @default(autoincrement())
  email   String   @unique @db.VarChar(${changed ? 120 : 80})
  kind    Kind     @default(ASSET)
  balance Decimal  @default(0) @db.Decimal(12, 2)
  meta    Json?
  tags    String[]
  made    DateTime @default(now())
  changed DateTime @updatedAt
  raw     Bytes?
  entries Entry[]
  groups  Group[]
  ${changed ? "nick String?" : ""}
  @@index([kind, made(sort: Desc)])
  @@map("prisma_accounts")
}
model Entry {
  key       String  @id @default(uuid()) @db.Uuid
  amount    Float
  account   Account @relation(fields: [accountId], references: [id], onDelete: Cascade)
  accountId Int
  @@unique([accountId, amount])
  @@map("prisma_entries")
}
model Group {
  number   ${changed ? "BigInt" : "Int"} @id
  name     String
  part     Int
  accounts Account[]
  @@unique([name, part])
  @@map("prisma_groups")
}
`;

const CONFIG = `
import pg from "pg";
import { PrismaPg } from "@prisma/adapter-pg";

// The adapter does not know the types \`name\` and \`"char"\` of PostgreSQL's catalogue, on PostgreSQL either.
const known = new Map([[18, 1042], [19, 25], [1002, 1009], [1003, 1009]]);
const query = pg.Client.prototype.query;
const named = (result) => {
  for (const field of result?.fields ?? []) field.dataTypeID = known.get(field.dataTypeID) ?? field.dataTypeID;
  return result;
};
pg.Client.prototype.query = function (...given) {
  const done = given.at(-1);
  if (typeof done === "function") given[given.length - 1] = (error, result) => done(error, named(result));
  const asked = query.apply(this, given);
  return typeof asked?.then === "function" ? asked.then(named) : asked;
};
export default {
  schema: "schema.prisma",
  experimental: { adapter: true },
  engine: "js",
  async adapter() {
    return new PrismaPg({ connectionString: process.env.DATABASE_URL });
  },
};
`;

async function main() {
  const place = fs.mkdtempSync(path.join(os.tmpdir(), "prisma-"));
  try {
    await run(place);
  } finally {
    fs.rmSync(place, { recursive: true });
  }
}

async function run(place) {
  fs.symlinkSync(modules, path.join(place, "node_modules"));
  fs.writeFileSync(path.join(place, "prisma.config.mjs"), CONFIG);
  const absent = path.join(place, "absent");
  fs.writeFileSync(absent, "");
  const prisma = (...given) => {
    // Names of files end the search for engines outside of the package.
    const env = {
      ...process.env, DATABASE_URL: address, PRISMA_QUERY_ENGINE_LIBRARY: absent, PRISMA_SCHEMA_ENGINE_BINARY: absent,
      PRISMA_HIDE_UPDATE_MESSAGE: "1", CHECKPOINT_DISABLE: "1",
    };
    const command = [path.join(modules, "prisma", "build", "index.js"), ...given, "--config", "prisma.config.mjs"];
    try {
      return execFileSync(process.execPath, command, { cwd: place, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    } catch (error) {
      throw new Error(`prisma ${given.join(" ")}: ${error.stdout}${error.stderr}`);
    }
  };
  const push = (...given) => prisma("db", "push", "--skip-generate", ...given);
  fs.writeFileSync(path.join(place, "schema.prisma"), MODELS(false));
  assert.match(push(), /is now in sync/);
  assert.match(push(), /already in sync/);
  fs.writeFileSync(path.join(place, "schema.prisma"), MODELS(true));
  assert.match(push("--accept-data-loss"), /is now in sync/);
  assert.match(push(), /already in sync/);
  const pulled = prisma("db", "pull", "--print");
  for (const line of [/@@map\("prisma_accounts"\)/, /id\s+Int\s+@id @default\(autoincrement\(\)\)/, /number\s+BigInt\s+@id/, /@@unique\(\[name, part\]\)/, /enum Kind/, /@@index\(\[kind, made\(sort: Desc\)\]\)/]) {
    assert.match(pulled, line);
  }
  prisma("generate");
  const { PrismaClient, Prisma } = require(path.join(place, "client"));
  const { PrismaPg } = require("@prisma/adapter-pg");
  const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: address }) });
  try {
    await use(db, Prisma);
    const drop = ["_AccountToGroup", "prisma_groups", "prisma_entries", "prisma_accounts"].map((name) => `"${name}"`);
    await db.$executeRawUnsafe(`drop table ${drop.join(", ")}`);
    await db.$executeRawUnsafe('drop type "Kind"');
  } finally {
    await db.$disconnect();
  }
  console.log("prisma ok");
}

async function use(db, Prisma) {
  const ada = await db.account.create({
    data: {
      email: "ada@example.org", kind: "GIFT", balance: "12.50", meta: { a: [1, { b: null }] }, tags: ["x", 'y "z"'], raw: Buffer.from([0, 255]),
      entries: { create: [{ amount: 1.5 }, { amount: 2.5 }] }, groups: { create: { number: 7n, name: "first", part: 1 } },
    },
    include: { entries: true, groups: true },
  });
  assert.strictEqual(ada.id, 1);
  assert.ok(ada.balance.equals("12.5") && ada.entries.length === 2 && ada.groups[0].name === "first");
  assert.deepStrictEqual([ada.tags, ada.meta, [...ada.raw]], [["x", 'y "z"'], { a: [1, { b: null }] }, [0, 255]]);
  const many = await db.account.createMany({ data: Array.from({ length: 150 }, (_, i) => ({ email: `user${i}@example.org`, balance: i })) });
  assert.strictEqual(many.count, 150);
  const more = await db.account.createMany({ data: [{ email: "ada@example.org" }, { email: "new@example.org" }], skipDuplicates: true });
  assert.strictEqual(more.count, 1);
  const upserted = await db.account.upsert({ where: { email: "ada@example.org" }, update: { balance: { increment: 1 } }, create: { email: "none" } });
  assert.ok(upserted.balance.equals("13.5"));
  const found = await db.account.findMany({
    where: { OR: [{ tags: { has: "x" } }, { email: { startsWith: "USER14", mode: "insensitive" } }, { meta: { path: ["a", "0"], equals: 1 } }], NOT: { kind: "DEBT" } },
    orderBy: [{ balance: "desc" }, { id: "asc" }], skip: 1, take: 3, include: { entries: { where: { amount: { gt: 2 } } }, _count: { select: { entries: true } } },
  });
  assert.deepStrictEqual(found.map((one) => one.email), ["user148@example.org", "user147@example.org", "user146@example.org"]);
  const grouped = await db.account.groupBy({ by: ["kind"], _count: true, _avg: { balance: true }, having: { balance: { _avg: { gt: 20 } } } });
  assert.deepStrictEqual(grouped.map((one) => [one.kind, one._count]), [["ASSET", 151]]);
  const some = await db.account.findMany({ where: { entries: { some: { amount: { lt: 2 } } }, groups: { every: { part: 1 } } }, select: { email: true, groups: true } });
  assert.deepStrictEqual(some, [{ email: "ada@example.org", groups: [{ number: 7n, name: "first", part: 1 }] }]);
  await assert.rejects(db.account.create({ data: { email: "ada@example.org" } }), { code: "P2002" });
  await assert.rejects(db.entry.create({ data: { amount: 1, accountId: 9999 } }), { code: "P2003" });
  await assert.rejects(db.account.delete({ where: { id: 9999 } }), { code: "P2025" });
  await assert.rejects(
    db.$transaction(async (tx) => {
      await tx.entry.deleteMany();
      throw new Error("back");
    }),
    /back/,
  );
  const [entries, sum] = await db.$transaction([db.entry.count(), db.entry.aggregate({ _sum: { amount: true }, _max: { amount: true } })], { isolationLevel: "Serializable" });
  assert.deepStrictEqual([entries, sum._sum.amount, sum._max.amount], [2, 4, 2.5]);
  const raw = await db.$queryRaw`select count(*) as n, ${"t"}::text as t from prisma_accounts where id = any(${[1, 2]})`;
  assert.deepStrictEqual(raw, [{ n: 2n, t: "t" }]);
  await db.account.update({ where: { id: 1 }, data: { groups: { disconnect: { name_part: { name: "first", part: 1 } } }, meta: Prisma.DbNull, entries: { deleteMany: { amount: 1.5 } } } });
  assert.strictEqual(await db.group.count({ where: { accounts: { none: {} } } }), 1);
  assert.strictEqual((await db.account.deleteMany({ where: { OR: [{ id: 1 }, { email: { contains: "user" } }] } })).count, 151);
  assert.strictEqual(await db.entry.count(), 0);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
