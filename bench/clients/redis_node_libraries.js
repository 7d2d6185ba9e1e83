// Libraries of Node's on Redis, each with its everyday calls: node redis_node_libraries.js NAME HOST PORT.
// Writes "NAME ok". NODE_PATH names where they are installed.
const assert = require('node:assert');
const [name, host, port] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const connection = { host, port };

const libraries = {
  // A queue: scripts, blocking moves, and messages.
  async bull() {
    const Bull = require('bull');
    const queue = new Bull('bull-jobs', { redis: connection });
    queue.process(2, async (job) => {
      if (job.data.fails && job.attemptsMade === 0) throw new Error('once');
      return job.data.number + 1;
    });
    const jobs = [];
    for (let number = 0; number < 5; number++) jobs.push(await queue.add({ number }));
    jobs.push(await queue.add({ number: 5, fails: true }, { attempts: 2, backoff: 10 }));
    jobs.push(await queue.add({ number: 6 }, { delay: 50, priority: 2 }));
    const results = await Promise.all(jobs.map((job) => job.finished()));
    assert.deepStrictEqual(results, [1, 2, 3, 4, 5, 6, 7]);
    assert.strictEqual((await queue.getJobCounts()).completed, 7);
    await queue.close();
  },
  // The same with scripts of its own, and messages of a channel for each queue.
  async 'bee-queue'() {
    const Queue = require('bee-queue');
    const queue = new Queue('bee-jobs', { redis: connection });
    queue.process(async (job) => job.data.number * 2);
    const done = [];
    for (let number = 1; number <= 5; number++) {
      const job = queue.createJob({ number });
      done.push(new Promise((resolve, reject) => job.on('succeeded', resolve).on('failed', reject)));
      await job.save();
    }
    assert.deepStrictEqual(await Promise.all(done), [2, 4, 6, 8, 10]);
    await queue.close(1000);
  },
  // Locks: scripts take, extend and release them.
  async redlock() {
    const Redis = require('ioredis');
    const library = require('redlock');
    // Version 5 has a default export, version 4 is the class itself.
    const Redlock = library.default ?? library;
    const client = new Redis(connection);
    const locks = new Redlock([client], { retryCount: 1, retryDelay: 5 });
    let lock = await locks.acquire(['node-resource', 'node-other'], 10_000);
    await assert.rejects(locks.acquire(['node-other'], 10_000));
    lock = await lock.extend(20_000);
    await (lock.release ?? lock.unlock).call(lock);
    lock = await locks.acquire(['node-other'], 10_000);
    await (lock.release ?? lock.unlock).call(lock);
    await client.quit();
  },
  // Limits of rates: a script counts.
  async 'rate-limiter-flexible'() {
    const Redis = require('ioredis');
    const { RateLimiterRedis } = require('rate-limiter-flexible');
    const client = new Redis({ ...connection, enableOfflineQueue: true });
    const limiter = new RateLimiterRedis({ storeClient: client, points: 3, duration: 60, keyPrefix: 'node-limit' });
    for (let call = 0; call < 3; call++) await limiter.consume('user');
    await assert.rejects(limiter.consume('user'), (refused) => refused.remainingPoints === 0 && refused.msBeforeNext > 0);
    await limiter.reward('user', 2);
    assert.strictEqual((await limiter.get('user')).consumedPoints, 2);
    await limiter.delete('user');
    assert.strictEqual(await limiter.get('user'), null);
    await client.quit();
  },
  // Sessions of web servers.
  async 'connect-redis'() {
    const { RedisStore } = require('connect-redis');
    const client = require('redis').createClient({ socket: connection });
    await client.connect();
    const store = new RedisStore({ client, prefix: 'node-session:', ttl: 60 });
    const call = (method, ...given) =>
      new Promise((resolve, reject) => store[method](...given, (error, value) => (error ? reject(error) : resolve(value))));
    const session = { cookie: { originalMaxAge: 60_000 }, user: 'ann' };
    await call('set', 'one', session);
    await call('touch', 'one', session);
    assert.deepStrictEqual(await call('get', 'one'), session);
    assert.strictEqual(await call('length'), 1);
    assert.deepStrictEqual(await call('ids'), ['one']);
    assert.strictEqual((await call('all'))[0].user, 'ann');
    await call('destroy', 'one');
    assert.strictEqual((await call('get', 'one')) ?? null, null);
    await client.close();
  },
  // Keys with times to live, in namespaces.
  async keyv() {
    const { Keyv } = require('keyv');
    const { default: KeyvRedis } = require('@keyv/redis');
    const keyv = new Keyv({ store: new KeyvRedis(`redis://${host}:${port}`), namespace: 'node-keyv' });
    await keyv.set('one', { n: 1 });
    await keyv.set('two', { n: 2 }, 60_000);
    assert.deepStrictEqual(await keyv.get(['one', 'two', 'none']), [{ n: 1 }, { n: 2 }, undefined]);
    assert.strictEqual(await keyv.delete('one'), true);
    assert.strictEqual(await keyv.has('one'), false);
    const keys = [];
    for await (const [key] of keyv.iterator()) keys.push(key);
    assert.deepStrictEqual(keys, ['two']);
    await keyv.clear();
    assert.strictEqual(await keyv.get('two'), undefined);
    await keyv.disconnect();
  },
  // Limits of requests of Express: scripts by their sums.
  async 'rate-limit-redis'() {
    const { RedisStore } = require('rate-limit-redis');
    const client = new (require('ioredis'))(connection);
    const store = new RedisStore({ sendCommand: (...words) => client.call(...words), prefix: 'node-requests:' });
    await store.init({ windowMs: 60_000 });
    assert.strictEqual((await store.increment('user')).totalHits, 1);
    assert.strictEqual((await store.increment('user')).totalHits, 2);
    await store.decrement('user');
    assert.strictEqual((await store.get('user')).totalHits, 1);
    await store.resetKey('user');
    assert(!(await store.get('user'))?.totalHits);
    await client.quit();
  },
};

libraries[name]().then(
  () => {
    console.log(`${name} ok`);
    process.exit(0);
  },
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
