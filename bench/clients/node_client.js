// node-postgres: everyday calls, a transaction, an error's code.
const assert = require('node:assert');
const { Client } = require('pg');

async function main(dsn) {
  const db = new Client({ connectionString: dsn });
  await db.connect();
  await db.query('DROP TABLE IF EXISTS njs');
  await db.query('CREATE TABLE njs (id int PRIMARY KEY, name text, made timestamptz DEFAULT now())');
  await db.query('INSERT INTO njs (id, name) VALUES ($1, $2), ($3, $4)', [1, 'one', 2, null]);
  const { rows } = await db.query('SELECT id, name, made FROM njs ORDER BY id DESC');
  assert.deepStrictEqual(rows.map((row) => [row.id, row.name]), [[2, null], [1, 'one']]);
  assert(rows[0].made instanceof Date && Date.now() - rows[0].made < 60000);
  await db.query('BEGIN');
  await db.query("UPDATE njs SET name = 'x' WHERE id = 1");
  await db.query('ROLLBACK');
  const again = await db.query({ name: 'by-id', text: 'SELECT name FROM njs WHERE id = $1', values: [1] });
  assert.strictEqual(again.rows[0].name, 'one');
  await assert.rejects(db.query('INSERT INTO njs (id) VALUES (1)'), { code: '23505' });
  await assert.rejects(db.query('SELECT nothing FROM nowhere'), { code: '42P01' });
  await db.end();
  console.log('node pg', require('pg/package.json').version, 'ok');
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
