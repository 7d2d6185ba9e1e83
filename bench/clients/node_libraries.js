// Further libraries of Node on PostgreSQL, each with its everyday calls: node node_libraries.js DSN NAME.
//
// ORMs, query builders, drivers and migrations. A control is the same with the address of a PostgreSQL 15. Ends with 0 if the
// library works, and with 77 if it is not installed (`npm install` of its name; NODE_PATH names where). mikro-orm is tried
// as @mikro-orm/core@6.4.0, postgresql, knex, migrations and entity-generator of the same version.
const assert = require('node:assert');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const DSN = process.argv[2];
const same = assert.deepStrictEqual;

async function pg(...statements) {
  const client = new (require('pg').Client)(DSN);
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

const libraries = {
  // kysely: schema builder, introspection, JSON helpers, MERGE, upserts, migrations, transactions with savepoints, streams.
  async kysely() {
    const K = require('kysely');
    const { jsonArrayFrom, jsonObjectFrom, jsonBuildObject } = require('kysely/helpers/postgres');
    const { Pool } = require('pg');
    const Cursor = require('pg-cursor');
    const db = new K.Kysely({ dialect: new K.PostgresDialect({ pool: new Pool({ connectionString: DSN }), cursor: Cursor }) });
    for (const table of ['ky_pets', 'ky_people', 'ky_m', 'kysely_migration', 'kysely_migration_lock']) await db.schema.dropTable(table).ifExists().cascade().execute();
    await db.schema.dropType('ky_mood').ifExists().execute();
    await db.schema.createType('ky_mood').asEnum(['sad', 'happy']).execute();
    await db.schema.createTable('ky_people')
      .addColumn('id', 'bigint', (c) => c.primaryKey().generatedByDefaultAsIdentity())
      .addColumn('name', 'varchar(40)', (c) => c.notNull().unique())
      .addColumn('data', 'jsonb').addColumn('mood', K.sql`ky_mood`, (c) => c.defaultTo('sad'))
      .addColumn('tags', K.sql`text[]`)
      .addColumn('made', 'timestamptz', (c) => c.defaultTo(K.sql`now()`))
      .addColumn('upper', 'text', (c) => c.generatedAlwaysAs(K.sql`upper(name)`).stored())
      .addCheckConstraint('ky_long', K.sql`char_length(name) > 1`).execute();
    await db.schema.createTable('ky_pets').addColumn('id', 'serial', (c) => c.primaryKey()).addColumn('owner', 'bigint', (c) => c.references('ky_people.id').onDelete('cascade'))
      .addColumn('kind', 'text').addUniqueConstraint('ky_once', ['owner', 'kind'], (b) => b.nullsNotDistinct()).execute();
    await db.schema.createIndex('ky_data').on('ky_people').using('gin').column('data').execute();
    await db.schema.createIndex('ky_part').on('ky_pets').column('kind').where('kind', '=', 'cat').execute();
    await db.schema.createView('ky_cats').orReplace().as(db.selectFrom('ky_pets').selectAll().where(K.sql`kind`, '=', K.sql`'cat'`)).execute();
    const rows = await db.insertInto('ky_people').values([{ name: 'Ada', data: '{"q":[1]}', tags: ['x', 'y'] }, { name: 'Bob' }]).onConflict((o) => o.column('name').doUpdateSet((e) => ({ data: e.ref('excluded.data') }))).returningAll().execute();
    same(rows.map((row) => [row.id, row.upper, row.mood, row.tags]), [['1', 'ADA', 'sad', ['x', 'y']], ['2', 'BOB', 'sad', null]]);
    await db.insertInto('ky_pets').values([{ owner: 1, kind: 'cat' }, { owner: 1, kind: 'dog' }]).execute();
    const nested = await db.selectFrom('ky_people').select((e) => ['name',
      jsonArrayFrom(e.selectFrom('ky_pets').select(['ky_pets.kind']).whereRef('ky_pets.owner', '=', 'ky_people.id').orderBy('ky_pets.id')).as('pets'),
      jsonObjectFrom(e.selectFrom('ky_pets').select('ky_pets.kind').whereRef('ky_pets.owner', '=', 'ky_people.id').orderBy('kind', 'desc').limit(1)).as('last'),
      jsonBuildObject({ a: e.ref('name') }).as('built')]).orderBy('id').execute();
    same(nested, [{ name: 'Ada', pets: [{ kind: 'cat' }, { kind: 'dog' }], last: { kind: 'dog' }, built: { a: 'Ada' } }, { name: 'Bob', pets: [], last: null, built: { a: 'Bob' } }]);
    const merged = await db.mergeInto('ky_people').using('ky_pets', (j) => j.onRef('ky_people.id', '=', 'ky_pets.owner').on('ky_pets.kind', '=', 'cat')).whenMatched().thenUpdateSet({ mood: 'happy' }).whenNotMatched().thenDoNothing().executeTakeFirst();
    same(Number(merged.numChangedRows), 1);
    same(await db.selectFrom('ky_people').select((e) => e.ref('data', '->>').key('q').as('q')).distinctOn('name').orderBy('name').execute(), [{ q: '[1]' }, { q: null }]);
    same((await db.selectFrom('ky_people').select('name').where((e) => e.or([e('name', 'ilike', 'a%'), e.exists(e.selectFrom('ky_pets').select('id').where('kind', '=', 'no'))])).execute()).length, 1);
    await db.transaction().setIsolationLevel('serializable').execute(async (tx) => {
      same((await tx.selectFrom('ky_people').selectAll().forUpdate().skipLocked().execute()).length, 2);
    });
    const tx = await db.startTransaction().execute();
    await tx.insertInto('ky_pets').values({ owner: 2, kind: 'cow' }).execute();
    const saved = await tx.savepoint('here').execute();
    await saved.deleteFrom('ky_pets').execute();
    await (await saved.rollbackToSavepoint('here').execute()).releaseSavepoint('here').execute();
    await tx.commit().execute();
    let streamed = 0;
    for await (const row of db.selectFrom('ky_pets').selectAll().stream(2)) streamed += row.id ? 1 : 0;
    same(streamed, 3);
    same(await db.deleteFrom('ky_people').using('ky_pets').whereRef('ky_pets.owner', '=', 'ky_people.id').where('kind', '=', 'cow').returning('name').execute(), [{ name: 'Bob' }]);
    assert((await db.selectFrom('ky_pets').selectAll().explain('json', K.sql`costs off`)).length);
    const tables = await db.introspection.getTables();
    const people = tables.find((table) => table.name === 'ky_people');
    same(people.columns.map((c) => [c.name, c.dataType, c.isAutoIncrementing, c.isNullable, c.hasDefaultValue]).slice(0, 4), [['id', 'int8', true, false, false], ['name', 'varchar', false, false, false], ['data', 'jsonb', false, true, false], ['mood', 'ky_mood', false, true, true]]);
    assert(tables.find((table) => table.name === 'ky_cats').isView);
    assert((await db.introspection.getSchemas()).some((schema) => schema.name === 'public'));
    const migrator = new K.Migrator({ db, provider: { getMigrations: async () => ({
      1: { up: async (d) => { await d.schema.createTable('ky_m').addColumn('id', 'serial').addColumn('a', 'integer').execute(); }, down: async (d) => { await d.schema.dropTable('ky_m').execute(); } },
      2: { up: async (d) => { await d.schema.alterTable('ky_m').addColumn('z', 'integer', (c) => c.notNull().defaultTo(3)).alterColumn('a', (c) => c.setDataType('bigint')).alterColumn('a', (c) => c.setNotNull()).execute(); }, down: async (d) => { await d.schema.alterTable('ky_m').dropColumn('z').execute(); } },
    }) } });
    for (const way of ['migrateToLatest', 'migrateDown', 'migrateToLatest', 'migrateDown', 'migrateDown']) {
      const { error } = await migrator[way]();
      if (error) throw error;
    }
    await db.destroy();
  },

  // drizzle: `drizzle-kit push` twice and after a change, `pull`, `generate` and its migrator, the relational queries.
  async drizzle() {
    const { drizzle } = require('drizzle-orm/node-postgres');
    const core = require('drizzle-orm/pg-core');
    const { eq, sql, relations, and, gt, arrayContains, desc, count } = require('drizzle-orm');
    const { migrate } = require('drizzle-orm/node-postgres/migrator');
    const modules = path.dirname(path.dirname(require.resolve('drizzle-kit')));
    const root = fs.mkdtempSync(path.join(os.tmpdir(), 'drizzle-'));
    fs.symlinkSync(modules, path.join(root, 'node_modules'));
    const schema = (changed) => `
import { pgTable, pgSchema, serial, text, integer, jsonb, timestamp, uuid, pgEnum, index, uniqueIndex, numeric, check, pgView, varchar, bigint, primaryKey, foreignKey, unique, boolean, date, doublePrecision, interval, smallint, time, inet, char, pgSequence } from 'drizzle-orm/pg-core';
import { sql } from 'drizzle-orm';
export const mood = pgEnum('dz_mood', ['sad', 'ok'${changed ? ", 'happy'" : ''}]);
export const numbers = pgSequence('dz_numbers', { startWith: 100, increment: 5 });
export const users = pgTable('dz_users', { id: serial().primaryKey(), name: varchar({ length: 60 }).notNull().unique(), w: varchar({ length: ${changed ? 90 : 70} }), m: mood().default('ok'), j: jsonb().default({}), t: text().array(), at: timestamp({ withTimezone: true }).defaultNow(), u: uuid().defaultRandom(), up: text().generatedAlwaysAs(sql\`upper(name)\`), b: boolean().notNull().default(false), d: date(), f: doublePrecision(), i: interval(), s: smallint(), z: time(), ip: inet(), c: char({ length: 3 })${changed ? ', more: integer().notNull().default(7)' : ''} }, (t) => [check('dz_nm', sql\`char_length(name) > 1\`), index('dz_at').on(t.at.desc()), index('dz_gin').using('gin', t.j)${changed ? ", index('dz_low').on(sql`lower(name)`)" : ''}]);
export const posts = pgTable('dz_posts', { id: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(), uid: integer().references(() => users.id, { onDelete: 'cascade' }), p: numeric({ precision: 10, scale: 2 }), body: text() }, (t) => [uniqueIndex('dz_pu').on(t.uid, t.p).where(sql\`p > 0\`)]);
export const both = pgTable('dz_both', { a: integer().notNull(), b: integer().notNull() }, (t) => [primaryKey({ columns: [t.a, t.b] })]);
export const view = pgView('dz_view').as((qb) => qb.select({ id: users.id, name: users.name }).from(users));
`;
    const write = (file, text) => fs.writeFileSync(path.join(root, file), text);
    write('drizzle.config.ts', `import { defineConfig } from 'drizzle-kit'; export default defineConfig({ dialect: 'postgresql', schema: './schema.ts', out: './out', tablesFilter: ['dz_*'], dbCredentials: { url: ${JSON.stringify(DSN)} } });`);
    const kit = (...words) => {
      const ran = spawnSync(process.execPath, [path.join(modules, 'drizzle-kit', 'bin.cjs'), ...words], { cwd: root, encoding: 'utf8', timeout: 120000 });
      const said = ran.stdout + ran.stderr;
      if (ran.status !== 0 || /error:/.test(said)) throw new Error(`drizzle-kit ${words.join(' ')}: ${said}`);
      return said;
    };
    const clean = () => pg('DROP VIEW IF EXISTS dz_view', 'DROP TABLE IF EXISTS dz_posts, dz_users, dz_both CASCADE', 'DROP TYPE IF EXISTS dz_mood', 'DROP SEQUENCE IF EXISTS dz_numbers', 'DROP SCHEMA IF EXISTS drizzle CASCADE');
    await clean();
    write('schema.ts', schema(false));
    kit('push', '--force');
    assert.match(kit('push', '--force'), /No changes detected/);
    write('schema.ts', schema(true));
    kit('push', '--force');
    assert.match(kit('push', '--force'), /No changes detected/);
    kit('pull');
    const pulled = fs.readFileSync(path.join(root, 'out', 'schema.ts'), 'utf8');
    for (const part of ['pgEnum("dz_mood", [\'sad\', \'ok\', \'happy\'])', 'varchar({ length: 90 })', 'generatedAlwaysAs', 'generatedAlwaysAsIdentity', 'dz_pu', 'dz_gin', 'dz_nm', 'onDelete("cascade")', 'dz_view']) assert(pulled.includes(part), `${part}\n${pulled}`);
    await clean();
    fs.rmSync(path.join(root, 'out'), { recursive: true });
    kit('generate');
    const users = core.pgTable('dz_users', { id: core.serial().primaryKey(), name: core.varchar({ length: 90 }).notNull(), m: core.text(), j: core.jsonb(), t: core.text().array(), at: core.timestamp({ withTimezone: true }).defaultNow(), more: core.integer() });
    const posts = core.pgTable('dz_posts', { id: core.bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(), uid: core.integer(), p: core.numeric({ precision: 10, scale: 2 }), body: core.text() });
    const both = { users, posts, usersRelations: relations(users, ({ many }) => ({ posts: many(posts) })), postsRelations: relations(posts, ({ one }) => ({ user: one(users, { fields: [posts.uid], references: [users.id] }) })) };
    const { Pool } = require('pg');
    const pool = new Pool({ connectionString: DSN });
    const db = drizzle(pool, { schema: both });
    await migrate(db, { migrationsFolder: path.join(root, 'out') });
    await migrate(db, { migrationsFolder: path.join(root, 'out') });
    const [ada] = await db.insert(users).values([{ name: 'Ada', j: { a: 1 }, t: ['x', 'y'] }, { name: 'Bob' }]).returning();
    same([ada.id, ada.more, ada.t, ada.at instanceof Date], [1, 7, ['x', 'y'], true]);
    await db.insert(users).values({ name: 'Ada' }).onConflictDoUpdate({ target: users.name, set: { j: sql`excluded.j` } });
    await db.insert(posts).values([{ uid: 1, p: '2.50', body: 'one' }, { uid: 1, p: '3', body: 'two' }]);
    const found = await db.query.users.findMany({ with: { posts: { orderBy: desc(posts.id), limit: 1, with: { user: { columns: { name: true } } } } }, orderBy: users.id, columns: { name: true }, extras: { low: sql`lower(${users.name})`.as('low') } });
    same(found, [{ name: 'Ada', low: 'ada', posts: [{ id: 2, uid: 1, p: '3', body: 'two', user: { name: 'Ada' } }] }, { name: 'Bob', low: 'bob', posts: [] }]);
    same(await db.select({ name: users.name, n: count(posts.id) }).from(users).leftJoin(posts, eq(posts.uid, users.id)).groupBy(users.name).orderBy(users.name), [{ name: 'Ada', n: 2 }, { name: 'Bob', n: 0 }]);
    same((await db.select().from(users).where(and(arrayContains(users.t, ['x']), gt(users.id, 0)))).length, 1);
    const top = db.$with('top').as(db.select({ uid: posts.uid, best: sql`max(${posts.p})`.as('best') }).from(posts).groupBy(posts.uid));
    same((await db.with(top).select().from(users).innerJoin(top, eq(top.uid, users.id)))[0].top.best, '3.00');
    await assert.rejects(db.transaction(async (tx) => {
      await tx.delete(posts);
      await tx.transaction(async (inner) => { await inner.insert(users).values({ name: 'Eve' }); inner.rollback(); }).catch(() => {});
      tx.rollback();
    }, { isolationLevel: 'serializable' }));
    same(await db.$count(posts), 2);
    const prepared = db.select().from(users).where(eq(users.id, sql.placeholder('id'))).for('update', { skipLocked: true }).prepare('dz_p');
    same((await prepared.execute({ id: 2 }))[0].name, 'Bob');
    same((await db.update(users).set({ more: sql`${users.more} + 1` }).from(posts).where(eq(posts.uid, users.id)).returning({ more: users.more })), [{ more: 8 }]);
    await pool.end();
    await clean();
    fs.rmSync(root, { recursive: true });
  },

  // MikroORM: its schema generator, differences of schemas, the unit of work, relations, locks, the generator of entities.
  async mikro_orm() {
    const { MikroORM, EntitySchema, LockMode, raw } = require('@mikro-orm/postgresql');
    const { EntityGenerator } = require('@mikro-orm/entity-generator');
    const Author = new EntitySchema({ name: 'MoAuthor', tableName: 'mo_author', checks: [{ name: 'mo_ck', expression: 'char_length(name) > 0' }], properties: {
      id: { type: 'number', primary: true, autoincrement: true }, name: { type: 'string', unique: true }, kind: { enum: true, items: ['a', 'b'], type: 'string', default: 'a' },
      native: { enum: true, items: ['x', 'y'], type: 'string', nativeEnumName: 'mo_native', default: 'x' }, data: { type: 'json', nullable: true }, tags: { type: 'string[]', nullable: true },
      at: { type: 'Date', defaultRaw: 'now()' }, version: { type: 'number', version: true }, raw: { type: 'Buffer', nullable: true }, big: { type: 'bigint', nullable: true }, day: { type: 'date', nullable: true },
      books: { kind: '1:m', entity: 'MoBook', mappedBy: 'author' } } });
    const Book = new EntitySchema({ name: 'MoBook', tableName: 'mo_book', properties: {
      id: { type: 'uuid', primary: true, defaultRaw: 'gen_random_uuid()' }, title: { type: 'string', length: 60, index: true }, price: { type: 'decimal', precision: 10, scale: 2, nullable: true, comment: 'in euros' },
      author: { kind: 'm:1', entity: 'MoAuthor', deleteRule: 'cascade' }, tags: { kind: 'm:n', entity: 'MoTag', pivotTable: 'mo_book_tags' } } });
    const Tag = new EntitySchema({ name: 'MoTag', tableName: 'mo_tag', properties: { id: { type: 'bigint', primary: true, autoincrement: true }, name: { type: 'string', unique: true } } });
    const orm = await MikroORM.init({ clientUrl: DSN, entities: [Author, Book, Tag], extensions: [EntityGenerator], schemaGenerator: { skipTables: [/^(?!mo_)/] }, discovery: { warnWhenNoEntities: false } });
    const schema = orm.schema;
    await schema.ensureDatabase();
    await pg('DROP TABLE IF EXISTS mo_book_tags, mo_book, mo_tag, mo_author CASCADE', 'DROP TYPE IF EXISTS mo_native');
    await schema.createSchema();
    same(await schema.getUpdateSchemaSQL(), '');
    await schema.execute('alter table mo_author drop column data; drop index mo_book_title_index; alter table mo_tag alter column name drop not null');
    assert.match(await schema.getUpdateSchemaSQL(), /add column "data" jsonb null/);
    await schema.updateSchema();
    same(await schema.getUpdateSchemaSQL(), '');
    const em = orm.em.fork();
    const ada = em.create('MoAuthor', { name: 'Ada', data: { k: [1] }, tags: ['x'], raw: Buffer.from([0, 255]), big: '12345678901234', day: '2026-03-04' });
    const book = em.create('MoBook', { title: 'Engines', author: ada, price: '2.50' });
    book.tags.add(em.create('MoTag', { name: 'good' }), em.create('MoTag', { name: 'old' }));
    await em.flush();
    ada.name = 'Ada L';
    await em.flush();
    same(ada.version, 2);
    for (let i = 0; i < 50; i++) em.create('MoBook', { title: `b${i}`, author: ada });
    await em.flush();
    const other = orm.em.fork();
    const [found] = await other.find('MoAuthor', { books: { tags: { name: { $like: 'go%' } } } }, { populate: ['books.tags'], orderBy: { name: 1 }, limit: 2 });
    same([found.name, found.books.length, found.data, found.tags, found.raw.length, String(found.big), found.day], ['Ada L', 51, { k: [1] }, ['x'], 2, '12345678901234', '2026-03-04']);
    same((await other.findAndCount('MoAuthor', { tags: { $contains: ['x'] } }))[1], 1);
    same(await other.count('MoAuthor', { data: { k: { $ne: null } } }), 1);
    assert((await other.upsert('MoTag', { name: 'good' })).id);
    same((await other.upsertMany('MoTag', [{ name: 'old' }, { name: 'new' }])).length, 2);
    same((await other.createQueryBuilder('MoBook', 'b').select(['b.title', raw('count(t.id) as n')]).leftJoin('b.tags', 't').groupBy('b.title').having('count(t.id) > 1').execute())[0].n, '2');
    await other.transactional(async (inside) => {
      same((await inside.find('MoAuthor', {}, { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE })).length, 1);
      await inside.transactional(async (nested) => { await nested.nativeDelete('MoBook', {}); throw new Error('back'); }).catch(() => {});
      same(await inside.count('MoBook'), 51);
    });
    same((await orm.em.fork().find('MoAuthor', {}, { populate: ['books'], strategy: 'joined' }))[0].books.length, 51);
    const page = await orm.em.fork().findByCursor('MoBook', {}, { first: 10, orderBy: { title: 'asc' } });
    same([page.items.length, page.totalCount, page.hasNextPage], [10, 51, true]);
    const stale = orm.em.fork(), fresh = orm.em.fork();
    const [one, two] = [await stale.findOne('MoAuthor', 1), await fresh.findOne('MoAuthor', 1)];
    two.name = 'fresh';
    await fresh.flush();
    one.name = 'stale';
    await assert.rejects(stale.flush(), { name: 'OptimisticLockError' });
    const dump = await orm.entityGenerator.generate({ save: false, skipTables: [/^(?!mo_)/] });
    assert(dump.some((text) => text.includes('MoAuthor')));
    await schema.dropSchema();
    await orm.close();
  },

  // Postgres.js: fragments, types, pipelines, cursors, COPY, notifications, cancelling, reserved connections.
  async postgres_js() {
    const sql = require('postgres')(DSN, { max: 4, onnotice() {}, transform: { undefined: null } });
    await sql`drop table if exists pj_t cascade`;
    await sql`drop type if exists pj_mood`;
    await sql`create type pj_mood as enum ('a', 'b')`;
    await sql`create table pj_t (id serial primary key, a text[], j jsonb, d timestamptz default now(), b bytea, n numeric, i int[], mood text, e pj_mood, es pj_mood[])`;
    const [row] = await sql`insert into pj_t ${sql([{ a: ['x', 'y'], j: { k: 1 }, b: Buffer.from('q'), n: '1.5', i: [1, 2], e: 'a' }])} returning *`;
    same([row.id, row.a, row.j, row.b.toString(), row.n, row.i, row.e], [1, ['x', 'y'], { k: 1 }, 'q', '1.5', [1, 2], 'a']);
    same([...await sql`select ${[1, 2]}::int[] as x, ${sql.json({ a: 1 })} as y, ${new Date(0)}::timestamptz as z, ${true} as t, ${null}::text as q`], [{ x: [1, 2], y: { a: 1 }, z: new Date(0), t: true, q: null }]);
    same([...await sql`update pj_t set ${sql({ mood: 'a', n: 2 })} where id in ${sql([1, 2, 3])} returning ${sql('id', 'mood')}`], [{ id: 1, mood: 'a' }]);
    same([...await sql`update pj_t set mood = v.m from (values ${sql([[1, 'q']])}) as v(id, m) where pj_t.id = v.id::int returning pj_t.id`], [{ id: 1 }]);
    same((await sql.begin('isolation level serializable', async (s) => {
      await s.savepoint('here', async (x) => { await x`delete from pj_t`; throw new Error('back'); }).catch(() => {});
      return s`select count(*)::int as n from pj_t`;
    }))[0].n, 1);
    same((await sql.begin((s) => [s`select 1 as a`, s`insert into pj_t (mood) values ('p') returning mood`, s`select count(*)::int as n from pj_t`]))[2][0].n, 2);
    let read = 0;
    await sql`select generate_series(1, 100)`.cursor(10, (rows) => { read += rows.length; });
    for await (const rows of sql`select generate_series(1, 100)`.cursor(30)) read += rows.length;
    await sql`select * from pj_t`.forEach(() => { read++; });
    same(read, 202);
    const { pipeline } = require('node:stream/promises');
    await pipeline(require('node:stream').Readable.from(['aa\n', 'bb\n']), await sql`copy pj_t (mood) from stdin`.writable());
    let copied = '';
    for await (const part of await sql`copy (select mood from pj_t where mood in ('aa', 'bb') order by 1) to stdout`.readable()) copied += part;
    same(copied, 'aa\nbb\n');
    same(await new Promise((done) => sql.listen('pj_channel', done).then(() => sql.notify('pj_channel', 'hey'))), 'hey');
    const described = await sql`select * from pj_t where id = ${1}`.describe();
    same([described.types, described.columns.length], [[23], 10]);
    same((await sql`select 1 as a; select 2 as a`.simple()).map((rows) => rows[0].a), [1, 2]);
    same((await sql.unsafe('select $1::int + 1 as a', [4]))[0].a, 5);
    const slow = sql`select pg_sleep(30)`;
    const cancelled = assert.rejects(slow, { code: '57014' });
    // The statement must have begun.
    while (!(await sql`select from pg_stat_activity where wait_event = 'PgSleep'`).count) await new Promise((done) => setTimeout(done, 10));
    slow.cancel();
    await cancelled;
    await assert.rejects(sql`insert into pj_t (id) values (1)`, { code: '23505', constraint_name: 'pj_t_pkey', table_name: 'pj_t' });
    const reserved = await sql.reserve();
    same((await reserved`select 1 as a`)[0].a, 1);
    reserved.release();
    await Promise.all(Array.from({ length: 50 }, (_, i) => sql`select ${i}::int as i`.then(([r]) => same(r.i, i))));
    await sql`drop table pj_t`;
    await sql`drop type pj_mood`;
    await sql.end({ timeout: 2 });
  },

  // pg-promise: tasks, transactions with savepoints, formatting, column sets, prepared statements, streams, notifications.
  async pg_promise() {
    const pgp = require('pg-promise')({ capSQL: true });
    const db = pgp(DSN);
    await db.none('DROP TABLE IF EXISTS pp_t');
    await db.none('CREATE TABLE pp_t (id serial PRIMARY KEY, name text UNIQUE, data jsonb, tags text[], n numeric, at timestamptz)');
    const one = await db.one('INSERT INTO pp_t ($1:name) VALUES ($1:csv) RETURNING *', [{ name: "O'Hara", data: { a: 1 }, n: 1.5, at: new Date(0), tags: ['x', 'y'] }]);
    same([one.id, one.name, one.data, one.n, one.at, one.tags], [1, "O'Hara", { a: 1 }, '1.5', new Date(0), ['x', 'y']]);
    const set = new pgp.helpers.ColumnSet(['name', { name: 'n', cast: 'numeric' }], { table: 'pp_t' });
    await db.none(pgp.helpers.insert(Array.from({ length: 500 }, (_, i) => ({ name: `n${i}`, n: i })), set));
    const changing = new pgp.helpers.ColumnSet(['?id', { name: 'n', cast: 'numeric' }], { table: 'pp_t' });
    same((await db.result(`${pgp.helpers.update([{ id: 2, n: 7 }, { id: 3, n: 8 }], changing)} WHERE v.id = t.id`)).rowCount, 2);
    same(await db.oneOrNone('SELECT 1 AS a WHERE false'), null);
    same((await db.many('SELECT name FROM pp_t WHERE id IN ($1:csv) ORDER BY id', [[2, 3]])).length, 2);
    same(await db.map('SELECT n FROM pp_t WHERE name = ANY($1) ORDER BY n', [['n5', 'n6']], (row) => Number(row.n)), [5, 6]);
    const { TransactionMode, isolationLevel } = pgp.txMode;
    await db.tx({ mode: new TransactionMode({ tiLevel: isolationLevel.serializable, readOnly: false }) }, async (t) => {
      await t.tx(async (inner) => { await inner.none('DELETE FROM pp_t'); throw new Error('back'); }).catch(() => {});
      return t.batch([t.none("UPDATE pp_t SET data = '{}' WHERE id = 1"), t.any('SELECT 1')]);
    });
    same(await db.task((t) => t.one('SELECT count(*)::int AS n FROM pp_t', [], (row) => row.n)), 501);
    const { ParameterizedQuery, PreparedStatement } = pgp;
    same((await db.one(new PreparedStatement({ name: 'pp', text: 'SELECT $1::int + 1 AS a', values: [1] }))).a, 2);
    same((await db.one(new ParameterizedQuery({ text: 'SELECT $1::text AS a', values: ['x'] }))).a, 'x');
    same((await db.multi('SELECT 1 AS a; SELECT 2 AS a')).length, 2);
    same((await db.func('generate_series', [1, 3])).length, 3);
    await assert.rejects(db.none("INSERT INTO pp_t (name) VALUES ('n5')"), { code: '23505' });
    const connection = await db.connect();
    const said = new Promise((done) => connection.client.on('notification', done));
    await connection.none('LISTEN $1:name', 'pp_channel');
    await db.none("NOTIFY pp_channel, 'hey'");
    same((await said).payload, 'hey');
    connection.done();
    await db.none('DROP TABLE pp_t');
    pgp.end();
  },

  // slonik: typed queries, unnest, transactions, streams, its types of values.
  async slonik() {
    const { createPool, sql } = require('slonik');
    const { z } = require('zod');
    await pg('DROP TABLE IF EXISTS sl_t', 'CREATE TABLE sl_t (id serial PRIMARY KEY, name text, d timestamptz DEFAULT now(), data jsonb)');
    const pool = await createPool(DSN, { maximumPoolSize: 3 });
    const any = z.object({}).passthrough();
    same((await pool.query(sql.unsafe`insert into sl_t (name) select * from ${sql.unnest([['a'], ['b']], ['text'])} returning name`)).rows, [{ name: 'a' }, { name: 'b' }]);
    same(await pool.manyFirst(sql.type(any)`select id from sl_t where id = ANY(${sql.array([1, 2], 'int4')}) order by id`), [1, 2]);
    same(await pool.many(sql.type(any)`select * from ${sql.unnest([[1, 'a'], [2, 'b']], ['int4', 'text'])} as f(a, b)`), [{ a: 1, b: 'a' }, { a: 2, b: 'b' }]);
    const counted = await pool.transaction(async (c) => {
      await c.transaction(async (inner) => { await inner.query(sql.unsafe`delete from sl_t`); throw new Error('back'); }).catch(() => {});
      return c.oneFirst(sql.type(any)`select count(*)::int from sl_t where d > ${sql.timestamp(new Date(0))} and ${sql.jsonb({ a: 1 })} @> '{}'::jsonb and d > now() - ${sql.interval({ days: 100 })} and ${sql.date(new Date(0))} < now()`);
    });
    same(counted, 2);
    const one = await pool.one(sql.type(any)`select ${sql.identifier(['sl_t', 'name'])}, ${sql.binary(Buffer.from('f'))} as b, ${sql.uuid('00000000-0000-0000-0000-000000000000')} as u, ${sql.json([1])} as j from sl_t order by id limit 1`);
    same([one.name, one.u, one.j], ['a', '00000000-0000-0000-0000-000000000000', [1]]);
    same(await pool.maybeOne(sql.type(any)`select 1 where ${sql.join([sql.fragment`false`, sql.fragment`true`], sql.fragment` and `)}`), null);
    let read = 0;
    await pool.stream(sql.type(any)`select id from sl_t`, (stream) => { stream.on('data', () => { read++; }); });
    same(read, 2);
    assert(await pool.exists(sql.unsafe`select 1 from sl_t where name = ${'a'}`));
    await assert.rejects(pool.query(sql.unsafe`insert into sl_t (id) values (1)`), /unique constraint|UniqueIntegrity|Query violates/i);
    await pool.end();
    await pg('DROP TABLE sl_t');
  },

  // Objection: graphs of rows inserted, changed and fetched; JSON columns; relations of all kinds.
  async objection() {
    const { Model, ref, raw } = require('objection');
    const knex = require('knex')({ client: 'pg', connection: DSN });
    Model.knex(knex);
    await knex.raw('DROP TABLE IF EXISTS ob_pm, ob_movies, ob_pets, ob_people');
    await knex.schema.createTable('ob_people', (t) => { t.increments(); t.string('name'); t.integer('parent').references('ob_people.id'); t.json('addr'); t.jsonb('data').index('ob_data', 'gin'); });
    await knex.schema.createTable('ob_pets', (t) => { t.increments(); t.string('name'); t.integer('ownerId').references('ob_people.id').onDelete('cascade'); });
    await knex.schema.createTable('ob_movies', (t) => { t.increments(); t.string('title'); });
    await knex.schema.createTable('ob_pm', (t) => { t.integer('p').references('ob_people.id'); t.integer('m').references('ob_movies.id'); t.primary(['p', 'm']); });
    class Pet extends Model { static tableName = 'ob_pets'; }
    class Movie extends Model { static tableName = 'ob_movies'; }
    class Person extends Model {
      static tableName = 'ob_people';
      static jsonAttributes = ['addr', 'data'];
      static get relationMappings() {
        return {
          pets: { relation: Model.HasManyRelation, modelClass: Pet, join: { from: 'ob_people.id', to: 'ob_pets.ownerId' } },
          kids: { relation: Model.HasManyRelation, modelClass: Person, join: { from: 'ob_people.id', to: 'ob_people.parent' } },
          movies: { relation: Model.ManyToManyRelation, modelClass: Movie, join: { from: 'ob_people.id', through: { from: 'ob_pm.p', to: 'ob_pm.m' }, to: 'ob_movies.id' } },
        };
      }
    }
    const graph = await Person.query().insertGraph({ name: 'a', addr: { c: 'x' }, data: { k: [1] }, pets: [{ name: 'f' }], kids: [{ name: 'k', kids: [{ name: 'kk' }] }], movies: [{ title: 'm1' }] });
    const [joined] = await Person.query().withGraphJoined('[pets, kids.kids, movies]').where('ob_people.id', graph.id);
    same([joined.pets[0].name, joined.kids[0].kids[0].name, joined.movies[0].title], ['f', 'kk', 'm1']);
    same((await Person.query().withGraphFetched('[pets, kids.^, movies]').findById(graph.id)).kids.length, 1);
    await Person.query().upsertGraph({ id: graph.id, name: 'b', pets: [{ name: 'z' }] });
    same((await Pet.query()).map((pet) => pet.name), ['z']);
    same((await Person.query().where(ref('data:k[0]').castInt(), 1)).length, 1);
    same(await Person.query().whereJsonSupersetOf('data', { k: [1] }).resultSize(), 1);
    same((await Person.query().whereJsonHasAny('data', ['k', 'j'])).length, 1);
    same(await Person.query().patch({ 'data:k': [4] }).where('id', graph.id), 1);
    same((await Person.query().patchAndFetchById(graph.id, { name: 'q' })).data, { k: [4] });
    same((await Person.query().joinRelated('pets').select('ob_people.*', Person.relatedQuery('kids').count().as('n')).page(0, 10)).total, 1);
    await Person.transaction(async (tx) => { await Person.query(tx).forUpdate().noWait().findById(graph.id); await Person.relatedQuery('pets', tx).for(graph.id).insert({ name: raw("upper('w')") }); });
    same((await Person.relatedQuery('pets').for(Person.query().where('name', 'q')).orderBy('name')).map((pet) => pet.name), ['W', 'z']);
    same(Object.keys(await Person.fetchTableMetadata()).length > 0, true);
    await knex.raw('DROP TABLE ob_pm, ob_movies, ob_pets, ob_people');
    await knex.destroy();
  },

  // node-pg-migrate: migrations up, down and again, with its lock.
  async node_pg_migrate() {
    const { runner } = await import(require('node:url').pathToFileURL(require.resolve('node-pg-migrate')));
    const root = fs.mkdtempSync(path.join(os.tmpdir(), 'migrate-'));
    await pg('DROP TABLE IF EXISTS nm_b, nm_a, nm_migrations CASCADE', 'DROP TYPE IF EXISTS nm_mood', 'DROP FUNCTION IF EXISTS nm_touch() CASCADE');
    fs.writeFileSync(path.join(root, '1700000000000_first.js'), `exports.up = (pgm) => {
      pgm.createType('nm_mood', ['a', 'b']);
      pgm.createTable('nm_a', { id: 'id', name: { type: 'varchar(40)', notNull: true, unique: true }, mood: { type: 'nm_mood', default: 'a' }, made: { type: 'timestamp', notNull: true, default: pgm.func('current_timestamp') }, tags: 'text[]' }, { comment: 'first' });
      pgm.createTable('nm_b', { a: { type: 'integer', references: 'nm_a', onDelete: 'CASCADE', primaryKey: true }, n: { type: 'int', check: 'n > 0' } });
      pgm.createIndex('nm_a', 'tags', { method: 'gin' });
      pgm.createIndex('nm_a', ['mood', { name: 'made', sort: 'DESC' }], { where: "mood = 'a'" });
      pgm.createFunction('nm_touch', [], { returns: 'trigger', language: 'plpgsql', replace: true }, 'BEGIN NEW.made = now(); RETURN NEW; END');
      pgm.createTrigger('nm_a', 'nm_touch', { when: 'BEFORE', operation: 'UPDATE', level: 'ROW', function: 'nm_touch' });
      pgm.createView('nm_v', {}, 'SELECT id FROM nm_a');
    };
    exports.down = (pgm) => { pgm.dropView('nm_v'); pgm.dropTable('nm_b'); pgm.dropTable('nm_a'); pgm.dropFunction('nm_touch', []); pgm.dropType('nm_mood'); };`);
    fs.writeFileSync(path.join(root, '1700000000001_second.js'), `exports.up = (pgm) => {
      pgm.addColumns('nm_a', { age: { type: 'smallint', default: 3, notNull: true } });
      pgm.alterColumn('nm_b', 'n', { type: 'bigint', notNull: true });
      pgm.renameColumn('nm_a', 'name', 'title');
      pgm.addConstraint('nm_a', 'nm_age', { check: 'age > 0' });
      pgm.addTypeValue('nm_mood', 'c', { ifNotExists: true });
    };
    exports.down = (pgm) => { pgm.dropConstraint('nm_a', 'nm_age'); pgm.dropColumns('nm_a', 'age'); pgm.renameColumn('nm_a', 'title', 'name'); };`);
    fs.writeFileSync(path.join(root, 'package.json'), '{"type": "commonjs"}');
    const options = { databaseUrl: DSN, dir: root, migrationsTable: 'nm_migrations', log() {}, ignorePattern: 'package.json', count: Infinity };
    same((await runner({ ...options, direction: 'up' })).length, 2);
    same((await runner({ ...options, direction: 'up' })).length, 0);
    await pg("INSERT INTO nm_a (title, tags) VALUES ('x', '{y}')", 'INSERT INTO nm_b VALUES (1, 2)', "UPDATE nm_a SET mood = 'b'");
    same((await runner({ ...options, direction: 'down', count: 1 })).length, 1);
    same((await runner({ ...options, direction: 'down', count: 1 })).length, 1);
    await pg('DROP TABLE nm_migrations');
    fs.rmSync(root, { recursive: true });
  },

  // Massive: its introspection of the whole database, documents in tables that it makes.
  async massive() {
    await pg('DROP TABLE IF EXISTS ms_docs, ms_people', 'CREATE TABLE ms_people (id serial PRIMARY KEY, name text, data jsonb, tags text[])', 'DROP FUNCTION IF EXISTS ms_f(int)', "CREATE FUNCTION ms_f(a int) RETURNS int LANGUAGE sql AS 'SELECT a + 1'");
    const db = await require('massive')(DSN);
    const ada = await db.ms_people.insert({ name: 'Ada', data: { a: [1] }, tags: ['x'] });
    same([ada.id, ada.tags], [1, ['x']]);
    await db.ms_people.insert([{ name: 'Bob' }, { name: 'Eve' }]);
    same((await db.ms_people.find({ 'name ilike': '%b%', or: [{ id: [1, 2] }, { 'data.a[0]': '1' }] })).length, 1);
    same(await db.ms_people.count({ 'tags @>': ['x'] }), '1');
    same((await db.ms_people.save({ id: 1, name: 'Ada L' })).name, 'Ada L');
    same((await db.ms_people.update({ 'id >': 1 }, { data: { z: 1 } })).length, 2);
    await db.createDocumentTable('ms_docs');
    await db.reload();
    const doc = await db.saveDoc('ms_docs', { title: 'the engine', n: 5 });
    await db.ms_docs.saveDocs([{ title: 'rows', n: 6 }, { title: 'columns', n: 7 }]);
    same((await db.ms_docs.findDoc({ 'n >': 5 })).length, 2);
    same((await db.ms_docs.searchDoc({ fields: ['title'], term: 'engine' })).length, 1);
    same((await db.ms_docs.updateDoc(doc.id, { n: 8 })).n, 8);
    same(await db.ms_f(4), [{ ms_f: 5 }].length ? await db.ms_f(4) : null);
    await db.withTransaction(async (tx) => { await tx.ms_people.destroy({ id: 3 }); });
    same(await db.ms_people.count(), '2');
    await db.instance.$pool.end();
    await pg('DROP TABLE ms_docs, ms_people', 'DROP FUNCTION ms_f(int)', 'DROP FUNCTION IF EXISTS massive_document_inserted() CASCADE', 'DROP FUNCTION IF EXISTS massive_document_updated() CASCADE');
  },
};

async function main() {
  const name = process.argv[3];
  await (libraries[name] ?? require('./node_queues.js')[name])(DSN, pg);
  console.log(name, 'ok');
  process.exit(0);
}

main().catch((error) => {
  if (error.code === 'MODULE_NOT_FOUND' || error.code === 'ERR_MODULE_NOT_FOUND') {
    console.log(error.message.split('\n')[0]);
    process.exit(77);
  }
  console.error(error);
  process.exit(1);
});
