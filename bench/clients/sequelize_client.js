// Sequelize: models with every common type, sync, associations, transactions, upserts, JSON, enums, alter.
const assert = require('node:assert');
const { Sequelize, DataTypes, Op } = require('sequelize');

async function main(dsn) {
  const db = new Sequelize(dsn, { logging: false, dialect: 'postgres' });
  await db.authenticate();
  const Author = db.define('sq_author', {
    id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
    name: { type: DataTypes.STRING(80), allowNull: false, unique: true },
    kind: { type: DataTypes.ENUM('poet', 'novelist'), defaultValue: 'poet' },
    born: DataTypes.DATEONLY,
    score: DataTypes.DECIMAL(10, 2),
    tags: DataTypes.ARRAY(DataTypes.STRING),
    meta: DataTypes.JSONB,
    key: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 },
    raw: DataTypes.BLOB,
    active: { type: DataTypes.BOOLEAN, defaultValue: true },
    ratio: DataTypes.DOUBLE,
    big: DataTypes.BIGINT,
    notes: DataTypes.TEXT,
  });
  const Book = db.define('sq_book', { title: DataTypes.STRING, price: DataTypes.DECIMAL(8, 2) }, {
    indexes: [{ fields: ['title'] }, { fields: ['price', { name: 'title', order: 'DESC' }], name: 'sq_book_price' }],
    paranoid: true,
  });
  const Tag = db.define('sq_tag', { label: { type: DataTypes.STRING, unique: true } }, { timestamps: false });
  Author.hasMany(Book, { foreignKey: { name: 'authorId', allowNull: false }, onDelete: 'CASCADE' });
  Book.belongsTo(Author, { foreignKey: 'authorId' });
  Book.belongsToMany(Tag, { through: 'sq_book_tags' });
  Tag.belongsToMany(Book, { through: 'sq_book_tags' });
  await db.sync({ force: true });
  await db.sync({ alter: true });
  const ada = await Author.create({
    name: 'Ada', kind: 'novelist', born: '1815-12-10', score: '12.50', tags: ['a', 'b"c', ''], meta: { a: [1, { b: null }] },
    raw: Buffer.from([0, 255, 7]), ratio: 0.1, big: '9007199254740993', notes: 'x',
  });
  assert(ada.id === 1 && ada.createdAt instanceof Date);
  await Book.bulkCreate([{ title: 'One', price: 3.5, authorId: 1 }, { title: 'Two', price: 9, authorId: 1 }]);
  const found = await Author.findOne({ where: { meta: { [Op.contains]: { a: [1] } } }, include: [{ model: Book, where: { price: { [Op.gt]: 2 } } }], order: [[Book, 'price', 'DESC']] });
  assert.deepStrictEqual(found.sq_books.map((b) => b.title), ['Two', 'One']);
  assert.deepStrictEqual(found.tags, ['a', 'b"c', '']);
  assert.strictEqual(found.big, '9007199254740993');
  assert.strictEqual(found.score, '12.50');
  assert.deepStrictEqual([...found.raw], [0, 255, 7]);
  assert.deepStrictEqual(found.meta, { a: [1, { b: null }] });
  assert.strictEqual(await Author.count({ where: { tags: { [Op.overlap]: ['b"c'] } } }), 1);
  assert.strictEqual(await Author.count({ where: { name: { [Op.iLike]: 'a%' } } }), 1);
  assert.strictEqual(await Author.count({ where: { 'meta.a': { [Op.ne]: null } } }), 1);
  const [row, created] = await Author.findCreateFind({ where: { name: 'Bob' }, defaults: { score: 1 } });
  assert(created && row.kind === 'poet');
  await Author.upsert({ id: row.id, name: 'Bob', score: 7 });
  await Author.increment({ score: 1 }, { where: { name: 'Bob' } });
  assert.strictEqual((await Author.findByPk(row.id)).score, '8.00');
  await assert.rejects(Author.create({ name: 'Bob' }), { name: 'SequelizeUniqueConstraintError' });
  await assert.rejects(Book.create({ title: 'x', authorId: 999 }), { name: 'SequelizeForeignKeyConstraintError' });
  await assert.rejects(db.transaction(async (transaction) => {
    await Author.create({ name: 'Eve' }, { transaction });
    await Author.findOne({ where: { name: 'Bob' }, lock: transaction.LOCK.UPDATE, transaction });
    throw new Error('back');
  }), /back/);
  assert.strictEqual(await Author.count(), 2);
  await db.transaction({ isolationLevel: Sequelize.Transaction.ISOLATION_LEVELS.SERIALIZABLE }, async (transaction) => {
    await db.transaction({ transaction }, async (inner) => Author.create({ name: 'Eve' }, { transaction: inner }));
  });
  const one = await Book.findOne({ where: { title: 'One' } });
  const tag = await Tag.create({ label: 'new' });
  await one.addSq_tag(tag);
  assert.strictEqual((await Book.findAll({ include: { model: Tag, required: true } })).length, 1);
  await one.destroy();
  assert.strictEqual(await Book.count(), 1);
  await one.restore();
  const sums = await Book.findAll({ attributes: ['authorId', [db.fn('SUM', db.col('price')), 'sum'], [db.fn('COUNT', db.literal('*')), 'n']], group: ['authorId'], having: db.where(db.fn('COUNT', db.col('id')), { [Op.gte]: 2 }), raw: true });
  assert.deepStrictEqual(sums, [{ authorId: 1, sum: '12.50', n: '2' }]);
  const query = db.getQueryInterface();
  await query.addColumn('sq_books', 'pages', { type: DataTypes.INTEGER, allowNull: false, defaultValue: 10 });
  await query.changeColumn('sq_books', 'pages', { type: DataTypes.BIGINT, allowNull: true });
  await query.renameColumn('sq_books', 'pages', 'leaves');
  await query.addIndex('sq_books', ['leaves'], { where: { leaves: { [Op.gt]: 5 } } });
  await query.addConstraint('sq_books', { type: 'check', fields: ['leaves'], where: { leaves: { [Op.gt]: 0 } }, name: 'leaves_positive' });
  const described = await query.describeTable('sq_books');
  assert(described.leaves.type === 'BIGINT' && described.id.primaryKey);
  const indexes = await query.showIndex('sq_books');
  assert(indexes.some((index) => index.name === 'sq_book_price' && index.fields.length === 2));
  assert((await query.showAllTables()).length >= 4);
  await Author.destroy({ where: { name: 'Ada' } });
  assert.strictEqual(await Book.count({ paranoid: false }), 0);
  await db.close();
  console.log('sequelize', require('sequelize/package.json').version, 'ok');
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
