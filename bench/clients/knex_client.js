// Knex: schema builder with common types, migrations, batch inserts, upserts, transactions with savepoints, streams.
const assert = require('node:assert');
const knex = require('knex');

async function main(dsn) {
  const db = knex({ client: 'pg', connection: dsn, pool: { min: 0, max: 3 } });
  const source = {
    getMigrations: async () => ['1_first', '2_second'],
    getMigrationName: (name) => name,
    getMigration: async (name) => ({
      '1_first': {
        up: (db) => db.schema.createTable('kx_users', (t) => {
          t.increments('id');
          t.uuid('key').defaultTo(db.raw('gen_random_uuid()'));
          t.string('name', 60).notNullable().unique();
          t.enu('kind', ['a', 'b']).defaultTo('a');
          t.enu('mood', ['sad', 'happy'], { useNative: true, enumName: 'kx_mood' });
          t.jsonb('data').defaultTo('{}');
          t.specificType('tags', 'text ARRAY');
          t.decimal('money', 12, 2).checkPositive();
          t.boolean('active').defaultTo(true);
          t.timestamps(true, true);
          t.binary('raw');
          t.bigInteger('big').unsigned();
          t.date('day').index();
          t.comment('people');
          t.string('note').comment('free text').collate('C');
          t.index(['kind', 'name'], 'kx_kind_name');
        }).createTable('kx_orders', (t) => {
          t.bigIncrements();
          t.integer('user_id').unsigned().references('id').inTable('kx_users').onDelete('CASCADE').index();
          t.float('amount', 8, 2);
          t.unique(['user_id', 'amount'], { deferrable: 'deferred' });
        }),
        down: (db) => db.schema.dropTable('kx_orders').dropTable('kx_users').raw('DROP TYPE kx_mood'),
      },
      '2_second': {
        up: (db) => db.schema.alterTable('kx_users', (t) => {
          t.string('name', 120).notNullable().alter();
          t.renameColumn('note', 'remark');
          t.integer('age').nullable();
          t.dropIndex(['kind', 'name'], 'kx_kind_name');
          t.index(db.raw('lower(name)'), 'kx_lower');
          t.setNullable('kind');
        }),
        down: (db) => db.schema.alterTable('kx_users', (t) => {
          t.dropColumn('age');
          t.renameColumn('remark', 'note');
        }),
      },
    })[name],
  };
  for (const table of ['kx_orders', 'kx_users', 'kx_copy', 'knex_migrations', 'knex_migrations_lock']) await db.schema.dropTableIfExists(table);
  await db.raw('DROP TYPE IF EXISTS kx_mood');
  const [, done] = await db.migrate.latest({ migrationSource: source });
  assert.strictEqual(done.length, 2);
  await db.migrate.rollback({ migrationSource: source }, true);
  await db.migrate.latest({ migrationSource: source });
  const [ada] = await db('kx_users').insert({ name: 'Ada', data: { a: [1] }, tags: ['x', 'y'], money: 5.5, raw: Buffer.from([1, 0]), mood: 'happy', day: '2026-03-04', big: '12345678901234' }).returning('*');
  assert(ada.id === 1 && ada.created_at instanceof Date && ada.big === '12345678901234' && ada.money === '5.50');
  await db.batchInsert('kx_orders', Array.from({ length: 500 }, (_, i) => ({ user_id: 1, amount: i })), 100);
  await db('kx_users').insert([{ name: 'Ada', money: 9 }, { name: 'Bob', money: 1 }]).onConflict('name').merge(['money']);
  assert.deepStrictEqual(await db('kx_users').orderBy('name').pluck('money'), ['9.00', '1.00']);
  await assert.rejects(db('kx_users').insert({ name: 'Bob' }), { code: '23505', constraint: 'kx_users_name_unique' });
  await assert.rejects(db('kx_users').insert({ name: 'Eve', kind: 'z' }), { code: '23514' });
  await db.transaction(async (tx) => {
    await tx('kx_users').where({ name: 'Bob' }).forUpdate().first();
    await tx.transaction(async (inner) => {
      await inner('kx_users').insert({ name: 'Eve' });
      throw new Error('inner');
    }).catch(() => {});
    await tx('kx_users').where({ name: 'Bob' }).increment('money', 2);
  }, { isolationLevel: 'serializable' });
  assert.deepStrictEqual(await db('kx_users').select('name', 'money').where('name', 'like', 'B%'), [{ name: 'Bob', money: '3.00' }]);
  const rows = await db('kx_users as u').leftJoin('kx_orders as o', 'o.user_id', 'u.id').groupBy('u.id').select('u.name').count('o.id as n').sum({ total: 'amount' }).havingRaw('count(o.id) >= ?', [0]).orderBy('n', 'desc');
  assert.deepStrictEqual(rows[0], { name: 'Ada', n: '500', total: 124750 });
  const ranked = await db.with('r', db('kx_orders').select('id', 'amount').rowNumber('place', 'amount')).select().from('r').where('place', '<', 3);
  assert.strictEqual(ranked.length, 2);
  assert.strictEqual((await db('kx_users').whereJsonSupersetOf('data', { a: [1] })).length, 1);
  let streamed = 0;
  for await (const row of db('kx_orders').select().stream()) streamed += row.id ? 1 : 0;
  assert.strictEqual(streamed, 500);
  await db.schema.createTable('kx_copy', (t) => { t.integer('id').primary(); });
  await db('kx_copy').insert(db('kx_orders').select('id').limit(10));
  assert.strictEqual(await db('kx_copy').where('id', '>', 5).del(), 5);
  await db('kx_copy').truncate();
  assert(await db.schema.hasColumn('kx_users', 'remark') && !(await db.schema.hasTable('kx_none')));
  const info = await db('kx_users').columnInfo();
  assert(info.name.maxLength === 120 && info.money.type === 'numeric' && info.age.nullable);
  await db.schema.renameTable('kx_copy', 'kx_copied');
  await db.schema.dropTable('kx_copied');
  await db.migrate.rollback({ migrationSource: source }, true);
  await db.destroy();
  console.log('knex', require('knex/package.json').version, 'ok');
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
