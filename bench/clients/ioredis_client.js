// ioredis: everyday calls, a pipeline, a transaction.
const assert = require('node:assert');
const Redis = require('ioredis');

async function main(host, port) {
  const db = new Redis(Number(port), host);
  assert.strictEqual(await db.set('io:a', '1'), 'OK');
  assert.strictEqual(await db.incrby('io:a', 41), 42);
  await db.hset('io:h', { name: 'Ada', born: 1815 });
  assert.deepStrictEqual(await db.hgetall('io:h'), { name: 'Ada', born: '1815' });
  const told = await db.pipeline().rpush('io:l', 'x', 'y').lrange('io:l', 0, -1).get('io:h').exec();
  assert.deepStrictEqual(told[1], [null, ['x', 'y']]);
  assert(told[2][0].message.startsWith('WRONGTYPE'));
  assert.deepStrictEqual(await db.multi().incr('io:a').incr('io:a').exec(), [[null, 43], [null, 44]]);
  await db.quit();
  console.log('ioredis', require('ioredis/package.json').version, 'ok');
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
