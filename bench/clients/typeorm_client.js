// TypeORM: entities by schema, synchronize twice, migrations, relations, query builder, transactions, upserts, trees.
const assert = require('node:assert');
require('reflect-metadata');
const { DataSource, EntitySchema, Table, TableColumn, TableForeignKey, TableIndex, In, MoreThan, ILike } = require('typeorm');

const User = new EntitySchema({
  name: 'User', tableName: 'to_users',
  columns: {
    id: { type: 'int', primary: true, generated: true },
    key: { type: 'uuid', generated: 'uuid' },
    name: { type: 'varchar', length: 80, unique: true },
    role: { type: 'enum', enum: ['admin', 'user'], default: 'user' },
    tags: { type: 'text', array: true, default: '{}' },
    data: { type: 'jsonb', nullable: true },
    balance: { type: 'numeric', precision: 12, scale: 2, nullable: true },
    made: { type: 'timestamp with time zone', createDate: true },
    changed: { type: 'timestamp', updateDate: true },
    version: { type: 'int', version: true },
    removed: { type: 'timestamptz', deleteDate: true, nullable: true },
    raw: { type: 'bytea', nullable: true },
    day: { type: 'date', nullable: true },
    big: { type: 'bigint', nullable: true },
    short: { type: 'smallint', default: 3 },
    real: { type: 'double precision', nullable: true },
    hour: { type: 'time', nullable: true },
    span: { type: 'interval', nullable: true },
    address: { type: 'inet', nullable: true },
  },
  relations: { posts: { type: 'one-to-many', target: 'Post', inverseSide: 'author', cascade: true } },
  indices: [{ columns: ['role', 'name'] }, { columns: ['balance'], where: 'balance > 0' }],
  checks: [{ expression: 'balance >= -1000' }],
});
const Post = new EntitySchema({
  name: 'Post', tableName: 'to_posts',
  columns: { id: { type: 'bigint', primary: true, generated: 'identity', generatedIdentity: 'ALWAYS' }, title: { type: 'text' }, words: { type: 'int', default: 0 } },
  relations: {
    author: { type: 'many-to-one', target: 'User', inverseSide: 'posts', nullable: false, onDelete: 'CASCADE' },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: true, cascade: true },
  },
});
const Tag = new EntitySchema({ name: 'Tag', tableName: 'to_tags', columns: { label: { type: 'varchar', length: 30, primary: true } } });
const Node = new EntitySchema({
  name: 'Node', tableName: 'to_nodes', trees: [{ type: 'closure-table' }],
  columns: { id: { type: 'int', primary: true, generated: true }, name: { type: 'text' } },
  relations: { parent: { type: 'many-to-one', target: 'Node', treeParent: true, nullable: true }, children: { type: 'one-to-many', target: 'Node', treeChildren: true, inverseSide: 'parent' } },
});

class First {
  name = 'First1700000000000';
  async up(runner) {
    await runner.createTable(new Table({
      name: 'to_logs',
      columns: [
        { name: 'id', type: 'bigint', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
        { name: 'kind', type: 'enum', enum: ['a', 'b'] },
        { name: 'at', type: 'timestamptz', default: 'now()' },
        { name: 'user_id', type: 'int', isNullable: true },
      ],
      indices: [{ columnNames: ['kind', 'at'] }], checks: [{ expression: 'id > 0' }],
    }), true);
    await runner.createForeignKey('to_logs', new TableForeignKey({ columnNames: ['user_id'], referencedTableName: 'to_users', referencedColumnNames: ['id'], onDelete: 'SET NULL' }));
    await runner.addColumn('to_logs', new TableColumn({ name: 'text', type: 'varchar', length: '20', isNullable: true }));
    await runner.changeColumn('to_logs', 'text', new TableColumn({ name: 'words', type: 'text', isNullable: false, default: "''" }));
    await runner.createIndex('to_logs', new TableIndex({ columnNames: ['words'], name: 'to_logs_words' }));
  }
  async down(runner) {
    await runner.dropTable('to_logs');
  }
}

async function main(dsn) {
  const db = new DataSource({ type: 'postgres', url: dsn, entities: [User, Post, Tag, Node], migrations: [First], installExtensions: false, uuidExtension: 'pgcrypto', logging: !!process.env.LOG });
  await db.initialize();
  await db.dropDatabase();
  await db.synchronize();
  const schema = await db.driver.createSchemaBuilder().log();
  assert.deepStrictEqual(schema.upQueries.map((query) => query.query), []);
  await db.synchronize();
  await db.runMigrations({ transaction: 'all' });
  await db.undoLastMigration();
  await db.runMigrations({ transaction: 'each' });
  const users = db.getRepository('User');
  const ada = await users.save({
    name: 'Ada', role: 'admin', tags: ['x', 'y z'], data: { a: 1, b: [null] }, balance: '12.5', raw: Buffer.from([0, 1]), day: '2026-01-02', big: '9007199254740993',
    real: 0.1, hour: '10:11:12', span: '1 day 2 hours', address: '10.0.0.1', posts: [{ title: 'One', tags: [{ label: 'p' }, { label: 'q' }] }, { title: 'Two', words: 5 }],
  });
  assert(ada.id === 1 && ada.version === 1 && ada.made instanceof Date && /^[0-9a-f-]{36}$/.test(ada.key));
  const found = await users.findOne({ where: { name: ILike('a%'), posts: { words: MoreThan(1) } }, relations: { posts: { tags: true } }, order: { posts: { id: 'DESC' } } });
  assert.deepStrictEqual([found.posts[0].title, found.big, found.balance, found.day, found.hour], ['Two', '9007199254740993', '12.50', '2026-01-02', '10:11:12']);
  assert.deepStrictEqual([found.tags, found.data, [...found.raw], found.span.days, found.address], [['x', 'y z'], { a: 1, b: [null] }, [0, 1], 1, '10.0.0.1']);
  const same = await users.findOneByOrFail({ id: 1 });
  same.balance = '20';
  assert.strictEqual((await users.save(same)).version, 2);
  await users.upsert([{ name: 'Ada', balance: 7 }, { name: 'Bob' }], ['name']);
  assert.strictEqual(await users.count(), 2);
  await assert.rejects(users.insert({ name: 'Bob' }), { code: '23505' });
  await users.increment({ name: 'Bob' }, 'short', 4);
  const sums = await db.createQueryBuilder().select('u.role', 'role').addSelect('COUNT(p.id)', 'n').addSelect('SUM(p.words)::int', 'w').from('User', 'u').leftJoin('u.posts', 'p').groupBy('u.role').orderBy('n', 'DESC').getRawMany();
  assert.deepStrictEqual(sums[0], { role: 'admin', n: '2', w: 5 });
  const [page, total] = await db.getRepository('Post').createQueryBuilder('p').leftJoinAndSelect('p.author', 'a').leftJoinAndSelect('p.tags', 't').where('a.data @> :d', { d: { a: 1 } }).orderBy('p.id').skip(0).take(1).getManyAndCount();
  assert(total === 2 && page[0].tags.length === 2);
  const sub = await users.createQueryBuilder('u').where((q) => `EXISTS ${q.subQuery().select('1').from('Post', 'p').where('p.author = u.id').getQuery()}`).getMany();
  assert.strictEqual(sub.length, 1);
  await assert.rejects(db.transaction('SERIALIZABLE', async (tx) => {
    await tx.save('User', { name: 'Eve' });
    const locked = await tx.findOne('User', { where: { name: 'Bob' }, lock: { mode: 'pessimistic_write' } });
    assert.strictEqual(locked.short, 7);
    await tx.transaction(async (inner) => inner.save('User', { name: 'Inner' }));
    throw new Error('back');
  }), /back/);
  assert.strictEqual(await users.count(), 2);
  await users.softDelete({ name: 'Bob' });
  assert.strictEqual(await users.count(), 1);
  await users.restore({ name: 'Bob' });
  const trees = db.getTreeRepository('Node');
  const root = await trees.save({ name: 'root' });
  const child = await trees.save({ name: 'child', parent: root });
  await trees.save({ name: 'leaf', parent: child });
  assert.strictEqual(await trees.countDescendants(root), 3);
  assert.strictEqual((await trees.findTrees())[0].children[0].children[0].name, 'leaf');
  const made = await db.createQueryBuilder().insert().into('Tag').values([{ label: 'p' }, { label: 'r' }]).orIgnore().returning('label').execute();
  assert.deepStrictEqual(made.raw, [{ label: 'r' }]);
  const changed = await db.createQueryBuilder().update('User').set({ short: () => 'short + 1' }).where({ name: In(['Ada', 'Bob']) }).returning(['id', 'short']).execute();
  assert.strictEqual(changed.affected, 2);
  const stream = await users.createQueryBuilder('u').stream().catch((error) => error);
  assert(stream);
  await users.delete({ name: 'Ada' });
  assert.strictEqual(await db.getRepository('Post').count(), 0);
  const runner = db.createQueryRunner();
  const table = await runner.getTable('to_users');
  assert(table.indices.length >= 2 && table.checks.length === 1 && table.uniques.length === 1 && table.findColumnByName('role').enum.length === 2);
  await runner.renameColumn('to_users', 'short', 'little');
  await runner.renameTable('to_logs', 'to_notes');
  assert(await runner.hasColumn('to_users', 'little') && await runner.hasTable('to_notes'));
  await runner.dropTable('to_notes');
  await runner.release();
  await db.dropDatabase();
  await db.destroy();
  console.log('typeorm ok');
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
